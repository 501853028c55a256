"""TRL's GRPO trainer, made fast for small models, with a record of every step.

What is changed against TRL 1.16, each exact: log-probabilities only where the policy drew a token,
columns of padding cut, rows sorted by length, rows without advantage dropped where no KL term
needs them. On GPUs TRL's own kernels score; the rest holds there too. Rows that are not in the loss
(infrastructure failures, or filtered out) count in no mean.
"""

from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any, cast

import torch
from torch import Tensor
from trl.trainer import grpo_trainer
from trl.trainer.grpo_trainer import GRPOTrainer
from trl.trainer.utils import use_adapter

from graphwalker.errors import UserError
from graphwalker.workers.pool import count_work
from training.evaluation.callback import RolloutEvaluation
from training.models.heads import add_selective_head, has_plain_head
from training.reinforce.log import Drift, StepLog
from training.reinforce.rollout import Rollouts
from training.reinforce.rows import pad_right, regroup, token_logps, trim_padding, with_contexts
from training.runs.distributed import gather_all
from training.runs.saving import START, WholeCheckpoints
from training.supervised.replay import Replay, replay_loss

ROW_MEANS = ("grpo", "dr_grpo")
"""Objectives that are means over rows, so rows can be regrouped."""
SUMS = ("dapo",)
"""Objectives that are sums over all tokens of a step, divided by a number known beforehand."""


@contextmanager
def _reference_made_by(load: Callable[[], Any]) -> Generator[None, None, None]:
    """TRL 1.16 loads the reference of the KL term by the model's name, in the policy's precision;
    here it is the one that `load` returns."""
    library: Any = grpo_trainer
    theirs = library.create_model_from_path
    library.create_model_from_path = lambda *_, **__: load()
    try:
        yield
    finally:
        library.create_model_from_path = theirs


