"""GRPO's options: what an answer earns, which groups are trained, budgets, and failures of ours."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest
import torch

from graphwalker.agents.environment import Environment
from graphwalker.errors import GraphError, PolicyError, UserError
from graphwalker.graphs.base import Entity
from graphwalker.graphs.open import open_graph
from graphwalker.policies.base import Completion, Request, Sampling
from graphwalker.policies.scripted import ScriptedPolicy
from graphwalker.question import Answer, Question
from graphwalker.trajectory import StopReason, Trajectory, Turn
from support.grpo_batches import first_batch, gradients, loss_mask, our_loss, plain_logps
from support.grpo_toy import SMALL, questions
from support.run_toys import grpo_config, largest_difference, lines
from training.grpo import question_order, question_rows, run_grpo
from training.grpo_config import GrpoConfig
from training.reinforce.arguments import trl_arguments
from training.reinforce.engines import BudgetPolicy, RolloutEngine
from training.reinforce.groups import substitutes
from training.reinforce.rollout import OutageError
from training.reinforce.trainer import EpisodeTrainer

pytestmark = pytest.mark.long

ASKED = Question("q", "Who?", (Entity("m.1", "A"),), (Answer("B"), Answer("C")))


def said(*names: str, stop: StopReason = StopReason.ANSWERED) -> Trajectory:
    return Trajectory(ASKED, "agent", "policy", (), names or None, stop)


MIXED = 3
"""A seed that draws groups of either kind."""


def ids(trainer) -> list[str]:
    return [t.question.id for t in trainer.rollouts.batch.trajectories[::4]]


def without_variance(trainer) -> list[bool]:
    rewards = [t.scores["reward"] for t in trainer.rollouts.batch.trajectories]
    return [len(set(rewards[i : i + 4])) == 1 for i in range(0, 16, 4)]


def test_groups_without_variance_are_drawn_again_with_other_questions(grpo_world, tmp_path):
    keep, _ = first_batch(grpo_world, tmp_path / "keep", seed=MIXED)
    again, inputs = first_batch(
        grpo_world, tmp_path / "again", seed=MIXED, zero_variance="resample", resample_tries=1
    )
    assert any(without_variance(keep)) and not all(without_variance(keep))
    for uniform, before, after in zip(without_variance(keep), ids(keep), ids(again), strict=True):
        assert (before != after) == uniform
    assert len(set(ids(again))) == 4
    assert again.rollouts.batch.resampled == sum(without_variance(keep))
    rows = inputs["completion_mask"].sum(1).tolist()
    assert [len(t.conversation()) > 0 for t in again.rollouts.batch.trajectories] == [True] * 16
    assert len(rows) == 16


def test_drawing_again_ends_after_its_tries(grpo_world, tmp_path):
    settings = {"zero_variance": "resample", "max_turn_tokens": 2}  # no episode can answer
    trainer, _ = first_batch(grpo_world, tmp_path / "run", resample_tries=9, **settings)
    assert trainer.rollouts.batch.resampled == 4  # eight questions: no more are left
    assert all(without_variance(trainer))
    known = [f"q{i}" for i in range(50)]
    chosen = substitutes(known, known[:10], "0:3")
    assert chosen == substitutes(set(known), known[:10], "0:3") != sorted(chosen)
    assert set(chosen) == set(known[10:])
    assert chosen != substitutes(known, known[:10], "0:4")


def test_filtered_groups_are_neither_in_the_loss_nor_in_its_mean(grpo_world, tmp_path):
    settings = {"zero_variance": "filter", "beta": 0.1, "seed": MIXED}
    trainer, inputs = first_batch(grpo_world, tmp_path / "run", **settings)
    without = without_variance(trainer)
    assert trainer.rollouts.batch.filtered == sum(without) > 0
    kept = torch.tensor(without).logical_not().repeat_interleave(4)
    mask = loss_mask(inputs)
    assert torch.equal(mask.any(1), kept)
    inputs["ref_per_token_logps"] = inputs["ref_per_token_logps"] - 0.3
    logps = plain_logps(trainer.model, inputs)
    behind = inputs["ref_per_token_logps"] - logps
    ratio = (logps - logps.detach()).exp()
    terms = -ratio * inputs["advantages"][:, None] + 0.1 * (behind.exp() - behind - 1)
    expected = ((terms * mask).sum(1)[kept] / mask.sum(1)[kept]).mean()
    loss = our_loss(trainer, inputs)
    assert torch.allclose(loss, expected, rtol=1e-5)
    by_hand = gradients(trainer, expected)
    for ours, theirs in zip(gradients(trainer, loss), by_hand, strict=True):
        assert torch.allclose(ours, theirs, atol=1e-6)


def drawn(trainer) -> list[list[int]]:
    return [[len(t.logprobs) for t in e.turns] for e in trainer.rollouts.batch.trajectories]


def test_a_turn_and_an_episode_draw_no_more_than_their_budgets(grpo_world, tmp_path):
    free, _ = first_batch(grpo_world, tmp_path / "free")
    assert max(map(max, drawn(free))) > 8 and max(map(sum, drawn(free))) > 12
    budgets = {"max_turn_tokens": 8, "max_episode_tokens": 12}
    cut, _ = first_batch(grpo_world, tmp_path / "cut", **budgets)
    assert max(map(max, drawn(cut))) == 8 and max(map(sum, drawn(cut))) == 12


def test_a_spent_budget_ends_the_episode_without_asking_the_policy():
    inner = ScriptedPolicy({"q": ["hello", "again"]})
    policy = BudgetPolicy(inner, tokens=5)
    said = Turn((), "hi", logprobs=(-0.1, -0.1, -0.1))
    request = Request("q#0", (), ASKED, (said,), Sampling(max_tokens=9))
    policy.submit(request)
    assert inner._pending["q#0"].sampling.max_tokens == 2
    policy.release("q#0")
    policy.submit(replace(request, turns=(said, said)))
    assert policy.collect() == [("q#0", Completion("", "length"))]


class FailingGraph:
    """The toy graph, but one entity cannot be looked up."""

    def __init__(self, graph, entity_id: str) -> None:
        self._graph, self._entity_id = graph, entity_id

    def __getattr__(self, name):
        inner = getattr(self._graph, name)
        return self._guarded(inner) if "relation" in name or "flat" in name else inner

    def for_question(self, question):
        return self

    def _guarded(self, look_up):
        def guarded(*asked):
            if f"'{self._entity_id}'" in repr(asked):
                raise GraphError("the graph is down")
            return look_up(*asked)

        return guarded


def failing(world) -> Environment:
    return Environment(FailingGraph(open_graph(world / "graph"), "m.0ada"), SMALL)


def test_infrastructure_failures_have_no_reward_and_no_gradient(grpo_world, tmp_path):
    environment = failing(grpo_world)
    trainer, inputs = first_batch(grpo_world, tmp_path / "run", environment, max_failed=0.5)
    batch = trainer.rollouts.batch
    failed = torch.tensor([t.stop.infrastructure_failure for t in batch.trajectories])
    assert failed.any() and not failed.all()
    assert [t.scores.get("reward") is None for t in batch.trajectories] == failed.tolist()
    assert not inputs["advantages"][failed].any()
    assert not loss_mask(inputs)[failed].any()
    assert sum(f.reward is None for f in batch.facts) == int(failed.sum())
    logps, mask = plain_logps(trainer.model, inputs), loss_mask(inputs)
    terms = -(logps - logps.detach()).exp() * inputs["advantages"][:, None] * mask
    expected = (terms.sum(1)[~failed] / mask.sum(1)[~failed]).mean()
    by_hand = gradients(trainer, expected)
    for ours, theirs in zip(gradients(trainer, our_loss(trainer, inputs)), by_hand, strict=True):
        assert torch.allclose(ours, theirs, atol=1e-6)


def test_too_many_failures_stop_the_run(grpo_world, tmp_path):
    with pytest.raises(OutageError, match=r"of 16 episodes failed.*the graph is down"):
        first_batch(grpo_world, tmp_path / "run", failing(grpo_world), max_failed=0.1)


class DeadEngine(RolloutEngine):
    """An engine that fails at every request, as a vLLM does whose process has died."""

    name = "training"

    @contextmanager
    def open(self, trainer: Any) -> Iterator[Any]:
        yield self

    def submit(self, request: Request) -> None:
        raise PolicyError("vLLM failed: EngineDeadError")

    def collect(self) -> list[Any]:
        return []

    def release(self, key: str) -> None:
        pass


def test_an_engine_that_fails_twice_in_a_row_stops_the_run_whatever_the_share(grpo_world, tmp_path):
    trainer, _ = first_batch(grpo_world, tmp_path / "run", max_failed=1.0)
    trainer.rollouts.engine = DeadEngine(trainer.rollouts.config, trainer.rollouts.fmt)
    prompts = [f"q{i}" for i in range(4) for _ in range(4)]
    trainer.rollouts(prompts, trainer)
    with pytest.raises(OutageError, match=r"process 0 failed twice in a row.*EngineDeadError"):
        trainer.rollouts(prompts, trainer)


TABLE_12 = {
    "prompts_per_step": 64, "samples": 8, "lr": 1e-6, "max_prompt_tokens": 4096,
    "max_response_tokens": 8192, "beta": 0.001, "steps": 100, "temperature": 1.0,
    "loss_type": "grpo", "scale_rewards": "group", "iterations": 1,
}  # fmt: skip
RELEASED_CODE = {
    "clip_low": 0.2, "clip_high": 0.28, "beta2": 0.98, "weight_decay": 0.01, "schedule": "constant",
}  # fmt: skip


def test_defaults_are_the_papers_values_and_those_of_its_code():
    config = GrpoConfig(model="m", questions="q", graph="g", output_dir="o")
    for key, value in (TABLE_12 | RELEASED_CODE).items():
        assert getattr(config, key) == value, key
    assert config.rewards == {"em": 1.0}
    assert (config.zero_variance, config.max_episode_tokens) == ("keep", 0)


def test_batches_are_whole_for_processes_and_iterations(grpo_world, tmp_path, monkeypatch):
    once = grpo_config(grpo_world, tmp_path / "a", steps=4)
    twice = grpo_config(grpo_world, tmp_path / "b", steps=4, iterations=2)
    assert question_order(twice, questions()) == question_order(once, questions())[:8]
    rows = question_rows(once, questions())
    assert rows["prompt"][:] == question_order(once, questions())
    asked = {question.id: question for question in questions()}
    assert all(asked[row["prompt"]].text == row["question"] for row in rows)
    with pytest.raises(ValueError, match="multiple of iterations"):
        grpo_config(grpo_world, tmp_path / "c", steps=5, iterations=2)
    monkeypatch.setenv("WORLD_SIZE", "3")
    with pytest.raises(UserError, match="every process must hold whole groups"):
        trl_arguments(once)


def test_the_first_update_leaves_its_logps_for_the_second(grpo_world, tmp_path, monkeypatch):
    settings = {"steps": 2, "save_steps": 2, "iterations": 2, "lr": 1e-3}
    run_grpo(grpo_config(grpo_world, tmp_path / "ours", **settings))
    passes = []
    before = EpisodeTrainer._get_per_token_logps_and_entropies

    def counted(self, *arguments, **named):
        passes.append(torch.is_grad_enabled())
        return before(self, *arguments, **named)

    never = property(lambda _: False, lambda *_: None)
    # As TRL does it: the whole batch is scored once more before its first update.
    monkeypatch.setattr(EpisodeTrainer, "_get_per_token_logps_and_entropies", counted)
    monkeypatch.setattr(EpisodeTrainer, "_takes_old", never, raising=False)
    run_grpo(grpo_config(grpo_world, tmp_path / "scored", **settings))
    assert passes.count(False) == 1
    assert largest_difference(tmp_path / "ours", tmp_path / "scored") < 1e-5
    first, second = lines(tmp_path / "ours")
    assert first["ratio_mean"] == pytest.approx(1, abs=1e-4) != second["ratio_mean"]
    assert second["mismatch_max"] < 1e-4
