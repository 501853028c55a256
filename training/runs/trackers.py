"""Trackers of a run: TensorBoard, Weights & Biases, trackio and others, by TRL's names."""

from collections.abc import Sequence
from importlib.util import find_spec

from graphwalker.errors import UserError

PACKAGES = {"tensorboard": "tensorboard", "wandb": "wandb", "trackio": "trackio"}
"""What to install for a tracker."""


def check_trackers(names: Sequence[str]) -> None:
    """Raises `UserError` for a tracker that the Trainer does not know, or that is not installed."""
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
