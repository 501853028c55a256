"""GRPO's guards: the record of a step, the monitor, trackers, and episodes to read."""

import math
from dataclasses import replace
from pathlib import Path

import pytest
from transformers import TrainerCallback

from graphwalker.agents.environment import Environment, EnvironmentConfig
from graphwalker.errors import UserError
from graphwalker.files import read_jsonl, write_jsonl
from graphwalker.graphs.base import Entity
from graphwalker.question import Answer
from graphwalker.trajectory import Trajectory
from graphwalker.viewer.record import walk_record
from support.grpo_batches import environment_of
from support.grpo_toy import questions
from support.run_toys import grpo_config, lines, write_config
from training.grpo import make_trainer, open_world, run_grpo
from training.grpo_config import GrpoConfig
from training.reinforce.batch import EpisodeFacts, summary
from training.reinforce.groups import ZERO_VARIANCE, Winnable
from training.reinforce.log import Drift
from training.reinforce.monitor import CollapseError, Monitor
from training.runs.arguments import check_trackers
from training.runs.command import run_command

WATCHED = {
    *("reward", "em", "f1", "entropy", "kl", "ratio_mean", "clip_ratio", "clip_low", "clip_high"),
    *("mismatch_mean", "mismatch_max", "turns", "valid_actions", "forced", "observation_tokens"),
    *("zero_variance", "unwinnable", "always_right", "always_wrong", "resampled", "filtered"),
    *("failed", "answered", "errors", "grad_norm", "informative_groups", "tokens_wrong"),
    "cut_turns",
}


@pytest.fixture(scope="module")
def two_iterations(grpo_world, tmp_path_factory) -> tuple[Path, list[dict]]:
    """A run of two batches, each trained on twice, and what its trackers were told."""
    out = tmp_path_factory.mktemp("runs") / "run"
    settings = {"steps": 4, "iterations": 2, "lr": 1e-2, "beta": 0.1, "trajectories_per_step": 3}
    config, told = grpo_config(grpo_world, out, **settings), []
    trainer = make_trainer(config, questions(), environment_of(grpo_world))

    class Tracker(TrainerCallback):
        def on_log(self, args, state, control, logs=None, **_):
            told.append(dict(logs or {}))

    trainer.add_callback(Tracker())
    trainer.train()
    return out, [logs for logs in told if "loss" in logs]


@pytest.mark.long
def test_every_step_records_what_is_watched_and_trackers_are_told_the_same(two_iterations):
    out, told = two_iterations
    assert [line["step"] for line in lines(out)] == [1, 2, 3, 4]
    for logs, line in zip(told, lines(out), strict=True):
        assert set(line) >= WATCHED
        assert not [key for key in WATCHED if line[key] is None]
        for key in ("em", "turns", "valid_actions", "ratio_mean", "mismatch_max", "kl"):
            assert logs[f"agent/{key}"] == pytest.approx(line[key], rel=1e-5)
        assert logs["kl"] == pytest.approx(line["kl"], rel=0.3)  # TRL: a mean of batches' means


def test_later_iterations_leave_the_policy_that_drew(two_iterations):
    first, second, third, fourth = lines(two_iterations[0])
    for fresh, stale in ((first, second), (third, fourth)):
        assert fresh["ratio_mean"] == pytest.approx(1.0, abs=1e-4)
        assert fresh["clip_ratio"] == 0 and fresh["seconds_generation"] > 0
        assert abs(stale["ratio_mean"] - 1) > 1e-3
        assert stale["clip_ratio"] > 0 and stale["seconds_generation"] == 0
        assert fresh["reward"] == stale["reward"]
        assert max(fresh["mismatch_max"], stale["mismatch_max"]) < 1e-4


def test_episodes_are_written_once_and_the_viewer_reads_them(two_iterations):
    episodes = list(read_jsonl(two_iterations[0] / "trajectories.jsonl"))
    assert [e["provenance"]["step"] for e in episodes] == [1] * 3 + [3] * 3
    for record in episodes:
        trajectory = Trajectory.from_json(record)
        assert set(trajectory.scores) == {"em", "f1", "grounded", "reward"}
        assert walk_record(trajectory)["turns"]


