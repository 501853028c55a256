"""Constraints of a type: what they keep, who asks for them by which noun, and their walks."""

import copy
from pathlib import Path

import pytest

from data_pipeline.config import ExpertConfig, SynthConfig
from data_pipeline.experts.experts import make_experts
from data_pipeline.synthesize import make_walks, synthesize
from data_pipeline.verification.verify import verify_file
from data_pipeline.wording.type_nouns import nouns_of_type, tells_apart
from graphwalker.agents.environment import Environment, EnvironmentConfig
from graphwalker.agents.policies import load_policy
from graphwalker.agents.rollout import rollout
from graphwalker.ceilings.ceiling import reach_of
from graphwalker.errors import UserError
from graphwalker.files import read_jsonl, write_jsonl
from graphwalker.graphs.base import Entity
from graphwalker.graphs.open import open_graph
from graphwalker.policies.base import Sampling
from graphwalker.policies.config import PolicyConfig
from graphwalker.query.constraint import TYPE, Constraint
from graphwalker.query.query import Branch, Hop, Query
from graphwalker.question import Answer, Question
from graphwalker.scoring import score
from support.backends import compiled, write

ADJOINS = "location.location.adjoin_s..location.adjoining_relationship.adjoins"
LANDS = ("Arvenia", "Belmark", "Corvany", "Dolmeria", "Estrava", "Fenland", "Gorvia", "Hestany")
SEAS = ("Azure Basin", "Briny Bay", "Coral Gulf")
NAMES = {f"m.c{k}": name for k, name in enumerate(LANDS)}
NAMES |= {f"m.s{k}": name for k, name in enumerate(SEAS)}
TYPES = {i: ["location.location", *(["location.country"] if i[2] == "c" else [])] for i in NAMES}
_SHORES = [
    (f"m.c{k}", ADJOINS, f"m.{end}") for k in range(8) for end in (f"c{(k + 1) % 8}", f"s{k % 3}")
]
"""Around a ring of lands, each of them at a sea."""
FACTS = [*_SHORES, *((end, relation, start) for start, relation, end in _SHORES)]
COUNTRY = Constraint(TYPE, "type", "is", "location.country")


@pytest.fixture(scope="module")
def file(tmp_path_factory) -> Path:
    return write(tmp_path_factory.mktemp("lands"), FACTS, NAMES, TYPES)


@pytest.fixture(scope="module")
def graph(file):
    return compiled(file)


@pytest.fixture(scope="module")
def made(file, graph, tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("made")
    rules = {"min_degree": 1, "max_path_share": 1.0, "max_relation_share": 1.0}
    config = SynthConfig(count=5, mix={"type": 1.0}, sparql=True, **rules)
    synthesize(file.parent / "graph", config, out)
    return out


def questions(made: Path) -> list[Question]:
    return [Question.from_json(record) for record in read_jsonl(made / "questions.jsonl")]


LAND, SEA = "location.country", "location.location"


def test_a_type_tells_apart_what_nobody_would_confuse():
    for kind, types, apart in [
        (LAND, {"Spain": [LAND], "Biscay": [SEA]}, True),
        (LAND, {"Spain": [LAND], "Italy": [LAND]}, False),
        (LAND, {"Biscay": [SEA], "Azov": [SEA]}, False),
        (LAND, {"Spain": [LAND], "Biscay": []}, False),
        (LAND, {"Spain": [LAND], "Basque Country": [SEA]}, False),
        (LAND, {"Spain": [LAND], "Jarama": ["olympics.olympic_participating_country"]}, False),
        ("education.university", {"A": ["education.university"], "B College": [SEA]}, False),
        ("music.musical_group", {"A": ["music.musical_group"], "B": ["music.artist"]}, False),
        ("music.musical_group", {"A": ["music.musical_group"], "B": ["people.person"]}, True),
        ("common.topic", {"A": ["common.topic"], "B": [SEA]}, False),
        ("http://x.org/ns#Bridge", {"A": ["http://x.org/ns#Bridge"], "B": ["urn:Lake"]}, True),
        ("urn:Thing", {"A": ["urn:Thing"], "B": ["urn:Lake"]}, False),
    ]:
        candidates = [Entity(name, name) for name in types]
        assert tells_apart(kind, candidates, types.__getitem__) is apart


def test_questions_name_the_type_and_ask_for_it_alone(made):
    found = questions(made)
    assert len(found) == 5
    for question in found:
        assert question.query is not None
        assert question.query.constraint == COUNTRY
        text = f" {question.text.lower()} "
        assert any(f" {noun} " in text for noun in nouns_of_type(LAND)), question.text
        assert {answer.name for answer in question.answers} <= set(LANDS)


def test_every_record_holds_and_a_changed_type_does_not(made, file, tmp_path):
    graph = open_graph(file.parent / "graph")
    for name in ("walks", "questions", "graphsynth"):
        verdict = verify_file(graph, made / f"{name}.jsonl", 5)
        assert (verdict.failed, verdict.first) == (0, [])
    record = copy.deepcopy(next(iter(read_jsonl(made / "questions.jsonl"))))
    record["query"]["constraint"]["bound"] = "location.location"
    write_jsonl(tmp_path / "one.jsonl", [record])
    assert dict(verify_file(graph, tmp_path / "one.jsonl").reasons) == {"answers differ": 1}


def test_published_agents_are_shown_how_too(made, graph):
    for preset in ["ark-v1", "graphrunner", "search-on-graph", "graphwalker-wide"]:
        environment = Environment(graph, EnvironmentConfig(preset=preset))
        oracle = load_policy(PolicyConfig(model="oracle"), environment=environment)
        for run in rollout(questions(made), environment, oracle, Sampling(), concurrency=1):
            assert score(run)["em"] == 1.0, (preset, run.question.text)


def test_an_expert_and_the_ceiling_reach_it_without_calls_for_types(made, graph, file, tmp_path):
    config = ExpertConfig(count=4, mix={"type": 1.0}, error_rate=0.5)
    card = make_experts(file.parent / "graph", config, made / "questions.jsonl", tmp_path)
    assert card["structures"] == {"type": 4}
    environment = Environment(graph, EnvironmentConfig(max_turns=5))
    reached = [reach_of(question, environment) for question in questions(made)]
    assert all(one.all_answers_by_gold and one.gold_relation_listed for one in reached)


def test_a_graph_without_types_refuses_the_mix_in_one_line(tmp_path):
    compiled(write(tmp_path, FACTS, NAMES, {}))
    config = SynthConfig(count=2, mix={"type": 1.0})
    with pytest.raises(UserError, match=r"^mix.type: this graph has no types"):
        make_walks(tmp_path / "graph", config, tmp_path / "out")


def test_a_gold_path_with_a_condition_is_answered_by_its_gold_names(graph):
    """As WebQSP has it: the path leads to seas, too; the gold answers are the countries."""
    gold = tuple(Answer(NAMES[i], i) for i in ("m.c1", "m.c7"))
    query = Query((Branch(Entity("m.c0", "Arvenia"), (Hop(ADJOINS),)),))
    asks = "which countries border arvenia?"
    question = Question("q", asks, (Entity("m.c0", "Arvenia"),), gold, query=query)
    wide = Environment(graph, EnvironmentConfig(preset="graphwalker-wide"))
    oracle = load_policy(PolicyConfig(model="oracle"), environment=wide)
    (run,) = rollout([question], wide, oracle, Sampling(), concurrency=1)
    assert score(run)["em"] == 1.0
