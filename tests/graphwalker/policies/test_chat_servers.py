"""What a chat server shows of itself: a conversation that it cut, the model that answers, and
turns that its limit ended."""

import json

import pytest
from test_chat_api import asking, request
from test_rollout import DONE, LOOK, STEP, environment, questions

from eval.run.config import EvalConfig
from graphwalker.agents.model_environment import with_model_settings
from graphwalker.agents.rollout import rollout
from graphwalker.config import parse_config
from graphwalker.policies.base import Sampling
from graphwalker.policies.config import is_reasoning_model
from support.chat_server import Act, serve
from support.engine_toy import only


def reading(tokens):
    """The usage of a server that has read so many tokens."""
    return {"prompt_tokens": tokens, "completion_tokens": 5}


def play(policy, *ids):
    return list(rollout(questions(*ids), environment(), policy, Sampling(max_tokens=77)))


@pytest.mark.parametrize(
    ("tokens", "cut"), [((300, 300, 300), 2), ((300, 330, 360), 0), ((900, 950, 700), 1)]
)
def test_tokens_that_do_not_grow_with_the_conversation_are_said_and_counted(tokens, cut, caplog):
    texts = zip((LOOK, STEP, DONE), tokens, strict=True)
    acts = [Act(text, usage=reading(n)) for text, n in texts]
    with serve(*acts) as server, asking(server) as policy:
        (done,) = play(policy, "q")
    assert done.usage.get("truncated_turns", 0) == cut
    assert ("num_ctx" in caplog.text) == bool(cut)
    assert (f"{cut} of 3 turns" in caplog.text) == bool(cut)


def test_tokens_far_below_our_own_count_are_too():
    with serve(Act(usage=reading(400))) as server, asking(server) as policy:
        assert only(policy, request(messages=("so " * 4000,))).truncated


def test_the_thought_of_an_earlier_turn_is_not_missed():
    thought = f"<think> {'hm ' * 900} </think>\n{STEP}"
    acts = [Act(thought, usage=reading(300)), Act(DONE, usage=reading(340))]
    with serve(*acts) as server, asking(server) as policy:
        (done,) = play(policy, "q")
    assert "truncated_turns" not in done.usage


def test_the_model_that_answers_is_recorded_and_a_change_is_said(tmp_path, caplog):
    def act(model, fingerprint):
        body = {"choices": [{"message": {"content": DONE}, "finish_reason": "stop"}]}
        return Act(body={**body, "model": model, "system_fingerprint": fingerprint})

    with serve(act("m", "fp_1"), act("m", "fp_1"), act("another-7b", "fp_2")) as server:
        with asking(server, folder=tmp_path) as policy:
            play(policy, "q1", "q2", "q3")
        said = [line for line in caplog.messages if "answers come from" in line]
        with asking(server, folder=tmp_path):
            pass
    assert len(said) == 1 and "another-7b (fp_2) now, and came from m (fp_1)" in said[0]
    found = json.loads((tmp_path / "spent.json").read_text())["answered_by"]
    assert [tuple(one.values()) for one in found] == [("another-7b", "fp_2", 1), ("m", "fp_1", 2)]


def test_a_turn_that_its_limit_ended_before_an_action_is_said_once_and_counted(caplog):
    cut = Act("<think> I go on and", finish="length")
    with serve(cut, cut, Act(DONE)) as server, asking(server) as policy, caplog.at_level("WARNING"):
        policy.name = "cut-model"
        (done,) = play(policy, "q")
    assert done.usage["cut_turns"] == 2
    assert sum("max_tokens=77" in line for line in caplog.messages) == 1


REASON = """o1 o3-mini openai/o4-mini-high gpt-5 QwQ-32B deepseek-ai/DeepSeek-R1-Distill-Qwen-7B
deepseek-reasoner kimi-k2-thinking openai/gpt-oss-20b Qwen/Qwen3-8B mistralai/Magistral-Small-2509
Phi-4-reasoning gemini-2.5-flash-preview-05-20 google/gemini-3-pro x-ai/grok-4.1-fast grok-3-mini"""
PLAIN = """gemini-2.0-flash gemini-2.5-flash-lite grok-3 gpt-4o gpt-5-chat-latest o3x runs/r1/final
Qwen3-4B-Instruct-2507 tiny"""


def test_models_that_reason_first_have_tokens_for_it_unless_told_otherwise():
    assert all(map(is_reasoning_model, REASON.split()))
    assert not any(map(is_reasoning_model, PLAIN.split()))
    for preset in ("ark-v1", "chain-of-thought", "graphwalk"):
        for more, tokens in (({}, 4096), ({"max_tokens": 99}, 99)):
            paths = {"graph": "g", "questions": "q", "output_dir": "o"}
            policy = {"model": "o3-mini", "api": {"base_url": "http://localhost/v1"}}
            settings = {**paths, "policy": policy, "environment": {"preset": preset}, **more}
            config = parse_config(EvalConfig, settings, "test")
            assert with_model_settings(config).max_tokens == tokens
