"""The arguments of TRL's GRPO trainer, made from our config."""

from typing import Any

from graphwalker.errors import UserError
from training.grpo_config import GrpoConfig
from training.reinforce.engines import engine_arguments
from training.runs.arguments import build, shared_arguments
from training.runs.distributed import processes


def trl_arguments(config: GrpoConfig) -> Any:
    """Raise `UserError` for batches that do not divide, for trackers or engines that are not there,
    and for a field of `trainer:` that cannot be set."""
    from trl.trainer.grpo_config import GRPOConfig

    arguments = {
        **shared_arguments(config),
        **engine_arguments(config),
        "max_steps": config.steps,
        "num_iterations": config.iterations,
        "shuffle_dataset": False,
        "num_generations": config.samples,
        **passes(config, processes()),
        "max_completion_length": config.max_response_tokens,
        "temperature": config.temperature,
        "loss_type": config.loss_type,
        "importance_sampling_level": config.importance_level,
        "beta": config.beta,
        # TRL's correction multiplies k3 by the ratio; GraphWalker's KL term is plain k3.
        "use_bias_correction_kl": False,
        "epsilon": config.clip_low,
        "epsilon_high": config.clip_high,
        "scale_rewards": config.scale_rewards,
        "lr_scheduler_type": config.schedule,
        "warmup_steps": config.warmup_steps,
        "logging_steps": 1,
        "dataloader_pin_memory": False,
    }
    return build(GRPOConfig, arguments, config)


def passes(config: GrpoConfig, count: int) -> dict[str, int]:
    """Return rows of a pass, and passes of each of `count` processes and a step: one update for
    each batch. Raises `UserError` where they do not divide."""
    if config.prompts_per_step % count:
        raise UserError(
            f"prompts_per_step = {config.prompts_per_step} is not a multiple of the {count} "
            "processes: every process must hold whole groups"
        )
    episodes = config.prompts_per_step * config.samples // count
    rows = config.micro_batch
    if episodes % rows:
        raise UserError(
            f"micro_batch = {config.micro_batch} does not divide the {episodes} episodes per step "
            "and process (prompts_per_step * samples / processes)"
        )
    return {"per_device_train_batch_size": rows, "gradient_accumulation_steps": episodes // rows}
