"""The demo's question sets: what GRPO, the expert and the tests are given."""

import json
from pathlib import Path

import pytest

from graphwalker.config import load_config
from graphwalker.datasets.base import load_questions
from graphwalker.demo import Demo, DemoConfig
from graphwalker.demo.data import check_benchmarks
from graphwalker.errors import UserError
from graphwalker.graphs.base import Entity
from graphwalker.question import Answer, Question
from support.paths import ROOT

pytestmark = pytest.mark.long

COUNTS = {"synth": 60, "rl": 40, "practice": 15, "test": 10, "test_words": 10, "experts": 20}


@pytest.fixture(scope="module")
def demo(tmp_path_factory) -> Demo:
    out = tmp_path_factory.mktemp("demo")
    settings = [f"{name}.count={count}" for name, count in COUNTS.items()]
    settings += [f"run={out}", "synth.mix={2-hop: 1}"]
    demo = Demo(load_config(DemoConfig, ROOT / "configs" / "demo.yaml", settings))
    demo.run(demo.data_stages())
    return demo


def test_grpo_practises_other_questions_than_the_experts_answer(demo) -> None:
    files = (Path(demo.config.run, name, "questions.jsonl") for name in ("practice", "synth", "rl"))
    own, *others = map(load_questions, files)
    assert len(own) == 15 and {q.split for q in own} == {"train"}
    assert not {q.id for q in own} & {q.id for found in others for q in found}


def test_no_test_question_has_the_text_of_a_training_question(demo) -> None:
    run, test = Path(demo.config.run), load_questions(demo.test_file)
    assert {q.split for q in test} == {"test-entity", "test-wording"}
    asked = load_questions(run / "rl/questions.jsonl")
    namesake = asked[0].to_json() | {"id": "of a namesake"}
    namesake["topic_entities"] = test[0].to_json()["topic_entities"]
    with (run / "test" / "questions.jsonl").open("a", encoding="utf-8") as file:
        file.write(json.dumps(namesake) + "\n")
    demo.run(demo.data_stages()[-1:])
    assert "of a namesake" not in {q.id for q in load_questions(demo.test_file)}
    assert len(load_questions(demo.test_file)) == len(test)


def test_grpo_trains_on_no_question_of_a_benchmark(tmp_path) -> None:
    for name, text in (("train", "WHO?"), ("test", "Who?"), ("other", "When?")):
        asked = Question("1", text, (Entity("m.1", "Ada"),), (Answer("Bo", "m.2"),))
        (tmp_path / f"{name}.jsonl").write_text(json.dumps(asked.to_json()) + "\n")

    def check(train: str, test: str) -> None:
        check_benchmarks(tmp_path / train, {"real": str(tmp_path / test)})

    check("train.jsonl", "other.jsonl")
    with pytest.raises(UserError, match=r"benchmarks\.real has 1 of its questions, such as 'Who"):
        check("train.jsonl", "test.jsonl")
    with pytest.raises(UserError, match=r"nowhere\.jsonl"):
        check("train.jsonl", "nowhere.jsonl")
