"""Several vLLM servers behind one policy: episodes keep their server, and a lost one's go on."""

import pytest

from graphwalker.errors import PolicyError, UserError
from graphwalker.policies.vllm.config import VllmConfig
from graphwalker.policies.vllm.engine import lora_settings
from graphwalker.policies.vllm.load import server_policy
from graphwalker.policies.vllm.server import Replicas, served_model
from support.engine_toy import CONTEXT, FORMAT, asked, only
from support.token_server import Fault, serve


@pytest.fixture
def three(toy):
    with serve(toy) as a, serve(toy) as b, serve(toy) as c:
        yield a, b, c


def make(toy, servers, **settings):
    first, *others = (server.url for server in servers)
    quick = {"retries": 1, "backoff_s": 0.01, **settings}
    config = VllmConfig(base_url=first, replicas=tuple(others), **quick)
    parts = (toy.tokenizer, toy.model.generation_config, FORMAT, CONTEXT, 8)
    return server_policy(config, *parts, "server")


@pytest.mark.long
def test_replicas_share_the_work_and_draw_what_one_would(toy, three):
    alone, policy = make(toy, three[:1]), make(toy, three)
    keys = range(9)
    for key in keys:
        policy.submit(asked(key))
    answers = {}
    while len(answers) < len(keys):
        answers.update(policy.collect())
    counts = [len(server.requests) for server in three]
    assert sum(counts) == 9 and min(counts) >= 2
    for key in keys:
        assert only(alone, asked(key)).text == answers[f"q{key}#0"].text
    alone.close(), policy.close()


@pytest.mark.long
@pytest.mark.parametrize(
    ("fault", "timeout_s"),
    [(Fault(status=503), 60), (Fault(hang_up=True), 60), (Fault(delay_s=12), 6)],
    ids=["overloaded", "dead", "silent"],
)
def test_the_turn_of_a_replica_that_fails_goes_to_another(toy, three, fault, timeout_s):
    policy = make(toy, three, timeout_s=timeout_s)
    three[0].faults += [fault] * 2
    assert only(policy, asked()).finish == "length"
    assert only(policy, asked(2)).finish == "length"
    assert len(three[0].requests) == 1, "it rests"
    policy.close()


def test_a_turn_that_no_replica_takes_fails(toy, three):
    policy = make(toy, three)
    for server in three:
        server.faults += [Fault(status=500)] * 3
    with pytest.raises(PolicyError, match=r"HTTP 500.*after 4 attempts"):
        raise only(policy, asked())
    policy.close()


def test_an_episode_stays_with_its_server_while_that_works():
    servers = Replicas(("a", "b", "c"), rest_s=60)
    assert [servers.take(key) for key in ("e1", "e2", "e3", "e2")] == ["a", "b", "c", "b"]
    servers.rest("b")
    assert servers.take("e2") in ("a", "c")
    servers.give_back("a")
    servers.forget("e1")
    assert servers.take("e4") == "a"
    for name in ("a", "c"):
        servers.rest(name)
    assert servers.take("e5") == "b", "all rest: it began first"


def test_replicas_must_have_one_model_and_a_supported_version(toy, three):
    config = VllmConfig(base_url=three[0].url, replicas=(three[1].url,))
    three[1].models["data"][0]["max_model_len"] = CONTEXT - 5
    assert served_model(config).max_context == CONTEXT - 5
    three[1].models["version"] = "0.6.1"
    with pytest.raises(UserError, match=r"vllm 0\.6\.1 is not supported"):
        served_model(config)
    three[1].models["data"][0]["id"] = "other"
    del three[1].models["version"]
    with pytest.raises(UserError, match="replicas serve one model"):
        served_model(config)


def test_an_adapter_has_the_context_of_its_model(three):
    base = three[0].models["data"][0]
    three[0].models["data"] = [base, {"id": "mine", "max_model_len": None}]
    served = served_model(VllmConfig(base_url=three[0].url, served_model="mine"))
    assert served.name == "mine" and served.max_context == CONTEXT


def test_a_lora_adapter_is_given_the_next_rank(tmp_path):
    with pytest.raises(UserError, match="holds no LoRA adapter"):
        lora_settings(str(tmp_path))
    (tmp_path / "adapter_config.json").write_text('{"r": 24}')
    assert lora_settings(str(tmp_path)) == {"enable_lora": True, "max_lora_rank": 32}
