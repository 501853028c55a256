"""A reward and a tool of one's own: files outside the package, named in the config."""

import logging
import subprocess
import sys

import pytest

from graphwalker.agents.environment import Environment, EnvironmentConfig
from graphwalker.agents.model_environment import environment_of, read_environment
from graphwalker.errors import UserError
from graphwalker.files import read_jsonl, write_jsonl
from graphwalker.graphs.open import open_graph
from support.grpo_toy import SMALL, played
from support.paths import ROOT
from support.run_toys import grpo_config, lines, make_grpo_world, sft_config, write_config
from training.grpo import run_grpo
from training.grpo_config import GrpoConfig
from training.rewards.mix import reward_mix
from training.runs.environment import demonstrated_environment

OWN = '''
def brevity(trajectory, question, scores):
    """Half a point for an answer within two turns, and none where nothing is right."""
    return 0.5 * scores["f1"] * (len(trajectory.turns) <= 2)

def broken(trajectory, question, scores):
    return float("nan")

NUMBER = 3
'''
PATHS = dict.fromkeys(("model", "questions", "graph", "output_dir"), "x")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "my_rewards.py").write_text(OWN, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    sys.modules.pop("my_rewards", None)
    return tmp_path


@pytest.mark.slow
def test_grpo_trains_on_a_reward_from_a_file_outside_the_package(grpo_world, folder):
    path = write_config(grpo_config(grpo_world, folder / "run", steps=2), folder / "grpo.json")
    command = [sys.executable, str(ROOT / "training" / "grpo.py"), "--config", str(path)]
    done = subprocess.run(
        [*command, "rewards.em=1.0", "rewards.my_rewards:brevity=0.2"],
        cwd=folder, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    first = lines(folder / "run")[0]
    # the toy always answers in its second turn, so each right answer earns 0.5 * 0.2 more
    assert first["reward"] == pytest.approx(first["em"] + 0.1 * first["f1"], rel=1e-5)
    assert first["em"] > 0


def test_a_list_gives_each_reward_weight_1_and_a_mapping_adds_to_em(folder):
    config = GrpoConfig(**PATHS, rewards=["f1", "my_rewards:brevity"])
    assert config.rewards == {"f1": 1.0, "my_rewards:brevity": 1.0}
    assert GrpoConfig(**PATHS, rewards={"em": 1.0, "f1": 0.0}).rewards == {"em": 1.0}
    assert GrpoConfig(**PATHS, rewards={"f1": 0.5}).rewards == {"em": 1.0, "f1": 0.5}


@pytest.mark.long
def test_a_reward_that_is_no_function_or_no_number_is_named(grpo_world, folder):
    with pytest.raises(UserError, match="my_rewards:NUMBER: not a function"):
        reward_mix({"my_rewards:NUMBER": 1.0})
    with pytest.raises(UserError, match="my_rewards has no brevty"):
        run_grpo(grpo_config(grpo_world, folder / "run", rewards=["my_rewards:brevty"]))
    assert not (folder / "run").exists()  # the corrected command may have the folder
    with pytest.raises(UserError, match=r"my_rewards:broken: question 'q\d': it returned nan"):
        run_grpo(grpo_config(grpo_world, folder / "run", rewards=["my_rewards:broken"]))


TOOL = '''
from graphwalker import Entity

def land(person: Entity) -> Entity:
    """The land of a person."""
    return Entity("m.0land", "Verria")
'''


@pytest.mark.long
def test_grpo_samples_calls_of_a_function_and_the_model_names_it(tmp_path, monkeypatch, caplog):
    (tmp_path / "land_tools.py").write_text(TOOL)
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
    walks = played(Environment(open_graph(world / "graph"), with_tool), "Verria", "land")
    write_jsonl(tmp_path / "walks.jsonl", [walk.to_json() for walk in walks])
    (tmp_path / "land_tools.py").write_text(f"{TOOL}\n")
    typed = EnvironmentConfig(tools=("land_tools:land",))
    with caplog.at_level(logging.WARNING):
        assert environment_of(final, typed).tools == ("land_tools:land",)
        demonstrated_environment(sft_config(world, tmp_path / "sft", environment=typed))
    line = "the code of the tool land_tools:land has changed"
    assert line in caplog.text and f"walks.jsonl: {line} since it was made" in caplog.text
