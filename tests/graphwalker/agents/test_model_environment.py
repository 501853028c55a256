"""A model carries its environment: it is the default where the user set nothing."""

import json
import logging
import shutil

import pytest

import graphwalker as gw
from eval.run.config import EvalConfig, run_eval
from eval.run.records import read_run
from graphwalker.agents.environment import Environment, EnvironmentConfig
from graphwalker.agents.model_environment import (
    copy_environment,
    read_environment,
    settings_for,
    write_environment,
)
from graphwalker.config import load_config
from graphwalker.errors import UserError
from graphwalker.graphs.base import Entity
from graphwalker.question import Question
from graphwalker.ranking.learned.ranker import write_ranker
from graphwalker.ranking.learned.train import QuestionFile, train_ranker
from support.grpo_toy import SMALL
from support.paths import ROOT
from support.toy import toy_graph

ADA, CHILDREN = Entity("m.0ada", "Ada Mbeki"), "people.person.children"
TRAINED = EnvironmentConfig(prompt="compact", top_relations=7, max_turns=4)


@pytest.fixture
def model(tmp_path):
    write_environment(tmp_path / "model", TRAINED, format="inline", max_tokens=64)
    return tmp_path / "model"


def warned(caplog):
    return "\n".join(r.getMessage() for r in caplog.records if r.levelno == logging.WARNING)


def test_the_file_says_all_that_the_model_was_trained_in(model):
    found = read_environment(model)
    assert found is not None
    assert (found.preset, found.preset_version, found.format) == ("graphwalker", 5, "inline")
    assert found.environment["top_relations"] == 7 and "{question}" in found.prompt.text
    assert (found.limits.max_tokens, found.limits.max_turns) == (64, 4)
    assert found.limits.stop == ("</kg-query>", "</answer>") and found.ranker.name == "bm25"


def test_what_the_user_did_not_set_is_the_models_own(model, caplog):
    found = settings_for(model, EnvironmentConfig(), "chatml", 512, ())
    assert found.environment == TRAINED and (found.format, found.max_tokens) == ("inline", 64)
    assert not warned(caplog)


def test_what_the_user_set_wins_and_is_said_in_one_line(model, caplog):
    given = EnvironmentConfig(top_relations=20, prompt="compact", layers={"wikidata": True})  # type: ignore[arg-type]
    found = settings_for(model, given, "chatml", 512, {"format"})
    assert (found.environment.top_relations, found.environment.max_turns) == (20, 4)
    assert (found.format, found.max_tokens) == ("chatml", 64)
    (line,) = warned(caplog).splitlines()
    assert "environment.top_relations=20 (trained with 7)" in line and "max_turns" not in line
    assert "format=chatml (trained with inline)" in line and "prompt" not in line
    assert "environment.layers.wikidata=True (trained with False)" in line


def test_a_model_that_never_drew_a_token_says_nothing_of_max_tokens(tmp_path, caplog):
    write_environment(tmp_path, TRAINED, format="inline", longest_turn=70)
    for given, tokens in (((), 70), ({"max_tokens"}, 64)):
        found = settings_for(tmp_path, EnvironmentConfig(), "chatml", 64, given)
        assert found.max_tokens == tokens
    assert not warned(caplog)


def test_another_preset_is_refused_unless_it_is_forced(model, caplog):
    given = EnvironmentConfig(preset="io-prompt")
    with pytest.raises(UserError, match=r"trained for environment\.preset=graphwalker.*io-prompt"):
        settings_for(model, given, "chatml", 512, ())
    found = settings_for(model, given, "chatml", 512, (), force=True)
    assert (found.environment.preset, found.environment.prompt) == ("io-prompt", "io")
    assert "environment.preset=io-prompt (trained for graphwalker)" in warned(caplog)


def test_the_prompt_stays_that_of_the_training_when_its_file_changes(tmp_path, caplog):
    prompt = tmp_path / "prompt.md"
    prompt.write_text("Old: {question}")
    own = EnvironmentConfig(prompt=str(prompt))
    write_environment(tmp_path / "model", own, format="inline")
    prompt.write_text("New: {question}")
    for _ in range(2):
        found = settings_for(tmp_path / "model", EnvironmentConfig(), "chatml", 512, ())
        assert Environment(toy_graph(), found.environment).prompt.user == "Old: {question}"
        assert not warned(caplog)
        prompt.unlink(missing_ok=True)
    assert "New" not in (tmp_path / "model/graphwalker.json").read_text()


def test_a_rankers_file_that_has_changed_is_said(tmp_path, monkeypatch, caplog):
    (tmp_path / "own_order.py").write_text("def order(q, e, relations):\n    return relations\n")
    monkeypatch.chdir(tmp_path)
    own = EnvironmentConfig(ranker="own_order:order")
    write_environment(tmp_path / "m", own, format="inline", ranker_trained_on=["train.jsonl"])
    found = read_environment(tmp_path / "m")
    assert found and found.ranker.digest and found.ranker.trained_on == ("train.jsonl",)
    (tmp_path / "own_order.py").write_text("def order(q, e, r):\n    return sorted(r)\n")
    settings_for(tmp_path / "m", own, "chatml", 512, ())
    assert "the file of the ranker own_order:order has changed" in warned(caplog)


