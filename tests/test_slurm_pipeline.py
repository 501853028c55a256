"""The whole road as Slurm jobs: a chain of stages, and the same chain cut short again and again."""

import json
import os
import shutil
import subprocess
import sys
import time
from itertools import islice
from pathlib import Path

import pytest

pytest.importorskip("trl")

from graphwalker.files import read_jsonl
from graphwalker.world.generate import make_world
from support.paths import ROOT
from support.slurm_cluster import Cluster, free_ports, missing

pytestmark = [
    pytest.mark.slurm,
    pytest.mark.skipif(bool(missing()), reason=f"apt-get install slurm-wlm munge ({missing()})"),
    pytest.mark.skipif(os.geteuid() != 0, reason="the daemons of these tests run as root"),
]

VENV = Path(sys.prefix)
STAGES = {
    "virtuoso": 1, "seeds": 1, "synth": 4, "synth-merge": 1, "rl": 4, "rl-merge": 1, "test": 1,
    "experts": 4, "experts-merge": 1, "sft1": 1, "sft2": 1, "grpo": 1, "eval": 2, "report": 1,
}  # fmt: skip
FILES = (
    "synth/graphsynth.jsonl", "rl/questions.jsonl", "test/questions.jsonl", "roll/graphroll.jsonl",
    "sft1/final/model.safetensors", "sft2/final/model.safetensors", "grpo/final/model.safetensors",
    "eval/predictions.jsonl", "eval/samples.jsonl",
)  # fmt: skip
SMALL = "{prompt: compact, top_relations: 5}"
DATA = f"graph: ${{graph}}\n  mix: {{1-hop: 70, 2-hop: 30}}\n  environment: {SMALL}"
STEPS = int(os.environ.get("ROAD_STEPS", "1"))
"""How many times as long each training is: a fast machine needs more steps for a minute of work,
and after so many a model answers, so that GRPO has something to learn."""
TRAINING = f"format: inline\n  allow_cpu: true\n  save_steps: {3 * STEPS}"


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A small world and a tiny model for its conversations."""
    from data_pipeline.config import SynthConfig
    from data_pipeline.synthesize import synthesize
    from graphwalker.agents.environment import EnvironmentConfig
    from graphwalker.files import read_records
    from graphwalker.graphs.browse import shown_relations
    from graphwalker.graphs.open import open_graph
    from graphwalker.trajectory import Trajectory
    from support.run_toys import SHAPE
    from training.tiny.make import conversation_texts, make_tiny

    folder = tmp_path_factory.mktemp("road")
    make_world(1000, 0, folder)
    environment = EnvironmentConfig(prompt="compact", top_relations=5)
    config = SynthConfig(count=20, mix={"1-hop": 70, "2-hop": 30}, environment=environment)
    synthesize(folder / "graph", config, folder / "texts")
    walks = read_records(folder / "texts" / "graphsynth.jsonl", Trajectory.from_json)
    graph = open_graph(folder / "graph")
    names = (graph.entity_at(i).name for i in range(graph.size))
    texts = conversation_texts(islice(walks, 20))
    make_tiny(SHAPE, texts, shown_relations(graph), folder / "model", names, environment)
    ids = [graph.entity_at(i).id for i in range(graph.size)]
    (folder / "training-ids.txt").write_text("\n".join([*ids, *shown_relations(graph)]))
    return folder


@pytest.fixture(scope="module")
def virtuoso(place: Path) -> Path:
    """The folder of a Virtuoso that holds the world, and does not run."""
    if shutil.which("virtuoso-t") is None:
        pytest.skip("needs virtuoso-opensource-7")
    folder = place / "virtuoso"
    for words in (
        ("up", str(folder), "--memory", "256MB"),
        ("load", str(folder), "--triples", str(place / "triples.nt.gz")),
        ("down", str(folder)),
    ):
        graphwalker("virtuoso", *words)
    return folder


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    with Cluster(tmp_path_factory.mktemp("slurm")) as running:
        own = {"GRAPHWALKER_VENV": str(VENV), "PYTHONPATH": str(ROOT)}
        layout = "configs/accelerate/ddp.yaml"
        running.environment |= own | {"ACCELERATE": layout, "GRAPHWALKER_LOOK_S": "2"}
        yield running


def graphwalker(*words: str) -> None:
    command = [str(VENV / "bin" / "graphwalker"), *words]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def write_road(place: Path, run: Path, virtuoso: Path | None = None) -> Path:
    """The config of a small road; over an endpoint where a Virtuoso is given."""
    graph, server = f"{place}/graph", ""
    if virtuoso is not None:
        graph = "${run}/virtuoso.address#http://rdf.freebase.com"
        options = f"[--memory, 256MB, --port, '{free_ports(1)[0]}']"
        server = f"""seeds: [{place}/training-ids.txt]
  virtuoso: {{serves: {virtuoso}, options: {options}, sbatch: [--cpus-per-task=1]}}"""
    config = run.with_suffix(".yaml")
    config.write_text(f"""\
