"""Ids beyond the memory limit, and reading by several processes: the same bytes."""

import hashlib
import random
from pathlib import Path

import pytest

from benchmarks.freebase_build import lines_of
from graphwalker.errors import UserError
from graphwalker.graphs.build.build import build_graph
from graphwalker.graphs.compiled.check import check_graph
from graphwalker.graphs.compiled.properties import open_compiled
from graphwalker.graphs.intake import blocks, intake
from graphwalker.graphs.intake.filters import Filters, dump_filters
from graphwalker.graphs.intake.sorter import Sorter
from graphwalker.graphs.names import names_nothing

NODES = 30_000
SMALL = "32MB"
"""DuckDB may have 19 MiB of it, mentions of nodes take 60 MiB; with less its own blocks do not
fit."""


def node(number):
    digest = hashlib.sha512(str(number).encode()).hexdigest()
    return f"http://example.org/{3 * digest}"[:400]


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Triples, names and types; a hub, literals of many bytes, nodes that only types mention."""
    folder, draws = tmp_path_factory.mktemp("long"), random.Random(0)
    facts = [
        (node(number), f"r{number % 7}", node(draws.randrange(NODES))) for number in range(NODES)
    ]
    facts += [(node(draws.randrange(NODES)), "hub", node(7)) for _ in range(3000)]
    facts += [(node(number), "text", f'"{number} {"word " * 90}"') for number in range(2000)]
    names = [(node(number), f"Name {number}") for number in range(0, NODES, 3)]
    types = [(node(number), f"t.{number % 5}") for number in range(100, NODES + 100, 2)]
    paths: list[Path] = []
    for name, rows in (("triples", facts), ("names", names), ("types", types)):
        paths.append(folder / f"{name}.tsv")
        paths[-1].write_text("".join("\t".join(row) + "\n" for row in rows))
    return paths


@pytest.fixture(scope="module")
def whole(files, tmp_path_factory):
    triples, names, types = files
    out = tmp_path_factory.mktemp("whole") / "graph"
    build_graph([triples], out, names, types)
    return out


@pytest.mark.long
def test_ids_of_more_bytes_than_the_limit_give_the_same_file(files, whole, tmp_path, monkeypatch):
    statements: list[str] = []
    run = Sorter.run
    monkeypatch.setattr(
        Sorter, "run", lambda self, sql, **v: (statements.append(sql), run(self, sql, **v))[1]
    )
    triples, names, types = files
    build_graph([triples], tmp_path / "graph", names, types, memory_limit=SMALL)
    assert sum(sql.startswith("INSERT INTO mention ") for sql in statements) > 4
    assert open_compiled(tmp_path / "graph").checksum == open_compiled(whole).checksum


@pytest.mark.long
def test_the_graph_of_the_small_limit_is_right(whole):
    check_graph(whole)
    graph = open_compiled(whole)
    assert graph.name(node(3)) == "Name 3" and names_nothing(graph.name(node(4)))
    assert graph.types(node(102)) == ["t.2"]


ODD = """
# a comment
<NS/m.0a>\t<NS/a.b>\t"x \\"y\\""@en\t.
not a line
<NS/m.0b>\t<NS/type.x>\t"broken"@de
<NS/m.0b>\t<NS/a.b>\t"teuer"@DE-at\t.
<NS/m.0b>\t<NS/a.b>\t"dear"@EN-gb\t.
_:b1\t<NS/a.b>\t<NS/m.0c>\t.""".replace("NS", "http://rdf.freebase.com/ns").split("\n")


@pytest.fixture(scope="module")
def dump(tmp_path_factory):
    """Some thousands of lines of the dump's shape, odd ones strewn in, one of them not UTF-8."""
    draws = random.Random(3)
    lines = [line for number in range(120) for line in lines_of(number, draws, 120)]
    for place, line in enumerate(ODD * 4):
        lines.insert(place * 37 + 11, line)
    path = tmp_path_factory.mktemp("dump") / "dump.nt"
    whole = "\n".join(lines).encode() + b"\n"
    path.write_bytes(whole[:5000].rpartition(b"\n")[0] + b"\n\xff\xfe\n" + whole[5000:])
    return path


@pytest.mark.long
@pytest.mark.parametrize("filters", [Filters(), dump_filters()], ids=["all", "freebase"])
def test_processes_read_what_one_reads(dump, tmp_path, monkeypatch, filters):
    monkeypatch.setattr(blocks, "BLOCK_BYTES", 40_000)
    monkeypatch.setattr(intake, "LEAST_BYTES", 0)
    facts = []
    for workers in (1, 2):
        out = tmp_path / str(workers)
        facts.append(build_graph([dump], out, filters=filters, max_malformed=50, workers=workers))
    keys = ("checksum", "triples", "malformed", "filtered")
    assert [facts[0][key] for key in keys] == [facts[1][key] for key in keys]
    for name in ("graph.gwk", "rejects.tsv"):
        assert (tmp_path / "1" / name).read_bytes() == (tmp_path / "2" / name).read_bytes()
    assert facts[0]["malformed"] == 10 and facts[0]["triples"] > 500


def test_too_many_malformed_lines_stop_processes_too(dump, tmp_path, monkeypatch):
    monkeypatch.setattr(intake, "LEAST_BYTES", 0)
    with pytest.raises(UserError, match=r"dump\.nt:\d+: .*more than 3 malformed lines"):
        build_graph([dump], tmp_path / "out", max_malformed=3, workers=2)
