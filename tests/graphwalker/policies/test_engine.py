"""The transformers engine: an episode draws in any batch what it draws alone, and is never lost."""

from dataclasses import replace
from hashlib import blake2b

import pytest
import torch

from graphwalker.errors import PolicyError, UserError
from graphwalker.policies.base import Sampling
from graphwalker.policies.local.policy import TransformersPolicy
from graphwalker.policies.local.sampling import Cut, draw
from graphwalker.trajectory import Message
from graphwalker.workers.pool import work_since
from support.engine_toy import FORMAT, asked, make_model, make_tokenizer, only, prompt

TOKENIZER = make_tokenizer()


@pytest.fixture(scope="module")
def model():
    """Its heads share keys and values in pairs."""
    return make_model(TOKENIZER)


def engine(model):
    return TransformersPolicy(model, TOKENIZER, FORMAT, max_context=512)


def warm(index, tokens, **options):
    return asked(index, Sampling(1.0, max_tokens=tokens, seed=index), **options)


def all_of(policy):
    found = {}
    while results := policy.collect():
        found |= {key: done.token_ids for key, done in results}
    return found


def alone(model, request):
    return only(engine(model), request).token_ids


def test_samples_of_one_question_share_the_prompt_and_still_differ(model):
    policy = engine(model)
    requests = [replace(warm(3, 12), key=f"q#{sample}") for sample in range(8)]
    for request in requests:
        policy.submit(request)
    shared = all_of(policy)
    assert shared == {request.key: alone(model, request) for request in requests}
    assert len(set(shared.values())) > 1


def test_questions_behind_one_system_prompt_read_it_once(model):
    system = Message("system", "walk " * 40)

    def read_and_answers(policies):
        before, found = work_since({}), {}
        for number, policy in enumerate(policies):
            policy.submit(asked(number, messages=(system, prompt(number)[1])))
        for policy in dict.fromkeys(policies):
            found |= all_of(policy)
        return work_since(before)["read"], found

    read, found = read_and_answers([engine(model)] * 6)
    read_alone, answers = read_and_answers([engine(model) for _ in range(6)])
    assert found == answers and len(found) == 6 and read < read_alone - 4 * 200


def test_an_episode_that_joins_others_half_way_draws_what_it_draws_alone(model):
    policy = engine(model)
    requests = {index: warm(index, tokens) for index, tokens in enumerate((30, 2, 20, 3))}
    for request in requests.values():
        policy.submit(request)
    first = dict(policy.collect())
    assert "q1#0" in first and "q0#0" not in first
    seen = Message("user", "Seen 1.")
    more = (*prompt(1), Message("assistant", first["q1#0"].text), seen)
    again, longest = warm(1, 25, turn=1, messages=more), warm(4, 60)
    for request in (again, longest):  # the latter has more columns than any row so far
        policy.submit(request)
    second = all_of(policy)
    found = {key: done.token_ids for key, done in first.items()} | second
    for request in (requests[0], requests[2], requests[3], again, longest):
        assert found[request.key] == alone(model, request)


def test_an_episode_beside_a_much_longer_one_draws_what_it_draws_alone(model):
    policy = engine(model)
    long = (*prompt(0), Message("assistant", "walk " * 60), Message("user", "Seen 1."))
    requests = [warm(0, 20, messages=long), *(warm(index, 20) for index in (1, 2, 3))]
    for request in requests:
        policy.submit(request)
    assert all_of(policy) == {request.key: alone(model, request) for request in requests}


def test_an_episode_released_while_it_is_written_leaves_the_others_as_they_are(model):
    policy = engine(model)
    for index, tokens in enumerate((30, 2, 20)):
        policy.submit(warm(index, tokens))
    policy.collect()
    with pytest.raises(PolicyError, match="already waits"):
        policy.submit(warm(0, 5))
    policy.release("q0#0")
    policy.submit(warm(0, 5))
    expected = {"q0#0": alone(model, warm(0, 5)), "q2#0": alone(model, warm(2, 20))}
    assert all_of(policy) == expected


def test_after_a_failure_nothing_half_written_is_left(model, monkeypatch):
    policy = engine(model)
    for index, tokens in enumerate((30, 2)):
        policy.submit(warm(index, tokens))
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
    assert only(policy, warm(0, 7)).token_ids == alone(model, warm(0, 7))


@pytest.mark.parametrize("temperature, golden", [
    (0.0, "92be9d1126a91868"), (1.0, "8a3d466e63f5983c")])  # fmt: skip
def test_turns_without_thoughts_end_as_where_every_stop_string_counted(model, temperature, golden):
    """The digests are of the engine before it knew of thoughts (0f9abc77)."""
    sampling = Sampling(temperature, max_tokens=40, seed=3 if temperature else 0)
    policy, done = engine(model), {}
    for index in range(12):
        policy.submit(asked(index, sampling, ("xy", "A", ">>", "\\")))
    while results := policy.collect():
        done.update(results)
    turns = [done[f"q{index}#0"] for index in range(12)]
    facts = repr([(turn.token_ids, turn.text, turn.finish) for turn in turns])
    assert blake2b(facts.encode(), digest_size=8).hexdigest() == golden


def test_a_stop_string_ends_the_turn_where_it_stands(model):
    """Of eight turns that end in one batch, each ends where it ends alone."""
    texts = [only(engine(model), asked(index)).text for index in range(8)]
    requests = [asked(index, stop=(text[3:5],)) for index, text in enumerate(texts)]
    policy = engine(model)
    for request in requests:
        policy.submit(request)
    found = all_of(policy)
    assert found == {request.key: alone(model, request) for request in requests}
    assert sum(len(ids) < 13 for ids in found.values()) == 8


def test_cuts_leave_the_likeliest_tokens_of_each_row_alone():
    shares = torch.tensor([0.5, 0.3, 0.15, 0.05])
    settings = [(1.0, 2, 0.0), (1.0, 0, 0.4), (0.75, 0, 0.0), (0.6, 3, 0.0), (1.0, 0, 0.0)]
    shares_kept, most, least = map(torch.tensor, zip(*settings, strict=True))
    cut = Cut(shares_kept.double(), most, least)
    rows, found = len(settings), [set() for _ in settings]
    for u in torch.linspace(0, 0.999, 60, dtype=torch.float64):
        token, logprob = draw(shares.log().expand(rows, -1), u.expand(rows), torch.ones(rows), cut)
        assert torch.allclose(logprob, shares[token].log())  # of what was there before the cut
        for row, drawn in enumerate(token.tolist()):
            found[row].add(drawn)
    assert found == [{0, 1}, {0, 1}, {0, 1}, {0, 1}, {0, 1, 2, 3}]


def test_a_model_in_training_is_left_in_training(model):
    model.train()
    only(engine(model), asked())
    assert model.training
    model.eval()


def test_sliding_window_attention_is_refused():
    model = make_model(TOKENIZER)
    model.config.layer_types = ["full_attention", "sliding_attention"]
    with pytest.raises(UserError, match="sliding_attention"):
        engine(model)
