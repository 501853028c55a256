"""A chain of jobs: how its parts stand, what is submitted again, and what does not start."""

import os
from dataclasses import replace

import pytest
from typer.testing import CliRunner

from graphwalker.cli.app import app
from graphwalker.config import read_settings as load_settings
from graphwalker.errors import UserError
from graphwalker.files import read_address
from graphwalker.jobs import chain
from graphwalker.jobs.road import retry_road, road_stages, submit_road
from graphwalker.jobs.stages import JobStage, append_stage, check_ready, read_stages
from graphwalker.policies.chat.config import ChatApiConfig
from graphwalker.workers.shard import Shard, shard_folders

SBATCH = """#!/bin/bash
echo "$GRAPHWALKER_STAGE: $*" >>"$SLURM_TOY/submitted"
wc -l <"$SLURM_TOY/submitted"
"""
SQUEUE = '#!/bin/bash\ncat "$SLURM_TOY/queue"\n'


@pytest.fixture
def slurm(tmp_path, monkeypatch):
    """Stand-ins of Slurm's commands: what was submitted is in `submitted`, `queue` is what runs."""
    for name, text in (("sbatch", SBATCH), ("squeue", SQUEUE)):
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    (tmp_path / "queue").write_text("")
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setenv("SLURM_TOY", str(tmp_path))
    return tmp_path


def make(run, name, *after, parts=0):
    makes = f"{run}/{name}/{{part}}" if parts else f"{run}/{name}"
    return JobStage(name, ("--time=1", f"{name}.sh"), makes, after, parts)


def mark(run, name, text):
    (run / "stages").mkdir(parents=True, exist_ok=True)
    (run / "stages" / name).write_text(text)


def states(run):
    return {(one.stage, one.part): one.state for one in chain.states(run)}


def test_parts_are_done_running_failed_killed_or_missing(slurm, tmp_path):
    run = tmp_path / "run"
    assert chain.new_stage(run, make(run, "synth", parts=5)) == "1"
    (run / "synth").mkdir()
    for part in (0, 2):
        (run / "synth" / str(part)).touch()
    mark(run, "synth.0", "started job 1\nended 0\n")
    mark(run, "synth.1", "started job 1\nended 2\n")
    mark(run, "synth.2", "started job 1\nended 3\n")  # its product is there, and incomplete
    mark(run, "synth.3", "started job 1 on n2\n")
    (slurm / "queue").write_text("1_4 RUNNING None\n")
    found = [states(run)["synth", part] for part in range(5)]
    assert found == ["done", "failed", "failed", "killed", "running"]
    assert next(s.why for s in chain.states(run) if s.part == 3) == "job 1 on n2"


def test_a_retry_submits_the_missing_parts_and_what_rests_on_them(slurm, tmp_path):
    run = tmp_path / "run"
    chain.new_stage(run, make(run, "synth", parts=3))
    chain.new_stage(run, make(run, "merge", "synth"))
    chain.new_stage(run, make(run, "test"))
    (run / "test").touch()
    (run / "synth").mkdir()
    (run / "synth" / "1").touch()
    (slurm / "queue").write_text("9 RUNNING None\n2 PENDING DependencyNeverSatisfied\n")
    found = [(name, parts) for name, _, parts in chain.retry(run)]
    assert found == [("synth", [0, 2]), ("merge", [0])]
    said = (slurm / "submitted").read_text().splitlines()
    assert "--array=0,2" in said[3] and said[3].endswith("--time=1 synth.sh")
    assert "--kill-on-invalid-dep=yes" in said[4]
    (slurm / "queue").write_text("4_0 PENDING None\n4_2 RUNNING None\n5 PENDING Dependency\n")
    assert chain.retry(run) == []


