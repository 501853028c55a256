"""Literals in compressed blocks: what is read is what was written."""

import random
from pathlib import Path

import pytest

from graphwalker.errors import GraphError
from graphwalker.graphs.build.build import build_graph
from graphwalker.graphs.compiled.check import check_graph
from graphwalker.graphs.compiled.graph import CompiledGraph
from graphwalker.graphs.compiled.properties import open_compiled
from graphwalker.graphs.format import texts
from graphwalker.graphs.format.layout import FILE_NAME, Layout, LayoutWriter
from graphwalker.graphs.format.texts import TextBlocks, TextBlockWriter
from graphwalker.graphs.literals import is_literal

STRINGS = [b"", b"a", "schön".encode(), b"x\n\x00y" * 900, b"", b"long " * 5_000, b"end"]


def write_texts(folder: Path, strings: list[bytes]) -> Path:
    writer = LayoutWriter(folder)
    out = TextBlockWriter(writer, "literal")
    out.write(strings[:3])
    out.write(strings[3:])
    out.close()
    writer.finish(folder / FILE_NAME, {})
    return folder


def test_texts_read_what_was_written(tmp_path: Path) -> None:
    found = TextBlocks(Layout(write_texts(tmp_path, STRINGS)), "literal")
    assert len(found) == len(STRINGS)
    places = [*range(len(STRINGS)), 3, 0, 6]
    assert [found[place] for place in places] == [STRINGS[place] for place in places]


def test_no_texts_are_none(tmp_path: Path) -> None:
    assert len(TextBlocks(Layout(write_texts(tmp_path, [])), "literal")) == 0


def test_a_block_that_cannot_be_unpacked_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(texts, "_compress", lambda data, _: b"no" + data)
        folder = write_texts(tmp_path, STRINGS)
    with pytest.raises(ValueError, match="block 0 of texts"):
        TextBlocks(Layout(folder), "literal")[0]


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    draws, path = random.Random(0), tmp_path_factory.mktemp("source") / "t.nt"
    ns = "http://rdf.freebase.com/ns/"
    with path.open("w") as out:
        for n in range(400):
            me = f"<{ns}m.0{n:x}>"
            told = " ".join(draws.choices(("river", "war", "\\n", "k\u00f6nig", "1"), k=40))
            out.write(f'{me} <{ns}type.object.name> "Name {n % 390}"@en .\n')
            out.write(f'{me} <{ns}common.topic.description> "{told} {n}"@en .\n')
            out.write(f'{me} <{ns}a.year> "{1800 + n % 90}" .\n')
            out.write(f"{me} <{ns}a.next> <{ns}m.0{draws.randrange(400):x}> .\n")
    return path


def built(source: Path, out: Path) -> CompiledGraph:
    build_graph([source], out)
    return open_compiled(out)


def test_compressed_literals_are_found_by_number_and_by_id(source: Path, tmp_path: Path) -> None:
    graph = built(source, tmp_path / "graph")
    ids = [graph.node_at(number).id for number in range(len(list(graph._literals)))]
    assert len(ids) > 400 and ids == sorted(ids) and all(map(is_literal, ids))
    assert [graph.node_number(one) for one in ids] == [*range(len(ids))]
    size = Layout(graph.path).section("literal_blocks").bytes
    assert size < sum(map(len, ids)) / 5
    assert check_graph(graph.path)["triples"] == 1_200


def test_literals_that_are_no_texts_are_damage(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(texts, "_compress", lambda data, _: b"no" + data)
    packed = built(source, tmp_path / "packed")
    with pytest.raises(GraphError, match="damaged graph file"):
        packed.node_at(0)
