"""GraphWalk's agent from nothing: the settings are those of their stages."""

import pytest

from graphwalker.config import load_config, refuse_unknown
from support.paths import ROOT


@pytest.mark.parametrize("name", ["graphwalk-trained", "graphwalk-all-templates"])
def test_every_setting_of_the_shipped_configs_is_one_of_its_stage(
    name: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.syspath_prepend(str(ROOT))
    from benchmarks.graphwalk_trained import GraphWalkTrainedConfig
    from eval.run.config import EvalConfig
    from graphwalker.agents.environment import EnvironmentConfig
    from graphwalker.synthetic.graphs import size_of
    from training.config import SftConfig, TinyModelConfig

    config = load_config(GraphWalkTrainedConfig, ROOT / "configs" / f"{name}.yaml", [])
    refuse_unknown(TinyModelConfig, config.model, "model")
    for one in config.rounds:
        refuse_unknown(SftConfig, {**config.sft, **one.sft}, "sft")
        assert set(one.sets) <= set(range(len(config.train)))
    refuse_unknown(SftConfig, {**config.sft, **config.no_tools_sft}, "sft")
    refuse_unknown(EvalConfig, config.eval, "eval")
    refuse_unknown(EnvironmentConfig, config.environment, "environment")
    for one in (*config.train, *config.test.values()):
        assert size_of(one.nodes, **one.size).nodes == one.nodes
    assert all(one.nodes == 100 for one in config.test.values())
