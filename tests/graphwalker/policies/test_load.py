"""Policies that need no model are named where models are."""

import pytest
from typer.testing import CliRunner

from eval.run.config import EvalConfig, run_eval
from eval.run.records import read_run
from graphwalker.agents.environment import Environment, EnvironmentConfig
from graphwalker.agents.policies import load_policy
from graphwalker.cli.app import app
from graphwalker.config import load_config
from graphwalker.errors import UserError
from graphwalker.files import write_jsonl
from graphwalker.graphs.base import Entity
from graphwalker.policies.config import PolicyConfig
from graphwalker.question import Answer, Question
from support.run_toys import grpo_config
from support.toy import toy_graph
from training.grpo import open_world

ASKED = Question(
    "q", "Whose mother is Ada?", (Entity("m.0ada", "Ada Mbeki"),),
    (Answer("Eve Mbeki-Lindqvist", "m.0eve"),),
)  # fmt: skip


def evaluated(grpo_world, out, *more):
    write_jsonl(out / "q.jsonl", [ASKED.to_json()])
    given = [f"graph={grpo_world / 'graph'}", f"questions={out / 'q.jsonl'}",
             "policy.model=oracle", f"output_dir={out / 'run'}", *more]  # fmt: skip
    return read_run(run_eval(load_config(EvalConfig, None, given)))


def test_a_question_without_a_query_ends_the_oracles_run_with_one_line(grpo_world, tmp_path):
    with pytest.raises(UserError, match="q has none: give"):
        evaluated(grpo_world, tmp_path)


@pytest.mark.parametrize("preset", ["io-prompt", "chain-of-thought"])
def test_without_tools_the_oracle_knows_the_answers(grpo_world, tmp_path, preset):
    played = evaluated(grpo_world, tmp_path, f"environment.preset={preset}")
    (done,) = played.trajectories
    assert (done.policy, done.scores["em"], len(done.turns)) == ("oracle", 1.0, 1)


@pytest.mark.parametrize("preset", ["io-prompt", "ark-v1"])
def test_a_baseline_needs_a_preset_that_lists_relations(preset):
    environment = Environment(toy_graph(), EnvironmentConfig(preset=preset))
    with pytest.raises(UserError, match=rf"first-relation takes .* {preset} has no such call"):
        load_policy(PolicyConfig(model="first-relation"), environment=environment)


def test_a_baseline_without_a_model_is_asked(grpo_world):
    words = ["ask", "Which land is Ada Mbeki of?", "--topic", "Ada Mbeki"]
    where = ["--graph", str(grpo_world / "graph"), "--model", "first-relation"]
    done = CliRunner().invoke(app, [*words, *where])
    assert done.exit_code == 0 and "Answer: " in done.output
    with pytest.raises(UserError, match="plays in an environment"):
        load_policy(PolicyConfig(model="first-relation"))


def test_grpo_and_asking_refuse_the_oracle(grpo_world, tmp_path):
    config = grpo_config(grpo_world, tmp_path / "out", model="oracle")
    with pytest.raises(UserError, match="model: oracle is a policy without a model"):
        open_world(config)
    asked = ["ask", "Who?", "--topic", "Ada Mbeki", "--graph", str(grpo_world / "graph")]
    refused = CliRunner().invoke(app, [*asked, "--model", "oracle"]).exception
    assert isinstance(refused, UserError) and "has none" in str(refused)


def test_a_model_that_is_not_on_this_machine_is_refused_without_asking_the_hub(monkeypatch):
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    with pytest.raises(UserError, match=r"gpt-x: no such model folder.*owner/name.*--api"):
        load_policy(PolicyConfig(model="gpt-x"))
