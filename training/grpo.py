"""GRPO in the environment: TRL's trainer on whole episodes, the reward is the answer's EM.

accelerate launch training/grpo.py --config configs/grpo.yaml output_dir=runs/grpo lr=2e-6
"""

import logging
import os
import random
import sys
from pathlib import Path
from typing import Any

from graphwalker.agents.presets import Environment
from graphwalker.benchmarks.base import load_questions
from graphwalker.errors import UserError
from graphwalker.graphs.compiled import open_graph
from graphwalker.policies.base import Sampling
from graphwalker.question import Question
from graphwalker.tokens import chat_format
from training.checkpoints import (
    claim_facts,
    claim_folder,
    digest,
    finished,
    last_checkpoint,
)
from training.command import run_command
from training.distributed import check_layout, process_arguments, processes, rank
from training.grpo_config import GrpoConfig

log = logging.getLogger(__name__)

FREE_KEYS = (
    "alarm_steps",
    "engine_batch",
    "keep_checkpoints",
    "max_seconds",
    "min_answered",
    "min_valid_actions",
    "report_to",
    "threads",
)
"""Settings that may differ when a run goes on."""


def run_grpo(config: GrpoConfig) -> Path:
    """Train, or go on where a killed run stopped; returns the folder of the final model.

    A finished run is left as it is. Raises `UserError` for a folder made with another config or
    other data, and `CollapseError` when the alarm rings.
    """
    from training.saving import save_final

    check_layout()
    out = Path(config.output_dir)
    questions, environment = _world(config)
    if rank() == 0:
        claim_folder(config, out, FREE_KEYS)
        claim_facts(out, "inputs", _inputs(config, environment))
    if finished(out):
        log.info("%s is finished", out / "final")
        return out / "final"
    if config.threads:
        import torch

        torch.set_num_threads(config.threads)
    start = last_checkpoint(out)
    trainer = make_trainer(config, questions, environment, start)
    trainer.train(resume_from_checkpoint=str(out / f"checkpoint-{start}") if start else None)
    return save_final(trainer, out)


def make_trainer(
    config: GrpoConfig, questions: list[Question], environment: Environment, start: int = 0
) -> Any:
    """The trainer of that config, to go on after step `start`."""
    from datasets import Dataset
    from transformers import AutoTokenizer, PrinterCallback

    from training.grpo_log import Clock, StepLog
    from training.grpo_trainer import EpisodeTrainer
    from training.rewards import exact_match_reward
    from training.rollout import Rollouts

    os.environ.setdefault("TRL_EXPERIMENTAL_SILENCE", "1")
    tokenizer = AutoTokenizer.from_pretrained(config.model, padding_side="left")
    record = StepLog(config, start)
    rollouts = Rollouts(
        questions,
        environment,
        chat_format(config.format),
        samples=config.samples,
        sampling=Sampling(config.temperature, max_tokens=config.max_turn_tokens, seed=config.seed),
        max_context=config.max_prompt_tokens + config.max_response_tokens,
        engine_batch=config.engine_batch,
    )
    trainer = EpisodeTrainer(
        rollouts,
        record,
        config.keep_checkpoints,
        model=config.model,
        reward_funcs=exact_match_reward,
        args=_arguments(config),
        train_dataset=Dataset.from_dict({"prompt": question_order(config, questions)}),
        processing_class=tokenizer,
        callbacks=[Clock(record, config.max_seconds)],
    )
    trainer.remove_callback(PrinterCallback)
    return trainer


def question_order(config: GrpoConfig, questions: list[Question]) -> list[str]:
    """The question ids of all steps, no question twice in a step.

    One list instead of TRL's shuffle, which a resumed run would begin anew in its second epoch.
    """
    rng, whole = random.Random(config.seed), config.steps * config.prompts_per_step
    order: list[str] = []
    per_round = len(questions) - len(questions) % config.prompts_per_step
    while len(order) < whole:
        order += rng.sample([question.id for question in questions], per_round)
    return order[:whole]


def _world(config: GrpoConfig) -> tuple[list[Question], Environment]:
    questions = load_questions(config.questions)
    if len(questions) < config.prompts_per_step:
        raise UserError(
            f"{config.questions}: {len(questions)} questions are fewer than prompts_per_step = "
            f"{config.prompts_per_step}; add questions or lower it"
        )
    if not Path(config.model).is_dir() and Path(config.model).is_absolute():
        raise UserError(f"{config.model}: no such model folder")
    return questions, Environment(open_graph(config.graph), config.environment)


def _arguments(config: GrpoConfig) -> Any:
    from trl.trainer.grpo_config import GRPOConfig

    bf16 = config.dtype == "bfloat16" or (config.dtype == "auto" and _gpu_has_bf16())
    return GRPOConfig(
        output_dir=config.output_dir,
        **process_arguments(bf16),
        ddp_find_unused_parameters=False,
        seed=config.seed,
        max_steps=config.steps,
        shuffle_dataset=False,
        num_generations=config.samples,
        per_device_train_batch_size=config.micro_batch,
        gradient_accumulation_steps=_accumulation(config),
        max_completion_length=config.max_response_tokens,
        temperature=config.temperature,
        loss_type=config.loss_type,
        beta=config.beta,
        use_bias_correction_kl=False,
        epsilon=config.clip_low,
        epsilon_high=config.clip_high,
        scale_rewards=config.scale_rewards,
        learning_rate=config.lr,
        lr_scheduler_type=config.schedule,
        warmup_steps=config.warmup_steps,
        adam_beta1=config.beta1,
        adam_beta2=config.beta2,
        adam_epsilon=config.epsilon,
        weight_decay=config.weight_decay,
        max_grad_norm=config.max_grad_norm,
        bf16=bf16,
        gradient_checkpointing=config.gradient_checkpointing,
        logging_steps=1,
        save_steps=config.save_steps,
        report_to=list(config.report_to) or "none",
        disable_tqdm=True,
        dataloader_pin_memory=False,
    )


def _accumulation(config: GrpoConfig) -> int:
    """Micro-batches per process and step: one optimizer step per batch of rollouts."""
    if config.prompts_per_step % processes():
        raise UserError(
            f"prompts_per_step = {config.prompts_per_step} is not a multiple of the {processes()} "
            "processes: every process must hold whole groups"
        )
    episodes = config.prompts_per_step * config.samples // processes()
    if episodes % config.micro_batch:
        raise UserError(
            f"micro_batch = {config.micro_batch} does not divide the {episodes} episodes per step "
            "and process (prompts_per_step * samples / processes)"
        )
    return episodes // config.micro_batch


def _inputs(config: GrpoConfig, environment: Environment) -> dict[str, str]:
    facts = {"questions": digest(Path(config.questions))}
    if Path(config.model).is_dir():
        facts["model"] = digest(Path(config.model))
    return facts | {"graph": str(getattr(environment.graph, "checksum", ""))}


def _gpu_has_bf16() -> bool:
    import torch

    return torch.cuda.is_available() and torch.cuda.is_bf16_supported()


if __name__ == "__main__":
    sys.exit(run_command("training/grpo.py", GrpoConfig, run_grpo))
