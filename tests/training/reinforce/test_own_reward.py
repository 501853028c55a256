"""A reward of one's own: one file outside the package, named in the config, no edit of the core."""

import subprocess
import sys

import pytest

from graphwalker.errors import UserError
from support.paths import ROOT
from support.run_toys import grpo_config, lines, write_config
from training.grpo import run_grpo
from training.grpo_config import GrpoConfig
from training.rewards.mix import reward_mix

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
    """A working directory that holds the user's file."""
    (tmp_path / "my_rewards.py").write_text(OWN, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    sys.modules.pop("my_rewards", None)
    return tmp_path


@pytest.mark.slow
def test_grpo_trains_on_a_reward_from_a_file_outside_the_package(grpo_world, folder):
    config = grpo_config(grpo_world, folder / "run", steps=2)
    path = write_config(config, folder / "grpo.json")
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
