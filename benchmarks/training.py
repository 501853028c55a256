"""How fast training is, each part next to the plain way of doing it, in one run.

    python -m benchmarks.training [--out runs/bench-training] [--steps 40]

A tiny agent is made and trained a little on a made world. SFT is compared with a plain TRL
`SFTTrainer`, on our batches (the losses must be equal) and on its own random ones. Rollouts are
compared with `generate`, an episode at a time and in batches; all play the same greedy episodes.
`python -m benchmarks.training_grpo` takes a GRPO step apart.
"""

import argparse
import json
import shutil
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.record import ROOT, record
from graphwalker.agents.environment import Environment, EnvironmentConfig
from graphwalker.agents.rollout import rollout
from graphwalker.config import load_config, parse_config
from graphwalker.datasets.base import load_questions
from graphwalker.demo import Demo, DemoConfig
from graphwalker.errors import PolicyError
from graphwalker.files import read_json, write_json
from graphwalker.graphs.open import open_graph
from graphwalker.policies.base import Completion, Request, Sampling
from graphwalker.tokens.formats import chat_format
from graphwalker.tokens.segments import end_of_turn_id, prompt_ids
from training.config import SftConfig
from training.supervised.batches import plan_steps
from training.supervised.rows import Rows, read_rows
from training.tiny.optimizer import MARK

SEED = 0
SMALL = (
    *("synth.count=1500", "rl.count=800", "experts.count=400", "practice.count=100"),
    *("test.count=32", "test_words.count=16", "sft1.max_steps=250"),
)
"""The demo's settings, made smaller."""
ROWS = 16
"""Rows of an optimizer step."""
LR = 1e-3
WARM = 5
"""Steps at the start that no clock counts."""
MAX_CONTEXT = 1400


def main() -> None:
    """Measure and write benchmarks/results/training.json."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--out", type=Path, help="where the agent is made (default: a new folder)")
    parser.add_argument("--steps", type=int, default=40, help="SFT steps that are timed")
    parser.add_argument("--set", nargs="*", default=[], help="settings, such as synth.count=200")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        figures = measure(options.out or Path(folder), options.steps, options.set)
    print(json.dumps(figures, indent=2))
    results = options.out if options.set else ROOT / "benchmarks" / "results"
    command = f"python -m benchmarks.training --steps {options.steps}"
    print(record("training", figures, command, SEED, folder=results))


def measure(out: Path, steps: int, overrides: list[str]) -> dict[str, Any]:
    """Return all figures, after making world, data and agent in `out`."""
    import torch

    demo = prepare(out, overrides)
    return {
        "device": torch.cuda.get_device_name() if torch.cuda.is_available() else "cpu",
        "threads": torch.get_num_threads(),
        "sft": sft_figures(demo, steps),
        "rollouts": rollout_figures(demo),
    }


def small_demo(out: Path, overrides: list[str]) -> Demo:
    """Return the demo, made smaller; nothing is made yet."""
    settings = [*SMALL, *overrides, f"seed={SEED}", f"run={out}"]
    return Demo(load_config(DemoConfig, ROOT / "configs" / "demo.yaml", settings))


def prepare(out: Path, overrides: list[str]) -> Demo:
    """Make world, data, and an agent of 250 steps of stage 1, unless they exist."""
    demo = small_demo(out, overrides)
    demo.run([*demo.data_stages(), *demo.model_stages(), demo.training_stage("SFT stage 1")])
    return demo


def sft_figures(demo: Demo, steps: int) -> dict[str, Any]:
    """Return tokens a second of each, ratios, and the largest difference of losses (nats)."""
    from transformers import AutoTokenizer

    with tempfile.TemporaryDirectory() as folder:
        settings = _settings(demo, steps, folder)
        settings["model"] = _for_adamw(settings["model"], f"{folder}/model")
        config = parse_config(SftConfig, settings, "benchmark, sft")
        tokenizer = AutoTokenizer.from_pretrained(config.model)
        rows = read_rows(config, tokenizer, Path(folder, "rows"))
        whole = len(rows.lengths) // ROWS * ROWS  # no step with fewer rows
        rows = _select(rows, range(whole))
        plan = [step[0] for step in plan_steps(rows.lengths, config, 1)]
        planned = _select(rows, [index for step in plan for index in step])
        ours = _ours(config, tokenizer, rows)
        same = _plain(config, tokenizer, planned, "sequential")
        usual = _plain(config, tokenizer, rows, "random")
    gaps = [abs(a - b) for a, b in zip(ours["losses"], same["losses"], strict=True)]
    runs = {"ours": ours, "plain": usual, "plain_on_our_batches": same}
    speeds = {name: round(run["tokens"] / run["seconds"], 1) for name, run in runs.items()}
    return {
        "rows_per_step": ROWS,
        "steps": steps - WARM,
        "tokens_per_s": speeds,
        "ratio_to_plain": round(speeds["ours"] / speeds["plain"], 2),
        "ratio_to_plain_on_our_batches": round(speeds["ours"] / speeds["plain_on_our_batches"], 2),
        "largest_loss_difference": max(gaps),
        "first_loss": ours["losses"][0],
        "last_loss": ours["losses"][-1],
    }


def _select(rows: Rows, places: Sequence[int]) -> Rows:
    lengths = [rows.lengths[place] for place in places]
    return replace(rows, dataset=rows.dataset.select(places), lengths=lengths)


def _for_adamw(model: str, to: str) -> str:
    """Copy a model without the mark that asks for Muon, which TRL's trainer does not have."""
    file = Path(shutil.copytree(model, to)) / "config.json"
    write_json(file, {key: value for key, value in read_json(file).items() if key != MARK})
    return to


