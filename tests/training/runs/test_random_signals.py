"""SIGTERM at random moments of SFT and GRPO: no step is lost, and the end is the same, bit by bit.

GRAPHWALKER_MOMENTS says how many (20). All happen in this process, which saves its start.
"""

import os
import random
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("trl")

from support.run_toys import (
    curve,
    grpo_config,
    largest_difference,
    lines,
    make_grpo_world,
    make_sft_place,
    sft_config,
)
from training.grpo import run_grpo
from training.runs.checkpoints import last_checkpoint
from training.runs.stopping import StoppedError
from training.sft import run_sft

MOMENTS = int(os.environ.get("GRAPHWALKER_MOMENTS", "20"))


def terminate_while_it_trains(after: float) -> threading.Thread:
    """Sends the signal `after` seconds from the moment at which training takes notice of it."""
    ignored = signal.getsignal(signal.SIGTERM)

    def wait() -> None:
        while signal.getsignal(signal.SIGTERM) is ignored and not done.is_set():
            time.sleep(0.001)
        if not done.wait(after) and signal.getsignal(signal.SIGTERM) is not ignored:
            os.kill(os.getpid(), signal.SIGTERM)

    done = threading.Event()
    thread = threading.Thread(target=wait, daemon=True)
    thread.done = done  # type: ignore[attr-defined]
    thread.start()
    return thread


def interrupted(run: Callable[[], Any], out: Path, seconds: float, rng: random.Random) -> int:
    """Run until the end, with a signal at a random moment of every try; how many came."""
    count = 0
    while True:
        before = last_checkpoint(out) if out.is_dir() else 0
        sender = terminate_while_it_trains(rng.uniform(0, seconds / 3))
        try:
            run()
            return count
        except StoppedError:
            count += 1
            step = last_checkpoint(out)
            assert step > before and lines(out)[-1]["step"] == step
        finally:
            sender.done.set()  # type: ignore[attr-defined]
            sender.join()


@pytest.mark.slow
@pytest.mark.parametrize("stage", ["sft", "grpo"])
def test_no_step_is_lost_whenever_the_signal_comes(tmp_path, stage) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # one that comes between two tries
    rng, count, tries = random.Random(stage), 0, 0
    place = (make_sft_place if stage == "sft" else make_grpo_world)(tmp_path)

    def config(name: str) -> Any:
        if stage == "sft":
            return sft_config(place, tmp_path / name, max_steps=40, save_steps=40)
        return grpo_config(place, tmp_path / name, steps=8, save_steps=8, beta=0.05)

    run: Callable[[Any], Any] = run_sft if stage == "sft" else run_grpo
    started = time.monotonic()
    run(config("whole"))
    seconds = time.monotonic() - started
    while count < MOMENTS and tries < 5 * MOMENTS:
        tries += 1
        cut = config(f"cut-{tries}")
        count += interrupted(lambda cut=cut: run(cut), Path(cut.output_dir), seconds, rng)
        assert largest_difference(Path(cut.output_dir), tmp_path / "whole") == 0
        keys = ("lr",) if stage == "sft" else ("em", "entropy", "tokens")
        assert curve(Path(cut.output_dir), *keys) == curve(tmp_path / "whole", *keys)
    assert count >= MOMENTS
    print(f"{stage}: {count} signals in {tries} runs of {seconds:.1f} s")
