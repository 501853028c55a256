"""The arguments of TRL's GRPO trainer, made from our config."""

from typing import Any

from graphwalker.errors import UserError
from training.grpo_config import GrpoConfig
from training.reinforce.engines import engine_arguments
from training.runs.distributed import process_arguments, processes, uses_bfloat16
from training.runs.trackers import check_trackers


def trl_arguments(config: GrpoConfig) -> Any:
    """Raises `UserError` for batches that do not divide, and for trackers or engines that are not
    there."""
    from trl.trainer.grpo_config import GRPOConfig

    check_trackers(config.report_to)
    bf16 = uses_bfloat16(config.dtype)
    return GRPOConfig(
        output_dir=config.output_dir,
        **process_arguments(bf16),
        **engine_arguments(config),
        ddp_find_unused_parameters=False,
        seed=config.seed,
        max_steps=config.steps,
        num_iterations=config.iterations,
        shuffle_dataset=False,
        num_generations=config.samples,
        per_device_train_batch_size=config.micro_batch,
        gradient_accumulation_steps=_accumulation(config),
        max_completion_length=config.max_response_tokens,
        temperature=config.temperature,
        loss_type=config.loss_type,
        importance_sampling_level=config.importance_level,
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
