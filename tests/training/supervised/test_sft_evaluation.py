"""Evaluation while training: episodes on the toy graph, and the best model as the final one."""

import json
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from graphwalker.errors import UserError
from graphwalker.files import read_jsonl, write_jsonl
from support.grpo_toy import SMALL, played
from support.run_toys import SHAPE, curve, make_toy_graph, sft_config
from support.toy import TOY_TRIPLES
from training.evaluation.callback import BestModel
from training.sft import run_sft
from training.tiny.make import conversation_texts, make_tiny

pytestmark = pytest.mark.long

STEPS = 45


@pytest.fixture(scope="module")
def world(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("evaluation")
    examples = played(make_toy_graph(folder), "Verria")
    write_jsonl(folder / "walks.jsonl", [t.to_json() for t in examples])
    relations = sorted({relation for _, relation, _ in TOY_TRIPLES})
    make_tiny(SHAPE, conversation_texts(examples), relations, folder / "model")
    return folder


def config(world: Path, out: Path, **values) -> Any:
    paths = {"questions": str(world / "questions.jsonl"), "graph": str(world / "graph")}
    asked = {**paths, "environment": SMALL, "every_steps": 20, "max_turn_tokens": 40}
    values["evaluation"] = asked | values.pop("evaluation", {})
    plain = {"tokens_per_step": 0, "batch_size": 8, "lr": 1e-2, "schedule": "constant"}
    return sft_config(world, out, **plain, max_steps=STEPS, save_steps=30, **values)


@pytest.fixture(scope="module")
def trained(world, tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("runs") / "run"
    trackers = ("tensorboard",) if find_spec("tensorboard") else ()
    run_sft(config(world, out, report_to=trackers))
    return out


def evaluations(run: Path) -> dict[int, dict[str, float]]:
    lines = read_jsonl(run / "metrics.jsonl")
    return {line["step"]: line for line in lines if "eval_em" in line}


def test_scores_rise_at_every_evaluation_and_reach_the_trackers(trained) -> None:
    scores = evaluations(trained)
    assert list(scores) == [20, 40, STEPS]
    assert scores[STEPS]["eval_em"] == scores[STEPS]["eval_valid_actions"] == 1.0
    assert scores[20]["eval_em"] <= scores[STEPS]["eval_em"]
    assert scores[STEPS]["eval_failed"] == 0
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    (events,) = trained.rglob("events.out.tfevents.*")
    board = EventAccumulator(str(events)).Reload()
    assert any("eval_em" in tag or "eval/em" in tag for tag in board.Tags()["scalars"])


def test_evaluation_leaves_training_as_it_is_and_may_choose_no_model(world, trained, tmp_path):
    blind = {"every_steps": 10**6, "choose_best": False}
    run_sft(config(world, tmp_path / "blind", evaluation=blind))
    assert curve(trained) == curve(tmp_path / "blind")
    assert not (tmp_path / "blind" / "best.json").exists()
    assert (tmp_path / "blind" / "final" / "model.safetensors").is_file()


def test_the_final_model_is_the_best_one_and_of_equals_the_earliest(trained) -> None:
    scores = evaluations(trained)
    best = max(score["eval_em"] for score in scores.values())
    first = min(step for step, score in scores.items() if score["eval_em"] == best)
    assert json.loads((trained / "best.json").read_text()) == {"step": first, "em": best}
    kept = trained / f"best-{first}" / "model.safetensors"
    assert (trained / "final" / "model.safetensors").read_bytes() == kept.read_bytes()
    assert len(list(trained.glob("best-*"))) == 1


def test_a_best_model_whose_folder_is_gone_is_forgotten(tmp_path) -> None:
    (tmp_path / "best.json").write_text('{"step": 7, "em": 0.9}')
    assert BestModel(tmp_path).step == 0
    (tmp_path / "best-7").mkdir()
    assert (BestModel(tmp_path).step, BestModel(tmp_path).score) == (7, 0.9)


def test_questions_that_are_not_there_are_named_before_anything_is_made(world, tmp_path) -> None:
    lost = config(world, tmp_path / "r", evaluation={"questions": "none.jsonl"})
    with pytest.raises(UserError, match=r"evaluation\.questions: none\.jsonl: no such file"):
        run_sft(lost)
    assert not (tmp_path / "r").exists()
