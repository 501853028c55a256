"""The one HTTP client: proxies, redirects, waits, forks and threads, against real servers."""

import os
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from email.utils import formatdate

import pytest

from graphwalker import http
from graphwalker.errors import UserError
from graphwalker.graphs.sparql.graph import SparqlGraph
from graphwalker.http import Backoff, Client, HttpReply, NoReply, TooLarge, download, get
from support.faulty_endpoint import faulty
from support.http_server import QuietHandler, listening
from support.oxigraph import load_store

NOWHERE = "http://127.0.0.1:9"


class Server:
    """Answers `ok`, or sends the paths in `moved` elsewhere; says who asked for what."""

    def __init__(self):
        self.url, self.paths, self.peers = "", list[str](), set[object]()
        self.moved: dict[str, str] = {}


@contextmanager
def serving():
    served = Server()

    class Handler(QuietHandler):
        def do_GET(self):
            served.paths.append(self.path)
            served.peers.add(self.client_address)
            self.close_connection = self.path == "/last"
            time.sleep(0.02)
            if place := served.moved.get(self.path):
                return self.send(302, b"", location=place)
            self.send(200, b"ok")

    with listening(Handler) as served.url:
        yield served


@pytest.fixture(autouse=True)
def no_proxies(monkeypatch):
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


def test_an_endpoint_is_asked_through_the_environments_proxy(tmp_path, monkeypatch):
    (tmp_path / "g.nt").write_text("<urn:a> <urn:b> <urn:c> .\n")
    with faulty(load_store([tmp_path / "g.nt"])) as proxy:
        monkeypatch.setenv("HTTP_PROXY", proxy.address)
        graph = SparqlGraph("http://kg.invalid/sparql")
        assert graph.client.rows("SELECT ?s WHERE { ?s ?p ?o }")
        assert len(proxy.forms) == 1


@pytest.mark.parametrize("name", ["kg.invalid", ".invalid", "x.example, kg.invalid", "*"])
def test_a_host_in_no_proxy_is_asked_itself(name, monkeypatch):
    with serving() as proxy:
        monkeypatch.setenv("HTTP_PROXY", proxy.url)
        assert get("http://kg.invalid/", 5.0).text == "ok"
        monkeypatch.setenv("NO_PROXY", name)
        with pytest.raises(NoReply) as failed:
            get("http://kg.invalid/", 5.0)
        assert not failed.value.sent and proxy.paths == ["http://kg.invalid/"]


def test_this_machine_is_asked_without_a_proxy(monkeypatch):
    monkeypatch.setenv("ALL_PROXY", NOWHERE)
    with serving() as server:
        assert get(server.url, 5.0).text == "ok"
        assert get(server.url.replace("127.0.0.1", "localhost"), 5.0).text == "ok"


@pytest.mark.parametrize("proxy", ["gopher://user:secret@p.example:70", "http://p:port"])
def test_a_proxy_that_is_none_is_said_in_one_line(proxy, monkeypatch):
    monkeypatch.setenv("HTTP_PROXY", proxy)
    with pytest.raises(UserError, match=r"the proxy of the environment .* NO_PROXY") as error:
        get("http://kg.invalid/", 5.0)
    assert "secret" not in str(error.value)


def test_a_redirect_is_followed_by_a_download_alone(tmp_path):
    with serving() as server, serving() as other:
        server.moved = {"/a": "/b", "/b": f"{other.url}/c"}
        assert get(f"{server.url}/a", 5.0).status == 302 and other.paths == []
        download(f"{server.url}/a", tmp_path / "file", 10)
        assert (tmp_path / "file").read_bytes() == b"ok" and other.paths == ["/c"]
        with pytest.raises(TooLarge):
            download(f"{server.url}/a", tmp_path / "file", 1)
        server.moved = {"/a": "/a"}
        with pytest.raises(NoReply, match="5 redirects"):
            download(f"{server.url}/a", tmp_path / "file", 10)
        server.moved = {"/a": "file:///etc/hostname"}
        with pytest.raises(UserError, match="not an http"):
            download(f"{server.url}/a", tmp_path / "file", 10)


@pytest.mark.parametrize(
    ("headers", "least", "most"),
    [
        ({"retry-after": "7"}, 7, 7),
        ({"retry-after": "0.5", "retry-after-ms": "20"}, 0.02, 0.02),
        ({"retry-after": formatdate(time.time() + 9000, usegmt=True)}, 500, 9001),
        ({"retry-after": formatdate(0, usegmt=True)}, 0, 0),
        ({"retry-after": "9" * 400}, 0, 0),
        ({"retry-after": "-3"}, 0, 0),
        ({"retry-after": "soon"}, 0, 0),
        ({"retry-after": "\u00b2"}, 0, 0),
        ({}, 0, 0),
    ],
)
def test_a_wait_is_asked_for_in_seconds_or_by_a_date(headers, least, most):
    assert least <= HttpReply(503, headers, b"").retry_after_s <= most


def test_waits_double_to_a_limit_and_never_end_before_the_server_asks():
    backoff = Backoff(1.0, 10.0, 300.0)
    for failures, most in ((1, 1), (2, 2), (4, 8), (5, 10), (5000, 10)):
        assert most / 2 <= backoff.pause(failures) <= most
    assert backoff.pause(1, 60.0) == 60 and backoff.pause(1, 9999.0) == 300


def test_threads_share_a_client_that_starts_none_and_keeps_its_connections():
    with serving() as server:
        client, before = Client(server.url, 30.0), threading.active_count()
        with ThreadPoolExecutor(4) as pool:
            answers = list(pool.map(lambda _: client.send("GET", server.url).text, range(24)))
        assert answers == ["ok"] * 24 and len(server.peers) <= 4
        client.send("GET", server.url)
        assert threading.active_count() - before <= 4 + 1  # those of the server
        assert len(server.peers) <= 4 and client.losses == 0


def test_a_forked_process_opens_its_own_connection():
    with serving() as server:
        client = Client(server.url, 30.0)
        client.send("GET", server.url)
        if not (child := os.fork()):
            os._exit(client.send("GET", server.url).text != "ok")
        assert os.waitpid(child, 0)[1] == 0
        client.send("GET", server.url)
        assert len(server.peers) == 2


def test_a_kept_connection_that_was_closed_is_counted_as_lost_and_replaced():
    with serving() as server:
        client = Client(server.url, 30.0, resends=True)
        client.send("GET", f"{server.url}/last")
        assert client.send("GET", server.url).text == "ok"
        assert client.losses == 1 and len(server.peers) == 2


def test_without_the_library_its_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "httpx", None)
    http.load_httpx.cache_clear()
    with pytest.raises(UserError, match=r"HTTP needs httpx: pip install .*\[api\]"):
        get(NOWHERE, 1.0)
