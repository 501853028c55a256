"""SFT tokens a second: our trainer and a plain TRL `SFTTrainer` on the same rows.

The plain one runs twice: on our batches in our order, where both losses must be the same, and on
its own random batches, which is what users compare with. Tokens are real ones, never padding.
"""

import tempfile
import time
from pathlib import Path
from typing import Any

from graphwalker.config import parse_config
from graphwalker.pipeline import Demo
from training.config import SftConfig
from training.supervised.data import Rows, as_dataset, plan_steps, read_rows

ROWS = 16
"""Rows per optimizer step."""
LR = 1e-3
WARM = 5
"""Steps at the start that no clock counts."""


def sft_figures(demo: Demo, steps: int) -> dict[str, Any]:
    """Tokens a second of each, the ratios, and the largest difference of losses in nats."""
    from transformers import AutoTokenizer

    with tempfile.TemporaryDirectory() as folder:
        config = parse_config(SftConfig, _settings(demo, steps, folder), "benchmark, sft")
        tokenizer = AutoTokenizer.from_pretrained(config.model)
        rows = read_rows(config, tokenizer)
        del rows.rows[len(rows.rows) // ROWS * ROWS :]  # no step with fewer rows
        plan = [step[0] for step in plan_steps(rows.lengths, config, 1)]
        planned = Rows([rows.rows[index] for step in plan for index in step])
        ours = _ours(config, tokenizer, rows)
        same = _plain(config, tokenizer, planned, "sequential")
        usual = _plain(config, tokenizer, rows, "random")
    gaps = [abs(a - b) for a, b in zip(ours["losses"], same["losses"], strict=True)]
    speeds = {
        name: round(run["tokens"] / run["seconds"], 1) for name, run in _named(ours, same, usual)
    }
    return {
        "rows_per_step": ROWS,
        "steps": steps - WARM,
        "tokens_per_s": speeds,
        "ratio_to_plain": round(speeds["ours"] / speeds["plain"], 2),
        "ratio_to_plain_on_our_batches": round(speeds["ours"] / speeds["plain_on_our_batches"], 2),
        "largest_loss_difference": max(gaps),
        "first_loss": ours["losses"][0],
        "last_loss": ours["losses"][-1],
        "target_ratio": 1.3,
    }


def _named(ours: Any, same: Any, usual: Any) -> list[tuple[str, Any]]:
    return [("ours", ours), ("plain", usual), ("plain_on_our_batches", same)]


def _settings(demo: Demo, steps: int, folder: str) -> dict[str, Any]:
    return {
        "model": str(demo.out / "model"),
        "data": [str(demo.out / "synth" / "graphsynth.jsonl")],
        "output_dir": folder,
        "format": "inline",
        "batch_size": ROWS,
        "max_steps": steps,
        "lr": LR,
        "schedule": "constant",
        "warmup_ratio": 0.0,
        "log_steps": 1,
        "save_steps": 10**6,
        "progress": False,
    }


def _ours(config: SftConfig, tokenizer: Any, rows: Rows) -> dict[str, Any]:
    from training.supervised.trainer import PlannedTrainer

    plan = plan_steps(rows.lengths, config, 1)
    return _timed(PlannedTrainer(config, tokenizer, rows, plan, 0))


def _plain(config: SftConfig, tokenizer: Any, rows: Rows, order: str) -> dict[str, Any]:
    """TRL's trainer as its documentation sets it up, with the same optimizer."""
    import torch
    from transformers import AutoModelForCausalLM, PrinterCallback, ProgressCallback
    from trl.trainer.sft_config import SFTConfig
    from trl.trainer.sft_trainer import SFTTrainer

    model = AutoModelForCausalLM.from_pretrained(config.model, dtype=torch.float32)
    trainer = SFTTrainer(
        model=model,
        args=SFTConfig(
            output_dir=str(Path(config.output_dir) / order),
            per_device_train_batch_size=ROWS,
            max_steps=config.max_steps,
            learning_rate=LR,
            lr_scheduler_type="constant",
            adam_beta1=config.beta1,
            adam_beta2=config.beta2,
            weight_decay=config.weight_decay,
            max_grad_norm=config.max_grad_norm,
            logging_steps=1,
            save_strategy="no",
            report_to="none",
            disable_tqdm=True,
            dataset_kwargs={"skip_prepare_dataset": True},
            max_length=None,
            bf16=False,
            gradient_checkpointing=False,
            seed=config.seed,
            train_sampling_strategy=order,
        ),
        train_dataset=as_dataset(rows),
        processing_class=tokenizer,
    )
    for callback in (PrinterCallback, ProgressCallback):
        trainer.remove_callback(callback)
    return _timed(trainer)


def _timed(trainer: Any) -> dict[str, Any]:
    """Train; the losses of all steps, and tokens and seconds of those after the first few."""
    clock = _clock()
    trainer.add_callback(clock)
    original = trainer.training_step

    def counted(model: Any, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        mask = inputs.get("attention_mask")
        clock.tokens.append(int(mask.sum()))
        return original(model, inputs, *args, **kwargs)

    trainer.training_step = counted
    trainer.train()
    return {
        "losses": [line["loss"] for line in trainer.state.log_history if "loss" in line],
        "tokens": sum(clock.tokens[WARM:]),
        "seconds": clock.ends[-1] - clock.ends[WARM - 1],
    }


def _clock() -> Any:
    from transformers import TrainerCallback

    class Clock(TrainerCallback):
        """When each step ended, and its tokens."""

        def __init__(self) -> None:
            self.ends: list[float] = []
            self.tokens: list[int] = []

        def on_step_end(self, *_: Any, **__: Any) -> None:
            self.ends.append(time.perf_counter())

    return Clock()
