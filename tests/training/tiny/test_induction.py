"""The planted induction circuit copies before any training."""

import pytest
import torch

from graphwalker.config import parse_config
from graphwalker.errors import UserError
from training.tiny.config import TinyModelConfig
from training.tiny.make import make_model, make_tokenizer

WORDS = [f"word{a}{b}" for a in "abcdefghijklmnopqrst" for b in "abcdefghijklmnopqrst"]


def copied(induction: bool) -> float:
    """Share of right next tokens in the second half of sequences that say everything twice."""
    config = TinyModelConfig(
        vocab_size=2048, layers=3, hidden=128, heads=2, intermediate=64, induction=induction
    )
    tokenizer = make_tokenizer(WORDS, [], 2048)
    model = make_model(config, tokenizer).eval()
    generator = torch.Generator().manual_seed(0)
    once = torch.stack(
        [torch.randperm(len(tokenizer), generator=generator)[:150] for _ in range(8)]
    )
    with torch.no_grad():
        guesses = model(torch.cat([once, once], dim=1)).logits[:, 150:-1].argmax(-1)
    return (guesses == once[:, 1:]).float().mean().item()


def test_a_planted_model_copies_what_followed_a_token_before():
    assert copied(induction=True) > 0.95


def test_a_shape_without_room_for_the_circuit_is_refused():
    with pytest.raises(UserError, match="induction needs"):
        parse_config(TinyModelConfig, {"induction": True, "layers": 1}, "model")
