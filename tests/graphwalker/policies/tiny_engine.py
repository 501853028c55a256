"""A tiny engine for tests, on a model made on the spot, and conversations for it to continue."""

import random
from collections.abc import Sequence

import pytest

torch = pytest.importorskip("torch")

from tokenizers import Tokenizer, models, pre_tokenizers  # noqa: E402
from transformers import PreTrainedTokenizerFast, Qwen2Config, Qwen2ForCausalLM  # noqa: E402

from graphwalker.policies.base import Completion, Request, Sampling  # noqa: E402
from graphwalker.policies.local.policy import TransformersPolicy  # noqa: E402
from graphwalker.question import Question  # noqa: E402
from graphwalker.tokens.segments import FORMATS  # noqa: E402
from graphwalker.trajectory import Message, Turn  # noqa: E402

FORMAT = FORMATS["inline"]
STOP = ("</kg-query>", "</answer>")
WORDS = [f"w{i}" for i in range(90)]
ASKED = Question("q", "?", ())


def make_tokenizer():
    """One token per word; `</answer>` is a token, `</kg-query>` takes three."""
    special = ["<unk>", "<pad>", "<|im_end|>"]
    parts = ["</answer>", "</kg", "-", "query>", "\n"]
    vocabulary = {t: i for i, t in enumerate([*special, *parts, *WORDS])}
    words = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    words.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    return PreTrainedTokenizerFast(
        tokenizer_object=words, unk_token="<unk>", pad_token="<pad>", eos_token="<|im_end|>"
    )


def make_model(tokenizer, key_value_heads=4):
    torch.manual_seed(1)
    config = Qwen2Config(
        vocab_size=len(tokenizer),
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=key_value_heads,
        max_position_embeddings=512,
        tie_word_embeddings=True,
        initializer_range=0.3,
    )
    return Qwen2ForCausalLM(config).eval()


def words(rng: random.Random, count: int) -> str:
    return " ".join(rng.choice(WORDS) for _ in range(count))


def prompt(index: int) -> tuple[Message, ...]:
    rng = random.Random(index)
    return (Message("system", "w1 w2"), Message("user", words(rng, 3 + index % 7)))


def observation(index: int, turn: int) -> Message:
    rng = random.Random(1000 * index + turn)
    return Message("user", words(rng, 2 + (index + turn) % 9))


def turns_taken(count: int) -> Sequence[Turn]:
    return [Turn((), "")] * count


def play(policy, count, turns=3, restart=False, sampling=None):
    """Every completion of `count` conversations, as (index -> list), through any batch size."""
    sampling = sampling or Sampling(temperature=0, max_tokens=12)
    messages = {i: prompt(i) for i in range(count)}
    completions: dict[int, list[Completion]] = {i: [] for i in range(count)}
    for turn in range(turns):
        for i, conversation in messages.items():
            policy.submit(
                Request(f"q{i}#0", conversation, ASKED, turns_taken(turn), sampling, STOP, restart)
            )
        while results := policy.collect():
            for key, completion in results:
                i = int(key[1:-2])
                completions[i].append(completion)
                messages[i] += (Message("assistant", completion.text), observation(i, turn))
    return completions


def all_of(policy):
    found = {}
    while results := policy.collect():
        found |= dict(results)
    return found


def engine(model, tokenizer, **settings):
    return TransformersPolicy(model, tokenizer, FORMAT, **{"max_context": 256} | settings)


def ids_of(completions):
    return {i: [c.token_ids for c in turns] for i, turns in completions.items()}


def asked_for(index, tokens, turn=0, messages=None):
    sampling = Sampling(1.0, max_tokens=tokens, seed=index)
    return Request(f"q{index}#0", messages or prompt(index), ASKED, turns_taken(turn), sampling, ())
