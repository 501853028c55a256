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


@pytest.mark.parametrize("name", ["walks.jsonl", "graphsynth.jsonl", "dropped.jsonl", ".journal"])
@pytest.mark.parametrize("share", [0.0, 0.2, 0.55, 0.97])
def test_a_file_that_was_cut_is_made_again_with_what_came_after_it(tmp_path, name, share):
    attempts(tmp_path, range(12))
    whole = contents(tmp_path)
    size = (tmp_path / name).stat().st_size
    os.truncate(tmp_path / name, int(size * share))
    done = tried(tmp_path)
    assert done < 12
    attempts(tmp_path, range(done, 12))
    assert contents(tmp_path) == whole


def test_a_line_that_was_taken_out_is_told(tmp_path):
    attempts(tmp_path, range(9))
    path = tmp_path / "graphsynth.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:2] + lines[3:]))
    with pytest.raises(UserError, match=r"graphsynth.jsonl: was changed in its first"):
        tried(tmp_path)


def test_a_folder_without_a_journal_gets_one(tmp_path):
    attempts(tmp_path, range(4))
    whole = contents(tmp_path)
    (tmp_path / ".journal").unlink()
    assert tried(tmp_path) == 4
    attempts(tmp_path, range(4, 6))
    assert tried(tmp_path) == 6
    assert contents(tmp_path)["walks.jsonl"].startswith(whole["walks.jsonl"])
