"""Small runs to kill, to split over processes and to submit: data, models and configs."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from graphwalker.agents.environment import Environment, EnvironmentConfig
from graphwalker.config import Config
from graphwalker.config import write_config as write_run_config
from graphwalker.files import read_jsonl, write_jsonl
from graphwalker.graphs.base import Entity
from graphwalker.question import Question
from graphwalker.tokens.formats import FORMATS
from graphwalker.tokens.segments import training_row
from graphwalker.trajectory import Message, StopReason, Trajectory, Turn
from support.backends import compiled_tsv
from support.grpo_toy import SMALL, played, questions
from support.paths import ROOT
from support.toy import TOY_NAMES, TOY_TRIPLES
from training.config import SftConfig, TrainingConfig
from training.grpo_config import GrpoConfig
from training.tiny.config import TinyModelConfig
from training.tiny.make import conversation_texts, make_tiny

SHAPE = TinyModelConfig(vocab_size=700, layers=2, hidden=64, heads=2, intermediate=128)
NAMES = ("Anna", "Bela", "Cora", "Dina", "Ebba", "Fred", "Gert", "Hugo")


def walk(number: int) -> Trajectory:
    """The agent asks for the relations of the named entity, then answers with its twin."""
    name, twin = NAMES[number % 8], NAMES[(number + 3) % 8]
    asked = f'Who is the twin of "{name}"{" and so on" * (number % 5)}?'
    look = f'<think>I look.</think>\n<kg-query>get_relations("{name}")</kg-query>'
    seen = f'<information>("{name}", a.b.twin, "{twin}")</information>'
    say = f'<think>There.</think>\n<answer>["{twin}"]</answer>'
    turns = (Turn((Message("user", asked),), look), Turn((Message("user", seen),), say))
    question = Question(f"q{number}", "Who?", (Entity(f"m.{number}", name),))
    return Trajectory(question, "react", "oracle", turns, (twin,), StopReason.ANSWERED)


def make_sft_place(folder: Path) -> Path:
    """Trajectories of unequal lengths, and a tiny model."""
    walks = [walk(number) for number in range(64)]
    write_jsonl(folder / "walks.jsonl", [w.to_json() for w in walks])
    make_tiny(SHAPE, conversation_texts(walks), ["a.b.twin"], folder / "model")
    return folder


def sft_config(place: Path, out: Path, **values: Any) -> SftConfig:
    data = {"model": str(place / "model"), "data": (str(place / "walks.jsonl"),)}
    steps = {"max_steps": 12, "save_steps": 4, "log_steps": 1, "progress": False}
    plain = {"format": "inline", "tokens_per_step": 512, "lr": 3e-3, "schedule": "linear"}
    return SftConfig(**({**data, **steps, **plain, "output_dir": str(out)} | values))


def make_toy_graph(folder: Path, config: EnvironmentConfig = SMALL) -> Environment:
    """Eight questions and the compiled toy graph, and the environment of episodes on it."""
    graph = compiled_tsv(folder, TOY_TRIPLES, TOY_NAMES)
    write_jsonl(folder / "questions.jsonl", [q.to_json() for q in questions()])
    return Environment(graph, config)


def make_grpo_world(
    folder: Path, config: EnvironmentConfig = SMALL, tool: str = "get_relations"
) -> Path:
    """A compiled toy graph, eight questions, and a tiny model that is right half of the time; it
    calls the tool first."""
    environment = make_toy_graph(folder, config)
    examples = [t for answer in ("Verria", "Drama") for t in played(environment, answer, tool)]
    relations = sorted({relation for _, relation, _ in TOY_TRIPLES})
    make_tiny(SHAPE, conversation_texts(examples), relations, folder / "model")
    _imitate(folder / "model", examples)
    return folder


def grpo_config(world: Path, out: Path, **settings: Any) -> GrpoConfig:
    paths = {"model": world / "model", "graph": world / "graph", "output_dir": out}
    values = {name: str(path) for name, path in paths.items()}
    values |= {"questions": str(world / "questions.jsonl"), "environment": SMALL, "beta": 0.0}
    values |= {"prompts_per_step": 4, "samples": 4, "micro_batch": 8, "steps": 4, "save_steps": 2}
    values |= {"max_turn_tokens": 40, "max_prompt_tokens": 128, "max_response_tokens": 384}
    return GrpoConfig(**{"format": "inline", "lr": 1e-3, **values} | settings)


def _imitate(path: Path, examples: list[Trajectory]) -> None:
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    tokenizer: Any = AutoTokenizer.from_pretrained(path)
    model: Any = AutoModelForCausalLM.from_pretrained(path)
    rows = [training_row(t, FORMATS["inline"], tokenizer) for t in examples]
    width = max(len(row.input_ids) for row in rows)
    ids = torch.tensor([r.input_ids + [0] * (width - len(r.input_ids)) for r in rows])
    labels = torch.tensor([r.labels + [-100] * (width - len(r.labels)) for r in rows])
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    for _ in range(600):
        optimizer.zero_grad()
        loss = model(input_ids=ids, labels=labels).loss
        if loss < 0.06:  # a coin toss for the answer is worth about 0.03
            break
        loss.backward()
        optimizer.step()
    model.save_pretrained(path)


def write_config(config: Config, path: Path) -> Path:
    """As a file for `--config` (JSON is YAML)."""
    path.write_text(json.dumps(config.model_dump(mode="json")), encoding="utf-8")
    return path


def lines(run: Path) -> list[dict[str, Any]]:
    return list(read_jsonl(run / "metrics.jsonl"))


def curve(run: Path, *keys: str) -> list[tuple[Any, ...]]:
    return [tuple(line[key] for key in ("step", "loss", "grad_norm", *keys)) for line in lines(run)]


def weights(run: Path) -> dict[str, Any]:
    from safetensors.torch import load_file

    whole = run / "final" / "model.safetensors"
    return load_file(whole if whole.is_file() else whole.with_name("adapter_model.safetensors"))


def largest_difference(left: Path, right: Path) -> float:
    """Between the final weights of two runs; DeepSpeed also writes the head, which is tied."""
    ours, theirs = weights(left), weights(right)
    assert ours.keys() - theirs.keys() <= {"lm_head.weight"}
    ours = {key: ours[key] for key in theirs}
    return max(float((ours[key] - theirs[key]).abs().max()) for key in ours)


def stop_after(whole: Path, config: SftConfig | GrpoConfig, step: int) -> Path:
    """What `whole` would have left at the config's output_dir, had it been killed there."""
    out = Path(config.output_dir)
    shutil.copytree(whole, out)
    write_run_config(config, out)
    shutil.rmtree(out / "final")
    for folder in out.glob("checkpoint-*"):
        if int(folder.name.partition("-")[2]) > step:
            shutil.rmtree(folder)
    return out


