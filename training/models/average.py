"""A running average of the weights in training (Polyak), lent to the model for a while."""

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from transformers import TrainerCallback, TrainerControl, TrainerState

from graphwalker.errors import UserError
from training.models.copies import fill, whole

FILE = "average.safetensors"
"""In a checkpoint."""


class AveragedWeights:
    """After each step: average = decay * average + (1 - decay) * weights, in float32.

    It lies in main memory, so it takes none of a GPU's. Only parameters with gradients are in it.
    """

    def __init__(self, decay: float) -> None:
        self.decay = decay
        self._average: dict[str, torch.Tensor] = {}

    def begin(self, model: torch.nn.Module, checkpoint: Path | None) -> None:
        """Start from the weights as they are, or from what a checkpoint holds."""
        from safetensors.torch import load_file

        if checkpoint is None:
            self._average = {k: _copy(p) for k, p in _trained(model)}
            return
        if not (checkpoint / FILE).is_file():
            raise UserError(f"{checkpoint}: holds no {FILE}: it was saved without average")
        self._average = load_file(checkpoint / FILE)

    @torch.no_grad()
    def update(self, model: torch.nn.Module) -> None:
        for name, parameter in _trained(model):
            self._average[name].lerp_(_copy(parameter), 1 - self.decay)

    @contextmanager
    def lent(self, model: torch.nn.Module) -> Generator[None]:
        """The model has the average as its weights meanwhile, and then its own, bit by bit."""
        own = {name: parameter.detach().clone() for name, parameter in _trained(model)}
        _fill(model, self._average)
        try:
            yield
        finally:
            _fill(model, own)

    def save(self, folder: Path) -> None:
        from safetensors.torch import save_file

        save_file(self._average, folder / FILE)


class Averaging(TrainerCallback):
    """Keeps `trainer.average` in step with its model."""

    trainer: Any = None

    def on_train_begin(
        self, args: Any, state: TrainerState, control: TrainerControl, **_: Any
    ) -> None:
        step, folder = state.global_step, Path(args.output_dir)
        checkpoint = folder / f"checkpoint-{step}" if step else None
        self.trainer.average.begin(self.trainer.model, checkpoint)

    def on_step_end(
        self, args: Any, state: TrainerState, control: TrainerControl, **_: Any
    ) -> None:
        self.trainer.average.update(self.trainer.model)


def _trained(model: torch.nn.Module) -> list[tuple[str, torch.nn.Parameter]]:
    return [(name, p) for name, p in model.named_parameters() if p.requires_grad]


def _copy(parameter: torch.Tensor) -> torch.Tensor:
    return whole(parameter.detach()).to("cpu", torch.float32, copy=True)


def _fill(model: torch.nn.Module, values: dict[str, torch.Tensor]) -> None:
    for name, parameter in _trained(model):
        fill(parameter, values[name])
