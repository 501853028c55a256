"""The demo's settings, read before anything is made."""

import pytest

pytest.importorskip("torch")
pytest.importorskip("trl")

from graphwalker.agents.environment import EnvironmentConfig
from graphwalker.agents.model_environment import write_environment
from graphwalker.config import load_config
from graphwalker.errors import UserError
from graphwalker.pipeline.config import DemoConfig
from graphwalker.pipeline.demo import Demo
from support.paths import ROOT


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("grpo.lr=0", "demo settings, grpo: lr"),
        ("sft1.lr=fast", "demo settings, sft1: lr"),
        ("sft2.max_stepz=3", "demo settings, sft2: max_stepz is not a setting"),
        ("model.heads=3", "demo settings, model: "),
        ("experts.error_rate=2", "demo settings, experts: error_rate"),
        ("grpo_questions.informal=7", "demo settings, grpo_questions: informal"),
        ("tests.test-path.count=-3", "demo settings, tests.test-path: count"),
        ("environment.top_relations=-1", "demo settings, environment: top_relations"),
        ("eval.samples=few", "demo settings, eval: samples"),
        ("tests.test-path.cuont=3", "demo settings, tests.test-path: cuont is not a setting"),
    ],
)
def test_what_a_later_stage_refuses_is_refused_at_once(tmp_path, setting: str, message: str):
    config = load_config(DemoConfig, ROOT / "configs" / "demo.yaml", [setting])
    with pytest.raises(UserError) as refused:
        Demo(tmp_path / "run", config).check_settings()
    assert message in str(refused.value) and not (tmp_path / "run").exists()


@pytest.mark.parametrize(("longest", "cap"), [(0, 64), (24, 64), (185, 185)])
def test_an_evaluation_cuts_no_turn_as_long_as_the_demonstrated_ones(tmp_path, longest, cap):
    config = load_config(DemoConfig, ROOT / "configs" / "demo.yaml", [])
    model, demo = tmp_path / "final", Demo(tmp_path / "run", config)
    environment = EnvironmentConfig()
    write_environment(model, environment, format="inline", longest_turn=longest)
    stage = demo._evaluation_stage(model, tmp_path / "eval", {}, "evaluate")
    assert stage.work.args[0].max_tokens == cap