run: {run}
graph: {graph}
jobs:
  {server}
  shards: 4
  eval_shards: 2
  data: [--cpus-per-task=1]
  train: [--cpus-per-task=1, --gpus-per-node=0, --nodes=2]
  eval: [--cpus-per-task=1, --gpus-per-node=0]
synth:
  {DATA}
  output_dir: ${{run}}/synth
  count: 24
rl:
  {DATA}
  output_dir: ${{run}}/rl
  count: 16
  seed: 1
test:
  {DATA}
  output_dir: ${{run}}/test
  count: 4
  seed: 2
  split: test-entity
experts:
  {DATA}
  questions: ${{run}}/rl/questions.jsonl
  output_dir: ${{run}}/roll
  count: 8
sft1:
  {TRAINING}
  model: {place}/model
  data: ["${{run}}/synth/graphsynth.jsonl"]
  output_dir: ${{run}}/sft1
  tokens_per_step: 2048
  max_steps: {8 * STEPS}
  lr: 2.0e-3
sft2:
  {TRAINING}
  model: ${{run}}/sft1/final
  data: ["${{run}}/roll/graphroll.jsonl"]
  output_dir: ${{run}}/sft2
  tokens_per_step: 2048
  max_steps: {4 * STEPS}
  lr: 2.0e-3
grpo:
  {TRAINING}
  model: ${{run}}/sft2/final
  questions: ${{run}}/rl/questions.jsonl
  graph: ${{graph}}
  output_dir: ${{run}}/grpo
  environment: {SMALL}
  prompts_per_step: 2
  samples: 2
  steps: {3 * STEPS}
  micro_batch: 2
  max_turn_tokens: 200
  min_answered: 0
  min_valid_actions: 0
  max_prompt_tokens: 384
  max_response_tokens: 600
eval:
  graph: ${{graph}}
  questions: ${{run}}/test/questions.jsonl
  output_dir: ${{run}}/eval
  policy: {{model: "${{run}}/grpo/final", format: inline, max_context: 900}}
  environment: {SMALL}
  max_tokens: 16
  samples: 2