def test_a_stage_waits_for_those_before_it_that_are_not_done(slurm, tmp_path):
    run = tmp_path / "run"
    chain.new_stage(run, make(run, "synth", parts=2))
    (slurm / "queue").write_text("1_0 RUNNING None\n1_1 PENDING None\n")
    chain.new_stage(run, make(run, "merge", "synth"))
    assert "--dependency=afterok:1 " in (slurm / "submitted").read_text().splitlines()[1]
    with pytest.raises(UserError, match="sft: no stage mrge was submitted before it"):
        chain.new_stage(run, make(run, "sft", "mrge"))
    with pytest.raises(UserError, match="stage merge was submitted"):
        chain.new_stage(run, make(run, "merge"))


def test_a_stage_with_incomplete_input_does_not_start(tmp_path):
    run = tmp_path / "run"
    append_stage(run, make(run, "synth", parts=2))
    append_stage(run, make(run, "merge", "synth"))
    (run / "synth").mkdir()
    (run / "synth" / "0").touch()
    with pytest.raises(UserError, match="synth is incomplete, parts 1 of 2 are not done"):
        check_ready(run, "merge")
    (run / "synth" / "1").touch()
    check_ready(run, "merge")
    mark(run, "synth.1", "started job 7\nended 1\n")
    with pytest.raises(UserError, match="parts 1 of 2"):
        check_ready(run, "merge")
    with pytest.raises(UserError, match="no stage mrge here; known: synth, merge"):
        check_ready(run, "mrge")


ROAD = """\
run: {run}
graph: ${{run}}/virtuoso.address#http://rdf.freebase.com
jobs: {{shards: 2, eval_shards: 1, seeds: [train.json], virtuoso: {{serves: db}}}}
synth: {{graph: "${{graph}}", output_dir: "${{run}}/synth"}}
rl: {{graph: "${{graph}}", output_dir: "${{run}}/rl"}}
test: {{graph: "${{graph}}", output_dir: "${{run}}/test"}}
experts: {{graph: "${{graph}}", questions: "${{run}}/rl/q.jsonl", output_dir: "${{run}}/roll"}}
sft1: {{model: m, data: ["${{run}}/synth/s.jsonl"], output_dir: "${{run}}/sft1"}}
sft2: {{model: "${{run}}/sft1/final", data: ["${{run}}/roll/r.jsonl"], output_dir: "${{run}}/sft2"}}
grpo: {{graph: "${{graph}}", model: "${{run}}/sft2/final", output_dir: "${{run}}/grpo"}}
eval: {{graph: "${{graph}}", questions: "${{run}}/test/q.jsonl", output_dir: "${{run}}/eval"}}
"""


def write_road(folder):
    (folder / "road.yaml").write_text(ROAD.format(run=folder / "run"))
    return folder / "road.yaml"


def test_a_road_starts_its_server_first_and_training_does_not_wait_for_it(slurm, tmp_path):
    (slurm / "queue").write_text("1 RUNNING None\n")
    submitted = dict(submit_road(write_road(tmp_path), ["sft1.lr=1e-5"]))
    assert list(submitted)[:3] == ["virtuoso", "seeds", "synth"]
    said = (slurm / "submitted").read_text().splitlines()
    assert f"slurm/graph.sbatch serve db {tmp_path}/run/virtuoso.address" in said[0]
    assert "--dependency=after:1 " in said[1] and "#http://rdf.freebase.com" in said[1]
    assert f"seeds_file={tmp_path}/run/seeds/seeds.txt" in said[2]
    stages = read_stages(tmp_path / "run")
    assert stages["sft1"].after == ("synth-merge",) and "virtuoso" in stages["grpo"].after
    assert load_settings(tmp_path / "run" / "jobs.yaml#sft1")["lr"] == 1e-5


@pytest.mark.parametrize("written", ["{}/run/", "{}/./run"])
def test_stages_wait_however_the_runs_folder_is_written(tmp_path, written):
    road = write_road(tmp_path)
    stages = road_stages(road, [f"run={written.format(tmp_path)}"])
    assert [one.after for one in stages] == [one.after for one in road_stages(road)]


