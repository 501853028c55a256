"""The memory that one of several processes takes while GRPO starts, in bytes a parameter: run by
`accelerate launch start_memory.py CONFIG`; the first process prints the mean as JSON.

A page that several processes map counts in shares (PSS).
"""

import json
import re
import sys
from pathlib import Path
from threading import Event, Thread
from typing import Any

from accelerate import PartialState
from accelerate.utils import gather_object

import training.reinforce.trainer as trainers  # what it imports is not the model's
from graphwalker.config import load_config
from training.grpo import make_trainer, open_world
from training.grpo_config import GrpoConfig
from training.runs.arguments import shared_arguments


def proportional_bytes() -> int:
    told = Path("/proc/self/smaps_rollup").read_text(encoding="ascii")
    kib = re.search(r"^Pss:\s+(\d+)", told, re.M)
    assert kib is not None
    return 1024 * int(kib[1])


def start(config: GrpoConfig) -> tuple[Any, int]:
    """The trainer, and by how much memory grew at most while it was made."""
    world = open_world(config)
    shared_arguments(config)
    before, done, seen = proportional_bytes(), Event(), [0]

    def watch() -> None:
        while not done.wait(0.02):
            seen.append(proportional_bytes() - before)

    thread = Thread(target=watch)
    thread.start()
    try:
        trainer: trainers.EpisodeTrainer = make_trainer(config, *world)
    finally:
        done.set()
        thread.join()
    return trainer, max(seen)


if __name__ == "__main__":
    trainer, grown = start(load_config(GrpoConfig, sys.argv[1], []))
    each = gather_object([grown])
    count = sum(weights.numel() for weights in trainer.model.parameters())
    if PartialState().is_main_process:
        print(json.dumps({"bytes_a_parameter": sum(each) / len(each) / count}), flush=True)
