"""TRL's SFT trainer on a planned run: our batches and schedule, logits where they are trained."""

import functools
import logging
import math
from itertools import accumulate
from pathlib import Path
from typing import Any

import torch
from torch.nn.functional import cross_entropy
from torch.utils.data import DataLoader
from transformers import PreTrainedModel, PrinterCallback, set_seed
from transformers.utils.import_utils import is_flash_attn_2_available
from trl.trainer.sft_config import SFTConfig as TrlConfig
from trl.trainer.sft_trainer import SFTTrainer

from graphwalker.agents.environment import Environment
from graphwalker.agents.exemplars import run_exemplars
from graphwalker.errors import UserError
from graphwalker.graphs.open import open_graph
from graphwalker.tokens.formats import chat_format
from graphwalker.tokens.segments import IGNORED
from graphwalker.workers.pool import count_work
from training.config import EvaluationSettings, SftConfig
from training.evaluation.callback import RolloutEvaluation
from training.evaluation.dev_set import DevSet, dev_questions
from training.models.heads import add_selective_head, has_plain_head
from training.models.loading import load_policy
from training.models.lora import new_adapter
from training.runs.arguments import build, shared_arguments
from training.runs.distributed import uses_bfloat16
from training.runs.log import RunLog
from training.runs.saving import WholeCheckpoints
from training.supervised.batches import Collator, PackingCollator, PlannedRows, StepPlan
from training.supervised.rows import Rows
from training.tiny.optimizer import own_optimizer

log = logging.getLogger(__name__)
OWN_SCHEDULE = frozenset({"lr_scheduler_type", "lr_scheduler_kwargs"})
"""Fields of `trainer:` that put one of transformers' schedules in the place of `schedule`."""


class PlannedTrainer(WholeCheckpoints, SFTTrainer):
    """Runs a plan: the whole run is one epoch over the planned forward passes of this process."""

    def __init__(
        self,
        config: SftConfig,
        tokenizer: Any,
        rows: Rows,
        plan: StepPlan,
        start: int,
        process: tuple[int, int] = (0, 1),
    ) -> None:
        arguments = trainer_arguments(config, len(plan))  # first: under ZeRO-3 models load in parts
        if config.lora:
            set_seed(config.seed)  # the trainer seeds itself after the adapters were made
        model = load_model(config)
        self._config, self._plan, self._process = config, plan, process
        self.keep_checkpoints = config.keep_checkpoints
        lengths = rows.lengths
        tokens = list(accumulate(_tokens(step, lengths) for step in plan))
        show = config.progress and process[0] == 0
        self._log = RunLog(Path(config.output_dir), start, tokens, config.max_seconds, show)
        callbacks: list[Any] = [self._log]
        self.evaluation: RolloutEvaluation | None = None
        if config.evaluation:
            self.evaluation = sft_evaluation(config, config.evaluation, tokenizer)
            self.evaluation.trainer = self
            callbacks.append(self.evaluation)
        super().__init__(
            model=model,
            args=arguments,
            train_dataset=rows.dataset,
            processing_class=tokenizer,
            data_collator=PackingCollator() if config.packing else Collator(_pad_id(tokenizer)),
            callbacks=callbacks,
            peft_config=new_adapter(config),
        )
        self.remove_callback(PrinterCallback)
        # On a GPU, TRL's own loss scores trained positions only, in Triton kernels.
        bare: Any = model
        if hasattr(model, "get_base_model"):  # one that starts from an adapter
            bare = bare.get_base_model()
        self._lean = self.args.device.type == "cpu" and has_plain_head(bare)
        if self._lean:
            add_selective_head(bare)

    def get_train_dataloader(self) -> DataLoader:
        rank, processes = self._process
        mine = [part for step in self._plan for part in step[rank::processes]]
        return DataLoader(
            PlannedRows(self.train_dataset),  # type: ignore[arg-type]
            batch_sampler=mine,
            collate_fn=self.data_collator,
            pin_memory=self.args.device.type == "cuda",
        )

    def compute_loss(
        self,
        model: Any,
        inputs: dict[str, Any],
        return_outputs: bool = False,
        num_items_in_batch: Any = None,
    ) -> Any:
        count_work(trained=inputs["input_ids"].numel())
        if not self._lean or return_outputs:
            return super().compute_loss(model, inputs, return_outputs, num_items_in_batch)
        # Rows are padded on the right, so causal attention needs no mask; of packed rows it is made
        # from their positions. `places` predict the next token: (rows, tokens - 1).
        labels = inputs["labels"][:, 1:]
        rows, places = (labels != IGNORED).nonzero(as_tuple=True)
        logits = model(
            input_ids=inputs["input_ids"],
            position_ids=inputs.get("position_ids"),
            score_at=(rows, places),
        )
        total = cross_entropy(logits.float(), labels[rows, places], reduction="sum")
        if num_items_in_batch is None:
            return total / max(1, len(rows))
        # The count is over all processes, and DDP averages their gradients.
        return total / num_items_in_batch * self.accelerator.num_processes

    def create_optimizer(self, model: Any = None) -> torch.optim.Optimizer:
        if self.optimizer is None:
            bare = self.accelerator.unwrap_model(self.model)
            self.optimizer = own_optimizer(bare, self._config, muon=True)
        return super().create_optimizer(model)

    def create_scheduler(self, num_training_steps: int, optimizer: Any = None) -> Any:
        if OWN_SCHEDULE & self._config.trainer.keys():
            return super().create_scheduler(num_training_steps, optimizer)
        if self.lr_scheduler is None:
            factor = functools.partial(self._factor, num_training_steps)
            optimizer = optimizer or self.optimizer
            self.lr_scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, factor)
        return self.lr_scheduler

    def _factor(self, steps: int, step: int) -> float:
        done = step / steps
        if self._config.max_seconds:
            done = max(done, self._log.agreed_seconds / self._config.max_seconds)
        return lr_factor(self._config, min(1.0, done), steps)

    def log(self, logs: dict[str, float], start_time: float | None = None) -> None:
        if self.evaluation is not None and "loss" in logs:
            logs.update(self.evaluation.take())
        super().log(logs, start_time)

    def floating_point_ops(self, inputs: Any) -> int:
        return 0  # counted nowhere

    def create_model_card(self, *_: Any, **__: Any) -> None:
        """None: the run folder says how the model was made."""


