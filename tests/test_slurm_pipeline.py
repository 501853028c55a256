"""Whole roads as Slurm jobs: a paper's chain in small, and a chain of which a stage fails."""

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from support.paths import ROOT
from support.slurm_cluster import Cluster, free_ports, missing

pytestmark = [
    pytest.mark.slurm,
    pytest.mark.skipif(bool(missing()), reason=f"apt-get install slurm-wlm munge ({missing()})"),
    pytest.mark.skipif(os.geteuid() != 0, reason="the daemons of these tests run as root"),
]

VENV = Path(sys.prefix)
ROAD = """\
run: {run}
graph: {run}/none
jobs:
  shards: 2
  eval_shards: 1
  data: [--cpus-per-task=1]
  train: [--cpus-per-task=1, --gpus-per-node=0]
  eval: [--cpus-per-task=1, --gpus-per-node=0]
synth: {{graph: "${{graph}}", output_dir: "${{run}}/synth"}}
rl: {{graph: "${{graph}}", output_dir: "${{run}}/rl"}}
test: {{graph: "${{graph}}", output_dir: "${{run}}/test"}}
experts: {{graph: "${{graph}}", questions: "${{run}}/rl/q.jsonl", output_dir: "${{run}}/roll"}}
sft1: {{model: m, data: ["${{run}}/synth/s.jsonl"], output_dir: "${{run}}/sft1"}}
sft2: {{model: "${{run}}/sft1/final", data: ["${{run}}/roll/r.jsonl"], output_dir: "${{run}}/sft2"}}
grpo:
  graph: ${{graph}}
  model: ${{run}}/sft2/final
  questions: ${{run}}/rl/q.jsonl
  output_dir: ${{run}}/grpo
eval:
  graph: ${{graph}}
  questions: ${{run}}/test/q.jsonl
  policy: {{model: "${{run}}/grpo/final"}}
  output_dir: ${{run}}/eval
"""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    with Cluster(tmp_path_factory.mktemp("slurm")) as running:
        own = {"GRAPHWALKER_VENV": str(VENV), "PYTHONPATH": str(ROOT)}
        layout = "configs/accelerate/ddp.yaml"
        running.environment |= own | {"ACCELERATE": layout, "GRAPHWALKER_LOOK_S": "2"}
        yield running


def graphwalker(cluster: Cluster, *words: str) -> subprocess.CompletedProcess[str]:
    command = [str(VENV / "bin" / "graphwalker"), *words]
    return subprocess.run(
        command, cwd=ROOT, env=cluster.environment, capture_output=True, text=True
    )


def states(cluster: Cluster, run: Path) -> list[tuple[str, str]]:
    rows = json.loads(graphwalker(cluster, "jobs", "status", str(run), "--json").stdout)
    return [(row["stage"], row["state"]) for row in rows]


def logs(run: Path) -> str:
    """Logs of the jobs that have not ended well, whole: launchers print their causes first."""
    marks = (run / "stages").iterdir()
    bad = {p.name.partition(".")[0] for p in marks if not p.read_text().endswith("ended 0\n")}
    return "\n".join(
        f"== {path.name}\n{path.read_text(errors='replace')}"
        for path in sorted((run / "logs").glob("*.log"))
        if path.name.rpartition("-")[0] in bad
    )


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("virtuoso-t") is None, reason="needs virtuoso-opensource-7")
def test_a_papers_run_in_small_is_one_command_over_a_virtuoso(cluster, tmp_path):
    run = tmp_path / "table2"
    options = f"[--memory, 256MB, --port, '{free_ports(1)[0]}']"
    server = f"serves: '${{run}}/toy/virtuoso', options: {options}, sbatch: [--cpus-per-task=1]"
    done = graphwalker(
        cluster,
        *("reproduce", "graphwalker-table2", "--toy", "--slurm", f"run={run}"),
        *(f"jobs.virtuoso={{{server}}}", "graph=${run}/virtuoso.address#http://rdf.freebase.com"),
    )
    assert done.returncode == 0, done.stdout + done.stderr
    deadline = time.monotonic() + 3600
    while cluster.say("squeue", "-h").strip():
        assert time.monotonic() < deadline, cluster.say("squeue")
        time.sleep(1)
    assert all(state == "done" for _, state in states(cluster, run)), logs(run)
    page = (run / "report" / "report.md").read_text()
    assert "| cwq measured here, 24 questions |" in page and "GraphWalker-7B-SFT-RL" in page
    assert graphwalker(cluster, "jobs", "status", str(run)).returncode == 0
    again = graphwalker(cluster, "jobs", "retry", str(run))
    assert again.returncode == 0 and not cluster.say("squeue", "-h").strip()


def test_a_stage_after_a_failed_one_does_not_start(cluster, tmp_path):
    run, config = tmp_path / "failing", tmp_path / "failing.yaml"
    config.write_text(ROAD.format(run=run))
    done = graphwalker(cluster, "jobs", "submit", str(config))
    assert done.returncode == 0, done.stdout + done.stderr
    deadline = time.monotonic() + 900
    while {("synth", "running"), ("synth", "waiting")} & set(states(cluster, run)):
        assert time.monotonic() < deadline
        time.sleep(1)
    cluster.say("scancel", "--state=PENDING", *cluster.say("squeue", "-h", "-o", "%A").split())
    found = set(states(cluster, run))
    assert ("synth", "failed") in found, sorted(found)
    # Submitted when the failure was known, it has nothing to wait for: its job refuses to start.
    assert {("sft1", "missing"), ("sft1", "failed")} & found, sorted(found)
    assert not (run / "sft1").exists()
    assert "none: no such file or folder" in logs(run)
