"""The contract of rollout engines: one suite that each of them is held to.

`transformers` and the server protocol run always, the latter against a hand-written server over
the same tiny model. With `-m vllm` a real vLLM runs too, stepped in this process and as a server.
"""

import os
import socket
import subprocess
import sys
from contextlib import closing, contextmanager
from dataclasses import replace
from importlib.util import find_spec

import pytest
import torch

from graphwalker.agents.environment import Environment, EnvironmentConfig
from graphwalker.agents.policies import load_policy
from graphwalker.agents.rollout import rollout, without_times
from graphwalker.errors import PolicyError
from graphwalker.policies.base import Sampling
from graphwalker.policies.config import PolicyConfig
from graphwalker.policies.local.policy import TransformersPolicy
from graphwalker.policies.token_record import Transcripts, TurnEnds
from graphwalker.policies.vllm.config import VllmConfig
from graphwalker.policies.vllm.load import server_policy
from graphwalker.tokens.segments import prompt_ids
from support.engine_toy import CONTEXT, END, FORMAT, Reciter, asked, only, play, prompt
from support.grpo_toy import questions
from support.token_server import serve
from support.toy import toy_graph

WARM = Sampling(temperature=1.0, max_tokens=12, seed=5)
NEEDS_VLLM = [
    pytest.mark.vllm,
    pytest.mark.skipif(find_spec("vllm") is None, reason="vLLM is not installed"),
]
ENGINES = [
    "transformers",
    "vllm-server protocol",
    pytest.param("vllm", marks=NEEDS_VLLM),
    pytest.param("vllm-server", marks=NEEDS_VLLM),
]


def transformers_engine(toy, max_context=CONTEXT, fmt=FORMAT):
    return TransformersPolicy(toy.model, toy.tokenizer, fmt, max_context=max_context)


@pytest.fixture
def exact(request):
    """vLLM's attention on a GPU rounds float32 as TF32 does: 0.0095 was measured on an H200."""
    real_vllm = request.node.callspec.params["engine"] in ("vllm", "vllm-server")
    return not (real_vllm and torch.cuda.is_available())


@pytest.fixture(scope="module", params=ENGINES)
def engine(request, toy):
    """Makes fresh policies of one engine: `engine(max_context=...)`."""
    if request.param == "transformers":
        yield lambda **settings: transformers_engine(toy, **settings)
    elif request.param == "vllm":
        yield from in_process(toy)
    elif request.param == "vllm-server":
        with real_server(toy) as url:
            yield from over_http(toy, url)
    else:
        with serve(toy) as server:
            yield from over_http(toy, server.url)


def over_http(toy, url):
    made = []

    def make(max_context=CONTEXT, fmt=FORMAT):
        config = VllmConfig(base_url=url, wait_s=900)
        parts = (toy.tokenizer, toy.model.generation_config, fmt)
        made.append(server_policy(config, *parts, max_context, 64, "server"))
        return made[-1]

    yield make
    for policy in made:
        policy.close()


def in_process(toy):
    from graphwalker.policies.vllm.engine import VllmPolicy

    os.environ.setdefault("VLLM_CPU_KVCACHE_SPACE", "1")
    settings = VllmConfig(dtype="float32", enforce_eager=True, gpu_memory=0.3)
    folder = str(toy.folder)
    config = PolicyConfig(model=folder, engine="vllm", vllm=settings, batch_size=16)
    loaded = load_policy(config)
    ends = TurnEnds.of(toy.tokenizer, FORMAT, toy.model.generation_config)

    def make(max_context=CONTEXT):
        book = Transcripts(toy.tokenizer, FORMAT, ends, max_context)
        return VllmPolicy(loaded.engine, book)

    yield make
    loaded.engine.engine_core.shutdown()


@contextmanager
def real_server(toy):
    with closing(socket.socket()) as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    options = f"""--enforce-eager --model {toy.folder} --dtype float32 --max-model-len {CONTEXT}
        --max-num-seqs 16 --logprobs-mode processed_logprobs --host 127.0.0.1 --port {port}
        --gpu-memory-utilization 0.3"""
    command = [sys.executable, "-m", "vllm.entrypoints.openai.api_server", *options.split()]
    env = os.environ | {"VLLM_CPU_KVCACHE_SPACE": "1"}
    log = toy.folder / "server.log"
    with log.open("wb") as out:
        process = subprocess.Popen(command, env=env, stdout=out, stderr=subprocess.STDOUT)
        try:
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()
            process.wait(60)


