"""Building a graph: what the readers accept, what they skip, and what stops them."""

import gzip

import pytest

from graphwalker.errors import UserError
from graphwalker.graphs.base import Direction, Entity
from graphwalker.graphs.build.build import build_graph
from graphwalker.graphs.intake import sorter
from graphwalker.graphs.literals import literal_id
from support.built import built
from support.built import put as write
from support.toy import TOY_NAMES, TOY_TRIPLES, TOY_TYPES

NS = "http://rdf.freebase.com/ns/"
LABEL = "http://www.w3.org/2000/01/rdf-schema#label"
GOOD = "m.1\ta.b.c\tm.2\n"


def put(path, text):
    return write(path.parent, **{path.name: text})[0]


def build(tmp_path, *files, **options):
    return built(tmp_path / "graph", *files, **options)[1]


@pytest.mark.parametrize("name", ["toy.nt", "freebase-rdf-latest.gz"])
def test_ntriples_and_tsv_give_the_same_graph(tmp_path, toy_lines, name):
    graph = build(tmp_path, put(tmp_path / name, toy_lines.read_text()))
    facts = put(tmp_path / "t.tsv", "".join("\t".join(fact) + "\n" for fact in TOY_TRIPLES))
    rows = "".join(f"{i}\t{n}\tmore\n" for i, n in TOY_NAMES.items())
    names = put(tmp_path / "n.tsv.gz", f"mid\tname\tmore\n{rows}")
    rows = "".join(f"{i}\t{t}\n" for i in TOY_TYPES for t in TOY_TYPES[i])
    types = put(tmp_path / "y.tsv", f"id\ttype\n{rows}")
    assert graph.checksum == build(tmp_path, facts, names=names, types=types).checksum


def test_english_names_are_preferred_then_a_names_file_wins(tmp_path):
    names = ['"Wien"@de', '"Vindobona"', '"Vienna"@en', '"Vienna, AU"@en-GB', '"Wiener"@en']
    lines = [f"<{NS}m.1> <{NS}type.object.name> {name} .\n" for name in names]
    lines += [f"<{NS}m.2> <{LABEL}> {name} .\n" for name in names[:2]]
    lines += [f"<{NS}m.1> <{NS}a.b.c> <{NS}m.2> .\n"]
    path = put(tmp_path / "t.nt", "".join(lines))
    graph = build(tmp_path, path)
    assert (graph.name("m.1"), graph.name("m.2")) == ("Vienna", "Vindobona")
    assert graph.info()["triples"] == 1
    assert build(tmp_path, path, names=put(tmp_path / "n.tsv", "m.1\tBeč\n")).name("m.1") == "Beč"


def test_names_keep_newlines_quotes_and_trailing_spaces(tmp_path):
    name = 'two\nlines, "quoted" \\ and \tspaced '
    text = f"<{NS}m.1> <{LABEL}> {literal_id(name, '@en')} .\n<{NS}m.1> <{NS}a.b.c> <{NS}m.2> .\n"
    graph = build(tmp_path, put(tmp_path / "t.nt", text))
    assert graph.resolve(name) == [Entity("m.1", name)]


def test_too_little_memory_says_what_to_raise(tmp_path):
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
def test_a_file_that_is_not_what_it_seems_is_named(tmp_path, name, data, message):
    (tmp_path / name).write_bytes(data)
    with pytest.raises(UserError, match=rf"{name}: (.*: )?.*{message}"):
        build_graph([tmp_path / name], tmp_path / "graph")
    assert not (tmp_path / "graph").exists()


def test_missing_files_and_bad_settings_are_named(tmp_path):
    good, out = put(tmp_path / "t.tsv", GOOD), tmp_path / "graph"
    for files, place, options, told in (
        ([tmp_path / "none.tsv"], out, {}, r"none\.tsv: no such file"),
        ([good], out, {"names": tmp_path / "names.tsv"}, r"names\.tsv: no such file"),
        ([good], good, {}, r"t\.tsv: is a file"),
        ([good], out, {"memory_limit": "lots"}, "memory_limit='lots'"),
        ([], out, {}, "no file of triples"),
    ):
        with pytest.raises(UserError, match=told):
            build_graph(files, place, **options)


def test_a_graph_in_use_can_be_replaced(tmp_path):
    path = put(tmp_path / "t.tsv", GOOD)
    old = build(tmp_path, path)
    new = build(tmp_path, put(path, "m.1\ta.b.c\tm.9\n"))
    assert [e.id for e in old.neighbors("m.1", "a.b.c", Direction.OUT)] == ["m.2"]
    assert [e.id for e in new.neighbors("m.1", "a.b.c", Direction.OUT)] == ["m.9"]


def test_a_hub_beyond_one_chunk_of_rows_is_whole_and_in_order(tmp_path, monkeypatch):
    monkeypatch.setattr(sorter, "CHUNK_ROWS", 1000)
    lines = [f"m.{i:06x}\ta.b.c\tm.hub\nm.{i:06x}\ta.b.d\tm.{i % 77:06x}\n" for i in range(20_000)]
    graph = build(tmp_path, put(tmp_path / "big.tsv", "".join(lines)), memory_limit="500MB")
    assert graph.relations("m.hub", Direction.IN) == [("a.b.c", 20_000)]
    found = [e.id for e in graph.neighbors("m.hub", "a.b.c", Direction.IN)]
    assert found == [f"m.{i:06x}" for i in range(20_000)]
    assert graph.count("m.000001", "a.b.d", Direction.IN) == 260


BAD = (
    b'm.1\ta.b.c\tm.2\nm.1\ta.b.\xff\tm.3\nm.1\ta.b.c\n\nm.1\ta.b.c\t"cut\n'
    b'm.1\ta.b.c\t"odd \\q"\n"x"\ta.b.c\tm.1\nm.1\ta.b.c\tm.4\r\n'
)


def test_rejected_lines_stand_in_a_file_with_their_place_and_reason(tmp_path, caplog):
    (path := tmp_path / "t.tsv").write_bytes(BAD)
    info = build_graph([path], tmp_path / "graph")
    assert (info["malformed"], info["triples"]) == (5, 2)
    head, *lines = (tmp_path / "graph" / "rejects.tsv").read_text().splitlines()
    assert head == "file\tline\treason\ttext"
    places = [[str(path), line] for line in "23567"]
    assert [line.split("\t")[:2] for line in lines] == places
    why = ["not UTF-8 text (invalid start byte); save the file as UTF-8", "m.1\\ta.b.\\\\xff\\tm.3"]
    assert lines[0].split("\t")[2:] == why
    told = [record.message.split(": ")[0] for record in caplog.records]
    assert told == [f"skipped {place}:{line}" for place, line in places]


def test_the_limit_of_malformed_lines_can_be_set_and_their_file_stays(tmp_path):
    (path := tmp_path / "t.tsv").write_bytes(BAD)
    out, rejects = tmp_path / "graph", tmp_path / "bad.tsv"
    with pytest.raises(UserError, match=r"t\.tsv:6: .*more than 3 malformed lines.*t\.tsv:2: "):
        build_graph([path], out, max_malformed=3, rejects=rejects)
    assert len(rejects.read_text().splitlines()) == 5 and not out.exists()
    assert build_graph([path], out, max_malformed=5, rejects=rejects)["triples"] == 2
