"""The documentation: its Python and its notebook run, and the site builds without dead links."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from support.paths import ROOT


def blocks(page: Path) -> list[str]:
    """The Python blocks of a page."""
    return re.findall(r"^```python\n(.*?)^```", page.read_text(encoding="utf-8"), re.S | re.M)


@pytest.mark.long
@pytest.mark.parametrize("name", ["docs/api.md", "README.md"])
def test_the_python_of_the_page_runs(name: str, tmp_path: Path) -> None:
    (code,) = blocks(ROOT / name)
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert "EM=1.000" in done.stdout


PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
FOLDERS = (
    "tests|benchmarks|configs|scripts|slurm|training|graphwalker|data_pipeline|deploy|examples"
)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_files_that_a_page_names_are_there(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    named = re.findall(rf"(?<![\w./])(?:{FOLDERS})/[\w./-]*\w", text)
    assert not [path for path in named if not (ROOT / path).exists()]


@pytest.mark.long
def test_the_notebook_runs(tmp_path):
    nbformat = pytest.importorskip("nbformat")
    nbclient = pytest.importorskip("nbclient")
    notebook = nbformat.read(ROOT / "examples/quickstart.ipynb", as_version=4)
    assert all(not cell.get("outputs") for cell in notebook.cells), "commit it without outputs"
    nbclient.NotebookClient(notebook, timeout=300, kernel_name="python3").execute(cwd=str(tmp_path))
    text = str([cell.get("outputs") for cell in notebook.cells])
    assert "graphwalker-trajectory" in text, "a trajectory is drawn as HTML"


@pytest.mark.long
def test_the_site_builds_and_every_link_leads_somewhere(tmp_path):
    pytest.importorskip("mkdocs")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    assert "graphwalker.api.rollout" in (tmp_path / "api/index.html").read_text()
