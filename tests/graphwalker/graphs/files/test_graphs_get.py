"""A ready-made graph: fetched over HTTP, checked by its digest, resumed where it was cut short."""

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from graphwalker.errors import GraphWalkerError, UserError
from graphwalker.graphs.build.build import build_graph
from graphwalker.graphs.compiled.fetch import fetch_graph
from graphwalker.graphs.open import open_graph
from support.backends import write
from support.http_server import QuietHandler, listening
from support.toy import TOY_NAMES, TOY_TRIPLES, TOY_TYPES


class Files(QuietHandler):
    """Serves `files`; a cut one breaks off once; ranges are honoured."""

    files: dict[str, bytes] = {}
    cut: set[str] = set()
    asked: list[str] = []

    def do_GET(self) -> None:
        body = self.files.get(self.path)
        if body is None:
            self.send(404, b"")
            return
        first = int((self.headers.get("Range") or "bytes=0-").split("=")[1].rstrip("-"))
        self.asked.append(f"{self.path} from {first}")
        self.send_response(206 if first else 200)
        self.send_header("Content-Length", str(len(body) - first))
        self.end_headers()
        half = self.path in self.cut
        self.cut.discard(self.path)
        self.wfile.write(body[first : len(body) // 2 if half else None])
        self.close_connection = True


@pytest.fixture(scope="module")
def graph(tmp_path_factory) -> bytes:
    folder = tmp_path_factory.mktemp("made")
    build_graph([write(folder / "source", TOY_TRIPLES, TOY_NAMES, TOY_TYPES)], folder / "graph")
    return (folder / "graph" / "graph.gwk").read_bytes()


@pytest.fixture
def server(graph) -> Iterator[str]:
    Files.files, Files.cut, Files.asked = {"/g.gwk": graph}, set(), []
    with listening(Files) as address:
        yield address


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def test_a_graph_is_fetched_and_opens(server, graph, tmp_path):
    found = fetch_graph(f"{server}/g.gwk", tmp_path / "out", digest(graph))
    assert found["triples"] == len(TOY_TRIPLES) or found["triples"] > 0
    assert open_graph(tmp_path / "out").relation_ids()
    asked = len(Files.asked)
    fetch_graph(f"{server}/g.gwk", tmp_path / "out", digest(graph))
    assert len(Files.asked) == asked, "it is here already"


def test_the_digest_may_lie_beside_it_or_in_an_index(server, graph, tmp_path, monkeypatch):
    with pytest.raises(UserError, match="no digest is known"):
        fetch_graph(f"{server}/g.gwk", tmp_path / "a")
    Files.files["/g.gwk.sha256"] = f"{digest(graph)}  g.gwk\n".encode()
    fetch_graph(f"{server}/g.gwk", tmp_path / "a")
    index = tmp_path / "index.json"
    index.write_text(json.dumps({"toy": {"url": f"{server}/g.gwk", "sha256": digest(graph)}}))
    with pytest.raises(UserError, match="GRAPHWALKER_GRAPHS gives"):
        fetch_graph("toy", tmp_path / "b")
    monkeypatch.setenv("GRAPHWALKER_GRAPHS", str(index))
    fetch_graph("toy", tmp_path / "b")
    with pytest.raises(UserError, match=r"not in the index .*; it has: toy"):
        fetch_graph("tyo", tmp_path / "c")


def test_another_digest_keeps_nothing(server, tmp_path):
    with pytest.raises(UserError, match="nothing was kept"):
        fetch_graph(f"{server}/g.gwk", tmp_path / "out", "0" * 64)
    assert not list((tmp_path / "out").glob("*.gwk*"))
    with pytest.raises(UserError, match="no sha256"):
        fetch_graph(f"{server}/g.gwk", tmp_path / "out", "abc")


def test_a_download_that_was_cut_short_resumes(server, graph, tmp_path):
    Files.cut.add("/g.gwk")
    with pytest.raises(GraphWalkerError, match="cut short after"):
        fetch_graph(f"{server}/g.gwk", tmp_path / "out", digest(graph))
    fetch_graph(f"{server}/g.gwk", tmp_path / "out", digest(graph))
    assert (tmp_path / "out" / "graph.gwk").read_bytes() == graph
    assert Files.asked[-1] == f"/g.gwk from {len(graph) // 2}"


def test_a_file_that_is_no_graph_is_refused(server, tmp_path):
    Files.files["/page"] = b"<html>" * 2000
    with pytest.raises(GraphWalkerError):
        fetch_graph(f"{server}/page", tmp_path / "out", digest(b"<html>" * 2000))
    assert not (tmp_path / "out" / "graph.gwk").exists()
    with pytest.raises(GraphWalkerError, match="Not Found"):
        fetch_graph(f"{server}/none", tmp_path / "out", "0" * 64)


def test_a_file_on_this_machine_is_taken_too(graph, tmp_path):
    path = tmp_path / "made.gwk"
    path.write_bytes(graph)
    fetch_graph(str(path), tmp_path / "out", digest(graph))
    assert Path(tmp_path / "out" / "graph.gwk").read_bytes() == graph
