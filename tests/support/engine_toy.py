"""A tiny model with one token per character, and what a plain forward pass says about it."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from string import printable
from types import SimpleNamespace
from typing import Any

import torch
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast, Qwen2Config, Qwen2ForCausalLM

from graphwalker.policies.base import Completion, Request, Sampling
from graphwalker.question import Question
from graphwalker.tokens.formats import FORMATS
from graphwalker.tokens.segments import extension_ids, prompt_ids
from graphwalker.trajectory import Message, Turn

FORMAT = FORMATS["chatml"]
CONTEXT = 2048
ASKED = Question("q", "?", ())
SHORT = Sampling(max_tokens=12)
END = "<|im_end|>"

CHATML = (
    "{% for m in messages %}{{ '<|im_start|>' + m.role + '\n' + m.content + '<|im_end|>\n' }}"
    "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)


def make_tokenizer() -> Any:
    """Every printable ASCII character is a token, so ids and text say the same."""
    byte_level = Tokenizer(models.BPE())
    byte_level.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    letters = [byte_level.pre_tokenizer.pre_tokenize_str(c)[0][0] for c in printable[:97]]
    letters = sorted(set(letters))
    vocabulary = {letter: i for i, letter in enumerate(letters)}
    plain = Tokenizer(models.BPE(vocab=vocabulary, merges=[]))
    plain.pre_tokenizer, plain.decoder = byte_level.pre_tokenizer, decoders.ByteLevel()
    plain.add_special_tokens([AddedToken(t, special=True) for t in ("<|im_start|>", END, "<pad>")])
    return PreTrainedTokenizerFast(
        tokenizer_object=plain,
        eos_token=END,
        pad_token="<pad>",
        clean_up_tokenization_spaces=False,
        auto_map={"AutoTokenizer": [None, None]},
    )


def make_model(tokenizer: Any, key_value_heads: int = 2) -> Any:
    """Heads of 32: the smallest that vLLM has kernels for."""
    torch.manual_seed(1)
    sizes = {"hidden_size": 128, "intermediate_size": 64, "num_hidden_layers": 2}
    heads = {"num_attention_heads": 4, "num_key_value_heads": key_value_heads}
    ends = {"eos_token_id": tokenizer.eos_token_id, "pad_token_id": tokenizer.pad_token_id}
    weights = {"tie_word_embeddings": True, "initializer_range": 0.15, "dtype": "float32"}
    config = Qwen2Config(
        **{"vocab_size": len(tokenizer), "max_position_embeddings": CONTEXT, "bos_token_id": None},
        **{**sizes, **heads, **ends, **weights},
    )
    return Qwen2ForCausalLM(config).eval()


@dataclass
class Toy:
    """The tokenizer, the model, and a folder that holds both."""

    folder: Path
    tokenizer: Any = field(default_factory=make_tokenizer)
    model: Any = None

    def __post_init__(self) -> None:
        self.model = make_model(self.tokenizer)
        self.model.save_pretrained(self.folder)
        self.tokenizer.chat_template = CHATML
        self.tokenizer.save_pretrained(self.folder)

    def logprobs(self, ids: Sequence[int], temperature: float = 1.0) -> torch.Tensor:
        """Row i is the distribution of the token after `ids[: i + 1]`."""
        with torch.inference_mode():
            logits = self.model(torch.tensor([list(ids)])).logits[0]
        return (logits / temperature).log_softmax(-1)

    def greedy(self, ids: Sequence[int], count: int) -> list[int]:
        """The likeliest tokens, one after the other, the end of turn and beyond left out."""
        drawn: list[int] = []
        while len(drawn) < count and self.tokenizer.eos_token_id not in drawn:
            drawn.append(int(self.logprobs([*ids, *drawn])[-1].argmax()))
        return drawn

    def text(self, ids: Sequence[int]) -> str:
        return self.tokenizer.decode(ids, clean_up_tokenization_spaces=False)


class Reciter(torch.nn.Module):
    """A model that writes a text after a prompt of so many tokens, whatever it has read."""

    def __init__(self, toy: "Toy", text: str, start: int) -> None:
        super().__init__()
        self.config, self.generation_config = toy.model.config, toy.model.generation_config
        self.device, self.dtype = toy.model.device, torch.float32
        self._start = start
        ids = toy.tokenizer.encode(text, add_special_tokens=False)
        self._script = torch.tensor([*ids, toy.tokenizer.eos_token_id])

    def forward(self, input_ids: Any, position_ids: Any = None, **_: Any) -> Any:
        if position_ids is None:
            position_ids = torch.arange(input_ids.shape[1])[None]
        place = (position_ids + 1 - self._start).clamp(0, len(self._script) - 1)
        hot = torch.nn.functional.one_hot(self._script[place], self.config.vocab_size)
        return SimpleNamespace(logits=100.0 * hot)


def prompt(index: int) -> tuple[Message, ...]:
    return (Message("system", "Walk."), Message("user", f"Question {index}: who {'so ' * index}?"))


def asked(
    index: int = 0,
    sampling: Sampling = SHORT,
    stop: tuple[str, ...] = (),
    messages: tuple[Message, ...] | None = None,
    turn: int = 0,
    restart: bool = False,
) -> Request:
    messages = prompt(index) if messages is None else messages
    turns = [Turn((), "")] * turn
    return Request(f"q{index}#0", messages, ASKED, turns, sampling, stop, restart)


def only(policy: Any, request: Request) -> Any:
    policy.submit(request)
    [(key, result)] = policy.collect()
    assert key == request.key
    return result


@dataclass
class Told:
    """One conversation as it went: each turn's completion, and the ids that came before it."""

    completions: list[Completion] = field(default_factory=list)
    before: list[list[int]] = field(default_factory=list)


def play(policy: Any, toy: Toy, count: int, turns: int = 3, sampling: Sampling = SHORT) -> Any:
    """`count` conversations of some turns; each goes on as soon as its completion is there."""
    said = {f"q{i}#0": (i, prompt(i)) for i in range(count)}
    told = {key: Told() for key in said}
    ids = {key: prompt_ids(messages, FORMAT, toy.tokenizer) for key, (_, messages) in said.items()}
    for i in range(count):
        policy.submit(asked(i, sampling))
    while results := policy.collect():
        for key, completion in results:
            index, messages = said[key]
            seen = Message("user", f"Seen {index} {len(told[key].completions)}.")
            told[key].completions.append(completion)
            told[key].before.append(ids[key])
            said[key] = (index, (*messages, Message("assistant", completion.text), seen))
            new = extension_ids([seen], FORMAT, toy.tokenizer)
            ids[key] = [*ids[key], *completion.token_ids, *new]
            if len(told[key].completions) < turns:
                done = len(told[key].completions)
                policy.submit(asked(index, sampling, (), said[key][1], done))
    return told
