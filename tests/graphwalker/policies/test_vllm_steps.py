"""The stepped vLLM engine without vLLM: its neighbour is played by a model of one text."""

import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from graphwalker.policies.base import Sampling
from graphwalker.policies.token_record import Transcripts, TurnEnds
from graphwalker.policies.vllm.engine import VllmPolicy
from support.engine_toy import CONTEXT, END, FORMAT, asked, make_tokenizer, only

TOKENIZER = make_tokenizer()
TEXT = '<think> Or <answer> ["C"] </answer>? No </answer> </think>\n<answer> ["B"] </answer>'


class Engine:
    """Draws a text token by token, and ends a request at its limit or after a stop string."""

    def __init__(self, text):
        self.script, self.drawn = TOKENIZER.encode(text), 0
        self.requests: list[tuple[str, list[int], Any]] = []

    def add_request(self, ticket, prompt, params):
        self.requests.append((ticket, prompt["prompt_token_ids"], params))

    def has_unfinished_requests(self):
        return True

    def step(self):
        ticket, _, params = self.requests[-1]
        ids: list[int] = []
        while len(ids) < params.max_tokens:
            ids.append(self.script[self.drawn])
            self.drawn += 1
            if any(stop in TOKENIZER.decode(ids) for stop in params.stop):
                break
        reason = "length" if len(ids) == params.max_tokens else "stop"
        logprobs = [{one: SimpleNamespace(logprob=-0.5)} for one in ids]
        output = SimpleNamespace(token_ids=ids, finish_reason=reason, logprobs=logprobs)
        return [SimpleNamespace(request_id=ticket, finished=True, outputs=[output])]

    def abort_request(self, tickets):
        pass


@pytest.fixture(autouse=True)
def neighbour(monkeypatch):
    """The names of vLLM that we import."""
    parameters, failures = ModuleType("vllm.sampling_params"), ModuleType("vllm.v1")
    kinds = SimpleNamespace(FINAL_ONLY=2)
    vars(parameters).update(SamplingParams=SimpleNamespace, RequestOutputKind=kinds)
    vars(failures).update(EngineDeadError=OSError, EngineGenerateError=OSError)
    monkeypatch.setitem(sys.modules, "vllm.sampling_params", parameters)
    monkeypatch.setitem(sys.modules, "vllm.v1.engine.exceptions", failures)


def drawn(max_tokens):
    engine, ends = Engine(f"{TEXT} more"), TurnEnds.of(TOKENIZER, FORMAT)
    policy = VllmPolicy(engine, Transcripts(TOKENIZER, FORMAT, ends, CONTEXT))
    sampling = Sampling(max_tokens=max_tokens, seed=4)
    return only(policy, asked(sampling=sampling, stop=("</answer>",))), engine


def test_a_stop_string_in_an_open_thought_is_drawn_past_with_the_ids_kept():
    found, engine = drawn(400)
    assert (found.text, found.finish, len(found.logprobs)) == (TEXT, "stop", len(TEXT))
    assert TOKENIZER.decode(found.token_ids) == TEXT + END
    first, second, third = engine.requests
    assert second[1] == [*first[1], *TOKENIZER.encode(TEXT[: len(second[1]) - len(first[1])])]
    assert len({params.seed for _, _, params in engine.requests}) == 3
    assert third[2].max_tokens == 400 - (len(third[1]) - len(first[1]))


def test_a_turn_that_its_limit_ends_in_a_thought_is_not_drawn_past():
    found, engine = drawn(20)
    assert (found.finish, len(found.logprobs), len(engine.requests)) == ("length", 20, 1)
