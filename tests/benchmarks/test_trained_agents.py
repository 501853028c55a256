"""Agents of three papers from nothing: the settings are sound, and it runs to a table."""

import json
from pathlib import Path

import pytest

from graphwalker.agents.registry import find_preset
from graphwalker.config import load_config, refuse_unknown
from support.paths import ROOT

CONFIG = ROOT / "configs" / "trained-agents.yaml"


@pytest.fixture(autouse=True)
def _benchmarks_importable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT))


def test_every_setting_of_the_shipped_config_is_one_of_its_stage() -> None:
    from benchmarks.trained_agents import TrainedAgentsConfig
    from data_pipeline.config import SynthConfig
    from eval.run.config import EvalConfig
    from graphwalker.agents.environment import EnvironmentConfig
    from training.config import SftConfig, TinyModelConfig

    config = load_config(TrainedAgentsConfig, CONFIG, [])
    for values in (config.questions, config.test):
        refuse_unknown(SynthConfig, values, "questions")
    refuse_unknown(TinyModelConfig, config.model, "model")
    refuse_unknown(SftConfig, {**config.sft, **config.no_tools_sft}, "sft")
    refuse_unknown(EvalConfig, config.eval, "eval")
    for name, values in config.agents.items():
        assert find_preset(EnvironmentConfig.model_validate(values).preset).name == name
    assert set(config.pieces) <= set(config.agents)


@pytest.mark.slow
def test_every_agent_is_trained_on_the_same_questions_and_stands_in_one_table(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from benchmarks.trained_agents import main

    small = ["questions.count=40", "test.count=6", "sft.max_steps=2", "no_tools_sft.max_steps=2"]
    small += ["eval.max_tokens=8", "model.vocab_size=1200"]
    main(["--seeds", "3", "--out", str(tmp_path), "--set", *small])
    shown = capsys.readouterr().out
    figures = json.loads((tmp_path / "trained_agents.json").read_text())["figures"]
    rows = figures["agents"]
    for name in ("graphwalker", "search-on-graph", "kg-r1"):
        assert rows[name]["demonstrations"] == 40 and f"| {name} |" in shown
        assert rows[f"{name}, oracle"]["em"] == 1.0 and rows[f"{name}, first-relation"]["turns"]
    assert rows["no tools"]["tool_calls"] == 0
    assert figures["pairs"]["kg-r1 - graphwalker"]["questions"] == 6
