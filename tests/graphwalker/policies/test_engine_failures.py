"""What an engine's failures become: a `PolicyError` for the episode, or one line for the user."""

import json
import time
from importlib.util import find_spec

import pytest

from graphwalker.agents.policies import load_policy
from graphwalker.errors import PolicyError, UserError
from graphwalker.policies.base import Sampling
from graphwalker.policies.config import PolicyConfig, policy_identity
from graphwalker.policies.token_record import TurnEnds
from graphwalker.policies.vllm.config import VllmConfig
from graphwalker.policies.vllm.load import server_policy
from graphwalker.tokens.segments import prompt_ids
from support.engine_toy import CONTEXT, FORMAT, asked, only, prompt
from support.token_server import Fault, serve

BARE = {"choices": [{"text": "hm", "finish_reason": "stop"}]}


@pytest.fixture
def server(toy):
    with serve(toy) as running:
        yield running


@pytest.fixture
def policy(toy, server):
    made = make(toy, server.url)
    yield made
    made.close()


def make(toy, url, **settings):
    config = VllmConfig(base_url=url, **{"retries": 2, "backoff_s": 0.01} | settings)
    parts = (toy.tokenizer, toy.model.generation_config, FORMAT, CONTEXT, 8)
    return server_policy(config, *parts, "server")


NO_ANSWERS = {
    "no completion in token ids": Fault(body=b'{"choices": [{"tok'),
    "no completion in": Fault(body=b"[]"),
    "vLLM 0.22 or newer": Fault(body=json.dumps(BARE).encode()),
    "no list of ids": Fault(change={"token_ids": ["5"]}),
    "no list of 12 numbers": Fault(change={"logprobs": {"token_logprobs": [-1.0]}}),
    "not finite": Fault(change={"logprobs": {"token_logprobs": [float("nan")] * 12}}),
    "other ids than were sent": Fault(change={"prompt_token_ids": [1, 2]}),
    "ended with 'abort'": Fault(change={"finish_reason": "abort"}),
    "HTTP 400.*broken": Fault(status=400),
}


@pytest.mark.parametrize("says", NO_ANSWERS)
def test_an_answer_that_is_none_fails_the_episode_at_once(policy, server, says):
    server.faults.append(NO_ANSWERS[says])
    with pytest.raises(PolicyError, match=says):
        raise only(policy, asked())
    assert len(server.requests) == 1


def test_a_failure_that_passes_is_tried_again(policy, server):
    server.faults += [Fault(status=503), Fault(hang_up=True)]
    assert only(policy, asked()).finish == "length" and len(server.requests) == 3


def test_a_server_is_left_alone_for_as_long_as_it_says(policy, server):
    server.faults.append(Fault(status=503, headers={"retry_after": "0.2"}))
    started = time.monotonic()
    assert only(policy, asked()).finish == "length"
    assert time.monotonic() - started >= 0.2


def test_a_server_that_hangs_fails_the_request_in_time(toy, server):
    policy = make(toy, server.url, timeout_s=0.2)
    server.faults.append(Fault(delay_s=0.6))
    with pytest.raises(PolicyError, match=r"no answer in 0\.2 s"):
        raise only(policy, asked())
    policy.close()


def test_an_episode_let_go_hangs_up_on_the_server(policy, server):
    server.faults.append(Fault(delay_s=0.3, body=b" " * 10_000_000))
    policy.submit(asked())
    while not server.requests:
        time.sleep(0.01)
    policy.release("q0#0")
    assert policy.collect() == [] and server.dropped.wait(60)


def test_sampling_settings_never_come_from_the_server(policy, server):
    only(policy, asked(sampling=Sampling(temperature=0.7, top_p=0.9, max_tokens=4)))
    [body] = server.requests
    named = {"temperature", "top_p", "top_k", "min_p", "repetition_penalty", "max_tokens", "seed"}
    assert named <= set(body) and body["prompt"] and "messages" not in body


def test_ids_beyond_a_stop_string_are_cut(toy):
    ids = toy.tokenizer.encode("ab</answer>cd")
    ends = TurnEnds.of(toy.tokenizer, FORMAT)
    assert toy.text(ids[: ends.before_overshoot(ids, ("</answer>",))]) == "ab</answer>"
    assert ends.before_overshoot(ids, ()) == len(ids)


def configured(folder, url="http://127.0.0.1:9", **settings):
    vllm = VllmConfig(base_url=url, **settings)
    return PolicyConfig(model=str(folder), engine="vllm-server", vllm=vllm)


def test_no_server_at_the_address_is_said_with_the_next_move(toy):
    with pytest.raises(UserError, match=r"no vLLM server answers.*vllm serve MODEL.*base_url"):
        load_policy(configured(toy.folder))


def test_a_model_that_the_server_does_not_have_is_said(toy, server):
    with pytest.raises(UserError, match="serves tiny, not 'huge'"):
        load_policy(configured(toy.folder, server.url, served_model="huge"))


def test_a_folder_without_a_tokenizer_is_said(server, tmp_path):
    with pytest.raises(UserError, match="no tokenizer could be loaded"):
        load_policy(configured(tmp_path, server.url))


@pytest.mark.skipif(find_spec("vllm") is not None, reason="vLLM is installed")
def test_without_vllm_the_extra_is_named(toy):
    with pytest.raises(UserError, match=r"pip install .*\[vllm\]"):
        load_policy(PolicyConfig(model=str(toy.folder), engine="vllm"))


def test_the_engine_is_part_of_a_runs_identity_except_for_our_own(toy):
    assert "engine" not in policy_identity(PolicyConfig(model=str(toy.folder)))
    assert policy_identity(configured(toy.folder))["engine"] == "vllm-server"


def test_the_smaller_of_both_contexts_holds(toy, server):
    config = configured(toy.folder, server.url).model_copy(update={"max_context": 10**6})
    policy = load_policy(config)
    server.faults.append(Fault(status=400))
    only(policy, asked(sampling=Sampling(max_tokens=10**6)))
    used = len(prompt_ids(prompt(0), FORMAT, toy.tokenizer))
    assert server.requests[0]["max_tokens"] == CONTEXT - used - 1
    policy.close()
