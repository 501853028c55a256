"""The transformers engine: where its turns end, and that its ids and log-probabilities add up."""

import pytest

torch = pytest.importorskip("torch")

from tiny_engine import (  # noqa: E402
    engine,
    make_model,
    make_tokenizer,
    play,
)

from graphwalker.errors import UserError  # noqa: E402
from graphwalker.policies.local.sampling import Cut, draw  # noqa: E402


@pytest.fixture(scope="module")
def tokenizer():
    return make_tokenizer()


@pytest.fixture(scope="module", params=[4, 2], ids=["plain", "grouped heads"])
def model(request, tokenizer):
    return make_model(tokenizer, request.param)


def full_logprobs(model, ids, temperature):
    with torch.no_grad():
        logits = model(torch.tensor([ids])).logits[0, :-1] / temperature
    return logits.log_softmax(-1)[torch.arange(len(ids) - 1), torch.tensor(ids[1:])]


def test_a_kept_cache_gives_what_a_fresh_prefill_gives(model, tokenizer):
    kept = engine(model, tokenizer)
    completions = play(kept, 6)
    for i, turns in completions.items():
        episode = kept._episodes[f"q{i}#0"]
        last = turns[-1]
        ids = episode.ids[: last.prompt_tokens + len(last.logprobs)]
        expected = full_logprobs(model, ids, 1.0)[-len(last.logprobs) :]
        assert torch.allclose(torch.tensor(last.logprobs), expected, atol=1e-5)


def test_cuts_leave_the_likeliest_tokens_of_each_row_alone():
    shares = torch.tensor([0.5, 0.3, 0.15, 0.05])
    settings = [(1.0, 2, 0.0), (1.0, 0, 0.4), (0.75, 0, 0.0), (0.6, 3, 0.0), (1.0, 0, 0.0)]
    cut = Cut(
        torch.tensor([s[0] for s in settings], dtype=torch.float64),
        torch.tensor([s[1] for s in settings]),
        torch.tensor([s[2] for s in settings]),
    )
    rows, found = len(settings), [set() for _ in settings]
    for u in torch.linspace(0, 0.999, 200, dtype=torch.float64):
        token, logprob = draw(shares.log().expand(rows, -1), u.expand(rows), torch.ones(rows), cut)
        assert torch.allclose(logprob, shares[token].log())  # of what was there before the cut
        for row, drawn in enumerate(token.tolist()):
            found[row].add(drawn)
    assert found == [{0, 1}, {0, 1}, {0, 1}, {0, 1}, {0, 1, 2, 3}]


def test_a_model_in_training_is_left_in_training(model, tokenizer):
    model.train()
    play(engine(model, tokenizer), 1, turns=1)
    assert model.training
    model.eval()


def test_sliding_window_attention_is_refused(tokenizer):
    model = make_model(tokenizer)
    model.config.layer_types = ["full_attention", "sliding_attention"]
    with pytest.raises(UserError, match="sliding_attention"):
        engine(model, tokenizer)
