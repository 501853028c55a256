"""Synthesis through the command line on any graph: one's own backend, IRIs, words as relations."""

import random
from pathlib import Path

import pytest
from typer.testing import CliRunner

from graphwalker.cli.app import app
from graphwalker.files import read_jsonl

MODULE = """
import networkx

from graphwalker.graphs.base import Direction, Entity, KnowledgeGraph


def facts():
    return [tuple(line.rstrip().split("\\t")) for line in open("facts.tsv")]


def make():
    graph = networkx.MultiDiGraph()
    for head, relation, tail in facts():
        graph.add_edge(head, tail, key=relation)
    return graph


class Dicts(KnowledgeGraph):
    def __init__(self):
        self.facts = facts()
        self.ids = sorted({end for head, _, tail in self.facts for end in (head, tail)})
        self.size = len(self.ids)

    def resolve(self, name):
        return [Entity(name, name)] if name in self.ids else []

    def name(self, entity_id):
        return entity_id if entity_id in self.ids else ""

    def relations(self, entity_id, direction):
        near = 0 if direction is Direction.OUT else 2
        found = [fact[1] for fact in self.facts if fact[near] == entity_id]
        return [(relation, found.count(relation)) for relation in sorted(set(found))]

    def neighbors(self, entity_id, relation, direction, limit=None):
        near, far = (0, 2) if direction is Direction.OUT else (2, 0)
        ends = {fact[far] for fact in self.facts if (fact[near], fact[1]) == (entity_id, relation)}
        return [Entity(end, end) for end in sorted(ends)][:limit]

    def entity_at(self, index):
        return Entity(self.ids[index], self.ids[index])

    def relation_ids(self):
        return sorted({relation for _, relation, _ in self.facts})
"""

RELATIONS = ("http://ex.org/rel#knows", "http://ex.org/rel/locatedIn", "urn:x:part of", "in", "to")


def facts() -> list[tuple[str, str, str]]:
    rng = random.Random(0)
    drawn = (rng.sample(range(100), 2) for _ in range(330))
    return sorted({(f"Place {a}", rng.choice(RELATIONS), f"Place {b}") for a, b in drawn})


def run(*arguments: str) -> str:
    result = CliRunner().invoke(app, list(arguments))
    assert result.exit_code == 0, (result.output, result.exception)
    return result.output


def made(graph: str, out: str, *more: str) -> list[dict]:
    run("synth", "--graph", graph, "--count", "8", "--out", out, *more)
    return list(read_jsonl(Path(out) / "graphsynth.jsonl"))


@pytest.mark.long
def test_every_command_takes_a_graph_of_one_s_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("facts.tsv").write_text("".join("\t".join(fact) + "\n" for fact in facts()))
    Path("own_graph.py").write_text(MODULE)
    run("graph", "build", "--triples", "facts.tsv", "--out", "built")
    records = made("built", "compiled")
    assert len(records) == 8
    assert made("own_graph:make", "networkx") == records == made("own_graph:Dicts", "dicts")
    assert "all 8 records hold" in run(
        "verify", "dicts/graphsynth.jsonl", "--graph", "own_graph:make"
    )
    own = ("--graph", "own_graph:Dicts", "--count", "3", "--out")
    run("questions", *own, "q")
    run("filter", "--graph", "own_graph:Dicts", "--questions", "q/questions.jsonl", "--out", "f")
    run("experts", *own, "e", "--questions", "dicts/questions.jsonl", "mix={}")
    run("walk", *own, "w")
    run("bench", *own, "b")
