"""What two processes at once would leave in a folder is told when it is opened again."""

import os

import pytest

from data_pipeline.config import SynthConfig
from data_pipeline.jobs.ledger import open_ledger
from eval.run.records import read_run
from graphwalker.errors import UserError
from graphwalker.files import write_jsonl
from graphwalker.graphs.base import Entity
from graphwalker.question import Question
from graphwalker.runs import warn_if_unfinished
from graphwalker.trajectory import StopReason, Trajectory


def test_a_product_that_stands_twice_is_refused_on_opening(tmp_path):
    def opened():
        return open_ledger(tmp_path, "synth", SynthConfig(), {}, ["questions.jsonl"])

    with opened() as ledger:
        for number in range(3):
            ledger.write([("questions.jsonl", {"id": f"2-hop/{number}"})])
    with opened() as ledger:
        assert len(list(ledger.endings())) == 3
    lines = (tmp_path / "attempts.jsonl").read_text()
    (tmp_path / "attempts.jsonl").write_text(lines + lines)
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


FILES = ["walks.jsonl", "graphsynth.jsonl"]


def ledger(folder):
    return open_ledger(folder, "synth", SynthConfig(), {}, FILES)


def attempts(folder, numbers):
    """Every third attempt is dropped; the others have a walk and a product."""
    with ledger(folder) as opened:
        for number in numbers:
            name = f"2-hop/{number}"
            walk = ("walks.jsonl", {"id": name})
            if number % 3:
                opened.write([walk, ("graphsynth.jsonl", {"id": name, "unit": name})])
            else:
                opened.write([walk, ("dropped.jsonl", {"id": name})])


def tried(folder):
    with ledger(folder) as opened:
        return len(list(opened.endings()))


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize("share", [0.0, 0.2, 0.55, 0.97])
def test_attempts_that_were_cut_off_are_made_again(tmp_path, share):
    attempts(tmp_path, range(12))
    whole, path = contents(tmp_path), tmp_path / "attempts.jsonl"
    os.truncate(path, int(path.stat().st_size * share))
    done = tried(tmp_path)
    assert done < 12
    attempts(tmp_path, range(done, 12))
    assert contents(tmp_path) == whole


@pytest.mark.parametrize("name", [*FILES, "dropped.jsonl"])
def test_a_published_file_that_was_cut_is_written_again(tmp_path, name):
    attempts(tmp_path, range(12))
    whole = contents(tmp_path)
    os.truncate(tmp_path / name, 40)
    assert tried(tmp_path) == 12
    assert contents(tmp_path) == whole


def test_an_attempt_that_was_changed_is_told_by_its_line(tmp_path):
    attempts(tmp_path, range(9))
    path = tmp_path / "attempts.jsonl"
    path.write_bytes(path.read_bytes().replace(b"2-hop/4", b"2-hop/5", 1))
    with pytest.raises(UserError, match=r"attempts.jsonl:5: was changed after it was written"):
        tried(tmp_path)


def test_a_run_of_an_earlier_version_is_refused_by_its_version(tmp_path):
    attempts(tmp_path, range(4))
    (tmp_path / "attempts.jsonl").unlink()
    with pytest.raises(UserError, match=r"no attempts.jsonl beside it, as in version 0.2.0"):
        tried(tmp_path)


def test_who_reads_a_file_of_an_unfinished_run_is_told(tmp_path, caplog):
    attempts(tmp_path, range(4))
    warn_if_unfinished(tmp_path / "graphsynth.jsonl")
    assert "its run is not finished" in caplog.text
    caplog.clear()
    (tmp_path / "datacard.json").write_text("{}")
    warn_if_unfinished(tmp_path / "graphsynth.jsonl")
    assert not caplog.text


def test_files_are_published_while_the_run_goes_on(tmp_path, monkeypatch):
    monkeypatch.setattr("data_pipeline.jobs.ledger.PUBLISH_S", 0.0)
    monkeypatch.setattr("data_pipeline.jobs.ledger.SHARE", 1e9)
    with ledger(tmp_path) as opened:
        opened.write([("graphsynth.jsonl", {"id": "2-hop/1", "unit": "2-hop/1"})])
        assert (tmp_path / "graphsynth.jsonl").read_bytes().count(b"\n") == 1
