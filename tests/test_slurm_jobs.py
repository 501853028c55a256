"""The job scripts on a real Slurm: shards, graphs, servers, two nodes, preempted jobs."""

import gzip
import os
import re
import shlex
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from graphwalker.graphs.open import open_graph
from graphwalker.world.generate import make_world
from support.paths import ROOT
from support.run_toys import (
    curve,
    grpo_config,
    largest_difference,
    make_grpo_world,
    make_sft_place,
    sft_config,
    write_config,
)
from support.slurm_cluster import Cluster, free_ports, missing
from training.grpo import run_grpo
from training.sft import run_sft

pytestmark = [
    pytest.mark.slurm,
    pytest.mark.skipif(bool(missing()), reason=f"apt-get install slurm-wlm munge ({missing()})"),
    pytest.mark.skipif(os.geteuid() != 0, reason="the daemons of these tests run as root"),
]

VENV = Path(sys.prefix)
NO_GPU = ("--gpus-per-node=0", "--cpus-per-task=1")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    if not (VENV / "bin" / "graphwalker").exists():
        pytest.skip(f"no graphwalker command in {VENV}")
    with Cluster(tmp_path_factory.mktemp("slurm")) as running:
        running.environment |= {"GRAPHWALKER_VENV": str(VENV), "PYTHONPATH": str(ROOT)}
        yield running


def script(name: str) -> Path:
    return ROOT / "slurm" / name


def train(cluster: Cluster, name: str, config: Path, layout: str, *options: str) -> str:
    cluster.environment["ACCELERATE"] = f"configs/accelerate/{layout}.yaml"
    log = f"--output={config.with_suffix('.log')}"
    return cluster.submit(ROOT, script(name), str(config), options=(*NO_GPU, log, *options))


@pytest.mark.slow
def test_the_first_job_of_the_page_runs_word_for_word_in_a_fresh_clone(cluster, tmp_path):
    page = (ROOT / "docs" / "clusters.md").read_text()
    (commands,) = re.findall(r"^A first job.*?^```bash\n(.*?)^```", page, re.S | re.M)
    clone = tmp_path / "clone"
    subprocess.run(["git", "clone", "-q", str(ROOT), str(clone)], check=True)
    (clone / ".venv").symlink_to(VENV)
    own = {key: word for key, word in cluster.environment.items() if key != "GRAPHWALKER_VENV"}
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", commands], cwd=clone, capture_output=True, text=True,
        env=own | {"PYTHONPATH": str(clone)},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines()[-1].startswith('{"version"'), done.stdout[-300:]


def test_an_array_of_shards_merges_into_the_run_without_shards(cluster, tmp_path):
    make_world(1000, 0, tmp_path)
    graph, count = tmp_path / "graph", "18"
    options = ("--array=0-2", "--cpus-per-task=1", f"--output={tmp_path}/%a.log")
    arguments = ("--graph", str(graph), "--out", str(tmp_path / "parts"), "--count", count)
    job = cluster.submit(ROOT, script("synth.sbatch"), *arguments, options=options)
    assert set(cluster.wait(job).split()) == {"COMPLETED"}
    run = [str(VENV / "bin" / "graphwalker")]
    there = ["--graph", str(graph), "--out"]
    subprocess.run([*run, "merge", *there, str(tmp_path / "parts")], check=True)
    subprocess.run([*run, "synth", *there, str(tmp_path / "whole"), "--count", count], check=True)
    for name in ("walks.jsonl", "questions.jsonl", "graphsynth.jsonl", "dropped.jsonl"):
        merged = (tmp_path / "parts" / name).read_bytes()
        assert merged == (tmp_path / "whole" / name).read_bytes() != b""


@pytest.mark.parametrize("layout", ["ddp", "zero2", "zero3"])
def test_an_sft_job_over_two_nodes_is_the_run_of_one_process(cluster, tmp_path, layout):
    if layout != "ddp":
        pytest.importorskip("deepspeed", reason="pip install 'graphwalker-kgqa[deepspeed]'")
    place = make_sft_place(tmp_path)
    run_sft(sft_config(place, tmp_path / "one"))
    two = sft_config(place, tmp_path / "two", allow_cpu=True)  # the layout is for GPUs
    config = write_config(two, tmp_path / "two.json")
    job = train(cluster, "sft.sbatch", config, layout, "--nodes=2")
    assert cluster.wait(job) == "COMPLETED", config.with_suffix(".log").read_text()
    assert largest_difference(tmp_path / "two", tmp_path / "one") < 2e-4