def _settings(demo: Demo, steps: int, folder: str) -> dict[str, Any]:
    return {
        "model": str(demo.out / "model"),
        "data": [str(demo.out / "synth" / "graphsynth.jsonl")],
        "output_dir": folder,
        "format": "inline",
        "batch_size": ROWS,
        "max_steps": steps,
        "lr": LR,
        "schedule": "constant",
        "warmup_ratio": 0.0,
        "log_steps": 1,
        "save_steps": 10**6,
        "progress": False,
    }


def _ours(config: SftConfig, tokenizer: Any, rows: Rows) -> dict[str, Any]:
    from training.supervised.trainer import PlannedTrainer

    plan = plan_steps(rows.lengths, config, 1)
    return _train_timed(PlannedTrainer(config, tokenizer, rows, plan, 0))


def _plain(config: SftConfig, tokenizer: Any, rows: Rows, order: str) -> dict[str, Any]:
    """Run TRL's trainer as its documentation sets it up, with the same optimizer."""
    import torch
    from transformers import AutoModelForCausalLM, PrinterCallback, ProgressCallback
    from trl.trainer.sft_config import SFTConfig
    from trl.trainer.sft_trainer import SFTTrainer

    model = AutoModelForCausalLM.from_pretrained(config.model, dtype=torch.float32)
    trainer = SFTTrainer(
        model=model,
        args=SFTConfig(
            output_dir=str(Path(config.output_dir) / order),
            per_device_train_batch_size=ROWS,
            max_steps=config.max_steps,
            learning_rate=LR,
            lr_scheduler_type="constant",
            adam_beta1=config.beta1,
            adam_beta2=config.beta2,
            weight_decay=config.weight_decay,
            max_grad_norm=config.max_grad_norm,
            logging_steps=1,
            save_strategy="no",
            report_to="none",
            disable_tqdm=True,
            dataset_kwargs={"skip_prepare_dataset": True},
            max_length=None,
            bf16=False,
            gradient_checkpointing=False,
            seed=config.seed,
            train_sampling_strategy=order,
        ),
        train_dataset=rows.dataset,
        processing_class=tokenizer,
    )
    for callback in (PrinterCallback, ProgressCallback):
        trainer.remove_callback(callback)
    return _train_timed(trainer)


