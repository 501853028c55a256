"""Every command line of docs/clusters.md runs each night in small, or says why it cannot."""

import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.freebase_build import make
from support.pages import command_lines
from support.paths import ROOT

PAGE = ROOT / "docs" / "clusters.md"
PIPELINE, JOBS = "tests/test_slurm_pipeline.py", "tests/test_slurm_jobs.py"
FIRST = f"{JOBS}::test_the_first_job_of_the_page_runs_word_for_word_in_a_fresh_clone"
ARRAY = f"{JOBS}::test_an_array_of_shards_merges_into_the_run_without_shards"
NODES = f"{JOBS}::test_an_sft_job_over_two_nodes_is_the_run_of_one_process"
FAILING = f"{PIPELINE}::test_a_stage_after_a_failed_one_does_not_start"
IN_SMALL = f"{PIPELINE}::test_a_papers_run_in_small_is_one_command_over_a_virtuoso"
BESIDE = f"{JOBS}::test_training_runs_beside_a_server_on_the_last_node_and_ends_it"
SERVED = f"{JOBS}::test_a_served_virtuoso_has_its_address_in_a_file_while_it_is_healthy"
RUNS_ONCE = "test_the_stage_of_the_page_runs_once_behind_the_stage_that_makes_its_input"
OWN_STAGE = f"tests/test_extend.py::{RUNS_ONCE}"
RUN_BY = {
    "graphwalker reproduce graphwalker-table2 --slurm": IN_SMALL,
    "graphwalker reproduce graphwalker-table2 --toy": IN_SMALL,
    "graphwalker jobs status": IN_SMALL,
    "graphwalker jobs retry": IN_SMALL,
    "graphwalker jobs submit": FAILING,
    "graphwalker jobs run road.yaml --trust .": OWN_STAGE,
    "graphwalker graph make": FIRST,
    "sbatch --wait": FIRST,
    "sbatch --array=0-7 slurm/synth.sbatch": ARRAY,
    "sbatch slurm/merge.sbatch": FIRST,
    "sbatch --array=0-7 slurm/eval.sbatch": IN_SMALL,
    "sbatch --nodes=4 slurm/sft.sbatch": NODES,
    "sbatch --nodes=3 slurm/grpo.sbatch": BESIDE,
    "sbatch slurm/graph.sbatch serve": SERVED,
}
"""How a line begins, and the test that runs it with toy sizes."""
NOT_HERE = {
    "make setup": "downloads CUDA builds of torch and vLLM",
    "benchmarks/gpu.sh": "measures a GPU",
}
"""Lines of blocks and sentences that no machine without a network or a GPU can run."""
OTHER_PROGRAMS = {
    "hf download": "downloads 15 GB from the Hub",
    "pip download": "downloads CUDA builds of torch and vLLM",
    "wandb sync": "sends to a server of W&B",
    "apptainer build": "needs apptainer, and downloads a base image",
}
HERE = {
    "graphwalker graph build": "graph build --freebase --triples {dump} --out {tmp}/freebase",
    "graphwalker reproduce graphwalker-table2 --check": (
        "reproduce graphwalker-table2 --check jobs.train=[--partition=a100,--gpus-per-node=8]"
    ),
    "graphwalker reproduce": "reproduce",
    "graphwalker config FILE": (
        "config configs/paper/graphwalker-table2.yaml#sft1 --estimate --gpus 8 --layout zero2"
    ),
    "graphwalker config jobs": "config jobs",
    "graphwalker doctor": "doctor sft --config configs/sft.yaml",
}
"""Lines that need no Slurm: what the test below types."""
LACKS = {"reproduce graphwalker-table2 --check", "doctor"}
"""Commands that end with 1 here: this machine has no GPU, key or weights."""


def starts() -> list[str]:
    return [" ".join(words) for words in command_lines(PAGE.read_text(encoding="utf-8"))]


def test_every_command_line_of_the_page_is_run_or_says_why_not():
    known = (*RUN_BY, *NOT_HERE, *HERE)
    assert not [line for line in starts() if not line.startswith(known)]
    assert not [one for one in known if not any(line.startswith(one) for line in starts())]
    assert not [one for one in OTHER_PROGRAMS if one not in PAGE.read_text(encoding="utf-8")]


def test_the_tests_that_run_its_lines_exist():
    for file, _, name in (test.partition("::") for test in RUN_BY.values()):
        assert f"def {name}(" in (ROOT / file).read_text(encoding="utf-8")


@pytest.mark.long
def test_the_lines_that_need_no_slurm_run_in_small(tmp_path: Path):
    dump = tmp_path / "freebase-rdf-latest.gz"
    make(dump, 3000, 0)
    for words in HERE.values():
        typed = words.format(dump=dump, tmp=tmp_path)
        command = [sys.executable, "-m", "graphwalker", *typed.split()]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
        expected = int(typed.startswith(tuple(LACKS)))
        assert done.returncode == expected, (typed, done.stderr[-500:])
