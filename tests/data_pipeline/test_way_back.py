"""Failed episodes that the oracle brings to their end: real mistakes, real observations."""

import json
from pathlib import Path

import pytest

from data_pipeline.config import ExpertConfig, SynthConfig
from data_pipeline.experts.experts import make_experts
from data_pipeline.experts.way_back import ways_back
from data_pipeline.synthesize import make_questions
from graphwalker.agents.environment import Environment, EnvironmentConfig
from graphwalker.agents.rollout import rollout, without_times
from graphwalker.config import parse_config
from graphwalker.files import read_records
from graphwalker.graphs.open import open_graph
from graphwalker.policies.scripted import ScriptedPolicy
from graphwalker.question import read_worded
from graphwalker.trajectory import Trajectory


@pytest.fixture(scope="module")
def world(graph, tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("world")
    (out / "graph").symlink_to(graph)
    config = SynthConfig(count=30, seed=1, mix={"2-hop": 2, "2I": 1})
    make_questions(out / "graph", config, out / "questions")
    return out


def run_experts(world: Path, out: Path, **settings) -> dict:
    policy = {"model": "random-relation"}
    given = {"count": 20, "mix": {}, "policy": policy, "way_back": True, **settings}
    config = parse_config(ExpertConfig, given, "t")
    return make_experts(world / "graph", config, world / "questions" / "questions.jsonl", out)


def test_what_a_weak_policy_gets_wrong_is_kept_with_the_way_back(world, tmp_path):
    card = run_experts(world, tmp_path)
    rows = list(read_records(tmp_path / "graphroll.jsonl", Trajectory.from_json))
    assert len(rows) == card["count"] == 20
    assert all(row.scores["em"] == row.scores["grounded"] == 1.0 for row in rows)
    joined = [row for row in rows if "way_back" in row.provenance]
    assert card["way_back"] == len(joined) > 15
    assert card["honest_errors"] == sum(card["errors"].values()) > 10
    assert card["injected_errors"] == 0
    for row in joined:
        for error in row.provenance["errors"]:
            assert error["turn"] < row.provenance["way_back"] <= error["recovered_at"]
        assert row.policy == "random-relation+oracle"


def test_another_concurrency_and_a_kill_give_the_same_file(world, tmp_path):
    run_experts(world, tmp_path / "a", concurrency=64)
    run_experts(world, tmp_path / "b", concurrency=1)
    one, other = (tmp_path / name / "graphroll.jsonl" for name in "ab")
    assert one.read_bytes() == other.read_bytes()
    whole = one.read_bytes()
    one.write_bytes(whole[: len(whole) // 2])
    run_experts(world, tmp_path / "a")
    assert one.read_bytes() == whole


def test_turns_are_repeated_word_for_word_and_no_call_is_made_twice(world):
    graph = open_graph(world / "graph")
    environment = Environment(graph, EnvironmentConfig())
    questions = read_records(world / "questions" / "questions.jsonl", read_worded)
    question = next(q for q in questions if q.structure == "2-hop")
    topic = question.topic_entities[0].name
    script = [
        f"Hm. <kg-query> get_relations({json.dumps(topic)}) </kg-query>",
        '<kg-query> get_relations("Nobody At All") </kg-query>',
        '<answer> ["no idea"] </answer>',
    ]
    policy = ScriptedPolicy({question.id: script})
    (failed,) = map(without_times, rollout([question], environment, policy))
    back = next(iter(ways_back(failed, environment, seed=0)))
    assert [turn.completion for turn in back.turns[:2]] == script[:2]
    assert [turn.observation for turn in back.turns[:2]] == [
        t.observation for t in failed.turns[:2]
    ]
    calls = [json.dumps(turn.action) for turn in back.turns]
    assert len(set(calls)) == len(calls)
    assert "wrong" in back.turns[2].thought or "failed" in back.turns[2].thought
    assert set(back.answer or ()) == {entity.name for entity in question.answers}
