"""One command for a GPU: its figures in order of worth, each part in a process with a time limit.

    benchmarks/gpu.sh 30      (python -m benchmarks.gpu --minutes 30 --out runs/gpu)

A part writes OUT/parts/NAME.json; one that fails or runs out of its time says so, and the next one
starts. With `--dry` the shapes are tiny and run on the CPU.
"""

import argparse
import fcntl
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.gpu_parts import ADAPTERS
from benchmarks.record import ROOT, record


@dataclass(frozen=True, slots=True)
class Part:
    """A part of the measurement."""

    name: str
    share: float
    """Of the minutes, at most; a part that is done early leaves its rest to the next ones."""
    command: tuple[str, ...]
    """After the interpreter; `{out}` is the working folder."""


def figures(name: str, *words: str) -> tuple[str, ...]:
    return ("-m", "benchmarks.gpu_parts", name, "{out}", *words)


def launched(stage: str, *words: str) -> tuple[str, ...]:
    return ("-m", "benchmarks.gpu_layouts", stage, "{out}", *words)


CONTRACT = "tests/graphwalker/policies/test_engine_contract.py"
ON_GPU = "tests/training/test_on_gpu.py"
SMALL = ("prompts_per_step=8", "samples=4", "micro_batch=1", "steps=1")
VLLM = ("engine=vllm", "vllm.sleep=true")
FIRST = "first"
"""A minute each: the first ten minutes on a GPU, with weights of SmolLM2 in bfloat16."""
BRIEF = ("smollm2", "steps=2", "prompts_per_step=4", "samples=4", "micro_batch=4", "beta=0.05")
BESIDE = (*BRIEF, *VLLM, "vllm.gpu_memory=0.3")
LAYOUTS = ("ddp", "zero2", "zero3", "fsdp2")
PARTS = (
    Part("first-data", 0.1, figures("data", "little")),
    Part("first-sft-0.5b", 0.1, figures("sft", "0.5B", "max_steps=12")),
    Part("first-grpo", 0.1, figures("grpo", *BRIEF)),
    Part("first-grpo-vllm", 0.1, figures("grpo", *BESIDE)),
    Part("first-grpo-vllm-lora", 0.1, figures("grpo", *BESIDE, "lora.r=16")),
    Part("first-server", 0.1, figures("push", *BRIEF)),
    *(Part(f"first-{layout}", 0.1, launched("grpo", layout, *BRIEF)) for layout in LAYOUTS),
    Part("doctor", 0.05, ("-m", "graphwalker", "doctor", "--json")),
    Part("data", 0.15, figures("data")),
    Part("sft-0.5b", 0.20, figures("sft", "0.5B")),
    Part("grpo-0.5b", 0.15, figures("grpo", "0.5B")),
    Part("rollouts-0.5b", 0.12, figures("rollouts", "0.5B")),
    Part("savings-0.5b", 0.15, figures("savings", "0.5B", "steps=3")),
    Part("on-gpu", 0.30, ("-m", "pytest", "-q", "-m", "gpu", "-n", "10", ON_GPU)),
    Part("long-rows-1.5b", 0.15, figures("long-rows", "1.5B")),
    Part("grpo-adapters-1.5b", 0.20, figures("grpo", "1.5B", *ADAPTERS, *SMALL)),
    Part("fsdp2-0.5b", 0.15, launched("sft", "fsdp2", "0.5B")),
    Part("zero2-0.5b", 0.15, launched("sft", "zero2", "0.5B")),
    Part("grpo-vllm-0.5b", 0.20, figures("grpo", "0.5B", *VLLM)),
    Part("grpo-vllm-adapters-0.5b", 0.20, figures("grpo", "0.5B", *VLLM, "lora.r=64")),
    Part("contract-vllm", 0.20,
         ("-m", "pytest", "-q", "-m", "vllm", "-k", "not vllm-server", CONTRACT)),
    Part("contract-vllm-server", 0.20,
         ("-m", "pytest", "-q", "-m", "vllm", "-k", "vllm-server", CONTRACT)),
    Part("long-rows-7b", 0.20, figures("long-rows", "7B")),
    Part("flash-0.5b", 0.10, figures("sft", "0.5B", "attention=flash_attention_2")),
    Part("push", 0.15, figures("push", "0.5B")),
    Part("real-grpo", 0.30, figures("grpo", "real")),
    Part("real-grpo-vllm", 0.30, figures("grpo", "real", *VLLM)),
    Part("real-grpo-vllm-lora", 0.30, figures("grpo", "real", *VLLM, "lora.r=16")),
    Part("demo", 1.0, ("-m", "graphwalker", "demo", "--out", "{out}/demo",
                       "sft1.tokens_per_step=20480", "sft2.tokens_per_step=20480")),
)  # fmt: skip
DRY_FREE = (
    "first-grpo-vllm", "first-grpo-vllm-lora", "first-server", "first-zero2", "first-zero3",
    "first-fsdp2",
    "contract-vllm", "contract-vllm-server", "demo", "push", "flash-0.5b", "grpo-vllm-0.5b",
    "grpo-vllm-adapters-0.5b", "on-gpu", "fsdp2-0.5b", "zero2-0.5b",
    "real-grpo-vllm", "real-grpo-vllm-lora",
)  # fmt: skip
"""Parts that `--dry` leaves: they need a GPU."""


