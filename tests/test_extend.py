"""docs/extend.md and "A stage of your own" of docs/clusters.md: files and commands run."""

import json
import os
import re
import runpy
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import graphwalker as gw
from graphwalker.config import load_config
from graphwalker.errors import UserError
from graphwalker.jobs.local import run_chain
from graphwalker.jobs.road import road_stages
from graphwalker.tools.base import Call
from support.commands import code
from support.paths import ROOT
from training.grpo_config import GrpoConfig

PAGE = (ROOT / "docs/extend.md").read_text(encoding="utf-8")
FILES = dict(re.findall(r"^```python\n# (\w+\.py)\n(.*?)^```", PAGE, re.S | re.M))
BLOCKS = re.findall(r"^```bash\n(.*?)^```", PAGE, re.S | re.M)
COMMANDS = [line for block in BLOCKS for line in block.splitlines()]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("own")
    for name, text in FILES.items():
        (folder / name).write_text(text)
        sys.modules.pop(name.removesuffix(".py"), None)  # of another test
    for line in COMMANDS:
        words = shlex.split(line)
        if words[0] == "accelerate":
            continue
        with pytest.MonkeyPatch.context() as inside:
            inside.chdir(folder)
            inside.syspath_prepend(folder)
            if words[0] == "python":
                runpy.run_path(words[1], run_name="__main__")
            else:
                assert code(*words[1:]) == 0, words
    yield folder
    for name in FILES:
        sys.modules.pop(name.removesuffix(".py"), None)


def test_no_part_of_ones_own_takes_sixty_lines():
    assert len(FILES) >= 5
    assert max(code.count("\n") for code in FILES.values()) < 60


@pytest.mark.long
def test_a_networkx_graph_gives_trajectories(folder: Path):
    records = (folder / "synth/graphsynth.jsonl").read_text().splitlines()
    assert len(records) == 2


@pytest.mark.long
def test_the_oracle_plays_the_agent_of_ones_own(folder: Path):
    for line in (folder / "runs/search/predictions.jsonl").read_text().splitlines():
        record = json.loads(line)
        assert record["agent"] == "one-search" and record["scores"]["em"] == 1.0


def test_the_reward_of_ones_own_is_loaded_as_the_page_names_it(folder, monkeypatch):
    monkeypatch.chdir(folder)
    (line,) = (line for line in COMMANDS if line.startswith("accelerate"))
    config = load_config(GrpoConfig, None, shlex.split(line)[6:])
    assert config.rewards == {"em": 1.0, "my_reward:short_and_right": 0.5}


def test_the_metric_of_ones_own_stands_in_the_report(folder: Path):
    assert FILES["my_metric.py"].count("\n") < 30
    (stage,) = json.loads((folder / "runs/measured/report.json").read_text())["stages"]
    assert stage["my_metric:right_letters"] == 1.0 and stage["metrics"]
    page = (folder / "runs/measured/report.html").read_text(encoding="utf-8")
    assert '<th scope="col">my_metric:right_letters</th>' in page


def test_the_tools_of_ones_own_are_shown_called_and_recorded(folder, monkeypatch):
    assert FILES["my_tool.py"].count("\n") < 30
    first = json.loads((folder / "runs/tools/predictions.jsonl").read_text().splitlines()[0])
    prompt = "".join(message["content"] for message in first["turns"][0]["context"])
    assert 'longest(["films", ...]): The longest of some films.' in prompt
    names = ("my_tool:minutes", "my_tool:longest")
    assert tuple(json.loads(first["provenance"]["tools"])) == names
    monkeypatch.chdir(folder)
    environment = gw.Environment(gw.open_graph("my_graph:make"), gw.EnvironmentConfig(tools=names))
    box = environment.toolbox(gw.Question.from_json(first["question"]))
    assert box.call(Call("minutes", {"film": "Alien"})).text == "117 minutes"
    shown = box.call(Call("longest", {"films": ["Alien", "Aliens"]}))
    assert shown.entities == (gw.Entity("Aliens", "Aliens"),)


def test_the_ranker_of_ones_own_orders_the_relations(folder: Path):
    first = json.loads((folder / "runs/ranked/predictions.jsonl").read_text().splitlines()[0])
    assert first["provenance"]["ranker"] == "my_ranker:shared_letters"


CLUSTERS = (ROOT / "docs" / "clusters.md").read_text(encoding="utf-8")
PART = CLUSTERS.partition("## A stage of your own")[2].partition("\n## ")[0]
STAGE_FILES = dict(re.findall(r"^```\w+\n# (\S+)\n(.*?)^```", PART, re.S | re.M))
STAGE_COMMAND = re.findall(r"^```bash\n(.*?)^```", PART, re.S | re.M)[0]


@pytest.fixture
def stage_folder(tmp_path, monkeypatch) -> Path:
    for name, text in STAGE_FILES.items():
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_stage_of_the_page_runs_once_behind_the_stage_that_makes_its_input(stage_folder):
    words = [sys.executable, "-m", *shlex.split(STAGE_COMMAND, comments=True)]
    path = {**os.environ, "PYTHONPATH": str(ROOT)}
    for said in ("2: lengths ...", "2: lengths is done"):
        ended = subprocess.run(words, capture_output=True, text=True, env=path)
        assert ended.returncode == 0 and f"stage 2 of {said}" in ended.stderr
    assert sum(json.loads((stage_folder / "runs/own/lengths.json").read_text()).values()) == 2


def test_as_a_job_it_waits_for_that_stage(stage_folder):
    *_, job = road_stages("road.yaml", trust=["."])
    assert job.after == ("make-mazes",) and job.makes == "runs/own/lengths.json"
    assert job.command[:3] == ("slurm/synth.sbatch", "run", "count_words")


@pytest.mark.parametrize("read", [run_chain, road_stages])
def test_a_module_that_a_file_names_does_not_run_by_itself(stage_folder, read):
    with pytest.raises(UserError, match=r"road\.yaml: lengths\.module=count_words would run code"):
        read("road.yaml")
    with pytest.raises(UserError, match="would run code"):
        read("road.yaml", ["lengths.last_file=runs/other.json"])
    assert not (stage_folder / "runs").exists()


def test_a_module_that_is_typed_needs_no_trust(stage_folder):
    assert road_stages("road.yaml", ["lengths.module=mine"])[-1].command[2] == "mine"


def test_a_missing_input_is_named_before_the_module_runs(stage_folder):
    with pytest.raises(UserError, match=r"stage lengths: its input none\.jsonl is not there"):
        run_chain("road.yaml", ["lengths.inputs=[none.jsonl]"], ["."])
    assert not (stage_folder / "runs/own/lengths.json").exists()


def test_a_stage_without_its_last_file_is_refused(stage_folder):
    with pytest.raises(UserError, match="#lengths: last_file is missing"):
        road_stages("road.yaml", ["lengths.last_file="], ["."])
