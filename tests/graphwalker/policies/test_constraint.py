"""Constrained decoding: what is drawn follows the grammar, with the model's log-probabilities."""

import random
from dataclasses import replace
from functools import partial

import pytest
import torch

from graphwalker.errors import PolicyError, UserError
from graphwalker.policies.base import Sampling
from graphwalker.policies.chat.config import ChatApiConfig
from graphwalker.policies.chat.policy import ChatPolicy
from graphwalker.policies.local.constraint import GrammarMasks
from graphwalker.policies.local.policy import TransformersPolicy
from graphwalker.policies.local.sampling import Cut, draw
from graphwalker.policies.vllm.config import VllmConfig
from graphwalker.policies.vllm.load import server_policy
from graphwalker.protocols.grammar import Rules
from support.chat_server import Act
from support.chat_server import serve as serve_chat
from support.engine_toy import CONTEXT, FORMAT, asked, only, prompt
from support.token_kinds import byte_level
from support.token_server import serve
from training.tiny.make import make_tokenizer as make_tiny_tokenizer

NAMES = ["Anna Kovar", "Anna Kövari", "日本 9", "Kovar", "a.b..c", "São—Paulo (m.1)", "<think>"]
RULES = Rules()
GRAMMAR = RULES.text(f'"\\"" {RULES.any_of(NAMES)} "\\""')
LETTERS = 'root ::= ("ab" | "abc" | "b") "!"\n'


def test_whatever_is_drawn_spells_a_name():
    tokenizer = byte_level()
    masks = GrammarMasks(tokenizer, len(tokenizer), [tokenizer.convert_tokens_to_ids("</s>")])
    for seed in range(20):
        matcher, rng, ids = masks.matcher(GRAMMAR), random.Random(seed), list[int]()
        while not matcher.is_completed():
            logits = torch.zeros(1, len(tokenizer))
            masks.apply([matcher], logits)
            ids.append(rng.choice(torch.isfinite(logits[0]).nonzero().flatten().tolist()))
            assert matcher.accept_token(ids[-1])
        assert tokenizer.decode(ids).strip('"') in NAMES


def test_a_tokenizer_that_implies_spaces_is_refused_by_name():
    tokenizer = make_tiny_tokenizer([*NAMES[:5]] * 3, ["a.b..c"], 700)
    with pytest.raises(UserError, match="implies spaces"):
        GrammarMasks(tokenizer, len(tokenizer), [0])


def mask(allowed, logits):
    for row, tokens in enumerate(allowed):
        out = torch.ones(logits.shape[1], dtype=torch.bool)
        out[tokens] = False
        logits[row, out] = -torch.inf


def test_a_token_that_the_model_gives_no_weight_can_be_drawn():
    logits = torch.zeros(1, 10)
    logits[0, 4] = -1000.0
    last = torch.tensor([1 - 2.0**-53], dtype=torch.float64)
    token, logprob = draw(logits, last, torch.ones(1), None, partial(mask, [[4]]))
    assert token.item() == 4 and logprob.item() < -900


def test_allowed_tokens_are_drawn_by_their_shares_among_each_other():
    shares = torch.tensor([0.4, 0.1, 0.2, 0.3])
    draws = torch.linspace(0, 1, 1001, dtype=torch.float64)[:-1]
    rows = len(draws)
    logits, warm = shares.log().expand(rows, -1), torch.ones(rows)
    constrain = partial(mask, [[1, 3]] * rows)
    token, logprob = draw(logits, draws, warm, None, constrain)
    assert abs(float((token == 1).float().mean()) - 0.25) < 0.002
    assert set(token.tolist()) == {1, 3} and torch.allclose(logprob, shares[token].log())
    nucleus = Cut(*(torch.full((rows,), value) for value in (0.6, 0, 0.0)))
    assert set(draw(logits, draws, warm, nucleus, constrain)[0].tolist()) == {3}


@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_constrained_rows_are_the_same_alone_and_beside_free_ones(toy, temperature):
    def play(batch_size):
        policy = TransformersPolicy(toy.model, toy.tokenizer, FORMAT, batch_size=batch_size)
        for i in range(6):
            request = asked(i, Sampling(temperature, max_tokens=20, seed=3))
            policy.submit(replace(request, grammar=LETTERS if i % 2 else ""))
        found = {}
        while results := policy.collect():
            found |= {key: (done.text, done.logprobs) for key, done in results}
        return found

    found = play(6)
    alone = play(1)
    assert {key: text for key, (text, _) in found.items()} == {k: t for k, (t, _) in alone.items()}
    for i in (1, 3, 5):
        text, logprobs = found[f"q{i}#0"]
        assert text in ("ab!", "abc!", "b!")
        before = toy.tokenizer.apply_chat_template(
            [{"role": m.role, "content": m.content} for m in prompt(i)], add_generation_prompt=True
        )["input_ids"]
        ids = toy.tokenizer(text)["input_ids"]
        rows = toy.logprobs([*before, *ids], temperature or 1.0)[len(before) - 1 : -1]
        expected = rows[torch.arange(len(ids)), torch.tensor(ids)]
        assert torch.allclose(torch.tensor(logprobs[: len(ids)]), expected, atol=1e-4)


def test_a_vllm_server_is_sent_the_grammar(toy):
    with serve(toy) as server:
        parts = (toy.tokenizer, toy.model.generation_config, FORMAT, CONTEXT, 8)
        policy = server_policy(VllmConfig(base_url=server.url), *parts, "server")
        only(policy, replace(asked(), grammar=LETTERS))
        only(policy, asked(1))
        policy.close()
    assert server.requests[0]["structured_outputs"] == {"grammar": LETTERS}
    assert "structured_outputs" not in server.requests[1]


@pytest.mark.parametrize("kind", ["gbnf", "vllm", "none"])
def test_a_chat_server_is_sent_the_grammar_as_it_takes_it(kind):
    request = replace(asked(), grammar=LETTERS, tools=({"type": "function"},))
    with serve_chat(Act("ab!")) as server:
        config = ChatApiConfig(base_url=server.url, api_key_env="", grammar=kind)
        policy = ChatPolicy("tiny", config)
        if kind == "none":
            with pytest.raises(UserError, match=r"takes grammars with policy\.api\.grammar"):
                policy.submit(request)
        else:
            assert not isinstance(only(policy, request), PolicyError)
            (body,) = server.requests
            sent = body if kind == "gbnf" else body["structured_outputs"]
            assert sent["grammar"] == LETTERS and "tools" not in body
        policy.close()
