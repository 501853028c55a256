"""Batches of the transformers engine: an episode draws in any of them what it draws alone."""

import pytest
from tiny_engine import (
    ASKED,
    STOP,
    all_of,
    asked_for,
    engine,
    ids_of,
    make_model,
    make_tokenizer,
    observation,
    play,
    prompt,
)

from graphwalker.errors import PolicyError
from graphwalker.policies.base import Request, Sampling
from graphwalker.trajectory import Message
from graphwalker.workers import work_since


@pytest.fixture(scope="module")
def tokenizer():
    return make_tokenizer()


@pytest.fixture(scope="module", params=[4, 2], ids=["plain", "grouped heads"])
def model(request, tokenizer):
    return make_model(tokenizer, request.param)


@pytest.mark.long
def test_sampled_turns_are_the_same_alone_and_in_a_batch_of_16(model, tokenizer):
    sampling = Sampling(temperature=1.0, max_tokens=12, seed=5)
    alone = play(engine(model, tokenizer, batch_size=1), 16, sampling=sampling)
    together = play(engine(model, tokenizer, batch_size=16), 16, sampling=sampling)
    assert ids_of(alone) == ids_of(together)


def test_samples_of_one_question_share_the_prompt_and_still_differ(model, tokenizer):
    policy = engine(model, tokenizer)
    for sample in range(8):
        sampling = Sampling(temperature=1.0, max_tokens=12)
        policy.submit(Request(f"q#{sample}", prompt(3), ASKED, (), sampling, STOP))
    shared = all_of(policy)
    for key, completion in shared.items():
        single = engine(model, tokenizer)
        single.submit(Request(key, prompt(3), ASKED, (), Sampling(1.0, max_tokens=12), STOP))
        [(_, alone)] = single.collect()
        assert alone.token_ids == completion.token_ids
    assert len({c.token_ids for c in shared.values()}) > 1


def test_questions_behind_one_system_prompt_read_it_once(model, tokenizer):
    system = Message("system", " ".join(f"w{number % 90}" for number in range(200)))

    def read_and_answers(policies):
        before, found = work_since({}), {}
        for number, policy in enumerate(policies):
            sampling, messages = Sampling(max_tokens=8), (system, prompt(number)[1])
            policy.submit(Request(f"q{number}#0", messages, ASKED, (), sampling, STOP))
        for policy in dict.fromkeys(policies):
            found |= {key: done.token_ids for key, done in all_of(policy).items()}
        return work_since(before)["read"], found

    read, found = read_and_answers([engine(model, tokenizer)] * 6)
    read_alone, alone = read_and_answers([engine(model, tokenizer) for _ in range(6)])
    assert found == alone and len(found) == 6
    assert read < read_alone - 4 * 200


def test_an_episode_that_joins_others_half_way_draws_what_it_draws_alone(model, tokenizer):
    policy = engine(model, tokenizer)
    for index, tokens in enumerate((30, 2, 20, 3)):
        policy.submit(asked_for(index, tokens))
    found = dict(policy.collect())
    assert "q1#0" in found and "q0#0" not in found
    more = (*prompt(1), Message("assistant", found["q1#0"].text), observation(1, 0))
    policy.submit(asked_for(1, 25, turn=1, messages=more))
    policy.submit(asked_for(4, 60))  # more columns than any row so far
    second = all_of(policy)
    found |= {key: done for key, done in second.items() if key != "q1#0"}
    for index, tokens in ((0, 30), (2, 20), (3, 3), (4, 60)):
        alone = engine(model, tokenizer)
        alone.submit(asked_for(index, tokens))
        assert found[f"q{index}#0"].token_ids == all_of(alone)[f"q{index}#0"].token_ids
    alone = engine(model, tokenizer)
    alone.submit(asked_for(1, 25, turn=1, messages=more))
    assert second["q1#0"].token_ids == all_of(alone)["q1#0"].token_ids


def test_an_episode_released_while_it_is_written_leaves_the_others_as_they_are(model, tokenizer):
    policy = engine(model, tokenizer)
    for index, tokens in enumerate((30, 2, 20)):
        policy.submit(asked_for(index, tokens))
    policy.collect()
    with pytest.raises(PolicyError, match="already waits"):
        policy.submit(asked_for(0, 5))
    policy.release("q0#0")
    policy.submit(asked_for(0, 5))
    found = all_of(policy)
    assert set(found) == {"q0#0", "q2#0"}
    for index, tokens in ((0, 5), (2, 20)):
        alone = engine(model, tokenizer)
        alone.submit(asked_for(index, tokens))
        assert found[f"q{index}#0"].token_ids == all_of(alone)[f"q{index}#0"].token_ids


def test_after_a_failure_nothing_half_written_is_left(model, tokenizer, monkeypatch):
    policy = engine(model, tokenizer)
    for index, tokens in enumerate((30, 2)):
        policy.submit(asked_for(index, tokens))
    policy.collect()

    def fails(batch):
        raise RuntimeError("out of memory")

    monkeypatch.setattr(policy, "_next_logits", fails)
    with pytest.raises(RuntimeError, match="out of memory"):
        policy.collect()
    monkeypatch.undo()
    for index in range(2):
        policy.release(f"q{index}#0")
    assert policy.collect() == []
    policy.submit(asked_for(0, 7))
    fresh = engine(model, tokenizer)
    fresh.submit(asked_for(0, 7))
    assert all_of(policy)["q0#0"].token_ids == all_of(fresh)["q0#0"].token_ids


def test_a_stop_string_ends_the_turn_where_it_stands(model, tokenizer):
    drawn = [turn.token_ids for [turn] in play(engine(model, tokenizer), 8, turns=1).values()]

    def stopped_at(place, indices, policy):
        for index in indices:
            policy.release(f"q{index}#0")
            stop = tokenizer.decode(drawn[index][place - 1 : place + 1])
            sampling = Sampling(0, max_tokens=12)
            policy.submit(Request(f"q{index}#0", prompt(index), ASKED, (), sampling, (stop,)))
        return {key: (one.token_ids, one.finish) for key, one in all_of(policy).items()}

    earlier = 0
    for place in range(2, 9):
        guessing = engine(model, tokenizer)
        play(guessing, 8, turns=1)
        found = stopped_at(place, range(8), guessing)
        for index in range(8):
            alone = stopped_at(place, [index], engine(model, tokenizer))
            assert alone.items() <= found.items()
        earlier += sum(len(ids) < 12 for ids, _ in found.values())
    assert earlier > 20
