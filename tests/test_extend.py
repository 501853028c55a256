"""docs/extend.md: its files are written into an empty folder, and its commands are run there."""

import json
import re
import runpy
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import graphwalker as gw
from graphwalker.cli import app as cli
from graphwalker.tools.base import Call
from support.paths import ROOT

PAGE = (ROOT / "docs/extend.md").read_text(encoding="utf-8")
FILES = dict(re.findall(r"^```python\n# (\w+\.py)\n(.*?)^```", PAGE, re.S | re.M))
BLOCKS = re.findall(r"^```bash\n(.*?)^```", PAGE, re.S | re.M)
COMMANDS = [line for block in BLOCKS for line in block.splitlines()]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The user's folder after every command but training."""
    folder = tmp_path_factory.mktemp("own")
    for name, code in FILES.items():
        (folder / name).write_text(code)
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
                assert (
                    cli.run(lambda words=words: cli.app(words[1:], standalone_mode=False)) == 0
                ), words
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


def test_the_reward_of_ones_own_is_loaded_as_the_page_names_it(
    folder: Path, monkeypatch: pytest.MonkeyPatch
):
    from graphwalker.config import load_config
    from training.grpo_config import GrpoConfig

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


def test_the_tools_of_ones_own_are_shown_called_and_recorded(
    folder: Path, monkeypatch: pytest.MonkeyPatch
):
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
