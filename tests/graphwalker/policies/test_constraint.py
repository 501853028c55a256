"""Constrained decoding token by token: whatever is drawn among the allowed ones spells a choice."""

import random

import pytest
import torch

from graphwalker.errors import UserError
from graphwalker.policies.base import Request, Sampling, refuse_grammar
from graphwalker.policies.local.constraint import TokenTexts, Written
from graphwalker.policies.local.policy import TransformersPolicy
from graphwalker.policies.local.sampling import Cut, draw
from graphwalker.trajectory import Message
from tests.support.engine_toy import ASKED, FORMAT, make_model, make_tokenizer
from tests.support.token_kinds import byte_level, word_piece
from training.tiny.make import make_tokenizer as make_tiny_tokenizer

NAMES = ["Anna Kovar", "Anna Kövari", "日本 9", "Kovar", "a.b..c", "São—Paulo (m.1)", "<think>"]


class Closed:
    """Whatever is written continues to one of the names in quotes."""

    def continuations(self, written: bytes):
        whole = [b'"' + name.encode() + b'"' for name in NAMES]
        rest = [text[len(written) :] for text in whole if text.startswith(written)]
        return [text for text in rest if text] or None


def tiny():
    return make_tiny_tokenizer([*NAMES[:5]] * 3, ["a.b..c"], 700)


@pytest.mark.parametrize("kind", [byte_level, tiny])
@pytest.mark.parametrize("seed", range(20))
def test_drawn_tokens_spell_a_choice_and_the_tokenizer_reads_them_so(kind, seed):
    tokenizer, rng = kind(), random.Random(seed)
    row = Written(Closed(), TokenTexts(tokenizer, len(tokenizer)))
    ids: list[int] = []
    while (allowed := row.allowed()) is not None:
        ids.append(rng.choice(allowed))
        row.add(ids[-1])
    text = tokenizer.decode(ids, skip_special_tokens=False)
    assert any(text.startswith(f'"{name}"') for name in NAMES), text
    assert text.encode() == bytes(row.text)


@pytest.mark.parametrize("kind", [byte_level, tiny])
def test_the_tokens_that_a_tokenizer_writes_are_allowed(kind):
    tokenizer = kind()
    texts = TokenTexts(tokenizer, len(tokenizer))
    for name in NAMES:
        row = Written(Closed(), texts)
        for token in tokenizer(f'"{name}"')["input_ids"]:
            assert token in (row.allowed() or ()), (name, tokenizer.decode([token]))
            row.add(token)
        assert row.allowed() is None


class Steps:
    """First one byte, then one of the texts: as a list's next string is behind its quote."""

    def __init__(self, first: bytes, then: bytes) -> None:
        self.first, self.then = first, then

    def continuations(self, written: bytes):
        if not written:
            return [self.first]
        rest = self.then[len(written) - 1 :] if self.then.startswith(written[1:]) else b"?"
        return [rest] if rest else None


@pytest.mark.parametrize("kind", [byte_level, tiny])
def test_what_a_token_holds_behind_a_whole_text_has_to_be_allowed_too(kind):
    tokenizer = kind()
    texts = TokenTexts(tokenizer, len(tokenizer))
    several = [n for n in range(len(tokenizer)) if len(texts.text(n, b"")) > 1]
    assert several
    for token in several:
        text = texts.text(token, b"")
        for then in (text[1:], text[1:] + b"x", text[1:2]):  # behind the last, all is free
            assert token in (Written(Steps(text[:1], then), texts).allowed() or ())
        other = bytes([text[1] ^ 1]) + text[2:]
        assert token not in (Written(Steps(text[:1], other), texts).allowed() or ())


def test_a_tokenizer_that_is_not_of_bytes_is_refused_by_name():
    with pytest.raises(UserError, match="needs a byte-level tokenizer"):
        TokenTexts(word_piece(), 10_000)


def test_only_allowed_tokens_are_drawn_and_log_probabilities_stay_those_of_the_model():
    torch.manual_seed(0)
    logits = torch.randn(2, 50) * 4
    allowed = torch.tensor([[3, 7, -1], [-1, -1, -1]])
    temperatures = torch.tensor([0.0, 1.0])
    draws = torch.tensor([0.5, 0.5], dtype=torch.float64)
    token, logprob = draw(logits, draws, temperatures, None, allowed)
    assert token[0] == (3 if logits[0, 3] > logits[0, 7] else 7)
    free, free_logprob = draw(logits, draws, temperatures, None)
    assert token[1] == free[1] and logprob[1] == free_logprob[1]
    assert torch.allclose(logprob[0], logits[0].log_softmax(-1)[token[0]], atol=1e-5)


def test_tokens_that_the_model_gives_no_weight_can_be_drawn():
    logits = torch.zeros(1, 10)
    logits[0, 4] = -1000.0
    allowed = torch.tensor([[4]])
    token, logprob = draw(logits, torch.tensor([0.9]).double(), torch.ones(1), None, allowed)
    assert token.item() == 4 and logprob.item() < -900


def test_allowed_tokens_are_drawn_by_their_shares_among_each_other():
    shares = torch.tensor([0.4, 0.1, 0.2, 0.3])
    draws = torch.linspace(0, 1, 1001, dtype=torch.float64)[:-1]
    rows = len(draws)
    allowed = torch.tensor([1, 3, -1]).expand(rows, -1)
    token, logprob = draw(shares.log().expand(rows, -1), draws, torch.ones(rows), None, allowed)
    assert abs(float((token == 1).float().mean()) - 0.25) < 0.002
    assert set(token.tolist()) == {1, 3}
    assert torch.allclose(logprob, shares[token].log())
    nucleus = Cut(*(torch.full((rows,), value) for value in (0.6, 0, 0.0)))
    token, _ = draw(shares.log().expand(rows, -1), draws, torch.ones(rows), nucleus, allowed)
    assert set(token.tolist()) == {3}


@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_constrained_rows_are_the_same_alone_and_beside_free_ones(temperature):
    tokenizer = make_tokenizer()
    model = make_model(tokenizer)
    sampling = Sampling(temperature, max_tokens=20, seed=3)
    plain = ["ab", "abc", "b"]

    class Spelled:
        def continuations(self, written: bytes):
            rest = [n.encode()[len(written) :] for n in plain if n.encode().startswith(written)]
            return [text for text in rest if text] or None

    def play(batch_size):
        policy = TransformersPolicy(model, tokenizer, FORMAT, batch_size=batch_size)
        for i in range(6):
            grammar = Spelled() if i % 2 else None
            messages = (Message("user", "hello" * (i + 1)),)
            policy.submit(
                Request(f"q{i}", messages, ASKED, (), sampling, ("</s>",), grammar=grammar)
            )
        texts = {}
        while results := policy.collect():
            texts |= {key: done.text for key, done in results}
        return texts

    texts = play(6)
    assert texts == play(1)
    assert all(texts[f"q{i}"].startswith(("a", "b")) for i in (1, 3, 5))


def test_an_engine_that_cannot_constrain_says_so():
    request = Request("q", (), ASKED, (), Sampling(), grammar=Closed())
    with pytest.raises(UserError, match="constrained is for local models"):
        refuse_grammar(request)
