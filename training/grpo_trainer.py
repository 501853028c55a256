"""TRL's GRPO trainer, made fast for small models, with a record of every step.

What is changed against TRL 1.16, each exact: log-probabilities only where the policy drew a token,
columns of padding cut, rows sorted by length, rows without advantage left out where no KL term
needs them. On GPUs TRL's own kernels score; the rest holds there too.
"""

import functools
import types
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy
from trl.trainer.grpo_trainer import GRPOTrainer

from training.distributed import gathered
from training.grpo_log import StepLog
from training.rollout import Rollouts
from training.saving import WholeCheckpoints

ROW_MEANS = ("grpo", "dr_grpo")
"""Objectives that are means over rows, so rows can be regrouped."""


class EpisodeTrainer(WholeCheckpoints, GRPOTrainer):
    """Trains on whole episodes: one optimizer step per batch of rollouts."""

    def __init__(self, rollouts: Rollouts, record: StepLog, keep: int, **settings: Any) -> None:
        super().__init__(rollout_func=rollouts, **settings)
        self.rollouts, self._record, self.keep_checkpoints = rollouts, record, keep
        self._scored: Tensor | None = None
        self._logps: Tensor | None = None
        self._selective = self.accelerator.device.type == "cpu" and _plain_head(self.model)
        if self._selective:
            add_selective_head(self.model)
            if self.ref_model is not None:
                add_selective_head(self.accelerator.unwrap_model(self.ref_model))

    @property
    def _training(self) -> bool:
        model: Any = self.model
        return model.training

    # --- rollouts and batches

    def _generate(self, prompts: list[Any]) -> Any:
        output: Any = super()._generate(prompts)
        self._scored = _padded(output[2]).to(self.accelerator.device)
        return output

    def _prepare_inputs(self, generation_batch: Any) -> Any:
        before = self._buffered_inputs
        inputs = super()._prepare_inputs(generation_batch)
        if not self._training or self.loss_type not in ROW_MEANS:
            return inputs
        if self._buffered_inputs is not before:
            self._buffered_inputs = regroup(self._buffered_inputs, drop_idle=self.beta == 0)
        return self._buffered_inputs[self._step % len(self._buffered_inputs)]

    # --- log-probabilities and loss

    def _compute_loss(self, model: Any, inputs: dict[str, Any]) -> Tensor:
        mask = inputs["completion_mask"] * inputs["tool_mask"]
        self._scored = mask
        loss = super()._compute_loss(model, inputs) * inputs.get("share", 1.0)
        if self._logps is not None and self._training and inputs.get("share", 1.0):
            off = (self._logps - inputs["sampling_per_token_logps"]).abs() * mask
            self._record.mismatch(float(off.sum()), float(off.max()), int(mask.sum()))
        return loss

    def _get_per_token_logps_and_entropies(
        self,
        model: Any,
        input_ids: Tensor,
        attention_mask: Tensor,
        logits_to_keep: int,
        batch_size: int | None = None,
        compute_entropy: bool = False,
        compute_aux_loss: bool = False,
        **images: Any,
    ) -> tuple[Tensor, Tensor | None, Tensor | None]:
        if not self._selective or compute_aux_loss:
            outputs = super()._get_per_token_logps_and_entropies(
                model,
                input_ids,
                attention_mask,
                logits_to_keep,
                batch_size,
                compute_entropy,
                compute_aux_loss,
                **images,
            )
            self._logps = outputs[0].detach()
            return outputs
        assert self._scored is not None
        rows = len(input_ids)
        parts: list[Tensor] = []
        order = attention_mask.sum(1).argsort(stable=True)
        for chosen in order.split(batch_size or rows):
            ids, attention, scored = input_ids[chosen], attention_mask[chosen], self._scored[chosen]
            parts.append(token_logps(model, ids, attention, scored, self.temperature))
        logps = torch.cat(parts)[order.argsort()]
        self._logps = logps.detach()
        # On the policy's own draws, -log p is an unbiased estimate of the entropy, and free.
        return logps, (-self._logps if compute_entropy else None), None

    # --- the record

    def log(self, logs: dict[str, float], start_time: float | None = None) -> None:
        super().log(logs, start_time)
        if "loss" in logs:
            self._record.gather()
        if "loss" in logs and self.accelerator.is_main_process:
            self._record.write(self.state.global_step, logs, self.rollouts)

    def create_model_card(self, *args: Any, **kwargs: Any) -> None:
        """No card: the run folder's config says more."""


