"""The dry run: the data, the empty model and one batch, and what would stop the run later."""

import pytest

from graphwalker.errors import UserError
from support.run_toys import SHAPE, grpo_config, sft_config
from training.dry_run import dry_run


def test_the_first_batch_is_that_of_the_run(place, tmp_path) -> None:
    from transformers import AutoTokenizer

    from training.supervised.batches import plan_steps
    from training.supervised.rows import read_rows

    config = sft_config(place, tmp_path / "run", batch_size=8, tokens_per_step=0)
    told = dry_run(config)
    rows = read_rows(config, AutoTokenizer.from_pretrained(place / "model"), tmp_path / "rows")
    lengths = [rows.lengths[i] for i in plan_steps(rows.lengths, config, 1)[0][0]]
    assert f"input_ids (8, {max(lengths)})" in told["first pass"]
    assert told["real tokens in it"] == sum(lengths) > told["trained tokens in it"] > 0
    assert told["steps"] == 12 and not (tmp_path / "run").exists()
    assert "input_ids (4," in dry_run(config, gpus=2)["first pass"]  # they share a step
    with pytest.raises(UserError):
        dry_run(config.model_copy(update={"format": "llama3"}))


def test_grpo_tells_episodes_and_prompts(grpo_world, tmp_path) -> None:
    told = dry_run(grpo_config(grpo_world, tmp_path / "run", max_prompt_tokens=400), gpus=2)
    assert told["episodes per step"] == "4 x 4 = 16" and told["episodes per process"] == 8
    assert 0 < told["longest prompt"] <= 400 and told["questions"] == 8
    longer = {"max_prompt_tokens": 400, "max_response_tokens": SHAPE.max_position}
    for caps, message in (
        ({"max_prompt_tokens": 5}, "max_prompt_tokens"),
        (longer, "was made for"),
    ):
        with pytest.raises(UserError, match=message):
            dry_run(grpo_config(grpo_world, tmp_path / "run", **caps))
