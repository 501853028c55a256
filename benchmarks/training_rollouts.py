"""Rollout tokens a second: our engine, and `generate` from the start of the text at every turn.

`one_at_a_time` is what a first script does: an episode, a turn, a `generate` call. `prefill_again`
batches the calls, but reads the whole text at each turn. All three play the same greedy episodes.
"""

import time
from typing import Any

from graphwalker.agents.environment import Environment, EnvironmentConfig
from graphwalker.agents.rollout import rollout
from graphwalker.config import parse_config
from graphwalker.datasets.base import load_questions
from graphwalker.errors import PolicyError
from graphwalker.graphs.open import open_graph
from graphwalker.pipeline import Demo
from graphwalker.policies.base import Completion, Request, Sampling
from graphwalker.tokens.segments import chat_format, end_of_turn_id, prompt_ids

SAMPLES = 8
MAX_CONTEXT = 1400


def rollout_figures(demo: Demo, alone: int | None = None) -> dict[str, Any]:
    """Drawn tokens a second of each way, and ratios to ours; how many episodes are the same.

    `alone`: so many questions are played one at a time, which takes long with a large model.
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
        "equal_episodes": {
            name: sum(a == b for a, b in zip(few["texts"], run["texts"], strict=False))
            for name, run in runs.items()
        },
        "target_ratio_cpu": 2.0,
        "target_ratio_gpu": 10.0,
    }


def _play(demo: Demo, policy: Any, concurrency: int, count: int | None = None) -> dict[str, Any]:
    """Greedy episodes on the held-out questions; the clock counts policy and environment."""
    questions = load_questions(demo.test_file)[:count]
    settings = parse_config(EnvironmentConfig, demo.config.environment, "benchmark, environment")
    environment = Environment(open_graph(demo.graph), settings)
    sampling = Sampling(max_tokens=64)
    started = time.perf_counter()
    done = list(rollout(questions, environment, policy, sampling, concurrency=concurrency))
    seconds = time.perf_counter() - started
    texts = [[turn.completion for turn in episode.turns] for episode in done]
    tokens = sum(
        len(policy.tokenizer.encode(text, add_special_tokens=False)) for t in texts for text in t
    )
    return {"texts": texts, "tokens": tokens, "seconds": seconds}


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
        """The closing tags, each one token of the tiny tokenizer."""
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
