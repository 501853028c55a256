"""Supervised fine-tuning: TRL's trainer on pre-tokenised rows, loss on the agent's tokens alone.

accelerate launch training/sft.py --config configs/sft.yaml output_dir=runs/sft lr=2e-5
"""

import logging
import sys
from pathlib import Path

from graphwalker.agents.policies import refuse_without_model
from graphwalker.errors import UserError
from graphwalker.files import write_json
from graphwalker.pretrained.load import read_tokenizer
from graphwalker.runs import claim, one_writer
from training.config import SftConfig
from training.models.lora import check_adapter_settings, check_start
from training.runs.checkpoints import digests, last_checkpoint
from training.runs.command import run_command
from training.runs.distributed import check_layout, processes, rank
from training.runs.environment import (
    check_evaluation,
    in_their_environment,
    with_format,
    with_local_files,
    write_run_environment,
)
from training.runs.resuming import claim_run, record_length
from training.supervised.batches import plan_steps
from training.supervised.rows import read_rows

log = logging.getLogger(__name__)

FREE_KEYS = (
    "allow_cpu",
    "ddp_timeout_s",
    "environment",
    "epochs",
    "force_environment",
    "gradient_accumulation",
    "keep_checkpoints",
    "log_steps",
    "max_steps",
    "progress",
    "report_to",
    "save_steps",
    "trust",
)
"""Settings that may differ when a run resumes."""


@one_writer("config.output_dir")
def run_sft(config: SftConfig) -> Path:
    """Train, or resume where a killed run stopped; returns the folder of the final model.

    A finished run is left as it is. Raises `UserError` for a folder made with another config or
    other data.
    """
    check_layout()
    config, out = with_local_files(config), Path(config.output_dir)
    if claim_run(config, _inputs(config), FREE_KEYS):
        return out / "final"
    final = _train(config, out)
    record_length(config, FREE_KEYS)
    return final


def _train(config: SftConfig, out: Path) -> Path:
    from transformers.utils.logging import disable_progress_bar

    from training.runs.saving import save_final
    from training.runs.stopping import train
    from training.supervised.trainer import PlannedTrainer

    disable_progress_bar()  # "Loading weights": ours is the only bar
    config = in_their_environment(config)
    check_start(config)
    tokenizer = read_tokenizer(config.model)
    config = with_format(config, tokenizer)
    rows = read_rows(config, tokenizer, out / "rows")
    if rank() == 0:
        facts = rows.facts()
        claim(out, facts, "data.json", foreign="data.json")
        write_json(out / "lengths.json", rows.length_report(config.max_length))
        log.info("%s", ", ".join(f"{name} {value:,}" for name, value in facts.items()))
    check_evaluation(config, rows.longest_turn)
    if rank() == 0:
        write_run_environment(config, rows.longest_turn)
    plan = plan_steps(rows.lengths, config, processes() * config.gradient_accumulation)
    start = last_checkpoint(out)
    trainer = PlannedTrainer(config, tokenizer, rows, plan, start, (rank(), processes()))
    train(trainer, start)
    best = trainer.evaluation and trainer.evaluation.best
    if best and best.has_model:
        log.info("the final model is that of step %d, with EM %.3f", best.step, best.score)
        return best.as_final(trainer)
    return save_final(trainer, out)


def _inputs(config: SftConfig) -> dict[str, str]:
    """Digest what the run reads; a folder whose inputs have changed is not resumed."""
    for path in config.data:
        if not Path(path).is_file():
            raise UserError(f"{path}: no such trajectory file")
    if config.evaluation and not Path(config.evaluation.questions).is_file():
        raise UserError(f"evaluation.questions: {config.evaluation.questions}: no such file")
    refuse_without_model(config.model, "model")
    check_adapter_settings(config)
    files = {f"data[{number}]": path for number, path in enumerate(config.data)}
    if config.evaluation:
        files["evaluation.questions"] = config.evaluation.questions
    if isinstance(config.format, dict) and config.format.get("template"):
        files["format.template"] = str(config.format["template"])
    return digests(files, config.model)


if __name__ == "__main__":
    sys.exit(run_command("training/sft.py", SftConfig, run_sft))
