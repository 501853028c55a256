"""docs/clusters.md, "A stage of your own": its files are written down and its command is run."""

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from graphwalker.errors import UserError
from graphwalker.jobs.local import run_chain
from graphwalker.jobs.road import road_stages
from support.paths import ROOT

PAGE = (ROOT / "docs" / "clusters.md").read_text(encoding="utf-8")
PART = PAGE.partition("## A stage of your own")[2].partition("\n## ")[0]
FILES = dict(re.findall(r"^```\w+\n# (\S+)\n(.*?)^```", PART, re.S | re.M))
COMMAND = re.findall(r"^```bash\n(.*?)^```", PART, re.S | re.M)[0]


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_stage_of_the_page_runs_once_behind_the_stage_that_makes_its_input(folder):
    words = [sys.executable, "-m", *shlex.split(COMMAND, comments=True)]
    path = {**os.environ, "PYTHONPATH": str(ROOT)}
    for said in ("2: lengths ...", "2: lengths is done"):
        ended = subprocess.run(words, capture_output=True, text=True, env=path)
        assert ended.returncode == 0 and f"stage 2 of {said}" in ended.stderr
    assert sum(json.loads((folder / "runs/own/lengths.json").read_text()).values()) == 2


def test_as_a_job_it_waits_for_that_stage(folder):
    *_, job = road_stages("road.yaml", trust=["."])
    assert job.after == ("make-mazes",) and job.makes == "runs/own/lengths.json"
    assert job.command[:3] == ("slurm/synth.sbatch", "run", "count_words")


@pytest.mark.parametrize("read", [run_chain, road_stages])
def test_a_module_that_a_file_names_does_not_run_by_itself(folder, read):
    with pytest.raises(UserError, match=r"road\.yaml: lengths\.module=count_words would run code"):
        read("road.yaml")
    with pytest.raises(UserError, match="would run code"):
        read("road.yaml", ["lengths.last_file=runs/other.json"])
    assert not (folder / "runs").exists()


def test_a_module_that_is_typed_needs_no_trust(folder):
    assert road_stages("road.yaml", ["lengths.module=mine"])[-1].command[2] == "mine"


def test_a_missing_input_is_named_before_the_module_runs(folder):
    with pytest.raises(UserError, match=r"stage lengths: its input none\.jsonl is not there"):
        run_chain("road.yaml", ["lengths.inputs=[none.jsonl]"], ["."])
    assert not (folder / "runs/own/lengths.json").exists()


def test_a_stage_without_its_last_file_is_refused(folder):
    with pytest.raises(UserError, match="#lengths: last_file is missing"):
        road_stages("road.yaml", ["lengths.last_file="], ["."])
