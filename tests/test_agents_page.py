"""docs/agents.md: the agent that the page adds is written into a folder, played and compared."""

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from graphwalker.agents.registry import presets
from support.paths import ROOT

PAGE = (ROOT / "docs/agents.md").read_text(encoding="utf-8")
OTHER = (ROOT / "docs/extend.md").read_text(encoding="utf-8")
FILES = dict(re.findall(r"^```python\n# (\w+\.py)\n(.*?)^```", OTHER + PAGE, re.S | re.M))
COMMANDS = re.findall(r"^graphwalker .*my_agent:PRESET.*$", PAGE, re.M)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("agents")
    for name in ("my_graph.py", "my_questions.py", "my_agent.py"):
        (folder / name).write_text(FILES[name])
    commands = [["my_questions.py"], *(["-m", *shlex.split(line)] for line in COMMANDS)]
    for words in commands:
        done = subprocess.run(
            [sys.executable, *words], cwd=folder, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, f"{words}\n{done.stderr[-2000:]}"
    return folder


@pytest.mark.long
def test_the_oracle_plays_the_agent_of_the_page(folder: Path) -> None:
    lines = (folder / "runs/around/predictions.jsonl").read_text().splitlines()
    records = [json.loads(line) for line in lines]
    assert len(records) == 2
    assert all(one["agent"] == "around" and one["scores"]["em"] == 1.0 for one in records)


@pytest.mark.long
def test_it_stands_beside_the_shipped_ones(folder: Path) -> None:
    page = (folder / "runs/compared/compare.html").read_text(encoding="utf-8")
    for name in ("around", "search-on-graph", "kg-r1"):
        assert f"<h4>{name}</h4>" in page


def test_it_takes_a_page() -> None:
    assert FILES["my_agent.py"].count("\n") < 75
    assert len(COMMANDS) == 2


def test_every_control_flow_is_short() -> None:
    """Under about 150 lines each, and the loop over episodes exists once."""
    for path in sorted((ROOT / "graphwalker/agents/published").rglob("*.py")):
        if path.stem in ("agent", "search_on_graph", "kg_r1", "released"):
            assert path.read_text(encoding="utf-8").count("\n") <= 190, path
    assert len(presets()) >= 8
