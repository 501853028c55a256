"""The job scripts without a Slurm: the notice before the time limit, marks, and their size."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from urllib.request import urlopen

import pytest

from support.paths import ROOT

SCONTROL = """\
if [ "$1" = show ]; then echo "NodeName=n1 NodeAddr=127.0.0.1 Port=1"; exit; fi
echo "$*" >>requeued; kill -KILL $PPID"""
VLLM = """\
echo "$*" >served
mkdir -p web && touch web/health && cd web
exec python -m http.server "$6" --bind 127.0.0.1"""
SCRIPTS = sorted((ROOT / "slurm").glob("*.sbatch"))


@pytest.fixture
def place(tmp_path):
    """A submit folder with our scripts, an environment that does nothing, and a fake `scontrol`."""
    (tmp_path / "slurm").symlink_to(ROOT / "slurm")
    for name, text in {
        ".venv/bin/graphwalker": "exit 0",
        ".venv/bin/scontrol": SCONTROL,
        ".venv/bin/srun": 'exec "$@"',
        ".venv/bin/vllm": VLLM,
        ".venv/bin/python": f'exec {sys.executable} "$@"',
        ".venv/bin/activate": f"export PATH={tmp_path}/.venv/bin:$PATH",
    }.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"#!/bin/bash\n{text}\n")
        path.chmod(0o755)
    return tmp_path


def begin(place: Path, body: str, **environment: str) -> subprocess.Popen[str]:
    script = place / "job.sh"
    script.write_text(f"source slurm/setup.sh\n{body}\n")
    own = {"SLURM_SUBMIT_DIR": str(place), "SLURM_JOB_ID": "7", "SLURMD_NODENAME": "n1"}
    return subprocess.Popen(
        ["bash", str(script)], cwd=place, env=os.environ | own | environment, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip


def told_once_there(
    process: subprocess.Popen[str], file: Path, what: signal.Signals = signal.SIGUSR1
) -> None:
    """Send the notice that Slurm sends, once the step has begun."""
    deadline = time.monotonic() + 300
    while not file.exists():
        assert process.poll() is None and time.monotonic() < deadline, process.communicate()
        time.sleep(0.05)
    process.send_signal(what)


SAVES = """trap 'touch saved; exit 138' USR1; touch begun; while :; do sleep 0.1; done"""
DEAF = """trap '' USR1; touch begun; exec sleep 600"""
STARTS = "trap '' USR1; touch begun; sleep 3"
LATE = f"{STARTS}; trap 'touch saved; exit 138' USR1; while :; do sleep 0.1; done"
ENDS = """trap 'exit 0' USR1; touch begun; while :; do sleep 0.1; done"""


@pytest.mark.long
@pytest.mark.parametrize(("step", "saved"), [(SAVES, True), (DEAF, False)], ids=["saves", "deaf"])
def test_a_notice_stops_the_step_and_requeues_the_job(place, step, saved):
    job = begin(place, f'step bash -c "{step}"', GRAPHWALKER_GRACE="1")
    told_once_there(job, place / "begun")
    output, _ = job.communicate(timeout=300)
    assert (place / "requeued").read_text() == "requeue 7\n", output
    assert (place / "saved").exists() == saved


@pytest.mark.long
def test_a_step_that_was_still_starting_hears_a_later_notice(place):
    job = begin(place, f'step bash -c "{LATE}"', GRAPHWALKER_GRACE="60")
    told_once_there(job, place / "begun")
    output, _ = job.communicate(timeout=300)
    assert (place / "saved").exists() and (place / "requeued").exists(), output


def test_a_step_that_is_done_when_the_notice_comes_is_not_requeued(place):
    job = begin(place, f'step bash -c "{ENDS}"', GRAPHWALKER_GRACE="30")
    told_once_there(job, place / "begun")
    output, _ = job.communicate(timeout=300)
    assert job.returncode == 0 and not (place / "requeued").exists(), output


@pytest.mark.parametrize("code", [0, 3])
def test_a_stage_leaves_a_mark_of_how_it_ended(place, code):
    facts = {"GRAPHWALKER_RUN": str(place / "run"), "GRAPHWALKER_STAGE": "synth"}
    job = begin(place, f"step bash -c 'exit {code}'", **facts, SLURM_ARRAY_TASK_ID="2")
    output, _ = job.communicate(timeout=300)
    assert job.returncode == code, output
    mark = (place / "run" / "stages" / "synth.2").read_text().splitlines()
    assert mark[0].startswith("started job 7 on n1") and mark[-1] == f"ended {code}"


def test_a_stage_asks_the_servers_of_its_run_without_a_proxy(place):
    (place / "run").mkdir()
    for name, node in (("virtuoso", "10.0.0.5"), ("teacher", "n2")):
        (place / "run" / f"{name}.address").write_text(f"http://{node}:8890/sparql\n")
    facts = {"GRAPHWALKER_RUN": str(place / "run"), "GRAPHWALKER_STAGE": "synth"}
    proxies = {"http_proxy": "http://proxy:3128", "no_proxy": "localhost"}
    ask = "from urllib.request import proxy_bypass as by; print([*map(bool, map(by, %r))])"
    asked = ask % (["10.0.0.5", "n2", "localhost", "api.example"],)
    job = begin(place, f"python -c '{asked.replace(chr(39), chr(34))}'", **facts, **proxies)
    assert "[True, True, True, False]" in job.communicate(timeout=300)[0]


def test_a_cancelled_stage_is_not_marked_as_done(place):
    facts = {"GRAPHWALKER_RUN": str(place / "run"), "GRAPHWALKER_STAGE": "synth"}
    job = begin(place, "step bash -c 'touch begun; exec sleep 60'", **facts)
    told_once_there(job, place / "begun", signal.SIGTERM)
    assert job.wait(timeout=300) == 143
    mark = (place / "run" / "stages" / "synth.0").read_text().splitlines()
    assert mark[-1] == "ended 143"


@pytest.mark.long
def test_a_servers_address_is_there_while_it_is_healthy(place):
    words = ["bash", str(ROOT / "slurm" / "teacher.sbatch"), "runs/m", "teacher.address"]
    own = {"SLURM_SUBMIT_DIR": str(place), "SLURM_JOB_ID": str(os.getpid())}
    job = subprocess.Popen(
        [*words, "--tensor-parallel-size", "2"], cwd=place, text=True,
        env=os.environ | own | {"SLURMD_NODENAME": "n1", "http_proxy": "http://127.0.0.1:1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )  # fmt: skip
    address, deadline = place / "teacher.address", time.monotonic() + 300
    while not address.exists():
        assert job.poll() is None and time.monotonic() < deadline, job.communicate()
        time.sleep(0.1)
    url = address.read_text().strip()
    assert urlopen(f"{url}/health").status == 200
    said = (place / "served").read_text()
    assert said.startswith("serve runs/m --host 0.0.0.0") and "--tensor-parallel-size 2" in said
    job.send_signal(signal.SIGUSR1)  # the time limit is near: it ends, and the job is requeued
    job.communicate(timeout=300)
    assert (place / "requeued").exists()


def test_without_an_environment_the_next_move_is_named(place):
    job = begin(place, "true", GRAPHWALKER_VENV="none")
    output, _ = job.communicate(timeout=300)
    assert job.returncode == 2 and "make setup CLUSTER=1" in output


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.name)
def test_a_script_is_short_requeues_and_is_told_before_its_limit(script):
    text = script.read_text()
    assert text.count("\n") < 60
    assert "#SBATCH --requeue" in text and "#SBATCH --signal=B:USR1@" in text
    assert "#SBATCH --open-mode=append" in text