def test_a_retry_refuses_a_command_that_the_config_does_not_give(slurm, tmp_path, monkeypatch):
    list(submit_road(write_road(tmp_path)))
    run = tmp_path / "run"
    assert [name for name, *_ in retry_road(run)][:2] == ["virtuoso", "seeds"]
    stages = read_stages(run)
    append_stage(run, replace(stages["sft1"], command=("--wrap=evil",)))
    with pytest.raises(UserError, match=r"command of stage sft1 is not what .*jobs\.yaml gives"):
        retry_road(run)
    append_stage(run, stages["sft1"])
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserError, match="run the same command there"):
        retry_road(run)


def test_a_dry_run_prints_the_jobs_and_submits_nothing(slurm, tmp_path):
    words = ["jobs", "submit", "configs/cluster.yaml", "--dry-run", f"run={tmp_path / 'run'}"]
    shown = CliRunner().invoke(app, words).output
    assert "\nsft2 after experts, sft1: --mem=0 slurm/sft.sbatch" in shown
    assert not (slurm / "submitted").exists() and not (tmp_path / "run").exists()


def memory(path, *overrides):
    """What sbatch is told of the memory of each job that it is told of."""
    stages = road_stages(path, overrides)
    told = {s.name: [w for w in s.command if w.startswith("--mem")] for s in stages}
    return {name: words for name, words in told.items() if words}


def test_training_and_evaluation_with_gpus_take_a_nodes_memory_unless_told(tmp_path):
    road = write_road(tmp_path)
    assert memory(road) == {name: ["--mem=0"] for name in ("sft1", "sft2", "grpo", "eval")}
    told = memory(road, "jobs.grpo.mem=300G", "jobs.train.mem=90G", "jobs.synth.mem=8G")
    assert told["grpo"] == ["--mem=300G"] and told["sft1"] == ["--mem=90G"]
    assert told["synth"] == ["--mem=8G"] and "seeds" not in told
    more = "jobs.eval={mem: 3G, sbatch: [--exclusive]}"
    cpu = memory(road, "jobs.train=[--gpus-per-node=0]", more)
    assert cpu == {"eval": ["--mem=3G"]}
    with pytest.raises(UserError, match=r"jobs\.sft9\.mem: no such section"):
        memory(road, "jobs.sft9.mem=1G")
    with pytest.raises(UserError, match=r"jobs.*mem"):
        memory(road, "jobs.grpo.mem=lots")


def test_a_retry_submits_what_an_interrupted_submission_left(slurm, tmp_path):
    submission = submit_road(write_road(tmp_path))
    first, _ = next(submission)
    submission.close()
    assert list(read_stages(tmp_path / "run")) == [first]
    assert "report" in [name for name, *_ in retry_road(tmp_path / "run")]


@pytest.mark.parametrize("words", ["[evil.sh]", "[--wrap=evil]", "['']"])
def test_an_option_that_is_none_never_reaches_sbatch(slurm, tmp_path, words):
    with pytest.raises(UserError, match=r"#jobs: data.* is no option of sbatch"):
        list(submit_road(write_road(tmp_path), [f"jobs.data={words}"]))


def with_server(folder):
    """A run whose stage `synth` needs the server `graph`."""
    run = folder / "run"
    chain.new_stage(run, JobStage("graph", ("graph.sh",), f"{run}/graph.address", server=True))
    chain.new_stage(run, make(run, "synth", "graph"))
    return run


def test_a_server_is_submitted_again_only_for_a_stage_that_needs_it(slurm, tmp_path):
    run = with_server(tmp_path)
    assert [name for name, *_ in chain.retry(run)] == ["graph", "synth"]
    (run / "synth").touch()
    mark(run, "graph.0", "started job 3\nended 0\n")
    assert chain.retry(run) == [] and chain.serves_nobody(run, "graph")
    assert set(states(run).values()) == {"done"}


