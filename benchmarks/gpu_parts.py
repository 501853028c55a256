"""The parts of `benchmarks/gpu.sh` that train and draw: python -m benchmarks.gpu_parts PART OUT ...

Models have the real dimensions and random weights, and the tokenizer of the made world. Each part
prints its figures as one line of JSON: tokens per second, seconds per step, peak memory beside what
`--estimate` says.
"""

import functools
import itertools
import json
import os
import resource
import shutil
import statistics
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

REAL = "real"
"""The size of a pretrained model: OUT/real has `model/`, `graph/` and `questions.jsonl`."""
DRY = bool(os.environ.get("GPU_DRY"))
SMOLLM2 = "smollm2"
"""The weights of SmolLM2-135M, as `graphwalker model get smollm2` has them."""
SHAPES = {size: f"Qwen/Qwen2.5-{size}-Instruct" for size in ("0.5B", "1.5B", "7B")}
SFT_STEPS, GRPO_STEPS = (6, 2) if DRY else (60, 3)
LONG_STEPS = 3 if DRY else 12
"""Steps of SFT where a part asks for memory and speed alone."""
WARM = 1 if DRY else 5
ADAPTERS = ("lora.r=64", "lora.alpha=128", "gradient_checkpointing=true")
"""As `configs/models/*.yaml` has them for one GPU."""
FEW = ("synth.count=60", "rl.count=40", "experts.count=16", "practice.count=20",
       "sft1.max_steps=3", "test.count=4", "test_words.count=2")  # fmt: skip
LITTLE = FEW if DRY else ()


def data(out: Path, size: str = "") -> dict[str, Any]:
    """Make the world, its conversations and questions, and a tokenizer; `little` of them."""
    from benchmarks.training import prepare

    started = time.perf_counter()
    demo = prepare(out / "world", list(FEW if size else LITTLE))
    return {"seconds": round(time.perf_counter() - started, 1), "folder": str(demo.out)}


def sft(out: Path, size: str, *overrides: str) -> dict[str, Any]:
    """Measure SFT steps on real conversations, in bf16."""
    values = {
        "data": [str(out / "world" / "synth" / "graphsynth.jsonl")],
        "epochs": 100,
        "tokens_per_step": 512 if DRY else 16384,
        "max_length": 1024,
        "max_steps": SFT_STEPS,
        "lr": 3e-4,
    }
    return _sft_figures(out, size, values, overrides)


def long_rows(out: Path, size: str, *overrides: str) -> dict[str, Any]:
    """Measure a few SFT steps with the adapters of the configs for one GPU, on their longest rows.

    Thoughts are repeated until a row has some 4,000 tokens.
    """
    length = 512 if DRY else 4096
    values = {
        "data": [str(_stretch_rows(out, length))],
        "epochs": 100,
        "batch_size": 8 if DRY else 32,
        "gradient_accumulation": 8,
        "max_length": length,
        "max_steps": LONG_STEPS,
        "lr": 1e-4,
    }
    return _sft_figures(out, size, values, (*ADAPTERS, *overrides), "long")


