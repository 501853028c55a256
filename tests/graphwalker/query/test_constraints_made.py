"""Constrained questions of a made world: sampled, worded, solved, verified, and searched for."""

import copy
from collections import Counter

import pytest

from data_pipeline.config import ExpertConfig, SynthConfig
from data_pipeline.experts.experts import make_experts
from data_pipeline.seeds.seeds import Seeds
from data_pipeline.synthesize import make_walks, synthesize
from data_pipeline.verification.verify import verify_file
from data_pipeline.walks.constrained import sample_three
from data_pipeline.walks.sampler import Walk, Walker, WalkRules, walk_rng
from graphwalker.errors import UserError
from graphwalker.files import read_jsonl, write_jsonl
from graphwalker.graphs.memory import MemoryGraph
from graphwalker.graphs.open import open_graph
from graphwalker.query.constraint import CONSTRAINED
from graphwalker.query.query import execute, sub_queries
from graphwalker.world.generate import make_world
from support.backends import compiled_tsv
from support.oxigraph import load_store, node_id
from support.toy import toy_graph

MIX: dict[str, float] = dict.fromkeys((c for c in CONSTRAINED if c != "type"), 1.0)
"""The made world has types, but no relation of it leads to things of two."""


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    out = tmp_path_factory.mktemp("world")
    make_world(1500, 0, out)
    return out


@pytest.fixture(scope="module")
def made(world, tmp_path_factory):
    out = tmp_path_factory.mktemp("made")
    synthesize(world / "graph", SynthConfig(count=24, mix=MIX, sparql=True), out)
    return out


def records(made, name):
    return list(read_jsonl(made / f"{name}.jsonl"))


@pytest.mark.parametrize("name", ["walks", "questions", "graphsynth"])
def test_every_record_holds(name, made, world):
    verdict = verify_file(open_graph(world / "graph"), made / f"{name}.jsonl", 5)
    assert (verdict.failed, verdict.first) == (0, [])


def test_the_sparql_of_every_record_gives_its_answers(made, world):
    store = load_store(sorted(world.glob("*.nt*")))
    for record in records(made, "questions"):
        found = {node_id(row["x"]) for row in store.query(record["query"]["sparql"])}
        assert found == {answer["id"] for answer in record["answers"]}, record["question"]


@pytest.mark.long
def test_the_same_seed_makes_the_same_walks(made, world, tmp_path):
    config = SynthConfig(count=24, mix=MIX, sparql=True, workers=2)
    synthesize(world / "graph", config, tmp_path)
    for name in ("walks", "questions", "graphsynth", "dropped"):
        assert (tmp_path / f"{name}.jsonl").read_bytes() == (made / f"{name}.jsonl").read_bytes()


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        ({"operator": "lowest"}, "answers differ"),
        (None, "answers differ"),
        ({"operator": "about"}, "malformed"),
        ({"relation": "a.b.c"}, "relation unknown"),
    ],
)
def test_a_damaged_constraint_is_named(damage, reason, made, world, tmp_path):
    clear = ("highest", "above")
    record = copy.deepcopy(
        next(r for r in records(made, "questions") if r["query"]["constraint"]["operator"] in clear)
    )
    if damage:
        record["query"]["constraint"] |= damage
    else:
        del record["query"]["constraint"]
    write_jsonl(tmp_path / "one.jsonl", [record])
    verdict = verify_file(open_graph(world / "graph"), tmp_path / "one.jsonl")
    assert dict(verdict.reasons) == {reason: 1}


def test_an_expert_finds_the_values_too(made, world, tmp_path):
    config = ExpertConfig(count=8, mix=MIX, error_rate=0.5)
    card = make_experts(world / "graph", config, made / "questions.jsonl", tmp_path)
    assert card["structures"] == dict.fromkeys(sorted(MIX), 2)


def test_a_graph_without_values_refuses_the_mix_in_one_line(tmp_path):
    compiled_tsv(tmp_path, [("m.a", "x.y.z", "m.b")], {"m.a": "Ann", "m.b": "Bob"})
    config = SynthConfig(count=2, mix={"2I": 1, "date": 1})
    with pytest.raises(UserError, match=r"^mix.date: this graph has no dates or numbers"):
        make_walks(tmp_path / "graph", config, tmp_path / "out")


def _meeting():
    """Three topics with three ends each: every two share two, all three share one."""
    ends = {"t1": "mxy", "t2": "mxz", "t3": "myz"}
    facts = [(f"m.{t}", f"r.r.{t}", f"m.{e}") for t, found in ends.items() for e in found]
    return MemoryGraph(facts, {f"m.{n}": n.upper() for n in ("t1", "t2", "t3", *"mxyz")}, {})


@pytest.mark.parametrize("graph", [_meeting(), toy_graph()])
def test_no_branch_of_three_is_needless(graph):
    walker = Walker(graph, Seeds(graph), WalkRules())
    found = [sample_three(walker, walk_rng(0, "3I", i), frozenset()) for i in range(40)]
    walks = [walk for walk in found if isinstance(walk, Walk)]
    assert walks or graph.name("m.0ada")
    for walk in walks:
        answers = set(execute(graph, walk.query).answers)
        assert walk.visited[0][-1] in answers
        for part in sub_queries(walk.query):
            assert set(execute(graph, part).answers) > answers


def test_the_mix_is_exact(made):
    assert Counter(r["structure"] for r in records(made, "questions")) == dict.fromkeys(MIX, 6)