def episode(reward: float | None, **values) -> EpisodeFacts:
    plain = {
        "em": reward or 0.0, "f1": 0.5, "answered": True, "forced": False, "turns": 2,
        "valid_actions": 1, "errors": 1, "tokens": 10, "observation_tokens": 30, "logprob": -5.0,
    }  # fmt: skip
    return EpisodeFacts(reward, **(plain | values))


def test_a_steps_means_are_over_episodes_turns_and_tokens():
    facts = summary(
        [episode(1.0), episode(0.0, turns=4, tokens=40), episode(1.0), episode(None)], samples=2
    )
    assert (facts["reward"], facts["failed"], facts["zero_variance"]) == (2 / 3, 1, 0.5)
    assert facts["valid_actions"] == 3 / 8 and facts["turns"] == 8 / 3
    assert facts["entropy"] == 15 / 60 and facts["observation_tokens"] == 90


def test_drift_adds_up_over_micro_batches_and_processes():
    total = sum([Drift(3, 0.3, 0.2, 3.3, 0.6), Drift(1, 0.5, 0.5, 0.7, 0.2)], Drift())
    means = {"ratio_mean": 1.0, "kl": 0.2, "mismatch_mean": 0.2, "mismatch_max": 0.5}
    assert total.facts() == pytest.approx(means)
    assert Drift().facts()["ratio_mean"] is None


GOOD = {"answered": 1.0, "valid_actions": 1.0, "entropy": 0.5, "kl": 0.01, "mismatch_mean": 1e-6}


def watch(tmp_path, last=None, **settings) -> Monitor:
    paths = dict.fromkeys(("model", "questions", "graph"), "x") | {"output_dir": str(tmp_path)}
    return Monitor(GrpoConfig(**paths | {"limit_steps": 2} | settings), last or {})


def step(monitor: Monitor, number: int, **values: float) -> dict:
    line = GOOD | values
    counters = monitor.count(line)
    monitor.check(number, line)
    return counters


@pytest.mark.parametrize(
    ("settings", "values", "sign"),
    [
        ({}, {"answered": 0.1}, "answered is 0.1, below min_answered = 0.2 for 2 steps"),
        ({}, {"valid_actions": 0.1}, "valid_actions is 0.1, below min_valid_actions"),
        ({"min_entropy": 0.05}, {"entropy": 0.01}, "entropy is 0.01, below min_entropy = 0.05"),
        ({"max_kl": 0.5}, {"kl": 0.7}, "kl is 0.7, above max_kl = 0.5"),
        ({}, {"mismatch_mean": 0.2}, "mismatch_mean is 0.2, above max_mismatch = 0.1"),
    ],
)
def test_the_run_stops_after_enough_steps_beyond_a_limit(tmp_path, settings, values, sign):
    monitor = watch(tmp_path, **settings)
    step(monitor, 1, **values)
    step(monitor, 2)
    step(monitor, 3, **values)
    assert not monitor.within_limits
    with pytest.raises(CollapseError, match=sign):
        step(monitor, 4, **values)
    quiet = watch(tmp_path, limit_steps=0, **settings)
    for number in range(9):
        step(quiet, number, **values)


def test_a_limit_of_zero_is_none_and_a_missing_value_passes(tmp_path):
    monitor = watch(tmp_path, min_entropy=0.0, max_kl=0.0, max_mismatch=0.0)
    for number in range(5):
        step(monitor, number, entropy=0.0, kl=0.9, mismatch_mean=0.9)
        assert step(watch(tmp_path), number, kl=None)["high_kl"] == 0


def test_a_gradient_that_is_no_number_stops_at_once_and_a_resumed_run_goes_on_counting(tmp_path):
    with pytest.raises(CollapseError, match="grad_norm is nan"):
        step(watch(tmp_path), 1, grad_norm=math.nan)
    with pytest.raises(CollapseError, match="for 2 steps"):
        step(watch(tmp_path, {"low_answered": 1}), 7, answered=0.0)


