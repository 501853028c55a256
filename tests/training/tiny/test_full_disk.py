"""A full disk: what makes a model says so in one line, whichever library met it."""

import errno
import os
import subprocess
import sys

import pytest

from support.paths import ROOT
from training.runs.saving import room_for

FULL = """
import resource, sys
from graphwalker.cli.app import main
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv.pop(1)), resource.RLIM_INFINITY))
main()
"""


@pytest.mark.parametrize("limit", [2_000, 100_000])  # the tokenizer, the weights
def test_a_tiny_model_on_a_full_disk_is_one_line(grpo_world, place, tmp_path, limit):
    script = tmp_path / "full.py"
    script.write_text(FULL)
    words = ["tiny", place / "walks.jsonl", "--graph", grpo_world / "graph", "--out", "tiny"]
    line = [sys.executable, script, str(limit), *words]
    done = subprocess.run(
        line,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    )
    (said,) = done.stderr.strip().splitlines()
    assert done.returncode == 1 and said.startswith("error: tiny"), done.stderr
    assert "then the same command resumes" in said


def test_every_librarys_words_for_a_full_disk_are_one_error(tmp_path):
    for error in (Exception("No space left on device (28)"), RuntimeError("unexpected pos")):
        with pytest.raises(OSError) as found, room_for(tmp_path):
            raise error
        assert (found.value.errno, found.value.filename) == (errno.ENOSPC, str(tmp_path))
    with pytest.raises(RuntimeError, match="other"), room_for(tmp_path):
        raise RuntimeError("other")
