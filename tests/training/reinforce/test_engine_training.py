"""GRPO with a real vLLM beside the trainer: what it draws is what is trained, step after step."""

import functools
import os
from importlib.util import find_spec

import pytest

from graphwalker.agents.environment import EnvironmentConfig
from graphwalker.errors import UserError
from graphwalker.files import read_jsonl
from support.engine_toy import Toy
from support.run_toys import make_toy_graph
from training.grpo import run_grpo
from training.grpo_config import GrpoConfig
from training.reinforce.engines import engine_arguments

HAS_VLLM = find_spec("vllm") is not None


@pytest.fixture
def config(tmp_path):
    """Two steps of a random model. Its weights shrink by a tenth in each, whatever it earns."""
    toy = Toy(tmp_path / "model")
    make_toy_graph(tmp_path)
    return GrpoConfig(
        model=str(toy.folder),
        questions=str(tmp_path / "questions.jsonl"),
        graph=str(tmp_path / "graph"),
        output_dir=str(tmp_path / "run"),
        environment=EnvironmentConfig(prompt="compact", max_turns=2),
        prompts_per_step=2,
        samples=2,
        micro_batch=4,
        steps=2,
        save_steps=2,
        lr=0.1,
        weight_decay=1.0,
        dtype="float32",
        max_turn_tokens=12,
        max_prompt_tokens=1200,
        max_response_tokens=800,
        limit_steps=0,
    )


def vllm(config, **settings):
    return config.model_copy(
        update={"engine": "vllm", "vllm": config.vllm.model_copy(update=settings)}
    )


def test_our_own_engine_asks_nothing_of_trl_and_without_vllm_the_extra_is_named(config):
    assert engine_arguments(config) == {}
    if HAS_VLLM:
        assert engine_arguments(vllm(config))["use_vllm"]
        return
    with pytest.raises(UserError, match=r"pip install .*\[vllm\]"):
        engine_arguments(vllm(config))


@pytest.mark.vllm
@pytest.mark.skipif(not HAS_VLLM, reason="vLLM is not installed")
def test_vllm_draws_with_the_weights_of_the_step(config, monkeypatch):
    import vllm.platforms
    from trl.generation import vllm_generation

    exact = functools.partial(vllm_generation.LLM, dtype="float32", enforce_eager=True)
    monkeypatch.setattr(vllm_generation, "LLM", exact)
    if vllm.platforms.current_platform.is_cpu():
        import vllm._custom_ops

        # On CPUs vLLM packs weights where no new ones can be put, unless it has no oneDNN.
        monkeypatch.setattr(vllm._custom_ops, "_supports_onednn", False)
        os.environ.setdefault("VLLM_CPU_KVCACHE_SPACE", "1")
    changed = {"engine": "vllm", "vllm": config.vllm.model_copy(update={"gpu_memory": 0.2})}
    run_grpo(config.model_copy(update=changed))
    steps = list(read_jsonl(f"{config.output_dir}/metrics.jsonl"))
    assert [step["step"] for step in steps] == [1, 2]
    for step in steps:
        assert step["failed"] == 0
        assert step["mismatch_max"] < 1e-3
