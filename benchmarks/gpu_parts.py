"""The parts of `benchmarks/gpu.sh` that train and draw: python -m benchmarks.gpu_parts PART OUT ...

Models have the real dimensions and random weights, and the tokenizer of the made world. Each part
prints its figures as one line of JSON: tokens per second, seconds per step, peak memory beside what
`--estimate` says.
"""

import json
import os
import statistics
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

DRY = bool(os.environ.get("GPU_DRY"))
SHAPES = {"0.5B": "Qwen/Qwen2.5-0.5B-Instruct", "1.5B": "Qwen/Qwen2.5-1.5B-Instruct"}
SFT_STEPS, GRPO_STEPS = (6, 2) if DRY else (60, 6)
WARM = 1 if DRY else 5
LITTLE = ("synth.count=60", "rl_questions.count=40", "experts.count=16", "sft1.max_steps=3",
          "tests.test-entity.count=4", "tests.test-path.count=2") if DRY else ()  # fmt: skip


def data(out: Path) -> dict[str, Any]:
    """The made world, its conversations and questions, and a tokenizer."""
    from benchmarks.training import prepare

    started = time.perf_counter()
    demo = prepare(out / "world", list(LITTLE))
    return {"seconds": round(time.perf_counter() - started, 1), "folder": str(demo.out)}


def sft(out: Path, size: str, *overrides: str) -> dict[str, Any]:
    """SFT steps on real conversations, in bf16."""
    from training.config import SftConfig
    from training.sft import run_sft

    place = out / ("sft-" + "-".join((size, *(word.partition("=")[2] for word in overrides))))
    values = {
        "data": [str(out / "world" / "synth" / "graphsynth.jsonl")],
        "format": "inline",
        "tokens_per_step": 512 if DRY else 16384,
        "max_steps": SFT_STEPS,
        "lr": 1e-4,
        "save_steps": 10**6,
        "log_steps": 1,
    }
    config = _config(SftConfig, out, size, place, values, overrides)
    figures = _measured(lambda: run_sft(config), config, place)
    lines = _lines(place)
    tokens = lines[-1]["tokens"] - lines[WARM - 1]["tokens"]
    seconds = lines[-1]["seconds"] - lines[WARM - 1]["seconds"]
    return {**figures, "tokens_per_s": round(tokens / seconds, 1), "last_loss": lines[-1]["loss"]}


def grpo(out: Path, size: str, *overrides: str) -> dict[str, Any]:
    """GRPO steps from the model that SFT left: seconds a step and their parts."""
    from training.grpo import run_grpo
    from training.grpo_config import GrpoConfig

    place = out / ("grpo-" + "-".join((size, *(word.partition("=")[2] for word in overrides))))
    world = out / "world"
    values = {
        "model": str(out / f"sft-{size}" / "final"),
        "questions": str(world / "questions" / "rl" / "fresh.jsonl"),
        "graph": str(world / "world" / "graph"),
        "format": "inline",
        "prompts_per_step": 2 if DRY else 32,
        "samples": 2 if DRY else 8,
        "steps": GRPO_STEPS,
        "micro_batch": 2 if DRY else 8,
        "max_turn_tokens": 256,
        "max_prompt_tokens": 1024,
        "max_response_tokens": 1024 if DRY else 2048,
        "beta": 0.0,
        "save_steps": 10**6,
    }
    config = _config(GrpoConfig, out, size, place, values, overrides)
    figures = _measured(lambda: run_grpo(config), config, place)
    lines = _lines(place)[min(1, GRPO_STEPS - 1) :]
    numbers = {key for line in lines for key, value in line.items() if isinstance(value, float)}
    numbers -= {"seconds"}  # it counts from the start
    means = {
        key: round(
            statistics.mean(float(line[key]) for line in lines if line.get(key) is not None), 4
        )
        for key in sorted(numbers)
        if key.endswith(("seconds", "_s", "tokens")) or key.startswith(("tokens", "mismatch"))
    }
    steps = _lines(place)
    each = (steps[-1]["seconds"] - steps[0]["seconds"]) / max(1, len(steps) - 1)
    return {**figures, "seconds_per_step": round(each, 3), "means": means}


