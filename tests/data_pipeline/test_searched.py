"""Walks that are searched from the topic entities to the answers."""

from dataclasses import replace
from pathlib import Path

import pytest

from data_pipeline.config import ExpertConfig, SynthConfig
from data_pipeline.experts.experts import make_experts
from data_pipeline.experts.searched import queries_to
from data_pipeline.synthesize import make_questions
from graphwalker.config import parse_config
from graphwalker.files import read_jsonl, read_records, write_jsonl
from graphwalker.graphs.base import KnowledgeGraph
from graphwalker.graphs.open import open_graph
from graphwalker.query.query import execute
from graphwalker.question import Answer, Question
from graphwalker.trajectory import Trajectory
from graphwalker.world.generate import make_world


@pytest.fixture(scope="module")
def world(tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("world")
    make_world(1000, 0, out)
    mix = {"1-hop": 2, "2-hop": 2, "2I": 1}
    make_questions(out / "graph", SynthConfig(count=40, seed=1, mix=mix), out / "questions")
    return out


@pytest.fixture(scope="module")
def asked(world) -> list[Question]:
    return list(read_records(world / "questions" / "questions.jsonl", Question.from_json))


@pytest.fixture(scope="module")
def graph(world) -> KnowledgeGraph:
    return open_graph(world / "graph")


def run_experts(world: Path, out: Path, questions: list[Question], **settings) -> list[Trajectory]:
    out.mkdir()
    write_jsonl(out / "questions.jsonl", [q.to_json() for q in questions])
    values = {"count": len(questions), "mix": {}, "searched": 2, **settings}
    config = parse_config(ExpertConfig, values, "t")
    make_experts(world / "graph", config, out / "questions.jsonl", out / "made")
    return list(read_records(out / "made" / "graphroll.jsonl", Trajectory.from_json))


def actions(trajectories: list[Trajectory]) -> list[list[dict]]:
    return [[turn.action for turn in t.turns] for t in trajectories]


def test_a_searched_query_has_exactly_the_answers_and_the_gold_one_is_among_the_found(
    graph, asked
) -> None:
    hits = 0
    for question in asked:
        found = list(queries_to(graph, question, 2))
        gold = {answer.id for answer in question.answers}
        assert found
        assert all({e.id for e in execute(graph, query).answers} == gold for query in found)
        assert len({sum(len(b.hops) for b in query.branches) for query in found}) == 1
        assert question.query
        hits += question.query.key in {query.key for query in found}
    assert hits >= 0.9 * len(asked)  # what is left has a shorter walk to the same entities


@pytest.mark.long
def test_neither_words_nor_query_of_a_question_are_read(world, asked, tmp_path) -> None:
    bare = [
        replace(q, text=f"Zork {n}?", query=None, wording=None, relation_path=())
        for n, q in enumerate(asked)
    ]
    plain = {"plain_thoughts": True}
    whole = run_experts(world, tmp_path / "a", asked, **plain)
    searched = run_experts(world, tmp_path / "b", bare, **plain)
    # Which relations a list shows first goes by the question's words; what is taken does not.
    assert actions(searched) == actions(whole)
    assert len(whole) == len(asked) and all(t.scores["em"] == 1.0 for t in whole)
    assert whole == run_experts(world, tmp_path / "c", asked, **plain, workers=2)


def test_a_question_without_a_walk_is_dropped(world, asked, tmp_path) -> None:
    nobody = replace(asked[0], answers=(*asked[0].answers, Answer("No such", "m.none")))
    kept = run_experts(world, tmp_path / "a", [*asked[:3], replace(nobody, id="lost")])
    assert [t.question.id for t in kept] == [q.id for q in asked[:3]]
    dropped = list(read_jsonl(tmp_path / "a" / "made" / "dropped.jsonl"))
    assert [(line["id"], line["reason"]) for line in dropped] == [("lost#0", "gave_up")]
