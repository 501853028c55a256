"""The sampled softmax: which tokens it looks at, and that it agrees with the whole one."""

import pytest
import torch

from training.models.heads import candidates
from training.models.tiny import make_tokenizer


def test_all_used_tokens_and_so_many_others_are_candidates() -> None:
    used = torch.tensor([[5, 9], [5, 70]])
    ids, raised = candidates(used, 20, 100, seed=3)
    assert ids.tolist() == sorted(set(ids.tolist())) and len(ids) == 23
    assert {5, 9, 70} <= set(ids.tolist())
    known = torch.isin(ids, used)
    assert not raised[known].any()
    assert raised[~known].exp().mean().item() == pytest.approx(97 / 20)


def test_candidates_are_those_of_their_seed() -> None:
    used = torch.tensor([1, 2])
    first, again = (candidates(used, 10, 1000, seed=1)[0].tolist() for _ in range(2))
    assert first == again != candidates(used, 10, 1000, seed=2)[0].tolist()


def test_with_all_tokens_as_candidates_it_is_the_whole_softmax() -> None:
    ids, raised = candidates(torch.tensor([4, 2]), 50, 40, seed=0)
    assert ids.tolist() == list(range(40)) and not raised.any()


def test_the_sampled_normaliser_is_that_of_the_whole_softmax_on_average() -> None:
    logits = torch.linspace(-2, 2, 200)
    used = torch.tensor([0, 199])
    sums = []
    for seed in range(400):
        ids, raised = candidates(used, 30, 200, seed)
        sums.append((logits[ids] + raised).exp().sum().item())
    assert sum(sums) / len(sums) == pytest.approx(logits.exp().sum().item(), rel=0.02)


def test_a_name_inside_a_longer_word_does_not_cut_what_is_learned() -> None:
    texts = ["films of film and films by film"] * 50
    tokenizer = make_tokenizer(texts, [], 700, names=["film"])
    assert tokenizer.tokenize("films") == ["films"]
    assert "film" in tokenizer.tokenize("a film")