def kill_after(script: str, config: SftConfig | GrpoConfig, step: int) -> None:
    """Run a training script in a process of its own; `kill -9` it once it has logged `step`."""
    out = Path(config.output_dir)
    path = write_config(config, out.with_suffix(".json"))
    line = [sys.executable, str(ROOT / "training" / script), "--config", str(path)]
    with out.with_suffix(".log").open("wb") as log:
        run = subprocess.Popen(line, stdout=log, stderr=log, cwd=ROOT)
        metrics, deadline = out / "metrics.jsonl", time.monotonic() + 240
        while not (metrics.is_file() and metrics.read_bytes().count(b"\n") >= step):
            assert run.poll() is None, out.with_suffix(".log").read_text()
            assert time.monotonic() < deadline
            time.sleep(0.005)
        os.kill(run.pid, signal.SIGKILL)
        run.wait()
    assert not (out / "final").exists()


def launch_line(script: str, config: Path, layout: str) -> list[str]:
    """The command line of `launch`."""
    file = str(ROOT / "configs" / "accelerate" / f"{layout}.yaml")
    command = [sys.executable, "-m", "accelerate.commands.launch", "--config_file", file]
    command += ["--num_processes", "2", "--main_process_port", "0"]
    command += [str(ROOT / "tests/support/fsdp_on_cpu.py")] if layout == "fsdp2" else []
    return [*command, str(ROOT / "training" / script), "--config", str(config)]


def launch(script: str, config: TrainingConfig, layout: str, **environment: str) -> None:
    """`accelerate launch` of two processes without a GPU, as a user would; `fsdp2`, for which
    accelerate wants GPUs, by way of `fsdp_on_cpu.py`."""
    config = config.model_copy(update={"allow_cpu": True})
    path = write_config(config, Path(config.output_dir).with_suffix(".json"))
    command, env = launch_line(script, path, layout), os.environ | environment
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(done.stdout[-4000:] + done.stderr[-8000:])
