"""Sizes of a run's files: a cut file is told, what comes and goes is not."""

import json

from training.runs.checkpoints import NOTES, damage, note_sizes


def test_a_lock_is_no_product(tmp_path):
    """A later process may have a shorter number, and a finished one leaves no lock."""
    (tmp_path / "config.yaml").write_text("a: 1")
    (tmp_path / ".lock").write_text("vm process 12345")
    note_sizes(tmp_path)
    assert json.loads((tmp_path / NOTES).read_text()) == {"config.yaml": 4}
    (tmp_path / ".lock").write_text("vm process 1234")
    assert damage(tmp_path) == ""
