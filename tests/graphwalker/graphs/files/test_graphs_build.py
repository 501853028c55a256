"""Building a graph: what the readers accept, what they skip, and what stops them."""

import gzip
from pathlib import Path

import pytest

from graphwalker.errors import UserError
from graphwalker.graphs.base import Direction, Entity
from graphwalker.graphs.build.build import build_graph
from graphwalker.graphs.compiled.graph import CompiledGraph
from graphwalker.graphs.compiled.properties import open_compiled
from graphwalker.graphs.intake import sorter
from graphwalker.graphs.literals import is_literal, literal_id
from support.toy import TOY_NAMES, TOY_TRIPLES, TOY_TYPES

NS = "http://rdf.freebase.com/ns/"
LABEL = "http://www.w3.org/2000/01/rdf-schema#label"
GOOD = "m.1\ta.b.c\tm.2\n"


def put(path: Path, text: str) -> Path:
    data = text.encode()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


def build(tmp_path: Path, *files: Path, **options) -> CompiledGraph:
    build_graph(files, tmp_path / "graph", **options)
    return open_compiled(tmp_path / "graph")


def ntriples() -> str:
    """The toy graph as N-Triples, names and types among the triples."""
    iri = "<" + NS + "{}>"
    facts = [(h, r, t if is_literal(t) else iri.format(t)) for h, r, t in TOY_TRIPLES]
    facts += [(i, "type.object.name", literal_id(n, "@en")) for i, n in TOY_NAMES.items()]
    facts += [(i, "type.object.type", iri.format(t)) for i in TOY_TYPES for t in TOY_TYPES[i]]
    return "".join(f"{iri.format(h)} {iri.format(r)} {t} .\n" for h, r, t in facts)


def toy_tsv(tmp_path: Path) -> CompiledGraph:
    facts = put(tmp_path / "t.tsv", "".join("\t".join(fact) + "\n" for fact in TOY_TRIPLES))
    names = "".join(f"{i}\t{n}\tmore\n" for i, n in TOY_NAMES.items())
    types = "".join(f"{i}\t{t}\n" for i in TOY_TYPES for t in TOY_TYPES[i])
    return build(
        tmp_path,
        facts,
        names=put(tmp_path / "n.tsv.gz", f"mid\tname\tmore\n{names}"),
        types=put(tmp_path / "y.tsv", f"id\ttype\n{types}"),
    )


@pytest.mark.parametrize("name", ["toy.nt", "freebase-rdf-latest.gz"])
def test_ntriples_and_tsv_give_the_same_graph(tmp_path: Path, name: str) -> None:
    graph = build(tmp_path, put(tmp_path / name, ntriples()))
    assert graph.checksum == toy_tsv(tmp_path).checksum


def test_english_names_are_preferred_then_a_names_file_wins(tmp_path: Path) -> None:
    names = ['"Wien"@de', '"Vindobona"', '"Vienna"@en', '"Vienna, AU"@en-GB', '"Wiener"@en']
    lines = [f"<{NS}m.1> <{NS}type.object.name> {name} .\n" for name in names]
    lines += [f"<{NS}m.2> <{LABEL}> {name} .\n" for name in names[:2]]
    lines += [f"<{NS}m.1> <{NS}a.b.c> <{NS}m.2> .\n"]
    path = put(tmp_path / "t.nt", "".join(lines))
    graph = build(tmp_path, path)
    assert (graph.name("m.1"), graph.name("m.2")) == ("Vienna", "Vindobona")
    assert graph.info()["triples"] == 1
    assert build(tmp_path, path, names=put(tmp_path / "n.tsv", "m.1\tBeč\n")).name("m.1") == "Beč"


def test_names_keep_newlines_quotes_and_trailing_spaces(tmp_path: Path) -> None:
    name = 'two\nlines, "quoted" \\ and \tspaced '
    text = f"<{NS}m.1> <{LABEL}> {literal_id(name, '@en')} .\n<{NS}m.1> <{NS}a.b.c> <{NS}m.2> .\n"
    graph = build(tmp_path, put(tmp_path / "t.nt", text))
    assert graph.resolve(name) == [Entity("m.1", name)]


