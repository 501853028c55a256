"""The README: its length, and its commands, typed word for word over configs of small counts."""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from support.pages import command_lines
from support.paths import ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```bash\n(.*?)^```", README, re.S | re.M)
DEMO = "demo.yaml"
"""The config of `make demo`, of a demo over one's own graph, and of the six commands."""
COUNTS = {"synth": 40, "rl": 24, "practice": 16, "test": 2, "test_words": 2, "experts": 12}
TRAINING = {"max_steps": 3, "steps": 1, "prompts_per_step": 2, "samples": 2, "micro_batch": 2}


def small_config(path: Path) -> dict[str, Any]:
    """The settings of a demo with counts that take seconds."""
    config: dict[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
    for name, count in COUNTS.items():
        config[name]["count"] = count
    for name in ("sft1", "sft2", "grpo", "eval"):
        few = {key: value for key, value in TRAINING.items() if key in config[name]}
        config[name].update(few)
    config["eval"].update(samples=0, max_tokens=16)
    return config


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A checkout that `make setup` has set up, with small counts in the demo's configs."""
    for path in ROOT.iterdir():
        if path.name not in (".git", ".venv", "runs", "configs"):
            (tmp_path / path.name).symlink_to(path)
    (tmp_path / "configs").mkdir()
    for path in (ROOT / "configs").iterdir():
        if path.name == DEMO:
            text = yaml.safe_dump(small_config(path), sort_keys=False)
            (tmp_path / "configs" / path.name).write_text(text, encoding="utf-8")
        else:
            (tmp_path / "configs" / path.name).symlink_to(path)
    (tmp_path / ".venv").mkdir()
    (tmp_path / ".venv/bin").symlink_to(Path(sys.prefix) / "bin")
    (tmp_path / ".venv/.ready").touch()
    facts = [f"Person {n}\tborn in\tTown {n % 40}\n" for n in range(120)]
    facts += [f"Town {n}\tlies in\tCountry {n % 8}\n" for n in range(40)]
    (tmp_path / "FILE").write_text("".join(facts), encoding="utf-8")
    return tmp_path


def test_the_readme_has_at_most_900_words() -> None:
    assert len(README.split()) <= 900


def test_the_pipeline_of_the_readme_is_six_commands() -> None:
    (pipeline,) = (block for block in BLOCKS if "graphwalker synth" in block)
    assert [words[1] for words in command_lines(f"```bash\n{pipeline}```")] == (
        ["synth", "questions", "experts", "sft", "grpo", "eval"]
    )


@pytest.mark.slow
@pytest.mark.skipif(
    not (Path(sys.prefix) / "bin" / "activate").is_file(), reason="needs a virtual environment"
)
def test_every_command_of_the_readme_runs_as_it_stands(clone: Path) -> None:
    lines = [line for block in BLOCKS for line in block.splitlines()]
    typed = [line for line in lines if not line.startswith("graphwalker serve")]  # it stays open
    assert len(lines) - len(typed) == 2 and "make demo" in typed[0]
    environment = {
        **os.environ,  # what pip needs, to fetch the trained agent
        **{"PATH": "/usr/bin:/bin", "HOME": str(clone), "PYTHONPATH": str(clone)},
        **{"HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1", "PYTEST_ARGS": "--version"},
    }
    script = "set -e\n" + "\n".join(typed)
    done = subprocess.run(
        ["bash", "-c", script], cwd=clone, env=environment, capture_output=True, text=True
    )
    if "not downloaded" in done.stderr:
        pytest.skip("the package index is not reached")
    assert done.returncode == 0, f"{done.stdout[-1500:]}\n{done.stderr[-3000:]}"
    for run in ("demo", "eval", "agent"):
        assert (clone / "runs" / run / "report.json").is_file()
