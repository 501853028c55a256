"""Graphs and servers as Slurm jobs: a build, a Virtuoso, a server of rollouts beside training."""

import gzip
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from graphwalker.graphs.open import open_graph
from graphwalker.world.generate import make_world
from support.paths import ROOT
from support.run_toys import grpo_config, make_grpo_world, write_config
from support.slurm_cluster import Cluster, free_ports, missing

pytestmark = [
    pytest.mark.slurm,
    pytest.mark.skipif(bool(missing()), reason=f"apt-get install slurm-wlm munge ({missing()})"),
    pytest.mark.skipif(os.geteuid() != 0, reason="the daemons of these tests run as root"),
]

VENV = Path(sys.prefix)
ENDED = ("COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", "NODE_FAIL")
VLLM = """#!/bin/bash
# Stands for vLLM: notes how it was called, and is reachable where it should be.
echo "$@" >"$SERVED"
while [ "$1" != --port ]; do shift; done
mkdir -p "$SERVED.web" && cd "$SERVED.web" && touch health
exec python -m http.server "$2" --bind 127.0.0.1
"""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with Cluster(tmp_path_factory.mktemp("slurm")) as running:
        running.environment |= {"GRAPHWALKER_VENV": str(VENV), "PYTHONPATH": str(ROOT)}
        yield running


def submit(
    cluster: Cluster, name: str, log: Path, *arguments: str, options: tuple[str, ...] = ()
) -> str:
    given = ("--cpus-per-task=1", f"--output={log}", *options)
    return cluster.submit(ROOT, ROOT / "slurm" / name, *arguments, options=given)


def graphwalker(*words: str) -> str:
    command = [sys.executable, "-m", "graphwalker", *words]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def until(cluster: Cluster, job: str, file: Path, log: Path) -> str:
    """What a running job writes to a file."""
    deadline = time.monotonic() + 300
    while not file.exists():
        assert cluster.state(job) not in ENDED, log.read_text()
        assert time.monotonic() < deadline, log.read_text()
        time.sleep(0.2)
    return file.read_text().strip()


def test_a_job_builds_a_graph(cluster: Cluster, tmp_path: Path) -> None:
    source, log = tmp_path / "t.tsv", tmp_path / "build.log"
    source.write_text("m.01\tfilm.film.director\tm.02\nm.02\tpeople.person.child\tm.03\n")
    words = ("build", "--triples", str(source), "--out", str(tmp_path / "graph"))
    job = submit(cluster, "graph.sbatch", log, *words)
    assert cluster.wait(job) == "COMPLETED", log.read_text()
    assert open_graph(tmp_path / "graph").info()["triples"] == 2


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("virtuoso-t") is None, reason="needs virtuoso-opensource-7")
def test_a_served_virtuoso_has_its_address_in_a_file_while_it_is_healthy(
    cluster: Cluster, tmp_path: Path
) -> None:
    make_world(1000, 0, tmp_path)
    folder, address, log = (tmp_path / n for n in ("virtuoso", "graph.address", "serve.log"))
    graphwalker("virtuoso", "up", str(folder), "--memory", "256MB")
    graphwalker("virtuoso", "load", str(folder), "--triples", str(tmp_path / "triples.nt.gz"))
    graphwalker("virtuoso", "down", str(folder))
    words = ("serve", str(folder), str(address), "--port", str(free_ports(1)[0]))
    job = submit(cluster, "graph.sbatch", log, *words, "--memory", "256MB")
    url = until(cluster, job, address, log)
    assert url.startswith("http://127.0.0.1:")
    with gzip.open(tmp_path / "names.tsv.gz", "rt") as names:
        entity_id, name = names.readline().rstrip("\n").split("\t")
    assert open_graph(url).name(entity_id) == name
    # The notice before the time limit: the server is shut down, and the job comes back.
    cluster.say("scancel", "--batch", "--signal=USR1", job)
    deadline = time.monotonic() + 120
    while address.exists():
        assert time.monotonic() < deadline, log.read_text()
        time.sleep(0.2)
    assert until(cluster, job, address, log) == url, log.read_text()
    assert "back to the queue" in log.read_text()
    cluster.say("scancel", job)
    cluster.wait(job)
    deadline = time.monotonic() + 60
    while "endpoint" in graphwalker("virtuoso", "status", str(folder), "--json"):
        assert time.monotonic() < deadline
        time.sleep(1)


@pytest.fixture
def beside_a_server(cluster: Cluster, tmp_path: Path) -> tuple[Path, Path]:
    """A GRPO config, and the file in which the server on the last node notes how it was called."""
    (tmp_path / "bin").mkdir()
    fake = tmp_path / "bin" / "vllm"
    fake.write_text(VLLM)
    fake.chmod(0o755)
    served = tmp_path / "served"
    cluster.environment |= {
        "SERVER": "runs/sft2/final", "SERVED": str(served),
        "ACCELERATE": "configs/accelerate/cpu.yaml",
    }  # fmt: skip
    config = grpo_config(make_grpo_world(tmp_path), tmp_path / "run", steps=2, allow_cpu=True)
    return write_config(config, tmp_path / "run.json"), served


NODES = ("--nodes=2", "--gpus-per-node=0")


@pytest.mark.slow
def test_training_runs_beside_a_server_on_the_last_node_and_ends_it(
    cluster: Cluster, tmp_path: Path, beside_a_server: tuple[Path, Path]
) -> None:
    config, served = beside_a_server
    log = tmp_path / "grpo.log"
    cluster.environment["GRAPHWALKER_VENV"] = str(environment(tmp_path))
    # Our own engine: a stand-in takes no weights.
    job = submit(cluster, "grpo.sbatch", log, str(config), "engine=transformers", options=NODES)
    assert cluster.wait(job) == "COMPLETED", log.read_text()
    assert (tmp_path / "run" / "final" / "model.safetensors").exists()
    words = served.read_text()
    assert words.startswith("serve runs/sft2/final --host 0.0.0.0 --port")
    assert "--tensor-parallel-size 1" in words and "--weight-transfer-config" in words


@pytest.mark.slow
def test_without_a_gpu_such_a_job_ends_at_once_and_says_what_it_needs(
    cluster: Cluster, tmp_path: Path, beside_a_server: tuple[Path, Path]
) -> None:
    config, _ = beside_a_server
    log = tmp_path / "grpo.log"
    cluster.environment["GRAPHWALKER_VENV"] = str(environment(tmp_path))
    job = submit(cluster, "grpo.sbatch", log, str(config), options=NODES)
    assert cluster.wait(job) == "FAILED"
    said = log.read_text()
    assert "vllm-server needs vLLM here, too" in said or "needs a GPU here, too" in said, said


def environment(folder: Path) -> Path:
    """The environment of this run, in which `vllm` is the stand-in."""
    place = folder / "venv" / "bin"
    place.mkdir(parents=True)
    activate = f"source {VENV}/bin/activate\nexport PATH={folder}/bin:$PATH\n"
    (place / "activate").write_text(activate)
    (place / "graphwalker").symlink_to(VENV / "bin" / "graphwalker")
    return folder / "venv"