def regroup(batches: Sequence[dict[str, Any]], drop_idle: bool) -> list[dict[str, Any]]:
    """The same rows as micro-batches of about equal length, padding cut.

    `share` weighs a micro-batch's mean so that the sum over all is the mean over all rows. With
    `drop_idle` the rows whose advantage is 0 are left out: their loss and gradient are 0.
    """
    whole = {k: torch.cat([b[k] for b in batches]) for k, v in batches[0].items() if _rows(v)}
    scalars = {k: v for k, v in batches[0].items() if k not in whole}
    lengths = whole["prompt_mask"].sum(1) + whole["completion_mask"].sum(1)
    order = lengths.argsort(descending=True, stable=True)
    if drop_idle:
        busy = whole["advantages"][order] != 0
        # TRL gathers figures per row: a process with fewer busy rows keeps some idle ones.
        count = max(gathered([int(busy.sum())]))
        order = torch.cat([order[busy], order[~busy].flip(0)])[:count]
        order = order[lengths[order].argsort(descending=True, stable=True)]
    total, parts = len(lengths), []
    for chosen in order.tensor_split(len(batches)):
        share = len(chosen) * len(batches) / total
        chosen = chosen if len(chosen) else lengths.argmin()[None]
        part = {key: value[chosen] for key, value in whole.items()}
        parts.append({**scalars, **_trimmed(part), "share": share})
    return parts


def _rows(value: Any) -> bool:
    return isinstance(value, Tensor) and value.ndim > 0


def _trimmed(part: dict[str, Tensor]) -> dict[str, Tensor]:
    prompt = max(1, int(part["prompt_mask"].sum(1).max()))
    completion = max(1, int(part["completion_mask"].sum(1).max()))
    cut = dict(part)
    for key, value in part.items():
        if key.startswith("prompt"):
            cut[key] = value[:, -prompt:]
        elif value.ndim == 2:
            cut[key] = value[:, :completion]
    return cut


def token_logps(
    model: Any, ids: Tensor, attention: Tensor, scored: Tensor, temperature: float
) -> Tensor:
    """Log-probabilities of the scored completion tokens, 0 elsewhere, shaped like `scored`."""
    columns = attention.any(0).nonzero()
    first, last = int(columns[0]), int(columns[-1]) + 1
    dropped = ids.shape[1] - last
    keep = scored.shape[1] - dropped
    ids, attention = ids[:, first:last], attention[:, first:last]
    rows, places = scored[:, :keep].nonzero(as_tuple=True)
    targets = places + ids.shape[1] - keep
    logits = model(
        input_ids=ids,
        attention_mask=attention,
        position_ids=(attention.cumsum(1) - 1).clamp(min=0),
        score_at=(rows, targets - 1),
    )
    values = -cross_entropy(logits.float() / temperature, ids[rows, targets], reduction="none")
    return torch.zeros(scored.shape, device=ids.device).index_put((rows, places), values)


def add_selective_head(model: Any) -> None:
    """`model(..., score_at=(rows, columns))` gives logits at those places alone."""
    forward = model.forward

    @functools.wraps(forward)
    def selective(self: Any, *args: Any, score_at: Any = None, **kwargs: Any) -> Any:
        if score_at is None:
            return forward(*args, **kwargs)
        hidden = self.base_model(*args, use_cache=False, **kwargs).last_hidden_state
        return self.get_output_embeddings()(hidden[score_at])

    model.forward = types.MethodType(selective, model)


def _plain_head(model: Any) -> bool:
    """Whether logits are the output embedding of the last hidden state and nothing more."""
    odd = ("final_logit_softcapping", "logit_scale", "output_multiplier", "lm_head_multiplier")
    config = model.config.get_text_config()
    return not any(getattr(config, key, None) for key in (*odd, "logits_scaling"))


def _padded(masks: Any) -> Tensor:
    padded = torch.zeros((len(masks), max(map(len, masks))), dtype=torch.long)
    for row, mask in zip(padded, masks, strict=True):
        row[: len(mask)] = torch.tensor(mask)
    return padded
