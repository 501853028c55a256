"""Resuming with other settings: how long a run is and how it is cut up may change on the way."""

import logging
import math
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from graphwalker.config import write_config
from graphwalker.errors import UserError
from graphwalker.runs import claim, stored_facts
from training.config import TrainingConfig
from training.runs.checkpoints import check_files, last_checkpoint, note_sizes
from training.runs.distributed import rank

LENGTHS = ("steps", "max_steps", "epochs")
"""Settings that say how long a run is."""
INPUTS = "inputs.json"
"""The digest of each file that the run reads."""

log = logging.getLogger(__name__)


def claim_run(config: TrainingConfig, inputs: Mapping[str, str], free: Collection[str]) -> bool:
    """Claim the run folder for this config and these inputs; True where the run is finished.

    `inputs` has the digest of each file and folder that is read, under the setting that names it
    (`questions`, `data[0]`): those are compared by content, and may have moved. `free` names
    settings that may differ when a run resumes; one that asks for more steps than a finished run
    had resumes it. Raises `UserError` for another run.
    """
    places = {"output_dir", *(setting.partition("[")[0] for setting in inputs)}
    folder, differences = Path(config.output_dir), changed_settings(config, free)
    if rank() == 0:
        # Contents first: a claim brings the config up to date, which a refused run must not do.
        if (folder / "config.yaml").is_file() and (folder / INPUTS).is_file():
            claim(folder, inputs, INPUTS, foreign=INPUTS)
        claim(folder, config, "config.yaml", free=free, places=places, foreign="*")
        claim(folder, inputs, INPUTS, foreign=INPUTS)
        check_files(folder)
        check_length(config)
        for key, (before, now) in differences.items():
            log.info("resumes with %s = %s (%s before)", key, now, before)
    if not (folder / "final").is_dir() or is_longer(differences):
        return False
    log.info("%s is finished", folder / "final")
    return True


def record_length(config: TrainingConfig, free: Collection[str]) -> None:
    """Record the config that a run ended with, and the sizes of its files."""
    if rank() == 0:
        folder = Path(config.output_dir)
        if changed_settings(config, free):
            write_config(config, folder)
        note_sizes(folder, folder.iterdir())


def changed_settings(config: TrainingConfig, free: Collection[str]) -> dict[str, tuple[Any, Any]]:
    """Return the settings among `free` that differ from the run's first ones: then, now."""
    path = Path(config.output_dir) / "config.yaml"
    if not path.is_file():
        return {}
    stored = stored_facts(path)
    now = config.model_dump(mode="json")
    both = sorted(set(free) & stored.keys() & now.keys())
    return {key: (stored[key], now[key]) for key in both if stored[key] != now[key]}


def is_longer(differences: Mapping[str, tuple[Any, Any]]) -> bool:
    """Return whether more steps are asked for than before (`max_steps` 0 is all of `epochs`)."""
    pairs = [differences[key] for key in LENGTHS if key in differences]
    return any((now or math.inf) > (before or math.inf) for before, now in pairs)


def check_length(config: TrainingConfig) -> None:
    """Raise `UserError` for a run that is already past the configured steps."""
    folder = Path(config.output_dir)
    steps = getattr(config, "steps", 0) or getattr(config, "max_steps", 0)
    done = last_checkpoint(folder)
    if steps and done > steps:
        raise UserError(
            f"{folder}: checkpoint-{done} is beyond the {steps} steps that are asked for: ask for "
            f"{done} or more, or choose another folder"
        )
