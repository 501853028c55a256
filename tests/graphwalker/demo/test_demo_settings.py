"""The demo's settings, read before anything is made."""

import pytest

from graphwalker.agents.environment import EnvironmentConfig
from graphwalker.agents.model_environment import write_environment
from graphwalker.config import load_config
from graphwalker.demo import Demo, DemoConfig
from graphwalker.errors import UserError
from support.paths import ROOT

REFUSED = {
    "grpo.lr=0": "section grpo: lr",
    "sft1.lr=fast": "section sft1: lr",
    "sft2.max_stepz=3": "section sft2: max_stepz is not a setting",
    "experts.error_rate=2": "section experts: error_rate",
    "practice.count=-7": "section practice: count",
    "test.cuont=3": "section test: cuont is not a setting",
    "environment.top_relations=-1": "section environment: top_relations",
    "eval.samples=few": "section eval: samples",
}


def demo_of(tmp_path, *settings: str) -> Demo:
    config = load_config(
        DemoConfig, ROOT / "configs" / "demo.yaml", [f"run={tmp_path / 'run'}", *settings]
    )
    return Demo(config)


def test_what_a_later_stage_refuses_is_refused_at_once(tmp_path):
    for setting, message in REFUSED.items():
        with pytest.raises(UserError) as refused:
            demo_of(tmp_path, setting).check_settings()
        assert message in str(refused.value), setting
    assert not (tmp_path / "run").exists()


def test_another_seed_changes_the_seed_of_every_section(tmp_path):
    first, third = demo_of(tmp_path), demo_of(tmp_path, "seed=2")
    for name in ("synth", "rl", "practice", "test", "test_words", "experts", "sft1", "grpo"):
        assert third.section(name)["seed"] == first.section(name)["seed"] + 20


@pytest.mark.parametrize(("longest", "cap"), [(0, 160), (24, 160), (185, 185)])
def test_an_evaluation_cuts_no_turn_as_long_as_the_demonstrated_ones(tmp_path, longest, cap):
    model = tmp_path / "final"
    write_environment(model, EnvironmentConfig(), format="inline", longest_turn=longest)
    config = demo_of(tmp_path).eval_config(model, tmp_path / "eval", {})
    assert config.max_tokens == cap
