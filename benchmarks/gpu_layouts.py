"""Parts of `benchmarks/gpu.sh` that `accelerate launch` starts: a layout beside a plain run.

python -m benchmarks.gpu_layouts sft|grpo OUT LAYOUT SIZE ...
"""

import json
import os
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from benchmarks.gpu_parts import DRY, grpo_config, lines_of, model_of


def sft(out: Path, layout: str, size: str) -> dict[str, Any]:
    """Compare losses of SFT under a layout for several GPUs with those of a plain run."""
    values = {
        "model": str(model_of(out, size)),
        "format": "inline",
        "data": [str(out / "world" / "synth" / "graphsynth.jsonl")],
        "lr": 1e-4,
        "max_steps": 3 if DRY else 8,
        "batch_size": 8,
        "max_length": 1024,
        "log_steps": 1,
        "save_steps": 1000,
        "progress": False,
        "dtype": "float32" if DRY else "bfloat16",
    }
    return _compare(out, "sft", layout, 1, values)


def grpo(out: Path, layout: str, size: str, *overrides: str) -> dict[str, Any]:
    """Compare GRPO by one process with GRPO by two, one on each GPU."""
    import torch

    if not DRY and torch.cuda.device_count() < 2:
        return {"skipped": "two processes need two GPUs"}
    config = grpo_config(out, size, out / "unused", overrides)
    return _compare(out, "grpo", layout, 2, config.model_dump(mode="json"))


def _compare(
    out: Path, stage: str, layout: str, count: int, values: dict[str, Any]
) -> dict[str, Any]:
    if layout.startswith("zero") and find_spec("deepspeed") is None:
        return {"skipped": "DeepSpeed is not installed"}
    figures: dict[str, list[dict[str, Any]]] = {}
    for name in ("plain", layout):
        place = out / f"{stage}-{name}-beside-{layout}"
        shutil.rmtree(place, ignore_errors=True)
        file = out / f"{place.name}.json"
        settings = values | {"output_dir": str(place), "allow_cpu": DRY}
        file.write_text(json.dumps(settings), encoding="utf-8")
        _run(stage, "" if name == "plain" else layout, count, file)
        keys = ("loss", "kl", "grad_norm", "em", "tokens", "seconds")
        lines = lines_of(place)
        figures[name] = [{key: line[key] for key in keys if key in line} for line in lines]
    pairs = zip(figures["plain"], figures[layout], strict=True)
    gap = max(abs(one["loss"] - other["loss"]) for one, other in pairs)
    return {"processes": count, "steps": figures, "largest_difference_of_losses": gap}


def _run(stage: str, layout: str, count: int, config: Path) -> None:
    """Train by `count` processes in a layout; without one by a single process."""
    environment = dict(os.environ)
    start = ["-m", f"training.{stage}"]
    if layout:
        start = ["-m", "training.launch", "--config_file", f"configs/accelerate/{layout}.yaml"]
        start += ["--num_processes", str(count), "--main_process_port", "0"]
        start += ["--module", f"training.{stage}"]
    elif not DRY:
        environment["CUDA_VISIBLE_DEVICES"] = "0"
    command = [sys.executable, *start, "--config", str(config)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    if done.returncode:
        raise SystemExit(done.stderr[-2000:])


if __name__ == "__main__":
    stage, folder, *words = sys.argv[1:]
    print(json.dumps({"sft": sft, "grpo": grpo}[stage](Path(folder).resolve(), *words)))
