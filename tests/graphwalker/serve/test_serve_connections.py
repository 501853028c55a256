"""Connections whose request never becomes whole, over real sockets."""

import http.client
import socket
import time
from contextlib import closing
from urllib.parse import urlsplit

import pytest

from graphwalker.serve.asking import RequestLimits
from support.serve_toy import served

LIMITS = RequestLimits(request_s=0.8, connections=20)
PATIENCE_S = 30
"""What a loaded machine may need for `request_s`."""
HEAD = b"POST /api/ask HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"


@pytest.fixture(scope="module")
def server():
    with served(limits=LIMITS) as running:
        yield running


def connect(server, sent=b""):
    parts = urlsplit(server.url)
    connection = socket.create_connection((str(parts.hostname), parts.port or 0), timeout=60)
    connection.sendall(sent)
    return connection


def seconds_until_closed(connection, drip=b""):
    """Seconds until the server closes it, one byte of `drip` sent each tenth of a second."""
    began, left = time.monotonic(), list(drip)
    connection.settimeout(0.1)
    while time.monotonic() < began + PATIENCE_S:
        try:
            if not connection.recv(1000):
                break
        except TimeoutError:
            if left:
                connection.sendall(bytes([left.pop(0)]))
        except OSError:
            break
    return time.monotonic() - began


def status(server):
    with closing(http.client.HTTPConnection(urlsplit(server.url).netloc, timeout=60)) as connection:
        connection.request("GET", "/api/about")
        return connection.getresponse().status


def is_open(connection):
    connection.settimeout(0.001)
    try:
        return connection.recv(1) != b""
    except TimeoutError:
        return True
    except OSError:
        return False


def test_a_request_that_does_not_become_whole_is_closed_in_time(server):
    halves = [b"GET / HTTP/1.1\r\nHost:", HEAD + b'Content-Length: 9\r\n\r\n{"a"']
    for half in halves:
        began = time.monotonic()
        with connect(server, half) as connection:
            assert seconds_until_closed(connection) < PATIENCE_S, half
        assert time.monotonic() - began > 0.5, half


def test_a_request_that_drips_is_closed_in_time(server):
    with connect(server, HEAD) as connection:
        assert seconds_until_closed(connection, b"X-Slow: " + 1000 * b"a") < PATIENCE_S


def test_a_second_request_on_a_connection_has_as_much_time(server):
    with connect(server, b"GET /api/about HTTP/1.1\r\nHost: localhost\r\n\r\n") as connection:
        assert connection.recv(1000).startswith(b"HTTP/1.1 200")
        began = time.monotonic()
        connection.sendall(HEAD)
        assert seconds_until_closed(connection, 1000 * b"a") < PATIENCE_S
        assert time.monotonic() - began > 0.5


def test_100_open_halves_are_bounded_and_another_client_is_answered(server):
    opened = [connect(server, HEAD) for _ in range(100)]
    assert status(server) == 200
    assert sum(is_open(connection) for connection in opened) <= LIMITS.connections
    for connection in opened:
        assert seconds_until_closed(connection) < PATIENCE_S
        connection.close()
    assert status(server) == 200
