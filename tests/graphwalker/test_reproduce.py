"""`graphwalker reproduce`: what a paper's chain lacks, and the same chain in small."""

import json
import re
import subprocess
import sys
from functools import partial

import pytest

from graphwalker.datasets.base import load_questions
from graphwalker.datasets.evidence import evidence_of
from graphwalker.demo.toy import make_toy
from graphwalker.errors import UserError
from graphwalker.files import read_json, read_jsonl
from graphwalker.jobs import local as chain
from support.commands import command
from support.paths import ROOT

NAMES = sorted(path.stem for path in (ROOT / "configs" / "paper").glob("*.yaml"))
CHAIN = """\
run: {run}
graph: {run}/mazes
make-mazes:
  command: [graph, mazes, --size, "5", --count, "2", --steps, "3", --out, "${{graph}}"]
  output_dir: ${{graph}}
  makes: questions.jsonl
eval:
  graph: ${{graph}}
  questions: ["${{graph}}/questions.jsonl"]
  policy: {{model: oracle}}
  output_dir: ${{run}}/eval
  environment: {{preset: graphwalk-maze}}
report:
  runs: ["${{run}}/eval"]
  published: [graphwalk-table1]
  output_dir: ${{run}}/report
"""


@pytest.fixture
def said(tmp_path, monkeypatch, capsys):
    """What a command says in an empty folder: its exit code, output and errors."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    return partial(command, capsys)


def test_without_a_name_the_runs_are_listed(said):
    _, listed, _ = said("reproduce")
    assert [line.split()[0] for line in listed.splitlines()] == NAMES


def test_a_misspelt_setting_is_told_before_a_job_is_submitted(said, tmp_path):
    words = ("configs/cluster.yaml", "eval.max_tokns=3", f"run={tmp_path / 'run'}")
    code, _, errors = said("jobs", "submit", *words)
    assert code == 2 and "did you mean max_tokens" in errors
    assert not list(tmp_path.iterdir())


def test_a_check_names_what_is_missing_and_makes_nothing(said, tmp_path):
    code, printed, _ = said("reproduce", "graphwalker-table2", "--check", "--json")
    assert code == 1 and not list(tmp_path.iterdir())
    found = {row["what"]: f"{row['verdict']} {row['found']}" for row in json.loads(printed)}
    assert found["graph"].startswith("wrong graphs/freebase: no such graph")
    assert found["teacher's key"] == "wrong OPENAI_API_KEY is not set"
    assert re.search(r"^ok peak \S+ GiB of 80, host memory 1\d\d\.\d GiB$", found["grpo"])
    assert "checkpoints" in found["disk"] and "max_cost" in found["money"]
    assert "sft1/final" not in printed  # the chain makes it


def test_an_ablation_knows_the_size_of_the_model_that_the_first_run_makes(said):
    _, printed, _ = said("reproduce", "graphwalker-figure6", "--check", "--json")
    found = {row["what"]: row["found"] for row in json.loads(printed)}
    assert found["sft2-500"].startswith("peak 39.3 GiB of 80") and "at most 9" in found["hours"]


def test_training_takes_as_many_processes_as_the_config_says(tmp_path):
    path = tmp_path / "c.yaml"
    path.write_text("jobs: {processes: 1}\n")
    assert chain.layout_words(path) == ("allow_cpu=true",)
    path.write_text("jobs: {processes: 3}\n")
    words = chain.layout_words(path)
    assert words[words.index("--num_processes") + 1] == "3"


def test_a_chain_makes_its_graph_evaluates_and_sets_the_printed_table_beside(tmp_path):
    path = tmp_path / "chain.yaml"
    path.write_text(CHAIN.format(run=tmp_path / "run"))
    chain.run_chain(path)
    report = read_json(tmp_path / "run" / "report" / "report.json")
    assert report["published"][0]["ours"][0]["values"]["accuracy"] == 100.0
    assert "Table 1" in (tmp_path / "run" / "report" / "report.md").read_text()


def test_a_chain_that_was_begun_with_other_settings_is_not_mixed(tmp_path):
    path = tmp_path / "chain.yaml"
    path.write_text(CHAIN.format(run=tmp_path / "run"))
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "jobs.yaml").write_text("run: else\n")
    with pytest.raises(UserError, match="begun with other settings"):
        chain.run_chain(path)
    assert not (tmp_path / "run" / "mazes").exists()


@pytest.mark.long
@pytest.mark.parametrize("group", ["graphwalker", "others"])
def test_every_paper_runs_in_small(group, tmp_path):
    """The ablations read the toy run of table 2, which comes first."""
    first = "graphwalker-table2"
    mine = [name for name in NAMES if name.startswith("graphwalker-") == (group == "graphwalker")]
    for name in sorted(mine, key=lambda name: name != first):
        command = [sys.executable, "-m", "graphwalker", "reproduce", name, "--toy"]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, (name, done.stderr[-2000:])
        run = tmp_path / "runs" / "toy" / name
        assert (run / "report" / "report.html").is_file()
        stages = read_json(run / "report" / "report.json")["stages"]
        assert 0 < max(stage["em"] for stage in stages) < (1 if group == "graphwalker" else 1.01)
        steps = [line for file in run.glob("grpo*/metrics.jsonl") for line in read_jsonl(file)]
        assert not steps or min(step["zero_variance"] for step in steps) < 1


def test_a_toy_that_reads_another_run_makes_no_world(tmp_path):
    make_toy({"run": str(tmp_path), "graph": str(tmp_path / "base" / "graph")})
    assert not list(tmp_path.iterdir())


def test_the_toy_of_ark_asks_what_its_evidence_decides(tmp_path):
    file = tmp_path / "toy" / "questions" / "colota-test.jsonl"
    make_toy({"run": str(tmp_path), "eval": {"questions": [str(file)]}})
    asked = load_questions(file)
    assert {question.answers[0].name for question in asked} == {"True", "False"}
    for question in asked:
        said = question.text.removeprefix("Is ").partition(" among ")[0]
        ends = {one.tail for one in evidence_of(question)}
        assert (said in ends) == (question.answers[0].name == "True")