def _stretch_rows(out: Path, length: int) -> Path:
    """Write conversations with a first thought so long that a row nearly fills `length` tokens."""
    from transformers import AutoTokenizer

    from graphwalker.files import read_jsonl, write_jsonl
    from graphwalker.tokens.formats import chat_format
    from graphwalker.tokens.segments import training_rows
    from graphwalker.trajectory import Trajectory

    place = out / f"rows-of-{length}.jsonl"
    if place.is_file():
        return place
    tokenizer, rows = AutoTokenizer.from_pretrained(out / "world" / "model"), []
    for values in itertools.islice(read_jsonl(out / "world" / "synth" / "graphsynth.jsonl"), 256):
        trajectory = Trajectory.from_json(values)
        [row] = training_rows(trajectory, chat_format("inline"), tokenizer)
        turn = values["turns"][0]
        size = len(tokenizer.encode(turn["thought"] + " ", add_special_tokens=False))
        more = (turn["thought"] + " ") * max(0, (length - 64 - len(row.input_ids)) // size)
        turn["completion"] = turn["completion"].replace(turn["thought"], more + turn["thought"])
        turn["thought"] = more + turn["thought"]
        rows.append(values)
    write_jsonl(place, rows)
    return place


def _sft_figures(
    out: Path, size: str, values: Mapping[str, Any], overrides: tuple[str, ...], name: str = "sft"
) -> dict[str, Any]:
    from training.config import SftConfig
    from training.sft import run_sft

    place = _place(out, name, size, overrides)
    fixed = {"format": "inline", "save_steps": 10**6, "log_steps": 1}
    config = _config(SftConfig, out, size, place, {**fixed, **values}, overrides)
    figures = _measure(lambda: run_sft(config), config, place)
    lines = lines_of(place)
    tokens = lines[-1]["tokens"] - lines[WARM - 1]["tokens"]
    seconds = lines[-1]["seconds"] - lines[WARM - 1]["seconds"]
    speed = tokens / seconds
    return {
        **figures,
        "tokens_per_s": round(speed, 1),
        "model_tflops": round(6 * figures["parameters"] * speed / 1e12, 2),
        "last_loss": lines[-1]["loss"],
    }


def _place(out: Path, name: str, size: str, overrides: tuple[str, ...]) -> Path:
    words = (word.rpartition(".")[2].replace("=", "-") for word in overrides)
    return out / "-".join((name, size, *words))


def grpo(out: Path, size: str, *overrides: str) -> dict[str, Any]:
    """Measure GRPO steps from the model of `sft`: seconds a step and their parts."""
    from training.grpo import run_grpo

    place = _place(out, "grpo", size, overrides)
    config = grpo_config(out, size, place, overrides)
    if config.engine == "vllm" and os.environ.get("GPU_EAGER"):  # nothing is compiled: a fast start
        from trl.generation import vllm_generation

        eager = functools.partial(vllm_generation.LLM, enforce_eager=True)
        vllm_generation.LLM = eager  # type: ignore[misc]
    figures = _measure(lambda: run_grpo(config), config, place)
    steps = lines_of(place)
    lines = steps[1:] or steps  # the first one warms up
    numbers = {key for line in lines for key, value in line.items() if isinstance(value, float)}
    numbers -= {"seconds"}  # it counts from the start
    means = {
        key: round(
            statistics.mean(float(line[key]) for line in lines if line.get(key) is not None), 4
        )
        for key in sorted(numbers)
        if key.endswith(("seconds", "_s", "tokens", "em")) or key.startswith(("tokens", "mismatch"))
    }
    figures |= {"means": means, "steps": len(steps)}
    if len(steps) > 1:
        each = (steps[-1]["seconds"] - steps[0]["seconds"]) / (len(steps) - 1)
        figures["seconds_per_step"] = round(each, 3)
    return figures


def savings(out: Path, size: str, *overrides: str) -> dict[str, Any]:
    """Take a GRPO step apart, and measure each saving of its update alone."""
    from benchmarks.training_grpo import step_figures

    place = _place(out, "savings", size, overrides)
    return step_figures(grpo_config(out, size, place, overrides))


def grpo_config(out: Path, size: str, place: Path, overrides: tuple[str, ...]) -> Any:
    from training.grpo_config import GrpoConfig

    world = out / "world"
    agent = out / f"sft-{size}" / "final"
    values = {
        "model": str(agent if agent.is_dir() else model_of(out, size)),
        "questions": str(world / "rl" / "questions.jsonl"),
        "graph": str(world / "world" / "graph"),
        "format": "inline",
        "prompts_per_step": 2 if DRY else 32,
        "samples": 2 if DRY else 8,
        "steps": GRPO_STEPS,
        "micro_batch": 2 if DRY else 8,
        "max_turn_tokens": 256,
        "max_prompt_tokens": 256,
        "max_response_tokens": 1024,
        "limit_steps": 0,
        "beta": 0.0,
        "save_steps": 10**6,
    }
    if size == SMOLLM2 and not DRY:
        values |= {"format": "auto", "max_prompt_tokens": 1024, "max_turn_tokens": 128}
    if size == REAL:
        files = {"questions": out / REAL / "questions.jsonl", "graph": out / REAL / "graph"}
        values |= {key: str(path) for key, path in files.items()}
        values |= {"format": "auto", "model": str(model_of(out, size)), "max_prompt_tokens": 1024}
    return _config(GrpoConfig, out, size, place, values, overrides)


def rollouts(out: Path, size: str) -> dict[str, Any]:
    """Measure drawn tokens a second of our engine and of `generate` on the same episodes."""
    from benchmarks.training import rollout_figures, small_demo

    demo = small_demo(out / "world", list(LITTLE))
    link = out / f"rollouts-{size}"
    (link / "sft1").mkdir(parents=True, exist_ok=True)
    if not (link / "sft1" / "final").exists():
        (link / "sft1" / "final").symlink_to((out / f"sft-{size}" / "final").resolve())
    demo.out = link
    return rollout_figures(demo, alone=4)


def push(out: Path, size: str, *overrides: str) -> dict[str, Any]:
    """Run GRPO with weights pushed to a `vllm serve` over NCCL; needs two GPUs."""
    import subprocess

    import torch

    if torch.cuda.device_count() < 2:
        return {"skipped": "weights over NCCL need two GPUs"}
    model, port = grpo_config(out, size, out / "unused", ()).model, 18765
    environment = os.environ | {"CUDA_VISIBLE_DEVICES": "1", "VLLM_SERVER_DEV_MODE": "1"}
    words = ["vllm", "serve", model, "--port", str(port), "--logprobs-mode", "processed_logprobs"]
    words += ["--weight-transfer-config", '{"backend": "nccl"}', "--max-model-len", "4096"]
    server = subprocess.Popen(words, env=environment)
    os.environ["CUDA_VISIBLE_DEVICES"] = "0"
    try:
        url = f"vllm.base_url=http://127.0.0.1:{port}"
        return grpo(out, size, *overrides, "engine=vllm-server", url, "vllm.wait_s=240")
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
        "model": str(model_of(out, size)),
        "output_dir": str(place),
        "dtype": "float32" if DRY else "bfloat16",
        "seed": 0,
        "environment": {"prompt": "compact", "top_relations": 10},
        **values,
    }
    if "progress" in kind.model_fields:
        given["progress"] = False
    return parse_config(kind, {**given, **read_settings(None, overrides)}, "benchmark, gpu")