def main() -> None:
    """Run the parts and write the record."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--minutes", type=float, default=30.0, help="time for all of it")
    parser.add_argument("--out", type=Path, default=ROOT / "runs" / "gpu", help="working folder")
    parser.add_argument("--parts", nargs="*", help="these alone (default: all)")
    parser.add_argument("--dry", action="store_true", help="tiny shapes on the CPU")
    options = parser.parse_args()
    if not options.dry and not _devices(False):
        # Without this, the shapes for a GPU run on the CPU until their time is over.
        say("PyTorch sees no GPU here: nothing to measure; --dry tries the code on a CPU")
        sys.exit(2)
    deadline = time.monotonic() + 60 * options.minutes
    parts = [part for part in PARTS if not (options.dry and part.name in DRY_FREE)]
    known = [part.name for part in parts]
    # What needs files of one's own, and what is brief, is measured where it is asked for.
    wanted = options.parts or [n for n in known if not n.startswith(("real-", f"{FIRST}-"))]
    if wanted == [FIRST]:
        wanted = [name for name in known if name.startswith(f"{FIRST}-")]
    if unknown := set(wanted) - {part.name for part in parts}:
        known = ", ".join(part.name for part in parts)
        parser.error(f"no such part: {', '.join(sorted(unknown))}; there are {known}")
    for part in [part for part in parts if part.name in wanted]:
        left = deadline - time.monotonic()
        limit = min(left, max(60.0, part.share * 60 * options.minutes))
        say(f"{part.name}: {_run(part, options.out, limit, options.dry)}")
        _write(options, parts)


def say(text: str) -> None:
    print(f"gpu: {text}", flush=True)


def _run(part: Part, out: Path, limit: float, dry: bool) -> str:
    """Run a part, write its record to OUT/parts and return one line about it."""
    place = out / "parts" / f"{part.name}.json"
    if place.is_file() and json.loads(place.read_text()).get("verdict") == "done":
        return "done before"
    if limit <= 5:
        return "no time left"
    place.parent.mkdir(parents=True, exist_ok=True)
    words = [word.replace("{out}", str(out)) for word in part.command]
    more = {"GPU_DRY": "1" if dry else ""} | ({"CUDA_VISIBLE_DEVICES": ""} if dry else {})
    # Scripts find the packages where GraphWalker is not installed, too.
    more["PYTHONPATH"] = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    environment = os.environ | more
    log, started = out / "parts" / f"{part.name}.log", time.monotonic()
    with log.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, *words], cwd=ROOT, env=environment, stdout=output,
            stderr=subprocess.STDOUT, start_new_session=True,
        )  # fmt: skip
        try:
            code = process.wait(timeout=limit)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)  # its workers and servers with it
            process.wait()
            code = -1
    seconds = round(time.monotonic() - started, 1)
    verdict = "done" if code == 0 else "out of time" if code == -1 else f"failed, exit code {code}"
    entry = {"verdict": verdict, "seconds": seconds, "command": " ".join(words)}
    partial = place.with_suffix(".partial")  # another process may read the records meanwhile
    partial.write_text(json.dumps(entry | _read_figures(log.read_text(errors="replace")), indent=1))
    partial.rename(place)
    return f"{verdict}, {seconds} s" + ("" if code == 0 else f"; see {log}")


def _read_figures(text: str) -> dict[str, Any]:
    """Return the last line of JSON that a part printed, else its last lines."""
    for line in reversed(text.splitlines()):
        if line.startswith(("{", "[")):
            try:
                return {"figures": json.loads(line)}
            except ValueError:
                continue
    return {"said": [line[:300] for line in text.splitlines()[-5:]]}


def _write(options: argparse.Namespace, parts: list[Part]) -> None:
    """Write the record so far, because the machine may be taken away."""
    folder = options.out / "parts"
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # parts may be run side by side, by several commands
        _write_alone(options, parts)


def _write_alone(options: argparse.Namespace, parts: list[Part]) -> None:
    found: dict[str, Any] = {}
    for part in parts:
        place = options.out / "parts" / f"{part.name}.json"
        if place.is_file():
            found[part.name] = json.loads(place.read_text())
    devices = _devices(options.dry)
    folder = options.out if options.dry else ROOT / "benchmarks" / "results"
    name = "gpu-" + re.sub(r"[^a-z0-9]+", "-", (devices[0] if devices else "cpu").lower())
    facts: Mapping[str, Any] = {"devices": devices, "minutes": options.minutes, "parts": found}
    say(f"written: {record(name, facts, f'benchmarks/gpu.sh {options.minutes:g}', 0, folder)}")


def _devices(dry: bool) -> list[str]:
    """Return the names of the GPUs from a child process, so this one takes no GPU memory."""
    if dry:
        return []
    code = "import torch.cuda as c\nfor i in range(c.device_count()): print(c.get_device_name(i))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    return done.stdout.splitlines()


if __name__ == "__main__":
    main()