# However fast the machine, the job cannot end before Slurm takes its node away.
SLOW_WHILE_HELD = """\
import time
from pathlib import Path

def em(trajectory, question, scores):
    if Path({hold!r}).exists():
        time.sleep(0.2)
    return scores["em"]
"""


@pytest.mark.slow
def test_a_preempted_grpo_job_goes_on_and_ends_bit_equal(cluster, tmp_path, monkeypatch):
    world, hold = make_grpo_world(tmp_path), tmp_path / "hold"
    (tmp_path / "held_reward.py").write_text(SLOW_WHILE_HELD.format(hold=str(hold)))
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setitem(cluster.environment, "PYTHONPATH", f"{ROOT}:{tmp_path}")
    settings = {"steps": 24, "save_steps": 5, "rewards": {"held_reward:em": 1.0}}
    config = grpo_config(world, tmp_path / "preempted", **settings)
    path = write_config(config, tmp_path / "preempted.json")
    job = train(cluster, "grpo.sbatch", path, "cpu")
    reached(cluster, job, tmp_path / "preempted", 7)
    hold.touch()
    urgent = tmp_path / "urgent.sh"
    urgent.write_text(f"#!/bin/bash\nrm {shlex.quote(str(hold))}\nsleep 1\n")
    options = ("--partition=high", "--nodes=2", "--exclusive", f"--output={tmp_path}/urgent.log")
    assert cluster.wait(cluster.submit(tmp_path, urgent, options=options)) == "COMPLETED"
    assert not (tmp_path / "preempted" / "final").exists()
    assert cluster.wait(job) == "COMPLETED", path.with_suffix(".log").read_text()
    log = path.with_suffix(".log").read_text()
    assert "PREEMPTION" in log and log.count("step 1 of 24") == 1 == log.count("step 24 of 24")
    run_grpo(grpo_config(world, tmp_path / "whole", **settings))
    assert largest_difference(tmp_path / "preempted", tmp_path / "whole") == 0
    assert curve(tmp_path / "preempted") == curve(tmp_path / "whole")


def test_a_job_with_a_bad_setting_fails_and_its_log_says_which(cluster, tmp_path):
    config = write_config(grpo_config(tmp_path, tmp_path / "run"), tmp_path / "bad.json")
    config.write_text(config.read_text().replace('"samples"', '"sampels"'))
    job = train(cluster, "grpo.sbatch", config, "cpu")
    assert cluster.wait(job) == "FAILED"
    assert "did you mean samples" in config.with_suffix(".log").read_text()


@pytest.mark.slow
def test_a_job_with_gpus_whose_torch_is_for_cpus_is_refused(cluster, tmp_path):
    import torch

    if torch.cuda.is_available():
        pytest.skip("this machine has GPUs")
    place = make_sft_place(tmp_path)
    config = write_config(sft_config(place, tmp_path / "run"), tmp_path / "run.json")
    log = f"--output={tmp_path / 'run.log'}"
    options = ("--gpus-per-node=2", "--cpus-per-task=1", log)
    cluster.environment["ACCELERATE"] = "configs/accelerate/ddp.yaml"
    job = cluster.submit(ROOT, script("sft.sbatch"), str(config), options=options)
    assert cluster.wait(job) == "FAILED"
    assert "promises GPUs, but PyTorch sees none" in (tmp_path / "run.log").read_text()
    assert not (tmp_path / "run").exists()


def reached(cluster: Cluster, job: str, run: Path, step: int) -> None:
    metrics, deadline = run / "metrics.jsonl", time.monotonic() + 600
    while not (metrics.is_file() and metrics.read_bytes().count(b"\n") >= step):
        assert cluster.state(job) in ("PENDING", "CONFIGURING", "RUNNING")
        assert time.monotonic() < deadline
        time.sleep(0.05)


ENDED = ("COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", "NODE_FAIL")
VLLM = """#!/bin/bash
# Stands for vLLM: notes how it was called, and is reachable where it should be.
echo "$@" >"$SERVED"
while [ "$1" != --port ]; do shift; done
mkdir -p "$SERVED.web" && cd "$SERVED.web" && touch health
exec python -m http.server "$2" --bind 127.0.0.1
"""


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
