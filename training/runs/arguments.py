"""Our settings as arguments of TRL's trainers, and trackers by TRL's names."""

import dataclasses
import difflib
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from typing import Any, TypeVar, get_type_hints

from pydantic import TypeAdapter, ValidationError

from graphwalker.errors import UserError
from training.config import TrainingConfig
from training.runs.distributed import limit_waiting, process_arguments, uses_bfloat16
from training.trl_names import COPIED, TRL_NAMES

PACKAGES = {"tensorboard": "tensorboard", "wandb": "wandb", "trackio": "trackio"}
"""What to install for a tracker."""


def check_trackers(names: Sequence[str]) -> None:
    """Raise `UserError` for a tracker that the Trainer does not know, or that is not installed."""
    if not names:
        return
    from transformers.integrations.integration_utils import INTEGRATION_TO_CALLBACK

    for name in names:
        if name not in INTEGRATION_TO_CALLBACK:
            known = ", ".join(sorted(INTEGRATION_TO_CALLBACK))
            raise UserError(f"report_to: {name!r} is not a tracker; known are {known}")
        if name in PACKAGES and find_spec(PACKAGES[name]) is None:
            raise UserError(
                f"report_to: {name} is not installed; pip install {PACKAGES[name]}, or leave it out"
            )


A = TypeVar("A")

INTERNAL = frozenset({
    "accelerator_config", "assistant_only_loss", "auto_find_batch_size", "chat_template_path",
    "completion_only_loss", "dataset_num_proc", "dataset_text_field", "do_eval", "do_predict",
    "do_train", "eos_token", "eval_on_start", "eval_packing", "generation_batch_size",
    "generation_kwargs", "ignore_data_skip", "mask_truncated_completions", "min_p",
    "model_init_kwargs", "num_generations_eval", "pad_token", "padding_free",
    "parallelism_config", "per_device_eval_batch_size", "prediction_loss_only", "push_to_hub",
    "repetition_penalty", "resume_from_checkpoint", "save_only_model", "save_strategy",
    "steps_per_generation", "top_k", "top_p", "train_sampling_strategy", "truncation_mode",
    "trust_remote_code", "use_transformers_continuous_batching", "use_transformers_paged",
    "use_vllm",
})  # fmt: skip
"""Fields that would change which rows are seen, how episodes are drawn, or how a run resumes."""
FREE = frozenset({"lr_scheduler_type"})
"""A scheduler that `schedule` does not name, such as `cosine_with_min_lr`."""


def shared_arguments(config: TrainingConfig) -> dict[str, Any]:
    """Return the arguments of both trainers. Raises `UserError` for unknown trackers."""
    check_trackers(config.report_to)
    bf16 = uses_bfloat16(config.dtype)
    of_processes = process_arguments(bf16)
    limit_waiting(config.ddp_timeout_s)
    return {
        **{theirs: getattr(config, ours) for theirs, ours in COPIED.items()},
        **of_processes,
        "bf16": bf16,
        "ddp_find_unused_parameters": False,
        "report_to": list(config.report_to) or "none",
        "disable_tqdm": True,
    }


def build(kind: type[A], arguments: Mapping[str, Any], config: TrainingConfig) -> A:
    """TRL's config `kind` from our arguments and the fields of the config's `trainer:`."""
    return kind(**{**arguments, **checked_fields(kind, config, arguments)})


def checked_fields(
    kind: type[Any], config: TrainingConfig, arguments: Mapping[str, Any] = {}
) -> dict[str, Any]:
    """Return the fields of `trainer:`, with their types. Raises `UserError` for one that TRL's
    config does not have, that another setting decides, or whose value does not fit."""
    names = {field.name for field in dataclasses.fields(kind) if field.init}
    hints = get_type_hints(kind)
    checked: dict[str, Any] = {}
    for name, value in config.trainer.items():
        if name not in names:
            close = difflib.get_close_matches(name, names, n=1)
            hint = f"; did you mean {close[0]}?" if close else ""
            raise UserError(f"trainer.{name} is not a field of TRL's {kind.__name__}{hint}")
        _refuse_decided(name, config, arguments)
        try:
            checked[name] = TypeAdapter(hints[name]).validate_python(value)
        except ValidationError as error:
            problem = error.errors()[0]["msg"]
            raise UserError(f"trainer.{name}: {problem} (got {value!r})") from None
    return checked


def _refuse_decided(name: str, config: TrainingConfig, arguments: Mapping[str, Any]) -> None:
    if name in FREE:
        return
    if name in TRL_NAMES:
        ours = TRL_NAMES[name].split(" or ")
        ours = [part for part in ours if part in type(config).model_fields] or ours
        raise UserError(f"trainer.{name}: set {' or '.join(ours)} instead")
    if name in INTERNAL or name in arguments or name.startswith("vllm_"):
        raise UserError(
            f"trainer.{name} cannot be set: the rows, the episodes or the resuming rest on it"
        )