def test_a_trained_ranker_travels_with_the_model(tmp_path, caplog):
    def ranker(folder, text):
        question = Question("q", text, (ADA,), annotations={"relation_path": [CHILDREN]})
        file = QuestionFile("train.jsonl", "", [question])
        made = train_ranker([file], toy_graph(), lambda entity: (CHILDREN, "x.y.z"), folds=2)
        write_ranker(made, folder)
        return str(folder)

    mine, other = ranker(tmp_path / "r", "her kids"), ranker(tmp_path / "o", "her children")
    own = EnvironmentConfig(preset="graphwalker-wide", ranker=mine)
    write_environment(tmp_path / "m", own, format="inline")
    found = read_environment(tmp_path / "m")
    assert found and found.ranker.trained_on == ("train.jsonl",)
    copy_environment(tmp_path / "m", (tmp_path / "moved").absolute())
    shutil.rmtree(tmp_path / "r")
    alone = settings_for(tmp_path / "moved", EnvironmentConfig(), "inline", 512, ())
    assert alone.environment.ranker == str(tmp_path / "moved" / "ranker")
    same = Environment(toy_graph(), alone.environment).provenance["ranker_digest"]
    assert same == found.ranker.digest and not warned(caplog)
    moved = EnvironmentConfig(ranker=str(tmp_path / "moved/ranker"))
    settings_for(tmp_path / "m", moved, "inline", 9, ())
    assert not warned(caplog)
    settings_for(tmp_path / "m", EnvironmentConfig(ranker=other), "inline", 9, ())
    assert f"environment.ranker={other} (trained with {mine})" in warned(caplog)
    (tmp_path / "moved/ranker/ranker.npz").write_bytes(b"other")
    settings_for(tmp_path / "moved", EnvironmentConfig(), "inline", 512, ())
    assert "has changed" in warned(caplog)


@pytest.mark.parametrize(
    ("trained", "given"),
    [
        ({"constrained": True}, {"constrained": False}),
        ({"ranker": "stems"}, {"ranker": "bm25"}),
        ({"preset": "search-on-graph", "options": {"exemplars": 1}}, {"options": {}}),
    ],
)
def test_a_default_that_is_written_down_wins_over_the_model(tmp_path, caplog, trained, given):
    write_environment(tmp_path / "m", EnvironmentConfig(**trained), format="inline")
    found = settings_for(tmp_path / "m", EnvironmentConfig(**given), "inline", 512, ()).environment
    ((name, value),) = given.items()
    if name == "options":  # merged with the model's, setting by setting
        value = trained["options"]
    else:
        assert f"environment.{name}={value} (trained with " in warned(caplog)
    assert getattr(found, name) == value


def test_an_agent_of_ones_own_comes_with_a_model_that_is_trusted(tmp_path, monkeypatch):
    (tmp_path / "carried_agent.py").write_text((ROOT / "tests/support/search_agent.py").read_text())
    monkeypatch.chdir(tmp_path)
    own = EnvironmentConfig(preset="carried_agent:SPEC", options={"rows": 3})
    write_environment(tmp_path / "m", own, format="inline")
    folder = str(tmp_path / "m")
    found = settings_for(folder, EnvironmentConfig(), "chatml", 512, (), trust=[folder])
    assert Environment(toy_graph(), found.environment).name == "one-search"
    assert found.environment.options == {"rows": 3}


@pytest.mark.parametrize(
    ("change", "why"),
    [({"schema_version": 9}, "later GraphWalker"), ({"preset": None}, "preset: ")],
)
def test_a_file_that_cannot_be_read_is_refused(model, change, why):
    path = model / "graphwalker.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(UserError, match=why):
        read_environment(model)


@pytest.fixture
def in_python(grpo_world, tmp_path):
    """The graph, a question, and the folder of a model that has its own environment."""
    shutil.copytree(grpo_world / "model", tmp_path / "model")
    write_environment(tmp_path / "model", SMALL, format="inline", max_tokens=40)
    asked = gw.load_dataset(grpo_world / "questions.jsonl", limit=1)
    return gw.open_graph(grpo_world / "graph"), asked, str(tmp_path / "model")


def test_python_runs_a_model_in_its_own_environment(in_python):
    graph, asked, model = in_python
    environment = gw.Environment(graph, model=model)
    assert environment.config == SMALL
    policy = gw.load_policy(model, environment)
    assert gw.evaluate(asked, environment, policy).trajectories[0].answer


@pytest.mark.long
def test_an_evaluation_without_settings_runs_the_model_as_it_was_trained(
    in_python, grpo_world, tmp_path
):
    given = [f"graph={grpo_world / 'graph'}", f"questions={grpo_world / 'questions.jsonl'}",
             f"policy.model={in_python[2]}", f"output_dir={tmp_path / 'run'}"]  # fmt: skip
    folder = run_eval(load_config(EvalConfig, None, given))
    config = json.loads((folder / "config.json").read_text())
    assert (config["prompt"], config["format"], config["max_tokens"]) == ("compact", "inline", 40)
    assert config["environment_settings"]["max_turns"] == 3
    assert all(trajectory.answer for trajectory in read_run(folder).trajectories)
    with pytest.raises(UserError, match=r"trained for.*graphwalker"):
        run_eval(load_config(EvalConfig, None, [*given, "environment.preset=io-prompt"]))


def test_python_refuses_a_model_in_another_environment(in_python):
    graph, asked, model = in_python
    policy = gw.load_policy(model)
    for other in (EnvironmentConfig(), EnvironmentConfig(preset="io-prompt")):
        environment = gw.Environment(graph, other)
        for call in (gw.load_policy, gw.evaluate, gw.rollout):
            given = (model,) if call is gw.load_policy else (asked,)
            more = (environment,) if call is gw.load_policy else (environment, policy)
            with pytest.raises(UserError, match=r"trained in another.*Environment\(graph, model="):
                call(*given, *more)