@pytest.mark.long
def test_a_collapsed_run_says_why_and_keeps_the_last_good_checkpoint(grpo_world, tmp_path, capsys):
    settings = {"lr": 0.3, "steps": 9, "save_steps": 1, "keep_checkpoints": 1, "limit_steps": 3}
    config = grpo_config(grpo_world, tmp_path / "run", min_answered=0.0, **settings)
    path = write_config(config, tmp_path / "grpo.json")
    assert run_command("grpo", GrpoConfig, run_grpo, ["--config", str(path)]) == 1
    error = capsys.readouterr().err
    steps = lines(tmp_path / "run")
    good = max(line["step"] for line in steps if not line["low_valid_actions"])
    assert "valid_actions is 0, below min_valid_actions = 0.2 for 3 steps" in error
    assert f"checkpoint-{good} is the last good one" in error
    assert (tmp_path / "run" / f"checkpoint-{good}" / "model.safetensors").is_file()
    assert not (tmp_path / "run" / "final").exists()


def test_trackers_that_are_unknown_or_not_installed_are_named(monkeypatch):
    with pytest.raises(UserError, match=r"'tensorbord' is not a tracker; .*tensorboard.*wandb"):
        check_trackers(["tensorbord"])
    monkeypatch.setattr("training.runs.arguments.find_spec", lambda _: None)
    with pytest.raises(UserError, match="pip install trackio"):
        check_trackers(["trackio"])


def test_groups_without_variance_are_named_by_their_reason():
    right, wrong = [episode(1.0), episode(1.0)], [episode(0.0), episode(0.0)]
    lost = [episode(0.0, winnable=False), episode(None, winnable=False)]
    facts = summary([*right, *wrong, *lost, episode(None), episode(None)], samples=2)
    assert facts["zero_variance"] == 1.0  # groups that failed have no variance, and no reason
    assert [facts[why] for why in ZERO_VARIANCE] == [0.25, 0.25, 0.25]
    mixed = summary([episode(1.0), episode(0.0)], samples=2)
    assert [mixed[why] for why in ("zero_variance", *ZERO_VARIANCE)] == [0.0] * 4


def test_a_question_is_winnable_where_the_environment_shows_its_answers(grpo_world):
    kept, environment = open_world(grpo_config(grpo_world, grpo_world / "none", winnable=True))
    asked = Winnable(environment)
    assert kept and all(asked(question) for question in kept)
    gone = replace(kept[0], id="gone", answers=(Answer("Nobody", "m.nobody"),))
    assert asked(gone) is False
    toolless = Environment(environment.graph, EnvironmentConfig(preset="io-prompt"))
    assert Winnable(toolless)(gone) is None


def test_a_run_without_winnable_questions_says_what_to_change(grpo_world, tmp_path):
    path = tmp_path / "q.jsonl"
    gone = [replace(q, answers=(Answer("Nobody", "m.nobody"),)) for q in questions()]
    write_jsonl(path, [question.to_json() for question in gone])
    config = grpo_config(grpo_world, tmp_path / "run", questions=str(path), winnable=True)
    with pytest.raises(UserError, match=r"none of its \d+ questions is winnable.*triples_per"):
        open_world(config)


@pytest.mark.parametrize("which", ["questions", "evaluation"])
def test_questions_of_another_graph_do_not_start_a_run(grpo_world, tmp_path, which):
    path, elsewhere = tmp_path / "q.jsonl", (Entity("m.elsewhere", "Elsewhere"),)
    foreign = [replace(q, topic_entities=elsewhere) for q in questions()]
    write_jsonl(path, [question.to_json() for question in foreign])
    settings = {"questions": str(path)}
    if which == "evaluation":
        settings = {"evaluation": {"questions": str(path)}}
    config = grpo_config(grpo_world, tmp_path / "run", **settings)
    with pytest.raises(UserError, match=r"no triple of the topic entities.*m\.elsewhere"):
        run_grpo(config)
    assert not (tmp_path / "run").exists()


def test_a_step_says_where_the_signal_is():
    facts = [
        episode(1.0, tokens=10), episode(0.0, tokens=90, grounded=False),
        episode(1.0, tokens=20, grounded=False), episode(1.0, tokens=30, cut_turns=1),
    ]  # fmt: skip
    found = summary(facts, 2)
    assert found["informative_groups"] == 1
    assert (found["tokens_right"], found["tokens_wrong"]) == (20, 90)
    assert found["ungrounded"] == 1 / 3 and found["cut_turns"] == 1 / 8
    assert summary([episode(None)] * 2, 2)["tokens_right"] is None
