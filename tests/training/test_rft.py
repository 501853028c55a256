"""RFT: own successes are drawn, told apart, kept by question and trained on."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from graphwalker.config import load_config
from graphwalker.errors import UserError
from graphwalker.files import read_json, read_jsonl, write_jsonl
from graphwalker.trajectory import Trajectory, Turn
from support.grpo_batches import environment_of
from support.grpo_toy import SMALL, played, questions
from support.paths import ROOT
from support.run_toys import weights
from training.config import RftConfig
from training.reinforce.rejection import as_demonstration, distinct
from training.rft import run_rft

pytestmark = pytest.mark.long


def config(world: Path, out: Path, **settings: Any) -> RftConfig:
    values = {
        "model": str(world / "model"), "questions": str(world / "questions.jsonl"),
        "graph": str(world / "graph"), "output_dir": str(out), "format": "inline",
        "environment": SMALL, "samples": 4, "max_turn_tokens": 40, "max_length": 512,
        "engine_batch": 8, "grounded": False, "max_steps": 2, "lr": 1e-3, "log_steps": 1,
        "progress": False,
    }  # fmt: skip
    return RftConfig(**values | settings)


@pytest.fixture(scope="module")
def trained(grpo_world, tmp_path_factory) -> Path:
    """Trained on the successes, and on demonstrations beside them."""
    out = tmp_path_factory.mktemp("rft") / "run"
    shown = [t.to_json() for t in played(environment_of(grpo_world), "Verria")]
    write_jsonl(out.with_name("shown.jsonl"), shown)
    given = config(grpo_world, out, data=(str(out.with_name("shown.jsonl")),))
    assert run_rft(given) == out / "final"
    return out


def test_right_episodes_are_kept_and_trained_on(trained) -> None:
    draws = list(read_jsonl(trained / "draws.jsonl"))
    assert [line["question"] for line in draws] == [q.id for q in questions()]
    assert all(line["of"] == 4 and line["kept"] <= line["right"] for line in draws)
    own = [Trajectory.from_json(record) for record in read_jsonl(trained / "own.jsonl")]
    assert len(own) == sum(line["kept"] for line in draws) > 0
    assert read_json(trained / "sft" / "data.json")["rows"] == len(own) + len(draws)
    assert all(t.scores["em"] == 1.0 and t.turns[0].token_ids is None for t in own)
    assert (trained / "final" / "graphwalker.json").is_file()
    assert weights(trained).keys() == weights(trained / "sft").keys()


def test_a_run_killed_while_it_draws_ends_with_the_same_successes(grpo_world, trained, tmp_path):
    out = tmp_path / "run"
    run_rft(config(grpo_world, out, draw_only=True))
    whole = (out / "own.jsonl").read_bytes()
    assert whole == (trained / "own.jsonl").read_bytes()
    draws = (out / "draws.jsonl").read_text().splitlines(keepends=True)
    (out / "draws.jsonl").write_text("".join(draws[:3]) + draws[3][:9])
    (out / "own.jsonl").write_bytes(whole[:-20])
    run_rft(config(grpo_world, out, draw_only=True))
    assert (out / "own.jsonl").read_bytes() == whole
    assert (out / "draws.jsonl").read_text() == "".join(draws)


def test_successes_that_took_the_same_actions_count_once_and_refused_ones_have_no_loss(grpo_world):
    first, second, *_ = played(environment_of(grpo_world), "Verria")
    other = replace(first, turns=first.turns[1:])
    said_otherwise = replace(
        first, turns=(replace(first.turns[0], thought="Hm."), *first.turns[1:])
    )
    assert distinct([first, said_otherwise, other, first]) == [first, other]
    assert distinct([second]) == [second]
    refused = Turn((), "?", action={"malformed": "no tag"}, error="malformed")
    shown = as_demonstration(replace(first, turns=(refused, *first.turns)))
    assert shown.provenance["errors"] == [{"turn": 0, "kind": "malformed", "slip": True}]
    assert load_config(RftConfig, ROOT / "configs" / "rft.yaml").samples == 8


def test_without_a_success_the_run_says_what_to_do(grpo_world, tmp_path) -> None:
    # no tool of the toy shows the answer, so nothing right is grounded
    with pytest.raises(UserError, match=r"none of the 32 episodes is a success .\d+ are right"):
        run_rft(config(grpo_world, tmp_path / "r", grounded=True))
