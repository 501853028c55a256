"""What stands beside an agent: baselines without a model and the ceiling, in run and report."""

from dataclasses import replace

import pytest

from eval.report.report import render_markdown, stages_of, write_report
from eval.run.beside import write_beside
from eval.run.evaluate import evaluate
from graphwalker.agents.environment import Environment, EnvironmentConfig
from graphwalker.files import read_json, read_jsonl, write_jsonl
from graphwalker.graphs.base import Entity
from graphwalker.policies.scripted import ScriptedPolicy
from graphwalker.question import Answer, Question
from support.commands import code
from support.eval_toy import toy_environment, toy_questions, trained_script
from support.toy import toy_graph

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    out = tmp_path_factory.mktemp("run") / "agent"
    questions, environment = toy_questions(), toy_environment()
    evaluate(questions, environment, ScriptedPolicy(trained_script()), out)
    write_beside(out, questions, environment)
    return out


def test_baselines_answer_the_same_questions_and_the_ceiling_is_kept_by_question(run):
    beside = read_json(run / "beside.json")
    assert beside["baselines"] == ["first-relation", "random-relation"]
    assert beside["ceiling"]["questions"] == 8
    assert beside["ceiling"]["gold_relation_listed"] is None
    ids = [question.id for question in toy_questions()]
    assert [row["id"] for row in read_jsonl(run / "ceiling.jsonl")] == ids
    for name in beside["baselines"]:
        played = read_jsonl(run / "baselines" / name / "predictions.jsonl")
        assert [record["question"]["id"] for record in played] == ids
    # A second time nothing is played again, and what is damaged is made again.
    usage, rows = run / "baselines" / "first-relation" / "usage.jsonl", run / "ceiling.jsonl"
    before = usage.read_bytes(), rows.read_bytes()
    rows.write_bytes(before[1][:-20])
    write_beside(run, toy_questions(), toy_environment())
    assert (usage.read_bytes(), rows.read_bytes()) == before


def test_the_report_shows_them_in_every_form(run, tmp_path):
    report = write_report(tmp_path, stages_of([run]))
    [stage] = report["stages"]
    assert stage["ceiling"]["winnable"] is not None
    first = stage["baselines"]["first-relation"]
    assert first["agent_minus"]["em"] == pytest.approx(stage["em"] - first["em"])
    for text in (render_markdown(report), (tmp_path / "report.html").read_text()):
        assert "first-relation" in text
        assert "no model, 8 questions" in text
        assert "gold not computable" in text
        assert "Over the best baseline" in text


def test_runs_of_the_same_questions_share_what_one_of_them_has(run, tmp_path):
    other = tmp_path / "other"
    evaluate(toy_questions(), toy_environment(), ScriptedPolicy(trained_script()), other)
    alone = write_report(tmp_path / "alone", stages_of([other]))["stages"][0]
    assert (alone["baselines"], "ceiling" in alone) == ({}, False)
    both = write_report(tmp_path / "both", stages_of([other, run]))["stages"]
    assert both[0]["ceiling"] == both[1]["ceiling"]
    assert both[0]["baselines"].keys() == both[1]["baselines"].keys()
    assert render_markdown({**write_report(tmp_path / "r", stages_of([other, run]))}).count(
        "first-relation no model"
    ) == 1  # fmt: skip


def test_an_environment_without_tools_says_that_nothing_can_be_computed(tmp_path):
    environment = Environment(toy_graph(), EnvironmentConfig(preset="io-prompt"))
    questions = toy_questions()
    policy = ScriptedPolicy({q.id: ["<answer>[]</answer>"] for q in questions})
    evaluate(questions, environment, policy, tmp_path / "io")
    record = write_beside(tmp_path / "io", questions, environment)
    assert record["baselines"] == []
    assert record["ceiling"] is None
    text = render_markdown(write_report(tmp_path / "r", stages_of([tmp_path / "io"])))
    assert "not computable: the preset io-prompt" in text


def test_the_command_plays_them_by_itself(tmp_path, capsys):
    path = tmp_path / "q.jsonl"

    def played(questions: list[Question], out: str, *settings: str) -> int:
        write_jsonl(path, [question.to_json() for question in questions])
        given = ("--graph", "support.toy:toy_graph", "--questions", path)
        return code("eval", *given, "--model", "first-relation", "--out", tmp_path / out, *settings)

    assert played(toy_questions(), "run", "baselines=always") == 0
    printed = capsys.readouterr().out
    assert "no model: first-relation, random-relation" in printed
    assert "ceiling:" in printed
    assert played(toy_questions(), "bare", "ceiling=never") == 0
    said = {"no_baselines": "is one", "no_ceiling": "not asked for"}
    assert read_json(tmp_path / "bare/beside.json") == {"baselines": [], "ceiling": None, **said}
    wrong = [replace(q, answers=(Answer("Nobody", "m.none"),)) for q in toy_questions()]
    assert played(wrong, "foreign") == 2
    assert "ceiling 0" in (told := capsys.readouterr().err) and "are they of this graph?" in told
    far = [replace(q, topic_entities=(Entity(f"m.far{q.id}", "Far"),)) for q in toy_questions()[1:]]
    assert played([toy_questions()[0], *far], "far") == 2
    assert "topic entities of 7 of 8 questions looked for" in capsys.readouterr().err
    assert played(wrong, "foreign", "ceiling=perhaps") == 2
    assert "ceiling" in capsys.readouterr().err
