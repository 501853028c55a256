"""A server that keeps a request busy without ever ending it: the time-out is of the whole request.

The slow servers are sockets on the loopback: no HTTP library writes what they write.
"""

import asyncio
import re
import socket
import threading
import time
from contextlib import contextmanager, suppress

import pytest

from graphwalker.doctor.places import look_at_server
from graphwalker.http import AsyncClient, Client, NoReply

TIMEOUT_S = 0.3
GIVEN_UP_S = 12
"""A slow server takes about 20 s; between the two is room for a loaded machine."""
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 9999\r\n\r\n"
SLOW_HEAD = b"HTTP/1.1 200 OK\r\nX-Slow: " + b"a" * 200


@contextmanager
def slow_server(answer):
    """The port of a server that gives every connection to `answer`, in a thread of its own."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve(client):
            with client, suppress(OSError):
                answer(client)

        def accept():
            with suppress(OSError):
                while True:
                    client, _ = listener.accept()
                    threading.Thread(target=serve, args=(client,), daemon=True).start()

        threading.Thread(target=accept, daemon=True).start()
        yield listener.getsockname()[1]
        listener.shutdown(socket.SHUT_RDWR)


def drip(client, text, every_s=0.1):
    """One byte now and then, in less than any time-out of a single read."""
    for byte in text:
        client.sendall(bytes([byte]))
        time.sleep(every_s)


def read_request(client):
    """Read one request whole: its headers and the body that they announce."""
    received = b""
    while b"\r\n\r\n" not in received:
        received += client.recv(1 << 16)
    head, _, body = received.partition(b"\r\n\r\n")
    left = int(re.search(rb"content-length: (\d+)", head.lower())[1]) - len(body)
    while left > 0:
        left -= len(client.recv(left))


def drip_head(client):
    client.recv(1 << 16)
    drip(client, SLOW_HEAD)


def drip_body(client):
    client.recv(1 << 16)
    client.sendall(HEAD)
    drip(client, b" " * 200)


def flood_with_100(client):
    client.recv(1 << 16)
    until = time.monotonic() + 20
    while time.monotonic() < until:
        client.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
        time.sleep(0.002)


def drip_handshake(client):
    client.recv(5)  # of the client's hello
    drip(client, b"\x16\x03\x03\x40\x00" + b"\x02" * 200)


def say_nothing(client):
    time.sleep(20)


def send(client, text=b"?"):
    """How long one request lasts, which has to fail."""
    started = time.monotonic()
    with pytest.raises(NoReply):
        client.send("POST", client.address, body=text)
    return time.monotonic() - started


def draw(address):
    """The same in an event loop."""

    async def fail():
        client = AsyncClient(address, TIMEOUT_S, 4)
        with pytest.raises(NoReply):
            await client.send("POST", address, body=b"?")
        await client.close()

    started = time.monotonic()
    asyncio.run(fail())
    return time.monotonic() - started


@pytest.mark.parametrize("answer", [drip_head, drip_body, flood_with_100, say_nothing])
def test_a_request_ends_at_its_time_out_however_the_server_delays(answer):
    with slow_server(answer) as port:
        address = f"http://127.0.0.1:{port}"
        assert send(Client(address, TIMEOUT_S)) < GIVEN_UP_S
        assert draw(address) < GIVEN_UP_S


@pytest.mark.parametrize("answer", [drip_handshake, say_nothing])
def test_a_handshake_counts_towards_the_time_out(answer):
    with slow_server(answer) as port:
        assert send(Client(f"https://127.0.0.1:{port}", TIMEOUT_S)) < GIVEN_UP_S


def test_each_wait_may_be_shorter_than_the_whole():
    with slow_server(say_nothing) as port:
        assert send(Client(f"http://127.0.0.1:{port}", TIMEOUT_S, whole_s=60)) < GIVEN_UP_S


def test_a_connection_that_was_kept_has_a_deadline_too():
    whole = HEAD.replace(b"9999", b"2") + b"ok"

    def answer_once(client):
        read_request(client)
        client.sendall(whole)
        read_request(client)  # what came unasked would make the client drop the connection
        drip(client, SLOW_HEAD)

    with slow_server(answer_once) as port:
        client = Client(f"http://127.0.0.1:{port}", 1.5)
        assert client.send("POST", client.address, body=b"?").text == "ok"
        assert send(client) < GIVEN_UP_S


def test_a_proxy_that_drips_is_given_up_too(monkeypatch):
    with slow_server(drip_head) as port:
        monkeypatch.setenv("HTTPS_PROXY", f"http://127.0.0.1:{port}")
        monkeypatch.delenv("NO_PROXY", raising=False)
        monkeypatch.delenv("no_proxy", raising=False)
        assert send(Client("https://chat.example/v1", TIMEOUT_S)) < GIVEN_UP_S


def test_the_doctor_waits_for_no_drip():
    with slow_server(drip_head) as port:
        (found,) = look_at_server("teacher", f"http://127.0.0.1:{port}/v1")
    assert (found.verdict, found.found) == ("wrong", "timed out")
