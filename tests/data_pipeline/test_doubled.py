"""What two processes at once would leave in a folder is told when it is opened again."""

import pytest

from data_pipeline.config import SynthConfig
from data_pipeline.jobs.ledger import open_ledger
from eval.run.records import read_run
from graphwalker.errors import UserError
from graphwalker.files import write_jsonl
from graphwalker.graphs.base import Entity
from graphwalker.question import Question
from graphwalker.trajectory import StopReason, Trajectory


def test_a_product_that_stands_twice_is_refused_on_opening(tmp_path):
    def opened():
        return open_ledger(tmp_path, "synth", SynthConfig(), {}, ["questions.jsonl"])

    with opened() as ledger:
        for number in range(3):
            ledger.write([("questions.jsonl", {"id": f"2-hop/{number}"})])
    with opened() as ledger:
        assert len(list(ledger.endings())) == 3
    lines = (tmp_path / "questions.jsonl").read_text()
    (tmp_path / "questions.jsonl").write_text(lines + lines)
    with pytest.raises(UserError, match="holds 2-hop/0 twice, as two processes at once"), opened():
        pass


def test_an_evaluation_whose_episodes_stand_twice_is_not_reported(tmp_path):
    question = Question("q1", "Who?", (Entity("m.1", "X"),))
    episode = Trajectory(question, "react", "oracle", (), ("X",), StopReason.ANSWERED).to_json()
    write_jsonl(tmp_path / "predictions.jsonl", [episode])
    assert len(read_run(tmp_path).trajectories) == 1
    write_jsonl(tmp_path / "predictions.jsonl", [episode, episode])
    with pytest.raises(UserError, match=r"record 2: .* stands twice"):
        read_run(tmp_path)
