"""Sizes of a run's files: a cut file is told, what comes and goes is not."""

import json

from training.runs.checkpoints import NOTES, damage, note_sizes


def test_a_cut_file_is_told(tmp_path):
    (tmp_path / "metrics.jsonl").write_text("0123456789")
    note_sizes(tmp_path)
    assert damage(tmp_path) == ""
    (tmp_path / "metrics.jsonl").write_text("0123")
    assert damage(tmp_path) == "metrics.jsonl has 4 of 10 bytes"
    (tmp_path / "metrics.jsonl").unlink()
    assert damage(tmp_path) == "metrics.jsonl has 0 of 10 bytes"


def test_a_lock_is_no_product(tmp_path):
    """A later process may have a shorter number, and a finished one leaves no lock."""
    (tmp_path / "config.yaml").write_text("a: 1")
    (tmp_path / ".lock").write_text("vm process 12345")
    note_sizes(tmp_path)
    assert json.loads((tmp_path / NOTES).read_text()) == {"config.yaml": 4}
    (tmp_path / ".lock").write_text("vm process 1234")
    assert damage(tmp_path) == ""
