"""Graphs that others made become questions in English, whatever their form and their backend."""

import random
import tomllib
from pathlib import Path

import pytest

from data_pipeline.config import SynthConfig
from data_pipeline.jobs.shards import Shard
from data_pipeline.merge import merge
from data_pipeline.synthesize import synthesize
from data_pipeline.verification.verify import verify_file
from graphwalker.errors import UserError
from graphwalker.files import read_json, read_jsonl
from graphwalker.graphs.open import open_graph
from support.commands import run
from support.paths import ROOT
from support.poison import refusal

FOLDER = ROOT / "tests" / "data" / "foreign"
FOREIGN = {
    "dbpedia": ["--triples", "dbpedia/dbpedia.nt"],
    "wikidata": ["--triples", "wikidata/wikidata.nt"],
    "company": ["--triples", "company/people.csv", "--triples", "company/companies.csv"],
    "citations": ["--triples", "citations/papers.tsv", "--types", "citations/types.tsv"],
    "neo4j": ["--property", "neo4j/movies.jsonl"],
}
"""Graphs in the forms that other people have, and what `graphwalker graph build` is given."""
FILES = ("walks.jsonl", "questions.jsonl", "graphsynth.jsonl", "dropped.jsonl", "datacard.json")
FEW = {"max_attempts": 400}


@pytest.fixture(scope="module")
def built(tmp_path_factory) -> dict[str, Path]:
    found = {}
    for name, words in FOREIGN.items():
        found[name] = tmp_path_factory.mktemp(name) / "graph"
        words = [word if word.startswith("--") else FOLDER / word for word in words]
        run("graph", "build", *words, "--out", found[name])
    return found


PARTS = {
    "dbpedia": ("birthplace of", "the film", "the university whose city is"),
    "wikidata": (" born", "film", "studied"),
    "company": ("works for", "lives in", "stake in", "the CEO of"),
    "citations": ("the paper", "is affiliated with", "cite"),
    "neo4j": ("the movie", "the person who", "lives in"),
}
"""English that the questions of each graph hold."""


@pytest.mark.long
def test_a_foreign_graph_gives_the_count_asked_for_in_english(built, tmp_path):
    for name, parts in PARTS.items():
        card = synthesize(built[name], SynthConfig(count=50, **FEW), tmp_path / name)
        records = read_jsonl(tmp_path / name / "questions.jsonl")
        texts = " ".join(record["question"] for record in records)
        assert card["count"] == 50, name
        assert "the has" not in texts and "http" not in texts, name
        assert all(part in texts for part in parts), name


@pytest.mark.slow
def test_a_structure_that_a_small_graph_lacks_gives_way_to_the_others(built, tmp_path):
    folders = [tmp_path / name for name in ("one", "two", "shards")]
    graph, config = built["citations"], SynthConfig(count=50, **FEW)
    for folder, workers in zip(folders, (1, 2), strict=False):
        card = synthesize(graph, config.model_copy(update={"workers": workers}), folder)
        assert card["count"] == 50 and card["too_few"]["5-hop"] == {"asked": 2, "made": 0}
    for index in range(2):
        synthesize(graph, config, folders[2], shard=Shard(index, 2))
    merge(graph, folders[2])
    for folder in folders[1:]:
        for file in FILES:
            assert (folder / file).read_bytes() == (folders[0] / file).read_bytes(), (folder, file)


PEOPLE = """person,works_for,livesIn
Ana Albers,Almera,Varnholm
Ben Brandt,Almera;Boreal Foods,Kesterby
Cleo Costa,Boreal Foods,Varnholm
Dario Dahl,Corvia,Kesterby
"""
COMPANIES = """company,headquarteredIn,founded_by
Almera,Varnholm,Cleo Costa
Boreal Foods,Kesterby,Ana Albers
Corvia,Kesterby,Ben Brandt
"""


