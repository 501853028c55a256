"""The benchmark of corpora runs to a table, with the environment of every corpus beside it."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from support.paths import ROOT


@pytest.mark.slow
def test_every_corpus_is_made_trained_on_and_evaluated(tmp_path: Path) -> None:
    small = [
        *("entities=1000", "synth.count=60", "rl_questions.count=80", "experts.count=40"),
        *("tests.test-entity.count=8", "tests.test-path.count=4", "eval.max_tokens=8"),
        *("sft1.max_steps=2", "sft2.max_steps=2", "synth.mix={2-hop: 1, 2I: 1}"),
        *("rl_questions.mix={2-hop: 1}", "experts.mix={2-hop: 1}"),
    ]
    command = [sys.executable, "-m", "benchmarks.corpora", "--seeds", "5"]
    command += ["--out", str(tmp_path), "--set", *small]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    figures = json.loads((tmp_path / "corpora.json").read_text(encoding="utf-8"))["figures"]
    assert len(figures) == 13 and all(row["questions"] == 12 for row in figures.values())
    assert "| stage2-own mistakes |" in done.stdout
    assert "| first-relation, no model |" in done.stdout
    assert "in the demonstrations" not in done.stdout + done.stderr
    assert (tmp_path / "corpora.svg").is_file()