def test_too_little_memory_says_what_to_raise(tmp_path: Path) -> None:
    path = put(tmp_path / "t.tsv", "".join(f"m.{i}\ta.b.c\tm.{i}x\n" for i in range(500)))
    with pytest.raises(UserError, match="memory_limit"):
        build(tmp_path, path, memory_limit="1MB")


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("t.tsv", b"", "no triples"),
        ("t.nt", GOOD.encode(), "no triples.*not an N-Triples line"),
        ("t.tsv.gz", gzip.compress(GOOD.encode() * 9, mtime=0)[:-12], "damaged file"),
        ("t.nt.gz", gzip.compress(GOOD.encode(), mtime=0)[:15], "damaged file"),
    ],
)
def test_a_file_that_is_not_what_it_seems_is_named(
    tmp_path: Path, name: str, data: bytes, message: str
) -> None:
    (tmp_path / name).write_bytes(data)
    with pytest.raises(UserError, match=rf"{name}: {message}|{name}: .*{message}"):
        build_graph([tmp_path / name], tmp_path / "graph")
    assert not (tmp_path / "graph").exists()


def test_missing_files_and_bad_settings_are_named(tmp_path: Path) -> None:
    good = put(tmp_path / "t.tsv", GOOD)
    with pytest.raises(UserError, match=r"none\.tsv: no such file"):
        build_graph([tmp_path / "none.tsv"], tmp_path / "graph")
    with pytest.raises(UserError, match=r"names\.tsv: no such file"):
        build_graph([good], tmp_path / "graph", names=tmp_path / "names.tsv")
    with pytest.raises(UserError, match=r"t\.tsv: is a file"):
        build_graph([good], good)
    with pytest.raises(UserError, match="memory_limit='lots'"):
        build_graph([good], tmp_path / "graph", memory_limit="lots")
    with pytest.raises(UserError, match="no file of triples"):
        build_graph([], tmp_path / "graph")


def test_a_graph_in_use_can_be_replaced(tmp_path: Path) -> None:
    path = put(tmp_path / "t.tsv", GOOD)
    old = build(tmp_path, path)
    new = build(tmp_path, put(path, "m.1\ta.b.c\tm.9\n"))
    assert [e.id for e in old.neighbors("m.1", "a.b.c", Direction.OUT)] == ["m.2"]
    assert [e.id for e in new.neighbors("m.1", "a.b.c", Direction.OUT)] == ["m.9"]


def test_a_hub_beyond_one_chunk_of_rows_is_whole_and_in_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sorter, "CHUNK_ROWS", 1000)
    lines = [f"m.{i:06x}\ta.b.c\tm.hub\nm.{i:06x}\ta.b.d\tm.{i % 77:06x}\n" for i in range(20_000)]
    graph = build(tmp_path, put(tmp_path / "big.tsv", "".join(lines)), memory_limit="500MB")
    assert graph.relations("m.hub", Direction.IN) == [("a.b.c", 20_000)]
    found = [e.id for e in graph.neighbors("m.hub", "a.b.c", Direction.IN)]
    assert found == [f"m.{i:06x}" for i in range(20_000)]
    assert graph.count("m.000001", "a.b.d", Direction.IN) == 260


def test_malformed_lines_are_skipped_counted_and_named(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = put(tmp_path / "t.tsv", f'{GOOD}only\ttwo\n\n"x"\ta.b.c\tm.1\nm.1\ta.b.c\t"x\n')
    path.write_bytes(path.read_bytes() + b"\xff\ta.b.c\tm.3\r\nm.1\ta.b.c\tm.3\r\n")
    info = build_graph([path], tmp_path / "graph")
    assert (info["malformed"], info["triples"]) == (4, 2)
    assert [r.message.split(": ")[0] for r in caplog.records] == [
        f"skipped {path}:{line}" for line in (2, 4, 5, 6)
    ]