def _train_timed(trainer: Any) -> dict[str, Any]:
    """Train; return all losses, and tokens and seconds of the steps after the first few."""
    clock = _clock()
    trainer.add_callback(clock)
    original = trainer.training_step

    def count_tokens(model: Any, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        mask = inputs.get("attention_mask")
        clock.tokens.append(int(mask.sum()))
        return original(model, inputs, *args, **kwargs)

    trainer.training_step = count_tokens
    trainer.train()
    return {
        "losses": [line["loss"] for line in trainer.state.log_history if "loss" in line],
        "tokens": sum(clock.tokens[WARM:]),
        "seconds": clock.ends[-1] - clock.ends[WARM - 1],
    }


def _clock() -> Any:
    from transformers import TrainerCallback

    class Clock(TrainerCallback):
        """The end of each step, and its tokens."""

        def __init__(self) -> None:
            self.ends: list[float] = []
            self.tokens: list[int] = []

        def on_step_end(self, *_: Any, **__: Any) -> None:
            self.ends.append(time.perf_counter())

    return Clock()


def rollout_figures(demo: Demo, alone: int | None = None) -> dict[str, Any]:
    """Return drawn tokens a second of each way, ratios to ours, and the number of equal episodes.

    `alone` bounds the questions that are played one at a time, which is slow with a large model.
    """
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    from graphwalker.policies.local.policy import TransformersPolicy

    path = str(demo.out / "sft1" / "final")
    tokenizer = AutoTokenizer.from_pretrained(path, padding_side="left")
    model = AutoModelForCausalLM.from_pretrained(path, dtype=torch.float32).eval()
    if torch.cuda.is_available():
        model = model.cuda()
    fmt = chat_format("inline")
    engine = TransformersPolicy(model, tokenizer, fmt, max_context=MAX_CONTEXT)
    few = _play(demo, engine, 256)
    runs = {
        "ours": few,
        "one_at_a_time": _play(demo, GeneratePolicy(model, tokenizer, fmt, 1), 1, alone),
        "prefill_again": _play(demo, GeneratePolicy(model, tokenizer, fmt, 256), 256),
    }
    speeds = {name: round(run["tokens"] / run["seconds"], 1) for name, run in runs.items()}
    return {
        "episodes": len(few["texts"]),
        "episodes_one_at_a_time": len(runs["one_at_a_time"]["texts"]),
        "tokens_per_s": speeds,
        "ratio_to_one_at_a_time": round(speeds["ours"] / speeds["one_at_a_time"], 2),
        "ratio_to_prefill_again": round(speeds["ours"] / speeds["prefill_again"], 2),
        "encoded_as_drawn": sum(few["as_drawn"]),
        "equal_episodes": {
            name: sum(
                a == b
                for a, b, same in zip(few["texts"], run["texts"], few["as_drawn"], strict=False)
                if same  # ours keeps the tokens that were drawn, `generate` is given their text
            )
            for name, run in runs.items()
        },
    }


def _play(demo: Demo, policy: Any, concurrency: int, count: int | None = None) -> dict[str, Any]:
    """Play greedy episodes on the held-out questions; time policy and environment."""
    questions = load_questions(demo.test_file)[:count]
    settings = parse_config(EnvironmentConfig, demo.config.environment, "benchmark, environment")
    environment = Environment(open_graph(demo.graph), settings)
    sampling = Sampling(max_tokens=64)
    started = time.perf_counter()
    done = list(rollout(questions, environment, policy, sampling, concurrency=concurrency))
    seconds = time.perf_counter() - started
    texts = [[turn.completion for turn in episode.turns] for episode in done]
    encoded = [[policy.tokenizer.encode(t, add_special_tokens=False) for t in e] for e in texts]
    as_drawn = [
        all(
            list(turn.token_ids or ())[: len(ids)] == ids
            for turn, ids in zip(e.turns, own, strict=True)
        )
        for e, own in zip(done, encoded, strict=True)
    ]
    tokens = sum(len(ids) for episode in encoded for ids in episode)
    return {"texts": texts, "as_drawn": as_drawn, "tokens": tokens, "seconds": seconds}


class GeneratePolicy:
    """`model.generate` on the whole conversation, `batch` requests at a time."""

    name = "generate"

    def __init__(self, model: Any, tokenizer: Any, fmt: Any, batch: int) -> None:
        self.model, self.tokenizer, self.fmt, self.batch = model, tokenizer, fmt, batch
        self._waiting: dict[str, Request] = {}

    def submit(self, request: Request) -> None:
        self._waiting[request.key] = request

    def release(self, key: str) -> None:
        self._waiting.pop(key, None)

    def collect(self) -> list[tuple[str, Completion | PolicyError]]:
        chosen = [self._waiting.pop(key) for key in list(self._waiting)[: self.batch]]
        return list(zip([r.key for r in chosen], self._complete(chosen), strict=True))

    def _complete(self, requests: list[Request]) -> list[Completion]:
        import torch

        prompts = [prompt_ids(r.messages, self.fmt, self.tokenizer) for r in requests]
        width = max(len(ids) for ids in prompts)
        room = min(requests[0].sampling.max_tokens, MAX_CONTEXT - width - 1)
        if room <= 0:
            return [Completion("", "length") for _ in requests]
        pad = self.tokenizer.pad_token_id or 0
        ids = torch.tensor([[pad] * (width - len(p)) + p for p in prompts])
        mask = torch.tensor([[0] * (width - len(p)) + [1] * len(p) for p in prompts])
        ends = [end_of_turn_id(self.fmt, self.tokenizer), *self._stop_ids(requests[0].stop)]
        out = self.model.generate(
            input_ids=ids.to(self.model.device),
            attention_mask=mask.to(self.model.device),
            max_new_tokens=room,
            do_sample=False,
            eos_token_id=ends,
            pad_token_id=pad,
        )
        stops = requests[0].stop
        return [self._completion(row[width:].tolist(), ends, stops) for row in out]

    def _stop_ids(self, stops: tuple[str, ...]) -> list[int]:
        """Return the ids of the closing tags, each one token of the tiny tokenizer."""
        coded = [self.tokenizer.encode(stop, add_special_tokens=False) for stop in stops]
        if any(len(ids) != 1 for ids in coded):
            raise PolicyError(f"{stops}: this benchmark needs stop strings of one token each")
        return [ids[0] for ids in coded]

    def _completion(self, drawn: list[int], ends: list[int], stops: tuple[str, ...]) -> Completion:
        stop = next((i for i, token in enumerate(drawn) if token in ends), None)
        kept = drawn if stop is None else drawn[: stop + 1]
        if stop is not None and drawn[stop] == ends[0]:
            kept = drawn[:stop]
        text = self.tokenizer.decode(kept, skip_special_tokens=False)
        # Other tokens may spell a stop string, too, and `generate` ends at its own token alone.
        spelled = [text.index(one) + len(one) for one in stops if one in text]
        text = text[: min(spelled, default=len(text))]
        return Completion(text, "length" if stop is None and not spelled else "stop")


if __name__ == "__main__":
    main()