def rollouts(out: Path, size: str) -> dict[str, Any]:
    """Drawn tokens a second of our engine and of `generate`, on the same greedy episodes."""
    from benchmarks.training import prepare
    from benchmarks.training_rollouts import rollout_figures

    demo = prepare(out / "world", list(LITTLE))
    link = out / f"rollouts-{size}"
    (link / "sft1").mkdir(parents=True, exist_ok=True)
    if not (link / "sft1" / "final").exists():
        (link / "sft1" / "final").symlink_to((out / f"sft-{size}" / "final").resolve())
    demo.out = link
    return rollout_figures(demo)


def push(out: Path, size: str) -> dict[str, Any]:
    """GRPO with the weights pushed to a `vllm serve` over NCCL: two GPUs."""
    import subprocess

    import torch

    if torch.cuda.device_count() < 2:
        return {"skipped": "weights over NCCL need two GPUs"}
    model, port = str(out / f"sft-{size}" / "final"), 18765
    environment = os.environ | {"CUDA_VISIBLE_DEVICES": "1", "VLLM_SERVER_DEV_MODE": "1"}
    words = ["vllm", "serve", model, "--port", str(port), "--logprobs-mode", "processed_logprobs"]
    words += ["--weight-transfer-config", '{"backend": "nccl"}', "--max-model-len", "4096"]
    server = subprocess.Popen(words, env=environment)
    os.environ["CUDA_VISIBLE_DEVICES"] = "0"
    try:
        url = f"vllm.base_url=http://127.0.0.1:{port}"
        return grpo(out, size, "engine=vllm-server", url, "vllm.wait_s=240")
    finally:
        server.terminate()
        server.wait()


def _config(
    kind: Any,
    out: Path,
    size: str,
    place: Path,
    values: Mapping[str, Any],
    overrides: tuple[str, ...],
) -> Any:
    from graphwalker.config import parse_config, read_settings

    given = {
        "model": str(_model(out, size)),
        "output_dir": str(place),
        "dtype": "float32" if DRY else "bfloat16",
        "seed": 0,
        "environment": {"prompt": "compact", "top_relations": 10},
        **values,
    }
    if "progress" in kind.model_fields:
        given["progress"] = False
    return parse_config(kind, {**given, **read_settings(None, overrides)}, "benchmark, gpu")


def _model(out: Path, size: str) -> Path:
    """Random weights of those dimensions beside the world's tokenizer."""
    import shutil

    import torch
    from transformers import AutoModelForCausalLM

    from training.models.shapes import model_shape

    folder, tiny = out / f"model-{size}", out / "world" / "model"
    if (folder / "config.json").is_file():
        return folder
    if DRY:
        shutil.copytree(tiny, folder)
        return folder
    torch.manual_seed(0)
    shape = model_shape(SHAPES[size])
    known = json.loads((tiny / "config.json").read_text())
    for key in ("bos_token_id", "eos_token_id", "pad_token_id"):
        setattr(shape, key, known.get(key))
    model: Any = AutoModelForCausalLM.from_config(shape, dtype=torch.bfloat16)
    partial = folder.with_name(f"{folder.name}.partial")
    shutil.copytree(tiny, partial, ignore=shutil.ignore_patterns("*.safetensors", "config.json"))
    model.save_pretrained(partial)
    partial.rename(folder)
    return folder


def _measured(run: Callable[[], Any], config: Any, place: Path) -> dict[str, Any]:
    """Run it; the peak of the GPU's memory beside the estimate."""
    import shutil

    import torch

    from training.estimate import GIB, estimate, peak

    shutil.rmtree(place, ignore_errors=True)  # a part that was cut short is measured again
    if torch.cuda.is_available():
        torch.cuda.reset_peak_memory_stats()
    run()
    found: dict[str, Any] = {"device": "cpu"}
    if torch.cuda.is_available():
        found = {
            "device": torch.cuda.get_device_name(),
            "peak_gib": round(torch.cuda.max_memory_allocated() / GIB, 2),
        }
    return {**found, "estimated_peak_gib": round(peak(estimate(config)) / GIB, 2)}


def _lines(place: Path) -> list[dict[str, Any]]:
    from graphwalker.files import read_jsonl

    return list(read_jsonl(place / "metrics.jsonl"))


PARTS: Mapping[str, Callable[..., dict[str, Any]]] = {
    "data": data,
    "sft": sft,
    "grpo": grpo,
    "rollouts": rollouts,
    "push": push,
}

if __name__ == "__main__":
    name, folder, *words = sys.argv[1:]
    print(json.dumps(PARTS[name](Path(folder).resolve(), *words)))
