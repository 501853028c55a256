"""Reading by several processes: the same graph, the same rejected lines, whatever their number."""

import random

import pytest

from benchmarks.freebase_build import lines_of
from graphwalker.errors import UserError
from graphwalker.graphs.build.build import build_graph
from graphwalker.graphs.intake import blocks, intake
from graphwalker.graphs.intake.filters import Filters, dump_filters

ODD = [
    "",
    "# a comment",
    '<http://rdf.freebase.com/ns/m.0a>\t<http://rdf.freebase.com/ns/a.b>\t"x \\"y\\""@en\t.',
    "not a line",
    '<http://rdf.freebase.com/ns/m.0b>\t<http://rdf.freebase.com/ns/type.x>\t"broken"@de',
    '<http://rdf.freebase.com/ns/m.0b>\t<http://rdf.freebase.com/ns/a.b>\t"teuer"@DE-at\t.',
    '<http://rdf.freebase.com/ns/m.0b>\t<http://rdf.freebase.com/ns/a.b>\t"dear"@EN-gb\t.',
    "_:b1\t<http://rdf.freebase.com/ns/a.b>\t<http://rdf.freebase.com/ns/m.0c>\t.",
]


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