def test_a_stage_waits_for_the_address_of_its_server(slurm, tmp_path):
    run = with_server(tmp_path)
    with pytest.raises(UserError, match=r"the server graph wrote no .*graph\.address"):
        check_ready(run, "synth", wait_s=0.01)
    (run / "graph.address").write_text("http://n1:8890/sparql\n")
    check_ready(run, "synth", wait_s=0.01)
    assert read_address(f"{run}/graph.address#http://g") == "http://n1:8890/sparql#http://g"


def test_a_road_is_submitted_once(slurm, tmp_path):
    list(submit_road(write_road(tmp_path)))
    with pytest.raises(UserError, match="graphwalker jobs retry"):
        list(submit_road(write_road(tmp_path)))


def test_an_address_file_without_an_address_is_named(tmp_path):
    (tmp_path / "a.address").write_text("soon\n")
    for name in ("a.address", "b.address"):
        with pytest.raises(UserError, match=name):
            read_address(tmp_path / name)


def test_an_address_that_no_job_writes_is_named(tmp_path):
    with pytest.raises(UserError, match=r"no job writes .*virtuoso\.address"):
        road_stages(write_road(tmp_path), ["jobs.virtuoso.serves=''"])


def test_a_folder_without_jobs_is_told_before_slurm_is_asked(slurm, tmp_path):
    (slurm / "squeue").write_text("#!/bin/bash\necho 'no configuration' >&2; exit 1\n")
    with pytest.raises(UserError, match="no jobs were submitted here"):
        chain.states(tmp_path / "run")


def test_a_chat_server_may_be_named_by_the_file_that_its_job_writes(tmp_path):
    config = ChatApiConfig(base_url=f"{tmp_path}/teacher.address")
    with pytest.raises(UserError, match=r"teacher\.address: no such file"):
        _ = config.address
    (tmp_path / "teacher.address").write_text("http://n1:8000\n")
    assert config.address == "http://n1:8000/v1" and not config.is_private


READ_OTHERWISE = {
    "run=runs/a#1": "run: 'runs/a#1' holds '#', which a config or Slurm reads",
    "run=runs/%j": "holds '%'",
    "run=runs/a\\b": "holds '\\\\'",
    "run=-x": "holds '-'",
    "run='runs/{part}'": "holds '{part}'",
    "run=1.50": "run: YAML reads 1.5 here; put the name in quotes",
    "run=yes": "YAML reads True here",
    "synth.output_dir=runs/x#y": "#synth: output_dir: 'runs/x#y' holds '#'",
    "eval-%j.output_dir=runs/e": "the name of a stage has letters",
    "jobs.shards=1e8": "shards: Input should be less than or equal to 10000",
    "jobs.eval_shards=true": "eval_shards: true and false",
}


@pytest.mark.parametrize("setting", READ_OTHERWISE)
def test_a_name_that_slurm_or_yaml_would_read_is_refused(setting):
    with pytest.raises(UserError) as refused:
        road_stages("configs/cluster.yaml", [setting])
    assert READ_OTHERWISE[setting] in str(refused.value)


def test_a_place_that_slurm_would_read_is_refused(tmp_path, monkeypatch):
    (tmp_path / "a%j").mkdir()
    monkeypatch.chdir(tmp_path / "a%j")
    with pytest.raises(UserError, match=r"a%j/runs/qwen2\.5-7b' holds '%'"):
        road_stages("configs/cluster.yaml")


def test_a_run_has_a_bounded_number_of_shards(tmp_path):
    for text in ("0/10001", "5/5", "0/" + "9" * 5000):
        with pytest.raises(UserError, match="n up to 10,000"):
            Shard.parse(text)
    (tmp_path / "shards/0-of-100000000").mkdir(parents=True)
    with pytest.raises(UserError, match="n up to 10,000"):
        shard_folders(tmp_path, "datacard.json")
