"""Stop strings are not sent to a chat model that reasons, and never count within a thought."""

import pytest
from test_chat_api import PRICES, asking, request
from test_rollout import DONE, GRAPH, questions

from graphwalker.agents.environment import Environment, EnvironmentConfig
from graphwalker.agents.rollout import rollout
from graphwalker.policies.base import Completion, Sampling
from support.chat_server import Act, serve
from support.engine_toy import only

STOPS = ("</kg-query>", "</answer>")
THINKS = '<think> It may be <answer> ["C"] </answer>, but no. </think>\n'
PRESETS = ("graphwalker", "graphwalker-wide", "graphwalker-code", "kg-r1", "io-prompt")


def replies(policy, count):
    """The texts of so many completions, one after the other."""
    found = [only(policy, request(f"q#{number}", stop=STOPS)) for number in range(count)]
    assert all(isinstance(one, Completion) for one in found)
    return found


def sent_stops(server):
    return ["stop" in body for body in server.requests]


@pytest.mark.parametrize("setting", ["auto", True, False])
@pytest.mark.parametrize("preset", [*PRESETS, "chain-of-thought"])
def test_an_answer_within_a_thought_is_none_in_any_preset(preset, setting):
    act = Act(THINKS + DONE, cuts=True)
    with serve(act) as server, asking(server, send_stop=setting) as policy:
        world = Environment(GRAPH, EnvironmentConfig(preset=preset))
        (done,) = rollout(questions("q"), world, policy, Sampling())
    assert done.answer == ("B",) and len(done.turns) == 1


@pytest.mark.parametrize(
    "first",
    [
        Act(THINKS + DONE, cuts=True),
        Act(THINKS.removeprefix("<think>") + DONE, cuts=True),
        Act(f"[THINK] So. [/THINK] {DONE}", cuts=True),
        Act(DONE, extra={"message": {"content": DONE, "reasoning_content": "So."}}),
        Act(DONE, extra={"message": {"content": DONE, "reasoning": "So."}}),
        Act(DONE, extra={"message": {"content": [{"type": "thinking"}, {"type": "text"}]}}),
        Act(DONE, usage={"completion_tokens_details": {"reasoning_tokens": 3}} | {
            "prompt_tokens": 9, "completion_tokens": 9}),
    ],
)  # fmt: skip
def test_a_model_that_reasons_in_its_first_reply_is_sent_no_stops(first):
    with serve(first) as server, asking(server) as policy:
        replies(policy, 3)
    assert sent_stops(server) == [False] * 3


def test_a_model_that_does_not_reason_is_sent_stops_from_its_second_reply_on():
    with serve(Act(f"So: {DONE} <kg-query>", cuts=True)) as server, asking(server) as policy:
        found = replies(policy, 3)
    assert sent_stops(server) == [False, True, True]
    assert {one.text for one in found} == {f"So: {DONE}"}


def test_the_first_reply_is_waited_for_unless_it_fails():
    for first, sent in ((Act(DONE, delay_s=0.2), 1), (Act(status=400, delay_s=0.2), 4)):
        with serve(first, Act(DONE)) as server, asking(server, concurrency=4) as policy:
            for number in range(4):
                policy.submit(request(f"q#{number}", stop=STOPS))
            done = [result for _ in range(4) for result in policy.collect()]
        assert 1 <= sum("stop" not in body for body in server.requests) <= sent and len(done) == 4


def test_a_reply_that_was_cut_within_a_thought_is_asked_for_again_and_both_are_paid():
    acts = (Act(DONE), Act(THINKS + DONE, cuts=True), Act(THINKS + DONE, cuts=True))
    with serve(*acts) as server, asking(server, prices=PRICES) as policy:
        *_, cut, last = replies(policy, 3)
        assert policy.usage.requests == 4
    assert sent_stops(server) == [False, True, False, False]
    assert cut.text == THINKS + DONE == last.text
    assert (cut.prompt_tokens, cut.lost_prompt_tokens, cut.completion_tokens) == (10, 10, 10)
    assert cut.cost == 2 * last.cost


def test_a_resumed_run_knows_whether_its_model_reasons(tmp_path):
    with serve(Act(DONE)) as server:
        for _ in range(2):
            with asking(server, folder=tmp_path) as policy:
                replies(policy, 2)
    assert sent_stops(server) == [False, True]
