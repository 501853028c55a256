"""The demo: settings that are read before anything is made, and what is shown."""

import json
import sys
from pathlib import Path

import pytest

from eval.report.report import StageResult, write_report
from eval.run.evaluate import evaluate
from graphwalker.agents.environment import EnvironmentConfig
from graphwalker.agents.model_environment import write_environment
from graphwalker.config import load_config
from graphwalker.demo import Demo, DemoConfig, run_demo, shipped_config
from graphwalker.demo.config import by_wordings, for_own_graph
from graphwalker.demo.demo import best_model, find_learned, show_first
from graphwalker.errors import UserError
from graphwalker.graphs.build.build import build_graph
from graphwalker.graphs.open import open_graph
from graphwalker.jobs.times import Stage, StageTimes
from graphwalker.policies.scripted import ScriptedPolicy
from support.eval_toy import toy_environment, toy_questions, trained_script, untrained_script


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    for name, script in (("before", untrained_script()), ("after", trained_script())):
        evaluate(toy_questions(), toy_environment(), ScriptedPolicy(script), folder / name)
    return folder


def test_progress_says_the_place_of_a_stage_and_the_time_left_over_all(tmp_path, capsys):
    stages = [Stage(name, lambda tick: None, own_bar=True, cost=300) for name in "ab"]
    StageTimes(tmp_path).run_all([*stages, Stage("c", lambda tick: None, is_done=lambda: True)])
    said = capsys.readouterr().err.splitlines()
    assert said[0] == "stage 1 of 3: a ... (about 10 min left in all)"
    assert said[1].startswith("stage 2 of 3: b ... (about ") and "left in all" in said[1]
    assert said[2] == "stage 3 of 3: c is done"


def test_the_question_that_was_learned_was_wrong_before_and_is_right_after(runs):
    learned = find_learned(runs / "before", runs / "after")
    assert learned and learned.id == toy_questions()[0].id
    assert find_learned(runs / "after", runs / "after") is None


@pytest.mark.parametrize(
    ("learned", "said"),
    [
        ({"id": "q", "question": "Who <b>?"}, 'end: <a href="#q=q&amp;run=0">Who &lt;b&gt;?</a>'),
        ({}, "No question that was wrong after stage 1 is right at the end."),
    ],
)
def test_the_page_names_what_was_learned_or_that_nothing_was(runs, tmp_path, learned, said):
    write_report(tmp_path, [StageResult("GRPO", runs / "after")], extra={"learned": learned})
    assert said in (tmp_path / "report.html").read_text()


def test_the_report_of_a_demo_names_what_was_learned_and_the_best_stage(tmp_path, capsys):
    config = load_config(DemoConfig, shipped_config(), [f"run={tmp_path}"])
    for name in ("untrained", "sft1", "sft2", "grpo"):
        script = trained_script() if name == "sft2" else untrained_script()
        folder = tmp_path / "eval" / name
        evaluate(toy_questions(), toy_environment(), ScriptedPolicy(script), folder)
    report = Demo(config).report()
    assert report["learned"] == {} and best_model(config, report) == tmp_path / "sft2" / "final"
    assert "right at the end: none" in capsys.readouterr().out
    written = json.loads((tmp_path / "report.json").read_text())
    assert {"total_cpu_seconds", "benchmarks"} <= written.keys()


def test_a_page_of_another_run_says_nothing_of_it(runs, tmp_path):
    write_report(tmp_path, [StageResult("mine", runs / "after")])
    assert "wrong after stage 1" not in (tmp_path / "report.html").read_text().lower()


def test_question_1_is_shown_with_its_walk_and_its_verdict(runs, capsys):
    show_first(runs / "after", "evaluate GRPO")
    said = capsys.readouterr().err.splitlines()
    assert said[0] == f"question 1, GRPO: {toy_questions()[0].text}"
    assert said[1].startswith("  1. ") and said[-1].endswith(": right")


def test_the_next_command_names_the_stage_that_scored_best(tmp_path):
    config = load_config(DemoConfig, shipped_config(), ["run=R"])
    names = ("untrained", "SFT stage 1", "SFT stage 2", "GRPO")
    for em, best in (((0, 0.3, 0.5, 0.4), "sft2"), ((0, 0.3, 0.4, 0.4), "grpo")):
        pairs = zip(names, em, strict=True)
        report = {"stages": [{"name": name, "em": value} for name, value in pairs]}
        assert best_model(config, report) == Path("R", best, "final")


def own_demo(tmp_path, relation):
    facts = [f"person {n}\t{relation}\ttown {n % 40}\n" for n in range(120)]
    (tmp_path / "kb.tsv").write_text("".join(facts))
    build_graph([tmp_path / "kb.tsv"], tmp_path / "graph")
    settings = [f"graph={tmp_path / 'graph'}", f"run={tmp_path / 'run'}"]
    return for_own_graph(load_config(DemoConfig, shipped_config(), settings))


def test_a_graph_of_ones_own_is_asked_in_held_out_words_where_it_has_three(tmp_path, capsys):
    own = own_demo(tmp_path, "born in")
    assert own.practice["wordings"] == "held-out" and own.test_words["split"] == "test-wording"
    assert Path(own.test_words["predicates_file"]).read_text() == "born in\n"
    assert "questions in held-out words: about 1 relations" in capsys.readouterr().err
    assert by_wordings(open_graph(own.graph)) == (["born in"], [])


def test_where_no_relation_has_three_wordings_that_is_said(tmp_path, capsys):
    own = own_demo(tmp_path, "capital")
    assert not own.test_words and own.synth["wordings"] == own.practice["wordings"] == "all"
    assert "none, as no relation has 3 wordings (capital)" in capsys.readouterr().err


REFUSED = {
    "grpo.lr=0": "section grpo: lr",
    "grpo.micro_batch=7": "micro_batch = 7 does not divide the ",
    "grpo.prompts_per_step=9": "prompts_per_step = 9 is not a multiple of the 2 processes",
    "sft1.lr=fast": "section sft1: lr",
    "sft2.max_stepz=3": "section sft2: max_stepz is not a setting",
    "experts.error_rate=2": "section experts: error_rate",
    "practice.count=-7": "section practice: count",
    "test.cuont=3": "section test: cuont is not a setting",
    "environment.top_relations=-1": "section environment: top_relations",
    "eval.samples=few": "section eval: samples",
}


def demo_of(tmp_path, *settings):
    given = [f"run={tmp_path / 'run'}", *settings]
    return Demo(load_config(DemoConfig, shipped_config(), given))


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


@pytest.mark.parametrize("module", ["torch", "trl"])
def test_a_demo_without_what_training_needs_makes_no_data(module, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(UserError, match=rf"{module} is not installed: pip install .*\[train\]'"):
        run_demo(DemoConfig(run=str(tmp_path / "demo")))
    assert not (tmp_path / "demo").exists()
