"""The transformers engine in every kind of chat format: its ids are those that training sees."""

import pytest
import torch

from graphwalker.policies.base import Request, Sampling
from graphwalker.policies.local.policy import TransformersPolicy
from graphwalker.question import Question
from graphwalker.tokens.formats import chat_format
from graphwalker.tokens.segments import IGNORED, training_row
from graphwalker.trajectory import Message, StopReason, Trajectory, Turn
from support.engine_toy import END, make_model, make_tokenizer

ASKED = Question("q", "?", ())
CUSTOM = {"user": "U: {content} ", "assistant": f"A: {{content}}{END} ", "end_of_turn": END}
INLINE = {**CUSTOM, "observations": "inline"}
SETTINGS = [CUSTOM, {**CUSTOM, "observation": "S: {content} . "}, INLINE]


@pytest.fixture(scope="module")
def tokenizer():
    return make_tokenizer()


@pytest.fixture(scope="module")
def model(tokenizer):
    return make_model(tokenizer)


def walked(model, tokenizer, fmt):
    """Three turns of five sampled tokens, an observation after each but the last."""
    policy = TransformersPolicy(model, tokenizer, fmt)
    turns, messages = [], ()
    for number in range(3):
        context = (Message("user", f"Seen {number}."),)
        messages += context
        policy.submit(Request("q#0", messages, ASKED, turns, Sampling(1.0, max_tokens=5, seed=3)))
        ((_, done),) = policy.collect()
        turns.append(Turn(context, done.text, token_ids=done.token_ids, logprobs=done.logprobs))
        messages += (Message("assistant", done.text),)
    return Trajectory(ASKED, "react", "m", tuple(turns), None, StopReason.FORCED)


@pytest.mark.parametrize("setting", SETTINGS, ids=["user", "observation", "inline"])
def test_log_probabilities_of_sampling_are_those_of_the_training_row(setting, model, tokenizer):
    fmt = chat_format(setting)
    trajectory = walked(model, tokenizer, fmt)
    row = training_row(trajectory, fmt, tokenizer)
    with torch.no_grad():
        logits = model(torch.tensor([row.input_ids])).logits[0, :-1]
    scores = logits.log_softmax(-1)[torch.arange(len(row.input_ids) - 1), row.input_ids[1:]]
    spots = [i for i, label in enumerate(row.labels) if label != IGNORED]
    for turn in trajectory.turns:
        mine, spots = spots[: len(turn.token_ids)], spots[len(turn.token_ids) :]
        drawn = scores[[i - 1 for i in mine[: len(turn.logprobs)]]]
        torch.testing.assert_close(drawn, torch.tensor(turn.logprobs), rtol=0, atol=1e-5)


def test_an_inline_episode_has_no_end_of_turn_that_was_not_drawn(model, tokenizer):
    turns = walked(model, tokenizer, chat_format(INLINE)).turns
    assert all(len(turn.token_ids) == len(turn.logprobs) for turn in turns)
