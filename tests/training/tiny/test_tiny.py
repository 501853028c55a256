"""Models from scratch: planted induction, their optimizer, a full disk."""

import errno
import os
import resource
import sys

import pytest
import torch

from graphwalker.config import parse_config
from graphwalker.errors import UserError
from support.commands import code
from support.run_toys import SHAPE
from training.config import SftConfig
from training.runs.saving import room_for
from training.tiny.config import TinyModelConfig
from training.tiny.make import make_model, make_tokenizer
from training.tiny.optimizer import MuonAdamW, muon_adamw, orthogonal, own_optimizer

WORDS = [f"word{a}{b}" for a in "abcdefghijklmnopqrst" for b in "abcdefghijklmnopqrst"]


def copied(induction: bool) -> float:
    """Share of right next tokens in the second half of sequences that say everything twice."""
    config = TinyModelConfig(
        vocab_size=2048, layers=3, hidden=128, heads=2, intermediate=64, induction=induction
    )
    tokenizer = make_tokenizer(WORDS, [], 2048)
    model = make_model(config, tokenizer).eval()
    generator = torch.Generator().manual_seed(0)
    drawn = (torch.randperm(len(tokenizer), generator=generator) for _ in range(8))
    once = torch.stack([order[:150] for order in drawn])
    with torch.no_grad():
        guesses = model(torch.cat([once, once], dim=1)).logits[:, 150:-1].argmax(-1)
    return (guesses == once[:, 1:]).float().mean().item()


def test_a_planted_model_copies_what_followed_a_token_before():
    assert copied(induction=True) > 0.95


def test_a_shape_without_room_for_the_circuit_is_refused():
    with pytest.raises(UserError, match="induction needs"):
        parse_config(TinyModelConfig, {"induction": True, "layers": 1}, "model")


@pytest.mark.parametrize("limit", [2_000, 100_000])  # the tokenizer, the weights
def test_a_tiny_model_on_a_full_disk_is_one_line(grpo_world, place, tmp_path, capfd, limit):
    graph, ended = grpo_world / "graph", 70
    if not (child := os.fork()):  # the limit is for the rest of a process's life
        try:
            os.chdir(tmp_path)
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
            ended = code("tiny", place / "walks.jsonl", "--graph", graph, "--out", "tiny")
        finally:
            sys.stderr.flush()
            os._exit(ended)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 1
    (said,) = capfd.readouterr().err.strip().splitlines()
    assert said.startswith("error: tiny") and "then the same command resumes" in said


def test_every_librarys_words_for_a_full_disk_are_one_error(tmp_path):
    for error in (Exception("No space left on device (28)"), RuntimeError("unexpected pos")):
        with pytest.raises(OSError) as found, room_for(tmp_path):
            raise error
        assert (found.value.errno, found.value.filename) == (errno.ENOSPC, str(tmp_path))
    with pytest.raises(RuntimeError, match="other"), room_for(tmp_path):
        raise RuntimeError("other")


def network(seed: int = 0) -> torch.nn.Sequential:
    torch.manual_seed(seed)
    return torch.nn.Sequential(
        torch.nn.Embedding(11, 8), torch.nn.Linear(8, 16, bias=False), torch.nn.Linear(16, 11)
    )


def optimizer(model: torch.nn.Module):
    return muon_adamw(model, lr=1e-2, muon_lr=1e-2, betas=(0.9, 0.98), weight_decay=0.01)


def train(model: torch.nn.Module, chosen: torch.optim.Optimizer, steps: int) -> float:
    ids = torch.arange(11)
    for _ in range(steps):
        loss = torch.nn.functional.cross_entropy(model(ids), (ids + 1) % 11)
        loss.backward()
        chosen.step()
        chosen.zero_grad()
    return loss.item()


def test_orthogonal_matrices_have_singular_values_near_one_made_together_or_alone() -> None:
    torch.manual_seed(1)
    matrices = [torch.randn(shape) for shape in [(8, 32), (16, 16), (32, 8), (8, 32)]]
    for matrix, found in zip(matrices, orthogonal(matrices), strict=True):
        values = torch.linalg.svdvals(found)
        assert found.shape == matrix.shape and values.min() > 0.3 and values.max() < 1.3
        assert torch.allclose(found, orthogonal([matrix])[0], atol=1e-5)


def test_embeddings_norms_and_biases_are_left_to_adamw() -> None:
    muon, rest = optimizer(network()).param_groups
    assert [tuple(p.shape) for p in muon["params"]] == [(16, 8), (11, 16)]
    assert [tuple(p.shape) for p in rest["params"]] == [(11, 8), (11,)]


def test_a_reloaded_state_takes_the_same_steps(tmp_path) -> None:
    model = network()
    chosen = optimizer(model)
    assert train(model, chosen, 60) < 0.5 * train(network(), optimizer(network()), 1)
    torch.save({"model": model.state_dict(), "state": chosen.state_dict()}, tmp_path / "s.pt")
    train(model, chosen, 5)
    again = network(seed=7)
    reloaded = optimizer(again)
    saved = torch.load(tmp_path / "s.pt", weights_only=True)
    again.load_state_dict(saved["model"])
    reloaded.load_state_dict(saved["state"])
    train(again, reloaded, 5)
    for one, other in zip(model.parameters(), again.parameters(), strict=True):
        assert torch.equal(one, other)


def own(muon: bool, marked: bool = True):
    shape = SHAPE.model_copy(update={"muon": marked})
    model = make_model(shape, make_tokenizer(["a b c"], [], 700))
    config = SftConfig(model="m", data=("d",), output_dir="o", lr=0.02)
    return own_optimizer(model, config, muon)


def test_only_a_model_with_the_mark_brings_an_optimizer_of_whole_matrices(monkeypatch) -> None:
    assert own(muon=True, marked=False) is None
    sft, grpo = own(muon=True), own(muon=False)
    assert isinstance(sft, MuonAdamW) and grpo and not isinstance(grpo, MuonAdamW)
    assert [group["lr"] for group in sft.param_groups] == [0.025, 0.02]
    assert {group["eps"] for group in (*sft.param_groups, *grpo.param_groups)} == {1e-5}
    monkeypatch.setenv("ACCELERATE_USE_FSDP", "true")
    with pytest.raises(UserError, match=r"whole matrices; use configs/accelerate/ddp\.yaml"):
        own(muon=True)