@pytest.mark.long
def test_greedy_ids_are_those_of_a_plain_forward_pass_over_all_ids_so_far(engine, toy):
    for told in play(engine(), toy, 4).values():
        for completion, before in zip(told.completions, told.before, strict=True):
            expected = toy.greedy(before, 12)
            assert list(completion.token_ids[: len(expected)]) == expected
            assert completion.prompt_tokens == len(before)


@pytest.mark.long
@pytest.mark.parametrize("temperature", [1.0, 0.7])
def test_logprobs_of_drawn_ids_are_those_of_a_plain_forward_pass(engine, toy, temperature, exact):
    sampling = replace(WARM, temperature=temperature)
    for told in play(engine(), toy, 4, sampling=sampling).values():
        for completion, before in zip(told.completions, told.before, strict=True):
            drawn = completion.token_ids[: len(completion.logprobs)]
            rows = toy.logprobs([*before, *drawn], temperature)[len(before) - 1 : -1]
            expected = rows[torch.arange(len(drawn)), torch.tensor(drawn)]
            found = torch.tensor(completion.logprobs)
            assert torch.allclose(found, expected, atol=1e-4 if exact else 0.03)


@pytest.mark.long
def test_each_drawn_id_has_a_logprob_and_an_appended_end_of_turn_has_none(engine, toy):
    for told in play(engine(), toy, 8, turns=2, sampling=WARM).values():
        for completion in told.completions:
            ids, drawn = completion.token_ids, len(completion.logprobs)
            assert ids[-1] == toy.tokenizer.eos_token_id
            assert toy.tokenizer.eos_token_id not in ids[: drawn - 1]
            appended = ids[drawn - 1] != toy.tokenizer.eos_token_id
            assert len(ids) == drawn + appended
            assert completion.text == toy.text(ids[:-1])


def test_a_turn_at_its_token_limit_finishes_with_length(engine, toy):
    completion = only(engine(), asked(sampling=Sampling(max_tokens=5)))
    assert completion.finish == "length"
    assert (len(completion.logprobs), len(completion.token_ids)) == (5, 6)


def test_a_stop_string_over_several_tokens_ends_the_turn_right_after_it(engine, toy):
    whole = toy.text(toy.greedy(prompt_ids(prompt(0), FORMAT, toy.tokenizer), 12))
    stop = whole[4:8]
    completion = only(engine(), asked(stop=("</never>", stop)))
    end = whole.index(stop) + len(stop)
    assert (completion.text, completion.finish) == (whole[:end], "stop")
    assert toy.text(completion.token_ids) == whole[:end] + END
    assert len(completion.logprobs) == end


OPENS = {**FORMAT.prefixes, "assistant": "<|im_start|>assistant\n<think>"}
OPENED = replace(FORMAT, prefixes=OPENS)
THOUGHT = '<think> Or <answer> ["C"] </answer>? A query </kg-query> [THINK] no </think>\n'


@pytest.mark.parametrize("fmt", [FORMAT, OPENED], ids=["", "opened"])
@pytest.mark.parametrize("engine", ENGINES[:2], indirect=True)
def test_a_stop_string_in_an_open_thought_does_not_end_the_turn(engine, toy, fmt, monkeypatch):
    opened = fmt is not FORMAT
    text = f'{THOUGHT.removeprefix("<think>") if opened else THOUGHT}<answer> ["B"] </answer>'
    start = len(prompt_ids(prompt(0), fmt, toy.tokenizer))
    monkeypatch.setattr(toy, "model", Reciter(toy, f"{text} <information> made up", start))
    limits = Sampling(max_tokens=400)
    asked_for = asked(sampling=limits, stop=("</kg-query>", "</answer>"))
    completion = only(engine(fmt=fmt), asked_for)
    assert (completion.text, completion.finish) == (text, "stop")
    assert toy.text(completion.token_ids) == text + END
    assert len(completion.logprobs) == len(text)


@pytest.mark.parametrize("engine", ENGINES[:2], indirect=True)
def test_a_thought_that_is_never_closed_ends_at_the_limit(engine, toy, monkeypatch):
    start = len(prompt_ids(prompt(0), FORMAT, toy.tokenizer))
    monkeypatch.setattr(toy, "model", Reciter(toy, "<think> </answer>" * 9, start))
    completion = only(engine(), asked(sampling=Sampling(max_tokens=40), stop=("</answer>",)))
    assert (len(completion.logprobs), completion.finish) == (40, "length")


