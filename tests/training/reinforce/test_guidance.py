"""Demonstrations in the place of groups that no episode of GRPO solved."""

from dataclasses import replace

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("trl")

from transformers import AutoTokenizer  # noqa: E402

from graphwalker.errors import UserError  # noqa: E402
from graphwalker.files import write_jsonl  # noqa: E402
from graphwalker.tokens.segments import IGNORED, chat_format, training_row  # noqa: E402
from graphwalker.trajectory import Trajectory  # noqa: E402
from support.grpo_batches import environment_of, first_batch, group_advantages  # noqa: E402
from support.grpo_toy import played  # noqa: E402
from support.run_toys import grpo_config, largest_difference, lines, stop_after  # noqa: E402
from training.grpo import run_grpo  # noqa: E402
from training.reinforce.rows.episode_tokens import EpisodeTokens  # noqa: E402
from training.reinforce.rows.guidance import Guidance, guide_tokens  # noqa: E402


@pytest.fixture(scope="module")
def shown(grpo_world) -> list[Trajectory]:
    """Right demonstrations, as `graphwalker experts` writes them."""
    right = played(environment_of(grpo_world), "Verria")
    return [replace(t.with_scores(em=1.0), turns=_bare(t)) for t in right]


def _bare(trajectory: Trajectory) -> tuple:
    return tuple(replace(turn, token_ids=None, logprobs=None) for turn in trajectory.turns)


@pytest.fixture(scope="module")
def guided(grpo_world, shown) -> dict:
    """The settings of a guided run: demonstrations of most of the questions."""
    path = grpo_world / "guides.jsonl"
    write_jsonl(path, [t.to_json() for t in shown[:6]])
    return {"guidance": {"data": [str(path)]}, "temperature": 2.0}  # at which it often errs


def group(trajectory: Trajectory, *em: float) -> list[Trajectory]:
    return [trajectory.with_scores(em=value, reward=value) for value in em]


def test_only_a_group_without_a_right_episode_is_guided_at_its_last_place(shown) -> None:
    known = {t.question.id: t for t in shown[:3]}
    guidance = Guidance(known, lambda t: t, lambda t: EpisodeTokens([1], [2], [1], [0.0], [0]))
    groups = [
        group(shown[0], 0, 0), group(shown[1], 0, 1), group(shown[2], 0, 0), group(shown[3], 0, 0)
    ]  # fmt: skip
    found = guidance.guides(groups)
    assert {place: guide.trajectory for place, guide in found.items()} == {1: shown[0], 5: shown[2]}


def test_a_guide_is_a_row_of_sft_with_the_advantage_of_its_group(
    grpo_world, shown, guided, tmp_path
) -> None:
    trainer, inputs = first_batch(grpo_world, tmp_path / "r", **guided)
    batch = trainer.rollouts.batch
    drawn = torch.tensor([f.em for f in batch.facts])
    lost = [4 * k + 3 for k, some in enumerate(drawn.view(4, 4)) if not some.any()]
    assert lost and [i for i, is_guide in enumerate(batch.guided) if is_guide] == lost
    for place in lost:
        row = training_row(shown[place // 4], trainer.rollouts.fmt, trainer.processing_class)
        real = inputs["completion_mask"][place].bool()
        prompt = inputs["prompt_ids"][place][inputs["prompt_mask"][place].bool()].tolist()
        completion = inputs["completion_ids"][place][real].tolist()
        assert [*prompt, *completion][: len(row.input_ids)] == row.input_ids
        mask = inputs["tool_mask"][place][real].tolist()
        trained = [i for i, drawn in zip(completion, mask, strict=True) if drawn]
        assert trained == [i for i in row.labels if i != IGNORED]
        drawn[place] = 1.0
    assert torch.allclose(inputs["advantages"], group_advantages(drawn), atol=1e-4)


def test_a_turn_in_which_the_expert_was_made_to_err_is_not_trained_on(grpo_world, shown) -> None:
    tokenizer = AutoTokenizer.from_pretrained(grpo_world / "model")
    fmt, errors = chat_format("inline"), [{"turn": 0, "kind": "dead_end", "slip": True}]
    erring = replace(shown[0], provenance={**shown[0].provenance, "errors": errors})
    whole, masked = (guide_tokens(t, fmt, tokenizer, [0]) for t in (shown[0], erring))
    assert masked.completion == whole.completion and masked.turns.count(0) == 0
    assert {turn for turn in whole.turns if turn >= 0} == {0, 1}
    assert [t for t in masked.turns if t >= 0] == [t for t in whole.turns if t > 0]


@pytest.mark.long
def test_the_figures_of_a_step_are_of_what_was_drawn(grpo_world, guided, tmp_path) -> None:
    run_grpo(grpo_config(grpo_world, tmp_path / "r", **guided))
    run_grpo(grpo_config(grpo_world, tmp_path / "plain", steps=1, save_steps=1, temperature=2.0))
    record, plain = lines(tmp_path / "r"), lines(tmp_path / "plain")
    same = ("em", "reward", "entropy", "tokens", "observation_tokens", "zero_variance", "answered")
    assert [record[0][k] for k in same] == [plain[0][k] for k in same]
    assert "guided" not in plain[0] and sum(line["guided"] for line in record) > 0
    assert all(line["mismatch_max"] < 1e-3 for line in record if line["mismatch_max"])
    assert any(line["grad_norm"] > 0 for line in record if line["guided"])
    drawn = (tmp_path / "r" / "trajectories.jsonl").read_text()
    assert '"scripted"' not in drawn


@pytest.mark.long
def test_a_guided_run_resumes_bit_equal(grpo_world, guided, tmp_path) -> None:
    run_grpo(grpo_config(grpo_world, tmp_path / "whole", **guided, keep_checkpoints=9))
    config = grpo_config(grpo_world, tmp_path / "again", **guided, keep_checkpoints=9)
    run = stop_after(tmp_path / "whole", config, 2)
    run_grpo(config)
    assert largest_difference(run, tmp_path / "whole") == 0


def test_demonstrations_that_cannot_guide_are_refused(grpo_world, shown, tmp_path) -> None:
    def run(**settings) -> None:
        run_grpo(grpo_config(grpo_world, tmp_path / "r", **settings))

    with pytest.raises(UserError, match=r"guidance\.data: none\.jsonl: no such trajectory"):
        run(guidance={"data": ["none.jsonl"]})
    other = tmp_path / "other.jsonl"
    write_jsonl(other, [replace(shown[0], agent="kg-r1").to_json()])
    with pytest.raises(UserError, match="is of the preset kg-r1, this run's is graphwalker"):
        run(guidance={"data": [str(other)]})
    wrong = tmp_path / "wrong.jsonl"
    write_jsonl(wrong, [shown[0].with_scores(em=0.0).to_json()])
    with pytest.raises(UserError, match="no right demonstration of any training question"):
        run(guidance={"data": [str(wrong)]})
    with pytest.raises(ValueError, match="guidance needs engine: transformers"):
        run(guidance={"data": [str(wrong)]}, rollout_dtype="bfloat16")