class EpisodeTrainer(WholeCheckpoints, GRPOTrainer):
    """Trains on whole episodes: one optimizer step per batch of rollouts."""

    def __init__(
        self,
        rollouts: Rollouts,
        record: StepLog,
        keep: int,
        reference: Callable[[], Any],
        **settings: Any,
    ) -> None:
        with _reference_made_by(reference):
            super().__init__(rollout_func=rollouts, **settings)
        self.rollouts, self._record, self._keep = rollouts, record, keep
        self._scored: Tensor | None = None
        """Which completion tokens of the next pass are scored: (rows, completion tokens)."""
        self._logps: Tensor | None = None
        self._drift = Drift()
        self._replayed = 0.0
        """This process's part of the replay's cross-entropy in the step at hand."""
        self.replay: Replay | None = None
        self.evaluation: RolloutEvaluation | None = None
        self.optimizer_of: Callable[[Any], torch.optim.Optimizer | None] = lambda model: None
        """The optimizer of a model; None: TRL's AdamW."""
        self._takes_old = False
        """Whether the first update of a batch leaves its log-probabilities for the others."""
        adapted = hasattr(self.model, "peft_config")
        on_cpu = self.accelerator.device.type == "cpu"
        self._selective = on_cpu and not adapted and has_plain_head(self.model)
        if self._selective:
            add_selective_head(self.model)
            if self.ref_model is not None:
                add_selective_head(self.accelerator.unwrap_model(self.ref_model))

    @property
    def _training(self) -> bool:
        model: Any = self.model
        return model.training

    def create_optimizer(self, model: Any = None) -> torch.optim.Optimizer:
        if self.optimizer is None:
            self.optimizer = self.optimizer_of(self.accelerator.unwrap_model(self.model))
        return super().create_optimizer(model)

    # --- rollouts and batches

    def _generate(self, prompts: list[Any]) -> Any:
        # TRL 1.16 scores the sampled tokens before it makes the loss's mask, so the mask of what
        # the policy drew, (rows, completion tokens), is kept from here.
        output: Any = super()._generate(prompts)
        self._scored = pad_right(output[2]).to(self.accelerator.device)
        return output

    def _generate_and_score_completions(self, inputs: Any) -> Any:
        # TRL scores the batch before its first update, where several are made from it. That update
        # does it anyway, with the same weights; it is not done twice.
        several = self._training and self.num_iterations > 1 and self.beta == 0
        self._takes_old = several and not self.use_vllm
        output: Any = super()._generate_and_score_completions(inputs)
        self._takes_old = False
        if self._training:
            device, batch = self.accelerator.device, self.rollouts.batch
            output["kept"] = torch.tensor(batch.kept, device=device)
            output = self._with_contexts(output)
        return output

    def _with_contexts(self, output: dict[str, Any]) -> dict[str, Any]:
        """Return the batch with rows for the contexts that an agent began anew; as many in all
        processes, and as many as its micro-batches can share. A collective."""
        passes: int = getattr(self.args, "steps_per_generation", None) or 1
        contexts = self.rollouts.batch.contexts
        count = -(-max(gather_all([len(contexts)])) // passes) * passes
        if not count:
            return output
        if "importance_sampling_ratio" in output:
            raise UserError(
                "this agent begins its conversation anew, for which the correction of vLLM's "
                "log-probabilities is not made: set vllm.ratio_cap=0, or engine=transformers"
            )
        pad, before = cast(int, self._tokenizer.pad_token_id or 0), len(output["advantages"])
        score = {"old_per_token_logps": self._logps_now, "ref_per_token_logps": self._logps_before}
        output = with_contexts(output, contexts, count, pad, score)
        mask = output["completion_mask"] * output["tool_mask"]
        more = cast(Tensor, self.accelerator.gather(mask[before:].sum())).sum()
        output["num_items_in_batch"] = output["num_items_in_batch"] + more
        return output

    @torch.no_grad()
    def _logps_now(self, rows: dict[str, Any], model: Any = None) -> Tensor:
        """Log-probabilities of the policy in training, or of another model."""
        mask = rows["completion_mask"] * rows["tool_mask"]
        self._scored = mask
        ids = torch.cat([rows["prompt_ids"], rows["completion_ids"]], 1)
        attention = torch.cat([rows["prompt_mask"], rows["completion_mask"]], 1)
        size = self.args.per_device_train_batch_size
        found = self._get_per_token_logps_and_entropies(
            self.model if model is None else model, ids, attention, mask.shape[1], size
        )[0]
        return cast(Tensor, found)

    def _logps_before(self, rows: dict[str, Any]) -> Tensor:
        """Log-probabilities of the reference: a model of its own, or this one with the adapter that
        it started from, without one where that was a whole model."""
        if self.ref_model is not None:
            return self._logps_now(rows, self.ref_model)
        model = cast(Any, self.accelerator.unwrap_model(self.model))
        with use_adapter(model, START if START in model.peft_config else None):
            return self._logps_now(rows)

    def _prepare_inputs(self, generation_batch: Any) -> Any:
        # TRL buffers a step's micro-batches, split as the rows came; ours take their place.
        before = self._buffered_inputs
        inputs = super()._prepare_inputs(generation_batch)
        if not self._training:
            return inputs
        if self._buffered_inputs is not before:
            self._buffered_inputs = self._micro_batches(self._buffered_inputs)
        return self._buffered_inputs[self._step % len(self._buffered_inputs)]

    def _micro_batches(self, batches: Any) -> list[dict[str, Any]]:
        if self.loss_type not in (*ROW_MEANS, *SUMS):
            return [trim_padding(batch) for batch in batches]
        kept = sum(int(batch["kept"].sum()) for batch in batches)
        total = sum(gather_all([kept])) / self.accelerator.num_processes
        return regroup(batches, self.beta == 0, total, self.loss_type in SUMS)

    # --- log-probabilities and loss

    def _compute_loss(self, model: Any, inputs: dict[str, Any]) -> Tensor:
        mask = inputs["completion_mask"] * inputs["tool_mask"]
        self._scored = mask
        loss = super()._compute_loss(model, inputs) * inputs.get("share", 1.0)
        if self._logps is not None and self._training and inputs.get("share", 1.0):
            self._note_drift(self._logps, inputs, mask.bool())
        if self.num_iterations > 1 and self._training:
            inputs.setdefault("old_per_token_logps", self._logps)
        if self.replay is not None and self._training:
            loss = loss + self._replay_term(model, self.replay)
        return loss

    def _replay_term(self, model: Any, replay: Replay) -> Tensor:
        """Return what replay adds to the loss of this micro-batch."""
        accelerator, passes = self.accelerator, len(self._buffered_inputs or ())
        count = accelerator.num_processes
        place = accelerator.process_index * passes + self._step % passes
        part = replay.part(self.state.global_step, place, passes * count)
        loss = replay_loss(model, part, self._selective)
        self._replayed += float(loss.detach())
        return replay.weight * count * loss  # gradients are a mean over processes

    def _note_drift(self, logps: Tensor, inputs: dict[str, Any], mask: Tensor) -> None:
        """`logps` of the policy in training and `mask`: (rows, completion tokens)."""
        if not mask.any():
            return
        drawn = inputs["sampling_per_token_logps"][mask]
        old = inputs.get("old_per_token_logps")
        gap = ((logps if old is None else old)[mask] - drawn).abs()
        ratio, kl = (logps[mask] - drawn).exp(), 0.0
        if "ref_per_token_logps" in inputs:
            behind = inputs["ref_per_token_logps"][mask] - logps[mask]
            kl = float((behind.exp() - behind - 1).sum())
        self._drift += Drift(len(gap), float(gap.sum()), float(gap.max()), float(ratio.sum()), kl)

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
    ) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
        if self._takes_old:
            return None, None, None
        count_work(trained=input_ids.numel())
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

    def log(self, logs: dict[str, Any], start_time: float | None = None) -> None:
        """Adds our own facts as `agent/...`, so that TRL's trackers show them, too."""
        if "loss" not in logs:
            super().log(logs, start_time)
            return
        drift = sum(gather_all([self._drift]), Drift())
        facts, self._drift = self._record.facts(self.rollouts.batch, drift), Drift()
        if self.replay is not None:
            facts["replay_loss"] = sum(gather_all([self._replayed]))
            self._replayed = 0.0
        if self.evaluation is not None:
            logs.update(self.evaluation.take())
        logs.update({f"agent/{k}": v for k, v in facts.items() if v is not None})
        super().log(logs, start_time)
        self._record.write(self.state.global_step, logs, facts, self.rollouts.batch)

    def create_model_card(self, *args: Any, **kwargs: Any) -> None:
        """Write no card: the run folder's config says more."""

    def _save_checkpoint(self, model: Any, trial: Any) -> None:
        # While the monitor counts steps beyond a limit, nothing is removed: it might be the
        # last good checkpoint.
        step = self.state.global_step
        self.keep_checkpoints = self._keep if self._record.within_limits else step
        super()._save_checkpoint(model, trial)
