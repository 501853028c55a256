"""The demo's question sets: what GRPO, the expert and the tests are given."""

import json
from pathlib import Path

import pytest

from graphwalker.config import parse_config
from graphwalker.datasets.base import load_questions
from graphwalker.errors import UserError
from graphwalker.files import read_jsonl
from graphwalker.graphs.base import Entity
from graphwalker.pipeline import Demo, DemoConfig
from graphwalker.question import Answer, Question

pytestmark = pytest.mark.long

MIX = {"2-hop": 1.0}


def made(out: Path, **settings) -> Demo:
    values = {
        "entities": 1000,
        "environment": {"prompt": "compact", "top_relations": 10},
        "synth": {"count": 60, "mix": MIX, "max_degree": 3, "splits": {"wording_share": 0.5}},
        "rl_questions": {"count": 40},
        "experts": {"count": 20, "mix": MIX},
        "tests": {"test-entity": {"count": 10}, "test-wording": {"count": 10}},
        **settings,
    }
    demo = Demo(out, parse_config(DemoConfig, values, "test"))
    demo.make_data()
    return demo


def test_grpo_has_what_the_expert_leaves(tmp_path) -> None:
    demo = made(tmp_path)
    shown = {row["question"]["id"] for row in read_jsonl(tmp_path / "graphroll/graphroll.jsonl")}
    left = [q.id for q in load_questions(demo.rl_file) if q.id not in shown]
    assert [q.id for q in load_questions(demo.grpo_file)] == left and len(left) == 20


def test_grpo_may_have_questions_of_its_own(tmp_path) -> None:
    demo = made(tmp_path, grpo_questions={"count": 15, "wordings": "held-out"})
    own = load_questions(demo.grpo_file)
    others = load_questions(tmp_path / "synth/questions.jsonl") + load_questions(demo.rl_file)
    assert len(own) == 15 and {q.split for q in own} == {"train"}
    assert not {q.id for q in own} & {q.id for q in others}


def test_no_test_question_has_the_text_of_a_training_question(tmp_path) -> None:
    demo = made(tmp_path)
    test = load_questions(demo.test_file)
    assert {q.split for q in test} == {"test-entity", "test-wording"}
    namesake = load_questions(demo.rl_file)[0].to_json() | {"id": "of a namesake"}
    namesake["topic_entities"] = test[0].to_json()["topic_entities"]
    path = tmp_path / "questions" / "test-entity" / "questions.jsonl"
    path.write_text(
        path.read_text(encoding="utf-8") + json.dumps(namesake) + "\n", encoding="utf-8"
    )
    demo._merge_tests()
    assert "of a namesake" not in {q.id for q in load_questions(demo.test_file)}
    assert len(load_questions(demo.test_file)) == len(test)


def test_grpo_trains_on_no_question_of_a_benchmark(tmp_path) -> None:
    for name, text in (("train", "WHO?"), ("test", "Who?"), ("other", "When?")):
        asked = Question("1", text, (Entity("m.1", "Ada"),), (Answer("Bo", "m.2"),))
        (tmp_path / f"{name}.jsonl").write_text(json.dumps(asked.to_json()) + "\n")

    def check(train: str, test: str) -> None:
        settings = {
            "grpo": {"questions": str(tmp_path / train)},
            "benchmarks": {"real": str(tmp_path / test)},
        }
        Demo(tmp_path / "out", parse_config(DemoConfig, settings, "test")).check_questions()

    check("train.jsonl", "other.jsonl")
    with pytest.raises(UserError, match=r"benchmarks\.real has 1 of its questions, such as 'Who"):
        check("train.jsonl", "test.jsonl")
    with pytest.raises(UserError, match=r"nowhere\.jsonl"):
        check("train.jsonl", "nowhere.jsonl")
