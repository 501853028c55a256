"""A tool of the user's own in training: rollouts call it, and the model's folder names it."""

import logging
import sys

import pytest

from graphwalker.agents.environment import Environment, EnvironmentConfig
from graphwalker.agents.model_environment import environment_of, read_environment
from graphwalker.errors import UserError
from graphwalker.files import read_jsonl, write_jsonl
from graphwalker.graphs.open import open_graph
from support.grpo_toy import SMALL, played
from support.run_toys import grpo_config, make_grpo_world, sft_config
from training.grpo import run_grpo
from training.runs.environment import demonstrated_environment

OWN = '''
from graphwalker import Entity

def land(person: Entity) -> Entity:
    """The land of a person."""
    return Entity("m.0land", "Verria")
'''


@pytest.mark.long
def test_grpo_samples_calls_of_a_function_and_the_model_names_it(tmp_path, monkeypatch, caplog):
    (tmp_path / "land_tools.py").write_text(OWN)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    sys.modules.pop("land_tools", None)
    with_tool = SMALL.model_copy(update={"tools": ("land_tools:land",)})
    world = make_grpo_world(tmp_path, with_tool, "land")
    limits = {"max_prompt_tokens": 256, "max_response_tokens": 512}
    run_grpo(grpo_config(world, tmp_path / "run", environment=with_tool, steps=1, **limits))
    turns = [t for e in read_jsonl(tmp_path / "run/trajectories.jsonl") for t in e["turns"]]
    called = [turn for turn in turns if turn["action"].get("tool") == "land"]
    assert called and {turn["observation"] for turn in called} == {"Verria"}

    final = tmp_path / "run/final"
    assert len(read_environment(final).tools["land_tools:land"]) == 16
    with pytest.raises(UserError, match="would run code, which no file may choose"):
        environment_of(final, EnvironmentConfig())
    walks = [
        t.to_json()
        for t in played(Environment(open_graph(world / "graph"), with_tool), "Verria", "land")
    ]
    write_jsonl(tmp_path / "walks.jsonl", walks)
    (tmp_path / "land_tools.py").write_text(f"{OWN}\n")
    typed = EnvironmentConfig(tools=("land_tools:land",))
    with caplog.at_level(logging.WARNING):
        assert environment_of(final, typed).tools == ("land_tools:land",)
        demonstrated_environment(sft_config(world, tmp_path / "sft", environment=typed))
    line = "the code of the tool land_tools:land has changed"
    assert line in caplog.text and f"walks.jsonl: {line} since it was made" in caplog.text