""")
    return config


def submit(cluster: Cluster, config: Path) -> None:
    command = [str(VENV / "bin" / "graphwalker"), "jobs", "submit", str(config)]
    done = subprocess.run(
        command, cwd=ROOT, env=cluster.environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr


def jobs(cluster: Cluster, *words: str) -> tuple[int, str]:
    command = [str(VENV / "bin" / "graphwalker"), "jobs", *words]
    done = subprocess.run(
        command, cwd=ROOT, env=cluster.environment, capture_output=True, text=True
    )
    return done.returncode, done.stdout


def states(cluster: Cluster, run: Path) -> list[tuple[str, int, str]]:
    rows = json.loads(jobs(cluster, "status", str(run), "--json")[1])
    return [(row["stage"], row["part"], row["state"]) for row in rows]


def idle(cluster: Cluster, timeout_s: float) -> None:
    deadline = time.monotonic() + timeout_s
    while cluster.say("squeue", "-h").strip():
        assert time.monotonic() < deadline, cluster.say("squeue")
        time.sleep(1)


def logs(run: Path) -> str:
    """Logs of the jobs that have not ended well, whole: launchers print their causes first."""
    marks = (run / "stages").iterdir()
    bad = {p.name.partition(".")[0] for p in marks if not p.read_text().endswith("ended 0\n")}
    return "\n".join(
        f"== {path.name}\n{path.read_text(errors='replace')}"
        for path in sorted((run / "logs").glob("*.log"))
        if path.name.rpartition("-")[0] in bad
    )


@pytest.fixture(scope="module")
def whole(cluster, place, virtuoso):
    run = place / "whole"
    submit(cluster, write_road(place, run, virtuoso))
    idle(cluster, 3600)
    return run


@pytest.mark.slow
def test_the_whole_road_runs_over_a_virtuoso_as_a_chain_of_jobs(cluster, whole):
    code, _ = jobs(cluster, "status", str(whole))
    assert code == 0, logs(whole)
    assert len(states(cluster, whole)) == sum(STAGES.values())
    assert all((whole / name).stat().st_size for name in FILES)
    assert "<html" in (whole / "eval" / "report.html").read_text()
    assert len(list(read_jsonl(whole / "eval" / "predictions.jsonl"))) == 4
    steps = [line["step"] for line in read_jsonl(whole / "grpo" / "metrics.jsonl")]
    assert steps == list(range(1, 3 * STEPS + 1))
    assert jobs(cluster, "retry", str(whole))[0] == 0 and not cluster.say("squeue", "-h").strip()


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("virtuoso-t") is None, reason="needs virtuoso-opensource-7")
def test_a_papers_run_in_small_is_one_command_over_a_virtuoso(cluster, place):
    run = place / "table2"
    options = f"[--memory, 256MB, --port, '{free_ports(1)[0]}']"
    server = f"serves: '${{run}}/toy/virtuoso', options: {options}, sbatch: [--cpus-per-task=1]"
    command = [
        *(str(VENV / "bin" / "graphwalker"), "reproduce", "graphwalker-table2"),
        *("--toy", "--slurm", f"run={run}", f"jobs.virtuoso={{{server}}}"),
        "graph=${run}/virtuoso.address#http://rdf.freebase.com",
    ]
    done = subprocess.run(
        command, cwd=ROOT, env=cluster.environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    idle(cluster, 3600)
    assert all(state == "done" for _, _, state in states(cluster, run)), logs(run)
    page = (run / "report" / "report.md").read_text()
    assert "| cwq measured here, 24 questions |" in page and "GraphWalker-7B-SFT-RL" in page


def test_a_stage_after_a_failed_one_does_not_start(cluster, place):
    run = place / "failing"
    config = write_road(place, run)
    whole = "synth:\n  graph: ${graph}\n"
    config.write_text(config.read_text().replace(whole, f"synth:\n  graph: {run}/none\n"))
    submit(cluster, config)
    deadline = time.monotonic() + 900
    while any(stage == "synth" and state in ("running", "waiting") for stage, _, state in
              states(cluster, run)):  # fmt: skip
        assert time.monotonic() < deadline
        time.sleep(1)
    cluster.say("scancel", "--state=PENDING", *cluster.say("squeue", "-h", "-o", "%A").split())
    found = {(stage, state) for stage, _, state in states(cluster, run)}
    assert ("synth", "failed") in found, sorted(found)
    # Submitted when the failure was known, it has nothing to wait for: its job refuses to start.
    assert {("sft1", "missing"), ("sft1", "failed")} & found, sorted(found)
    assert not (run / "sft1").exists()
    assert "none: no such file or folder" in logs(run)
