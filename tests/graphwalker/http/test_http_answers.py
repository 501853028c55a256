"""Answers on the wire, as they come: each of them is read whole, or is refused."""

import socket
import threading
from contextlib import contextmanager

import pytest

from graphwalker.errors import UserError
from graphwalker.http import Client, NoReply

BODY = b'{"results": {"bindings": []}}'
HEAD = b"HTTP/1.1 200 OK\r\nServer: Virtuoso\r\nContent-Length: 29\r\n"


def ask(client, **headers):
    accepted = {"Accept": "application/json", **headers}
    return client.send("POST", client.address, accepted, b"query=SELECT")


def reads_request(connection):
    """Whether a whole request came, in as many pieces as it likes."""
    read = b""
    while b"query=SELECT" not in read:
        if not (piece := connection.recv(4096)):
            return False
        read += piece
    return True


@contextmanager
def answering(*pieces):
    """An endpoint that gives every connection's every request that answer, piece by piece."""
    listener = socket.create_server(("127.0.0.1", 0))
    accepted = []

    def serve():
        while True:
            try:
                accepted.append(connection := listener.accept()[0])
            except OSError:  # closed: the test is over
                return
            threading.Thread(target=talk, args=(connection,), daemon=True).start()

    def talk(connection):
        with connection:
            while reads_request(connection):
                for piece in pieces:
                    connection.sendall(piece)
                    done.wait(0.02)
                if b"Connection: close" in pieces[0] or b"Length: 29\r" not in pieces[0]:
                    return

    done = threading.Event()
    threading.Thread(target=serve, daemon=True).start()
    address = f"http://127.0.0.1:{listener.getsockname()[1]}/caf\u00e9"
    client = Client(address, 5.0, largest=1000, resends=True)
    try:
        yield client, accepted
    finally:
        done.set()
        client.close()
        listener.close()


CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1d\r\n" + BODY + b"\r\n0\r\n\r\n"
WHOLE = [
    (HEAD + b"\r\n" + BODY,),
    (HEAD + b"Connection: Keep-Alive\r\n\r\n", BODY),
    (HEAD + b"\r\n" + BODY[:7], BODY[7:11], BODY[11:]),
    (HEAD[:20], HEAD[20:] + b"\r\n", BODY),
    (HEAD + b"X-Folded: a\r\n b\r\n\r\n" + BODY,),
    (HEAD + b"Connection: close\r\n\r\n" + BODY,),
    (b"HTTP/1.0 200 OK\r\n\r\n" + BODY,),
    (CHUNKED,),
    (HEAD + b"\r\n" + BODY + b"HTTP/1.1 500 of nobody's question",),
]


@pytest.mark.parametrize("pieces", WHOLE)
def test_an_answer_is_read_whole_however_it_comes(pieces):
    with answering(*pieces) as (client, _):
        for _ in range(2):
            answer = ask(client)
            assert (answer.status, answer.body) == (200, BODY)


BROKEN = [HEAD.replace(b"29", b"290") + b"\r\n" + BODY, b"no HTTP\r\n\r\n", b""]


@pytest.mark.parametrize("answer", BROKEN)
def test_an_answer_that_breaks_off_is_a_failed_connection(answer):
    with answering(answer) as (client, _), pytest.raises(NoReply):
        ask(client)


def test_a_connection_is_kept():
    with answering(*WHOLE[0]) as (client, accepted):
        ask(client)
        ask(client)
        assert len(accepted) == 1


def test_a_line_break_in_a_header_is_the_users_mistake():
    with answering(*WHOLE[0]) as (client, _), pytest.raises(UserError, match="one line"):
        ask(client, **{"X-Key": "a\r\nb: c"})