@pytest.mark.long
def test_a_drawn_end_of_turn_is_kept_once_and_not_shown(engine, toy):
    # One token in a hundred is the end of turn: some of twelve turns of sixty draw it.
    sampling = Sampling(temperature=1.0, max_tokens=60, seed=1)
    ended = [
        completion
        for told in play(engine(), toy, 12, turns=1, sampling=sampling).values()
        for completion in told.completions
        if completion.finish == "stop"
    ]
    assert ended
    for completion in ended:
        assert len(completion.logprobs) == len(completion.token_ids)
        assert completion.token_ids.count(toy.tokenizer.eos_token_id) == 1
        assert END not in completion.text


def test_a_context_without_room_finishes_with_length_and_no_ids(engine, toy):
    completion = only(engine(max_context=20), asked())
    assert (completion.text, completion.finish, completion.token_ids) == ("", "length", None)


def test_a_context_that_fills_up_in_mid_turn_finishes_with_length(engine, toy):
    room = len(prompt_ids(prompt(0), FORMAT, toy.tokenizer)) + 1 + 3
    completion = only(engine(max_context=room), asked())
    assert (completion.finish, len(completion.logprobs)) == ("length", 3)


def ids_of(told):
    return {key: [c.token_ids for c in t.completions] for key, t in told.items()}


@pytest.mark.long
def test_a_sampled_episode_is_the_same_alone_and_in_company(engine, toy):
    together = ids_of(play(engine(), toy, 6, turns=2, sampling=WARM))
    alone = ids_of(play(engine(), toy, 1, turns=2, sampling=WARM))
    assert alone["q0#0"] == together["q0#0"]


def test_another_seed_another_episode_and_another_turn_draw_otherwise(engine, toy):
    policy, draws = engine(), set()
    for index, turn, seed in [(0, 0, 5), (0, 0, 6), (0, 1, 5), (1, 0, 5)]:
        policy.release(f"q{index}#0")
        request = asked(index, replace(WARM, seed=seed), (), prompt(0), turn)
        draws.add(only(policy, request).token_ids)
    assert len(draws) == 4


def test_a_restarted_context_is_read_anew(engine, toy):
    policy = engine()
    only(policy, asked())
    again = asked(messages=prompt(3), turn=1, restart=True)
    assert only(policy, again).token_ids == only(engine(), replace(again, key="x")).token_ids


def test_a_released_request_is_never_answered_and_the_others_are(engine, toy):
    policy = engine()
    for index in range(3):
        policy.submit(asked(index))
    policy.release("q1#0")
    keys = []
    while results := policy.collect():
        keys += [key for key, _ in results]
    assert sorted(keys) == ["q0#0", "q2#0"]


def test_two_requests_of_one_episode_are_refused(engine, toy):
    policy = engine()
    policy.submit(asked())
    with pytest.raises(PolicyError, match="already waits"):
        policy.submit(asked())
    policy.release("q0#0")


def test_no_episode_waits_for_a_longer_one(engine, toy):
    policy = engine()
    policy.submit(asked(1, Sampling(max_tokens=400)))
    policy.submit(asked(0, Sampling(max_tokens=2)))
    assert [key for key, _ in policy.collect()] == ["q0#0"]
    policy.release("q1#0")


def walked(policy):
    environment = Environment(toy_graph(), EnvironmentConfig(prompt="compact", max_turns=3))
    sampling = Sampling(max_tokens=16)
    return [without_times(t) for t in rollout(questions()[:3], environment, policy, sampling)]


@pytest.mark.long
def test_greedy_rollouts_have_the_ids_of_the_transformers_engine(engine, toy, exact):
    if not exact:
        pytest.skip("TF32 decides between tokens that are nearly as likely as one another")
    ours, theirs = walked(transformers_engine(toy)), walked(engine())
    for a, b in zip(ours, theirs, strict=True):
        assert (a.stop, a.question.id) == (b.stop, b.question.id)
        assert [turn.token_ids for turn in a.turns] == [turn.token_ids for turn in b.turns]
        assert sum(len(turn.token_ids or ()) for turn in a.turns) > 20


@pytest.mark.vllm
def test_a_dead_engine_fails_each_request(engine, toy, request):
    """The last test, as it ends the engine."""
    if request.node.callspec.id != "vllm":
        pytest.skip("only vLLM in this process has an engine of ours to end")
    policy = engine()
    policy.engine.engine_core.shutdown()
    with pytest.raises(PolicyError, match="vLLM"):
        raise only(policy, asked())
