"""The commands of the README's pipeline run in order, word for word but for smaller counts."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from support.paths import ROOT

SMALLER = {
    "--entities 3000": "--entities 1000",
    "--out runs/synth": "--out runs/synth --count 30",
    "--out runs/rl": "--out runs/rl --count 20",
    "--out runs/test": "--out runs/test --count 4",
    "--out runs/roll": "--out runs/roll --count 6",
    "samples=0": "samples=0 max_tokens=16",
    "max_steps=400": "max_steps=2",
    "output_dir=runs/sft2": "output_dir=runs/sft2 max_steps=2",
    "output_dir=runs/grpo": "output_dir=runs/grpo steps=1 prompts_per_step=2 samples=2"
    " micro_batch=4",
}


def commands() -> list[str]:
    """The lines of the README that begin with the activation."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"^```bash\n(source .*?)^```", text, re.S | re.M)
    for given, smaller in SMALLER.items():
        assert given in block, f"the README has no {given}"
        block = block.replace(given, smaller)
    return block.splitlines()


@pytest.mark.long
def test_the_first_answer_of_the_readme_needs_no_model(tmp_path: Path) -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"^make setup[^\n]*\n(.*?)^graphwalker serve", text, re.S | re.M)
    script = f"set -e\n{block}".replace("--entities 3000", "--entities 1000")
    script = script.replace("Hidden Meadow", "Stolen Crown").replace("directed", "wrote")
    path = f"{Path(sys.executable).parent}:/usr/bin:/bin"
    done = subprocess.run(
        ["bash", "-c", script],
        cwd=tmp_path,
        env={"PATH": path, "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert "get_relations(Stolen Crown)" in done.stdout and "Answer:" in done.stdout


@pytest.mark.long
@pytest.mark.skipif(
    not (Path(sys.prefix) / "bin" / "activate").is_file(), reason="needs a virtual environment"
)
def test_the_commands_of_the_readme_run_after_the_activation(tmp_path: Path) -> None:
    for name in ("training", "configs"):
        (tmp_path / name).symlink_to(ROOT / name)
    (tmp_path / ".venv").symlink_to(sys.prefix)
    script = "set -e\n" + "\n".join(commands())
    clean = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "HF_HUB_OFFLINE": "1"}
    done = subprocess.run(
        ["bash", "-c", script],
        cwd=tmp_path,
        env={**clean, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert (tmp_path / "runs" / "eval" / "report.json").is_file()
    warned = [line for line in done.stderr.splitlines() if "there are no more" in line]
    assert not warned
