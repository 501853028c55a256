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


def test_a_file_that_was_cut_is_named_with_its_size(tmp_path):
    (tmp_path / "model.safetensors").write_bytes(b"1234")
    note_sizes(tmp_path)
    (tmp_path / "model.safetensors").write_bytes(b"12")
    assert damage(tmp_path) == "model.safetensors has 2 of 4 bytes"