def test_walks_under_wikidatas_layer_name_its_items_and_its_properties(built, tmp_path):
    layers = {"layers": {"wikidata": True}}
    config = SynthConfig(count=6, mix={"1-hop": 1}, environment=layers, **FEW)
    synthesize(built["wikidata"], config, tmp_path / "a")
    asked = tmp_path / "a" / "questions.jsonl"
    card = synthesize(
        built["wikidata"], config.model_copy(update={"like": str(asked)}), tmp_path / "b"
    )
    assert card["count"] == 6 and card["like"]["seen_1_times"] > 0.5
    hops = [hop for row in read_jsonl(asked) for hop in row["query"]["branches"][0]["hops"]]
    assert all(hop.lstrip("~").startswith("wdt.P") for hop in hops)
    verdict = verify_file(open_graph(built["wikidata"]), tmp_path / "b" / "graphsynth.jsonl")
    assert (verdict.records, verdict.failed) == (6, 0), verdict.first


def test_a_structure_that_was_full_may_give_way_when_it_is_asked_for_more(tmp_path):
    tables = {"people.csv": PEOPLE, "companies.csv": COMPANIES}
    for name, text in tables.items():
        (tmp_path / name).write_text(text)
    named = [word for name in tables for word in ("--triples", tmp_path / name)]
    run("graph", "build", *named, "--out", tmp_path / "graph")
    card = synthesize(tmp_path / "graph", SynthConfig(count=40, max_attempts=40), tmp_path / "s")
    assert card["count"] == 40 and card["structures"]["5-hop"] > 2


def test_own_words_win_over_all_others(built, tmp_path):
    words, graph = tmp_path / "words.toml", built["company"]
    run("phrases", "--graph", graph, "--out", words)
    assert "already exists" in refusal("phrases", "--graph", graph, "--out", words)
    table = tomllib.loads(words.read_text())
    assert table["relation"][0]["id"] == "boardMember"  # the most used one is first
    assert len(table["relation"]) == 8
    own = '[[relation]]\nid = "works_for"\nto = "firm"\n'
    own += 'out = ["the firm that pays {x}", "pays {x}"]\n'
    words.write_text(own + 'in = "the person on the payroll of {x}"\n')
    given = ("--graph", graph, "--count", 40, "--out", tmp_path / "s", "max_attempts=300")
    arguments = ("synth", *given)
    run(*arguments, f"phrases_file={words}")
    texts = " ".join(r["question"] for r in read_jsonl(tmp_path / "s" / "questions.jsonl"))
    assert "firm that pays" in texts and "payroll" in texts and "works for" not in texts
    assert read_json(tmp_path / "s" / "run.json", "")["phrases"]
    words.write_text(own)  # other words are another run
    assert "phrases" in refusal(*arguments, f"phrases_file={words}")


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("[[relation]", "not TOML"),
        ("a = 1", r"no \[\[relation\]\] in it"),
        ('[[relation]]\nout = "the a of {x}"', "without an id"),
        ('[[relation]]\nid = "works_for"\nuot = "x"', "works_for: uot: known are id"),
        ('[[relation]]\nid = "works_for"\nout = "the firm"', "write {x} once"),
        ('[[relation]]\nid = "works_for"\nout = 3', "write a list of texts"),
        ('[[relation]]\nid = "works_four"', "none of its 1 relations is one of the graph"),
    ],
)
def test_a_bad_phrases_file_is_refused_in_one_line(built, tmp_path, text, fault):
    words = tmp_path / "words.toml"
    words.write_text(text)
    config = SynthConfig(count=5, phrases_file=str(words))
    with pytest.raises(UserError, match=fault):
        synthesize(built["company"], config, tmp_path / "s")


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
    run("verify", "dicts/graphsynth.jsonl", "--graph", "own_graph:make")
    own = ("--graph", "own_graph:Dicts", "--count", "3", "--out")
    run("questions", *own, "q")
    run("filter", "--graph", "own_graph:Dicts", "--questions", "q/questions.jsonl", "--out", "f")
    run("experts", *own, "e", "--questions", "dicts/questions.jsonl", "mix={}")
    run("walk", *own, "w")
    run("bench", *own, "b")
