"""A judge that runs in this process: a transformers model, read by its probabilities."""

import math
import threading
from collections.abc import Sequence
from functools import cached_property
from typing import Any

from data_pipeline.teacher.config import JudgeConfig
from data_pipeline.teacher.judge import DIMENSIONS, LETTERS, judged, reading_prompt, score_prompt
from data_pipeline.teacher.paths import resolved
from data_pipeline.teacher.prompts import Prompts
from data_pipeline.teacher.readings import Doubt
from data_pipeline.wording.quality import Verdict
from graphwalker.errors import UserError
from graphwalker.query.query import Execution, Query

NUMBERS = tuple(str(number) for number in range(11))


class LocalJudge:
    """Three scores by a causal language model of any size.

    A score is the mean of the numbers 0 to 10 under the model's probabilities behind the prompt
    and the opening tag, so that every model gives one and the same question always has the
    same. The model is loaded with the first question. Thread-safe. Raises `UserError` for a folder
    that holds no model.
    """

    def __init__(self, config: JudgeConfig) -> None:
        self._config, self._prompts = config, Prompts(config.prompts_dir)
        self._lock = threading.Lock()

    def verdict(self, text: str, query: Query, run: Execution) -> Verdict:
        path, scores = resolved(query, run), dict[str, float]()
        for name in DIMENSIONS:
            prompt = score_prompt(self._prompts, text, path, (name,))
            shares = self._shares(prompt, name, NUMBERS)
            mean = sum(int(n) * share for n, share in zip(NUMBERS, shares, strict=True))
            scores[name] = round(mean, 2)
        return judged(scores, self._config.keep_from)

    def means(self, text: str, doubt: Doubt) -> bool:
        hops, prompt = reading_prompt(self._prompts, text, doubt)
        shares = self._shares(prompt, "reading", LETTERS[: len(hops)])
        return max(range(len(hops)), key=shares.__getitem__) == hops.index(doubt.hop)

    def _shares(self, prompt: str, tag: str, choices: Sequence[str]) -> list[float]:
        """The probability of each choice among them, as what stands in the tag."""
        import torch

        with self._lock, torch.inference_mode():
            model, tokenizer = self._loaded
            before = _ids(tokenizer, f"{_chat(tokenizer, prompt)}<{tag}>")
            rows = [
                tokenizer(f"{c}</{tag}>", add_special_tokens=False)["input_ids"] for c in choices
            ]
            device, width = model.device, max(map(len, rows))
            # The prompt is read once, by all but its last token: that one begins every row.
            start = model(torch.tensor([before[:-1]], device=device), use_cache=True)
            cache = start.past_key_values
            cache.batch_repeat_interleave(len(rows))
            padded = [[before[-1], *row, *[0] * (width - len(row))] for row in rows]
            logits = model(torch.tensor(padded, device=device), past_key_values=cache).logits
            logs = torch.log_softmax(logits.float(), dim=-1)
            sums = [
                sum(float(logs[i, k, token]) for k, token in enumerate(row))
                for i, row in enumerate(rows)
            ]
        most = max(sums)
        weights = [math.exp(value - most) for value in sums]
        return [weight / sum(weights) for weight in weights]

    @cached_property
    def _loaded(self) -> tuple[Any, Any]:
        import torch
        import transformers

        library: Any = transformers  # its loaders are not typed
        name, device = self._config.local, self._config.device
        dtype = torch.float32 if device == "cpu" else torch.bfloat16
        try:
            tokenizer = library.AutoTokenizer.from_pretrained(name)
            model = library.AutoModelForCausalLM.from_pretrained(name, dtype=dtype)
            return model.to(device).eval(), tokenizer
        except (OSError, ValueError, RuntimeError) as error:
            line = (str(error).strip().splitlines() or [type(error).__name__])[0]
            raise UserError(f"judge={name}: no model could be loaded from here ({line})") from None


def _chat(tokenizer: Any, prompt: str) -> str:
    """The prompt as the model's chat template writes it, where it has one."""
    if not getattr(tokenizer, "chat_template", None):
        return f"{prompt}\n"
    messages = [{"role": "user", "content": prompt}]
    return tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)


def _ids(tokenizer: Any, text: str) -> list[int]:
    # A template has written the special tokens already.
    own = not getattr(tokenizer, "chat_template", None)
    return tokenizer(text, add_special_tokens=own)["input_ids"]
