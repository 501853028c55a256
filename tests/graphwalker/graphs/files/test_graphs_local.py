"""A graph copied to a node's own disk: once, whole, and anew when it has changed."""

import os

import pytest

from graphwalker.errors import UserError
from graphwalker.graphs.build.build import build_graph
from graphwalker.graphs.compiled.local import local_copy
from graphwalker.graphs.open import open_graph
from support.backends import write
from support.toy import TOY_NAMES, TOY_TRIPLES, TOY_TYPES


@pytest.fixture
def graph(tmp_path):
    build_graph([write(tmp_path / "source", TOY_TRIPLES, TOY_NAMES, TOY_TYPES)], tmp_path / "graph")
    return tmp_path / "graph"


def test_it_is_copied_once_and_anew_when_it_has_changed(graph, tmp_path, monkeypatch):
    monkeypatch.setenv("GRAPHWALKER_LOCAL_DISK", str(tmp_path / "disk"))
    opened = open_graph(graph)
    assert opened.path is not None and str(opened.path).startswith(str(tmp_path / "disk"))
    first = local_copy(graph)
    assert first == local_copy(graph) and (first / "build.json").is_file()
    assert (first / "graph.gwk").read_bytes() == (graph / "graph.gwk").read_bytes()
    os.utime(graph / "graph.gwk", ns=(1, 1))
    assert local_copy(graph) != first


def test_a_disk_that_cannot_be_written_is_named(graph, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("GRAPHWALKER_LOCAL_DISK", str(tmp_path / "file"))
    with pytest.raises(UserError, match=r"GRAPHWALKER_LOCAL_DISK=.*cannot be copied there"):
        local_copy(graph)