def sft_evaluation(
    config: SftConfig, settings: EvaluationSettings, tokenizer: Any
) -> RolloutEvaluation:
    """Evaluation of an SFT run, as its `evaluation` says."""
    folder = Path(config.output_dir)
    graph = open_graph(settings.graph, wikidata=settings.environment.layers.wikidata)
    shown = run_exemplars(folder, graph, settings.environment)
    dev_set = DevSet(
        dev_questions(settings.questions, settings.limit),
        Environment(graph, settings.environment, exemplars=shown),
        chat_format(config.format),
        tokenizer,
        max_turn_tokens=settings.max_turn_tokens,
        max_context=settings.max_context or config.max_length,
        batch_size=settings.batch_size,
    )
    every, best = settings.every_steps, settings.choose_best
    return RolloutEvaluation(folder, dev_set, every, keep_best=best)


def load_model(config: SftConfig) -> PreTrainedModel:
    """Return the model to start from. Raises `UserError` where it lacks the attention."""
    attention, flash = config.attention, is_flash_attn_2_available()
    if attention == "flash_attention_2" and not flash:
        raise UserError(
            "attention=flash_attention_2 needs a GPU and the package flash-attn, which are not "
            "here; set attention=sdpa, which gives the same loss"
        )
    if attention == "auto" and config.packing:
        attention = "flash_attention_2" if flash and uses_bfloat16(config.dtype) else "sdpa"
        if attention == "sdpa":
            log.warning("packing without flash attention: a pass of n tokens costs n * n")
    options = {} if attention == "auto" else {"attn_implementation": attention}
    frozen = config.lora is not None
    return load_policy(config.model, config.dtype, frozen=frozen, **options)


def trainer_arguments(config: SftConfig, steps: int) -> TrlConfig:
    """Return our settings in TRL's words; what costs time or cuts rows is off."""
    arguments = {
        **shared_arguments(config),
        "max_steps": steps,
        "gradient_accumulation_steps": config.gradient_accumulation,
        "warmup_steps": math.ceil(config.warmup_ratio * steps),
        "optim": "adamw_torch_fused",
        "logging_steps": config.log_steps,
        "logging_nan_inf_filter": False,
        "save_strategy": "steps",
        "dataset_kwargs": {"skip_prepare_dataset": True},
        "max_length": None,
        "packing": False,
        "remove_unused_columns": False,
    }
    if config.max_seconds and OWN_SCHEDULE & config.trainer.keys():
        raise UserError(
            "max_seconds decays by the clock: take schedule, not trainer.lr_scheduler_*"
        )
    return build(TrlConfig, arguments, config)


def lr_factor(config: SftConfig, done: float, steps: int) -> float:
    """Share of the peak learning rate when `done` (0 to 1) of the run lies behind."""
    warmup = config.warmup_ratio
    if done < warmup:
        return (done + 1 / steps) / (warmup + 1 / steps)
    rest = (done - warmup) / max(1e-9, 1 - warmup)
    if config.schedule == "linear":
        return 1 - rest
    return 0.5 * (1 + math.cos(math.pi * rest)) if config.schedule == "cosine" else 1.0


def _pad_id(tokenizer: Any) -> int:
    pad = tokenizer.pad_token_id
    return int(tokenizer.eos_token_id if pad is None else pad)


def _tokens(step: list[list[int]], lengths: list[int]) -> int:
    return sum(lengths[row] for part in step for row in part if row >= 0)
