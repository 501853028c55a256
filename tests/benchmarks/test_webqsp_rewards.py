"""What each reward is worth: the settings are those of their stages, the figures are paired."""

import json
from pathlib import Path

import pytest

from graphwalker.config import load_config, parse_config, refuse_unknown
from graphwalker.graphs.base import Entity
from graphwalker.question import Answer, Question
from graphwalker.scoring import score
from graphwalker.trajectory import StopReason, Trajectory
from support.paths import ROOT


@pytest.fixture(autouse=True)
def _benchmarks_importable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT))


def test_every_setting_of_the_shipped_config_is_one_of_its_stage() -> None:
    from benchmarks.webqsp_rewards import ALONE, RewardsConfig
    from eval.run.config import EvalConfig
    from training.config import SftConfig
    from training.grpo_config import GrpoConfig

    config = load_config(RewardsConfig, ROOT / "configs" / "webqsp" / "rewards.yaml", [])
    refuse_unknown(SftConfig, config.sft, "sft")
    refuse_unknown(EvalConfig, config.eval, "eval")
    own = {"model": "m", "output_dir": "o", "graph": "g", "questions": "q"}
    replay = {"replay": {"data": ["d"], **config.grpo["replay"]}}
    parsed = {
        name: parse_config(GrpoConfig, {**own, **config.grpo, **replay, **settings}, name)
        for name, settings in config.rewards.items()
    }
    assert parsed[ALONE].rewards == {"em": 1.0} and len(config.rows) == 1
    assert len({str((one.rewards, one.turn_credit)) for one in parsed.values()}) == len(parsed)


def test_a_reward_is_compared_question_by_question_with_exact_match_alone(tmp_path: Path) -> None:
    from benchmarks.webqsp_rewards import Rewards, RewardsConfig

    right = {"start": "", "em": "a", "f1": "ab"}
    rewards = {name: {} for name in right if name != "start"}
    config = parse_config(
        RewardsConfig, {"rows": {"synthesis": ROW}, "rewards": rewards, "seeds": [0, 1]}, "rewards"
    )
    for seed in (0, 1):
        for name, known in right.items():
            _write_run(tmp_path / "eval" / f"{name}-{seed}", known)
            if name != "start":
                steps = [{"step": n, "informative_groups": n, "reward": 0.5} for n in range(8)]
                _write_lines(tmp_path / f"grpo-{name}-{seed}" / "metrics.jsonl", steps)
    for kind in ("linear", "first-relation", "random-relation"):
        _write_run(tmp_path / "eval" / f"synthesis-{kind}", "b")
    (tmp_path / "eval" / "synthesis-ceiling.json").write_text("{}", encoding="utf-8")
    found = Rewards(tmp_path, config)._figures("synthesis")["rewards"]
    assert found["f1"]["em_by_seed"] == [1.0, 1.0] and found["em"]["em"] == 0.5
    assert found["f1"]["minus_em"]["difference"] == 0.5
    assert found["f1"]["minus_start"]["difference"] == 1.0 and "minus_em" not in found["em"]
    assert found["em"]["last_steps"][0] == {"reward": 0.5, "informative_groups": 6.5}


ROW = {"ranker": {"synthesis": 1.0}, "demonstrations": {"synthesis": 9}}


def _write_run(folder: Path, known: str) -> None:
    walks: list[dict[str, object]] = []
    for name in "ab":
        asked = Question(name, "Who?", (Entity("m.0ada", "Ada"),), (Answer("Eve", "m.0eve"),))
        said = ("Eve",) if name in known else ("Bob",)
        walk = Trajectory(asked, "agent", "policy", (), said, StopReason.ANSWERED)
        walks.append(walk.with_scores(**score(walk)).to_json())
    _write_lines(folder / "predictions.jsonl", walks)


def _write_lines(path: Path, rows: list[dict[str, object]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
