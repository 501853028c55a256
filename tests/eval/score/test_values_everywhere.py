"""Dates, numbers and truth values count by what they mean, by one rule: in `score`, in `compare`,
in rewards and in the rejection of experts."""

import json
from pathlib import Path

import pytest

from data_pipeline.experts.rejection import fault
from graphwalker.files import write_jsonl
from graphwalker.graphs.base import Entity
from graphwalker.question import Answer, Question
from graphwalker.scoring import score
from graphwalker.trajectory import StopReason, Trajectory, Turn
from support.commands import run
from training.rewards.mix import reward_mix, score_episode

XSD = "http://www.w3.org/2001/XMLSchema#"
RIGHT = [
    ("1961-8-4", "1961-08-04", "date"),
    ("August 4, 1961", "1961-08-04", "date"),
    ("4 August 1961", "1961-08-04-08:00", "date"),
    ("1961-08-04T00:00:00Z", "1961-08-04", "date"),
    ("August 1961", "1961-08", "gYearMonth"),
    ("1,000,000", "1000000", "integer"),
    ("1000000", "1.0E6", "double"),
    ("5.3", "5.30", "decimal"),
    ("Yes", "true", "boolean"),
]
WRONG = [
    ("1961", "1961-08-04", "date"),
    ("4/8/1961", "1961-08-04", "date"),
    ("1961-08-05", "1961-08-04", "date"),
    ("10", "1.0E6", "double"),
    ("007", "7", "integer"),
    ("no", "true", "boolean"),
]


def episodes() -> list[tuple[Trajectory, bool]]:
    """An episode for each spelling, which an observation has shown; and whether it is right."""
    found: list[tuple[Trajectory, bool]] = []
    for number, (spelling, value, kind) in enumerate([*RIGHT, *WRONG]):
        gold = Answer(value, f'"{value}"^^<{XSD}{kind}>')
        question = Question(f"v{number}", "When?", (Entity("m.1", "A"),), (gold,))
        action = {"answer": [spelling]}
        turns = (
            Turn((), "c", shown=(Entity(f'"{spelling}"', spelling),)),
            Turn((), "c", "", action),
        )
        done = Trajectory(question, "a", "p", turns, (spelling,), StopReason.ANSWERED)
        found.append((done, number < len(RIGHT)))
    return found


def test_scores_rewards_and_rejection_agree() -> None:
    for episode, right in episodes():
        scored = episode.with_scores(**score(episode))
        verdicts = {
            "score": scored.scores["em"] == 1,
            "reward": score_episode(episode).scores["reward"] == 1,
            "experts": fault(scored) == "",
        }
        assert set(verdicts.values()) == {right}, (episode.answer, verdicts)


def test_score_and_compare_agree_with_them(tmp_path: Path) -> None:
    questions, rows = tmp_path / "questions.jsonl", tmp_path / "spelled.jsonl"
    write_jsonl(questions, [episode.question.to_json() for episode, _ in episodes()])
    spelled = [{"id": e.question.id, "prediction": e.answer[0]} for e, _ in episodes()]
    write_jsonl(rows, spelled)
    write_jsonl(rows.with_name("same.jsonl"), spelled)
    expected = len(RIGHT) / (len(RIGHT) + len(WRONG))
    for words in (
        ["score", "--predictions", rows, "--questions", questions, "--metrics", "em", "--json"],
        ["compare", rows, rows.with_name("same.jsonl"), "--questions", questions, "--json"],
    ):
        found = json.loads(run(*words))
        em = found["runs"][0]["em"] if words[0] == "compare" else found["metrics"]["em"]
        assert em == pytest.approx(expected), words[0]


def test_two_spellings_of_one_value_are_one_answer() -> None:
    (episode, _), *_ = episodes()
    gold = episode.question.answers[0]
    ids = (gold.id, "")
    twice = Trajectory(
        episode.question, "a", "p", (), (gold.name, "4 August 1961"), episode.stop, answer_ids=ids
    )
    assert reward_mix({"em": 1.0, "over_answer": 1.0})(twice, twice.question, score(twice)) == 1
