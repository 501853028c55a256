"""Walks drawn ahead: what they find may be asked, and a run that turns to them has one outcome."""

import shutil
from pathlib import Path

import pytest

from data_pipeline.attempts import open_maker
from data_pipeline.config import SynthConfig
from data_pipeline.jobs import yields
from data_pipeline.jobs.yields import Stream, Yields
from data_pipeline.outcomes import Drop, SampledWalk
from data_pipeline.synthesize import WALKS, make_walks
from data_pipeline.verification.verify import verify_file
from data_pipeline.walks import lookahead
from graphwalker.graphs.compiled.graph import CompiledGraph
from graphwalker.graphs.open import open_graph
from graphwalker.query.query import execute

CONFIG = SynthConfig(count=60, mix={"4-hop": 1, "2I": 1})
FILES = (WALKS, "dropped.jsonl", "datacard.json")


@pytest.fixture(autouse=True)
def soon(monkeypatch) -> None:
    """A few attempts are enough to call a structure poor."""
    monkeypatch.setattr(yields, "WINDOW", 10)
    monkeypatch.setattr(yields, "KEPT", 9)
    monkeypatch.setattr(yields, "LOST", 10)
    monkeypatch.setattr(yields, "FULL", 2)


@pytest.fixture
def run(graph, tmp_path) -> Path:
    make_walks(graph, CONFIG, tmp_path / "run")
    verdict = verify_file(open_graph(graph), tmp_path / "run" / WALKS)
    assert (verdict.records, verdict.failed) == (60, 0)
    return tmp_path / "run"


def drawn(graph: Path, structure: str, avoided: frozenset[str] = frozenset()) -> list[SampledWalk]:
    maker = open_maker(graph, SynthConfig())
    stream = str(Stream(structure, level=0))
    found = [maker.sample(stream, number, avoided) for number in range(20)]
    return [one for one in found if not isinstance(one, Drop)]


@pytest.mark.parametrize("small", [lookahead.SMALL, 0])
@pytest.mark.parametrize("structure", ["2-hop", "4-hop"])
def test_what_is_drawn_ahead_may_be_asked(graph, monkeypatch, small, structure):
    monkeypatch.setattr(lookahead, "SMALL", small)
    opened, found = open_graph(graph), drawn(graph, structure)
    assert len(found) > 15
    for one in found:
        assert one.walk.structure == structure and execute(opened, one.walk.query) == one.run
        assert one.run and one.run.widest <= 5


@pytest.mark.parametrize("looks", [lookahead.LOOKS, 5])
def test_entities_that_are_passed_without_a_listing_change_no_walk(graph, monkeypatch, looks):
    """A look at them counts as it did: five looks are few enough for that to matter."""
    monkeypatch.setattr(lookahead, "SMALL", 0)
    monkeypatch.setattr(lookahead, "LOOKS", looks)
    passed = list[str]()
    offers = CompiledGraph._offers

    def noting(self, sides, entity_id):
        found = offers(self, sides, entity_id)
        passed.extend([] if found else [entity_id])
        return found

    monkeypatch.setattr(CompiledGraph, "_offers", noting)
    avoided = frozenset(drawn(graph, "4-hop")[0].walk.query.relations)
    found = drawn(graph, "4-hop", avoided)
    assert found and passed
    monkeypatch.setattr(CompiledGraph, "_offers", lambda *_: True)
    assert drawn(graph, "4-hop", avoided) == found


def test_a_poor_structure_is_drawn_ahead_a_rich_one_is_not():
    found = Yields(["4-hop", "2I"], 3, 1000, {"4-hop"})
    for number in range(11):
        found.add("4-hop", number, "" if number < 5 else "shortcut")
        found.add("2I", number, "" if number < 5 else "shortcut")
    assert (found.stream("4-hop"), found.stream("2I")) == ("4-hop+0", "2I")
    for number in range(2):
        found.add("4-hop+0", number, "relation_share")
    assert found.stream("4-hop") == "4-hop+1"


@pytest.mark.long
@pytest.mark.parametrize("share", [0.3, 0.6, 0.9])
def test_a_run_that_looks_ahead_is_resumed(graph, run, tmp_path, share):
    cut = tmp_path / "cut"
    shutil.copytree(run, cut)
    (cut / "datacard.json").unlink()
    lines = (cut / "attempts.jsonl").read_text().splitlines(keepends=True)
    (cut / "attempts.jsonl").write_text("".join(lines[: int(share * len(lines))]))
    make_walks(graph, CONFIG, cut)
    assert contents(cut) == contents(run)


def contents(folder: Path) -> list[bytes]:
    return [(folder / name).read_bytes() for name in FILES]
