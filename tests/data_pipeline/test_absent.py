"""Questions whose answer the graph does not hold: how they are made, played, scored, checked."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from data_pipeline.config import SynthConfig
from data_pipeline.synthesize import synthesize
from data_pipeline.verification.verify import verify_file
from graphwalker.answers.kinds import Absent
from graphwalker.datasets.base import load_questions
from graphwalker.files import read_records
from graphwalker.graphs.open import open_graph
from graphwalker.query.query import execute
from graphwalker.question import Question
from graphwalker.scoring import score
from graphwalker.tools.listing import lister
from graphwalker.tools.settings import WalkerSettings
from graphwalker.trajectory import StopReason, Trajectory, Turn
from training.evaluation.dev_set import dev_questions


@pytest.fixture(scope="module")
def made(graph: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("absent")
    mix = {"1-hop": 2.0, "2-hop": 1.0}
    synthesize(graph, SynthConfig(count=40, mix=mix, absent_share=0.25), out)
    return out


def absent(made: Path) -> list[Trajectory]:
    every = read_records(made / "graphsynth.jsonl", Trajectory.from_json)
    return [one for one in every if one.question.structure == "absent"]


def test_a_share_of_the_questions_has_no_answer_in_the_graph(made, graph):
    found, opened = absent(made), open_graph(graph)
    assert len(found) == 10
    for one in found:
        assert one.question.query and one.question.gold == Absent()
        assert not execute(opened, one.question.query).answers


def test_the_topic_lacks_a_relation_that_its_kind_has(made, graph):
    listed = lister(open_graph(graph), WalkerSettings())
    for one in absent(made):
        assert one.question.query
        (branch,) = one.question.query.branches
        if len(branch.hops) == 1:
            assert branch.hops[0].relation not in listed(branch.topic.id).relations


def test_the_oracle_answers_nothing_after_a_look_and_says_why(made):
    for one in absent(made):
        assert one.answer == () and one.turns[0].listed
        assert "answer" in one.turns[-1].thought
        assert one.scores["em"] == one.scores["hits1"] == one.scores["retrieval_all"] == 1.0


def test_an_empty_answer_before_any_look_is_wrong():
    question = Question("1", "Who?", gold=Absent())
    turns = (Turn((), "", action={"answer": []}),)
    blind = Trajectory(question, "a", "p", turns, (), StopReason.ANSWERED)
    assert score(blind)["em"] == 0.0 and turns[0].in_words() == "answers nothing"


def test_whatever_is_named_is_wrong(made):
    one = absent(made)[0]
    assert score(replace(one, answer=("Oslo",), answer_ids=("",)))["em"] == 0.0
    assert score(replace(one, answer=None))["em"] == 0.0


def test_the_records_verify_and_every_reader_of_questions_takes_them(made, graph):
    verdict = verify_file(open_graph(graph), made / "graphsynth.jsonl")
    assert verdict.records == 40 and not verdict.failed
    questions = made / "questions.jsonl"
    assert len(load_questions(questions)) == len(dev_questions(str(questions), 99)) == 40


def test_no_question_is_without_an_answer_by_default(graph, tmp_path):
    assert "absent" not in SynthConfig().weights
    topics = [{"id": "x", "name": "X"}]
    record = {"id": "1", "question": "Who?", "topic_entities": topics, "answers": []}
    (tmp_path / "q.jsonl").write_text(json.dumps(record))
    with pytest.raises(Exception, match="no answers"):
        load_questions(tmp_path / "q.jsonl")