def model_of(out: Path, size: str) -> Path:
    """Make random weights of those dimensions, with the world's tokenizer."""
    import torch
    from transformers import AutoModelForCausalLM

    from training.models.shapes import model_shape

    folder, tiny = out / f"model-{size}", out / "world" / "model"
    if size == REAL:
        return _whole_model(out / REAL / "model")
    if size == SMOLLM2 and not DRY:
        from graphwalker.pretrained.shipped import get_smollm2

        return get_smollm2(_whole_model(out / SMOLLM2))
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


def _whole_model(folder: Path) -> Path:
    """Join weights that came in parts, `model.safetensors.00` and on; a whole file is left."""
    weights, parts = folder / "model.safetensors", sorted(folder.glob("model.safetensors.[0-9]*"))
    if not weights.is_file() and parts:
        partial = folder / "weights.partial"
        with partial.open("wb") as whole:
            for part in parts:
                whole.write(part.read_bytes())
        partial.rename(weights)
    return folder


def _measure(run: Callable[[], Any], config: Any, place: Path) -> dict[str, Any]:
    """Run it and return the peak of the GPU's memory and its estimate."""
    import torch

    from training.estimate import GIB, estimate, host_gib, peak

    shutil.rmtree(place, ignore_errors=True)  # a part that was cut short is measured again
    if torch.cuda.is_available():
        torch.cuda.reset_peak_memory_stats()
    run()
    found: dict[str, Any] = {"device": "cpu"}
    if torch.cuda.is_available():
        found = {
            "device": torch.cuda.get_device_name(),
            "peak_gib": round(torch.cuda.max_memory_allocated() / GIB, 2),
            "peak_reserved_gib": round(torch.cuda.max_memory_reserved() / GIB, 2),
        }
    parts = estimate(config)
    found["host_peak_gib"] = round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20, 2)
    return {
        **found,
        "estimated_peak_gib": round(peak(parts) / GIB, 2),
        "estimated_host_gib": round(host_gib(config, torch.cuda.device_count()), 2),
        "estimated_parts_gib": {part.name: round(part.bytes / GIB, 2) for part in parts},
        "parameters": _parameters(config),
    }


def _parameters(config: Any) -> int:
    from training.models.shapes import empty_model, model_shape

    model = empty_model(model_shape(config.model))
    return sum(parameter.numel() for parameter in model.parameters())


def lines_of(place: Path) -> list[dict[str, Any]]:
    from graphwalker.files import read_jsonl

    return list(read_jsonl(place / "metrics.jsonl"))


PARTS: Mapping[str, Callable[..., dict[str, Any]]] = {
    "data": data,
    "sft": sft,
    "long-rows": long_rows,
    "grpo": grpo,
    "savings": savings,
    "rollouts": rollouts,
    "push": push,
}

if __name__ == "__main__":
    name, folder, *words = sys.argv[1:]
    print(json.dumps(PARTS[name](Path(folder).resolve(), *words)))
