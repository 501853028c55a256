"""`graphwalker score` on evaluation runs of ours: the same figures as their own report."""

from dataclasses import replace

import pytest

from eval.analysis.summary import summarise
from eval.run.evaluate import evaluate
from eval.run.records import read_run
from eval.score.files import of_trajectory
from eval.score.score import score_file, score_record
from graphwalker.errors import UserError
from graphwalker.policies.scripted import ScriptedPolicy
from graphwalker.question import Answer
from graphwalker.scoring import score as score_trajectory
from support.dataset_toys import write
from support.eval_toy import toy_environment, toy_questions, trained_script


@pytest.fixture(scope="module")
def run_folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("run")
    policy = ScriptedPolicy(trained_script())
    evaluate(toy_questions(), toy_environment(), policy, folder, samples=4)
    return read_run(folder)


def test_a_run_of_ours_scores_as_its_own_report_does(run_folder):
    scored = score_file(run_folder.folder)
    summary = summarise(run_folder.trajectories, run_folder.samples)
    assert scored.n == len(run_folder.trajectories) == summary["questions"]
    for name in ("em", "f1", "precision", "recall", "hits1", "hit_any", "retrieval_any"):
        assert scored.metrics[name] == summary[name]
        assert scored.intervals[name] == tuple(summary[f"{name}_interval"])
    for name in ("retrieval_all", "recovery_all", "recovery_given_error", "pass@1", "pass@4"):
        assert scored.metrics[name] == summary[name]
    assert 0 < scored.metrics["em"] < 1


def test_a_file_of_trajectories_is_read_as_predictions(run_folder):
    scored = score_file(run_folder.folder / "predictions.jsonl", ["em", "rog_hit"])
    assert scored.n == len(run_folder.trajectories)
    assert scored.metrics["em"] <= scored.metrics["rog_hit"]


def test_answers_that_ones_own_questions_give_as_ids_count_by_their_names(run_folder, tmp_path):
    rows = [
        {
            "id": t.question.id,
            "question": t.question.text,
            "topic": [e.id for e in t.question.topic_entities],
            "answer": [answer.id for answer in t.question.answers],
        }
        for t in run_folder.trajectories
    ]
    own = write(tmp_path / "own.jsonl", rows)
    for path in (run_folder.folder, run_folder.folder / "predictions.jsonl"):
        found = score_file(path, ["em"], questions=own)
        assert found.expected and not found.expected.differing
        assert found.metrics == score_file(path, ["em"]).metrics


def test_the_parses_of_webqsp_questions_count_in_runs_of_ours(run_folder):
    right = next(t for t in run_folder.trajectories if score_trajectory(t)["em"] == 1)
    gold = right.question.answers
    other = Answer("Nowhere", "m.0nowhere")
    parses = [{"answers": [answer.id for answer in gold]}, {"answers": [other.id]}]
    question = replace(
        right.question, answers=(*gold, other), query=None, annotations={"parses": parses}
    )
    scores = score_record(of_trajectory(replace(right, question=question)), ["webqsp_f1", "f1"])
    assert scores["webqsp_f1"] == 1.0 and scores["f1"] < 1.0


def test_a_run_says_how_many_questions_failed_for_our_reasons(run_folder, tmp_path, caplog):
    kept, failed = run_folder.trajectories[:-1], run_folder.trajectories[-1].to_json()
    write(tmp_path / "predictions.jsonl", [t.to_json() for t in kept])
    write(tmp_path / "failures.jsonl", [{**failed, "stop": "policy_error"}])
    assert score_file(tmp_path, ["em"]).n == len(kept)
    assert "1 questions failed" in caplog.text


def test_episodes_that_failed_for_our_reasons_are_left_out(run_folder, tmp_path):
    trajectories = run_folder.trajectories
    failed = {**trajectories[0].to_json(), "stop": "graph_error"}
    path = write(tmp_path / "p.jsonl", [failed, *(t.to_json() for t in trajectories[1:])])
    assert score_file(path, ["em"]).n == len(trajectories) - 1
    with pytest.raises(UserError, match="no records"):
        score_file(write(tmp_path / "f.jsonl", [failed]), ["em"])
