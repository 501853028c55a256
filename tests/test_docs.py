"""The documentation: its Python and its notebooks run, and the site builds without dead links."""

import doctest
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from dev import tutorials
from support.paths import ROOT


@pytest.mark.long
def test_the_first_answer_of_the_start_page_needs_no_model(tmp_path: Path) -> None:
    text = (ROOT / "docs/index.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"^make setup[^\n]*\n(.*?)^```", text, re.S | re.M)
    path = f"{Path(sys.executable).parent}:/usr/bin:/bin"
    done = subprocess.run(
        ["bash", "-c", f"set -e\n{block}"],
        cwd=tmp_path,
        env={"PATH": path, "HOME": str(tmp_path), "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert "get_relations(Hidden Meadow)" in done.stdout and "Answer:" in done.stdout


@pytest.mark.long
def test_the_api_page_shows_what_its_lines_give(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    page = (ROOT / "docs/api.md").read_text(encoding="utf-8")
    code = "\n".join(re.findall(r"^```pycon\n(.*?)^```", page, re.S | re.M))
    lines = doctest.DocTestParser().get_doctest(code, {}, "docs/api.md", "docs/api.md", 0)
    told: list[str] = []
    outcome = doctest.DocTestRunner().run(lines, out=told.append)
    assert outcome.attempted > 15 and not outcome.failed, "".join(told)


PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
FOLDERS = (
    "tests|benchmarks|configs|scripts|slurm|training|graphwalker|data_pipeline|deploy|examples"
)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_files_that_a_page_names_are_there(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    named = re.findall(rf"(?<![\w./])(?:{FOLDERS})/[\w./-]*\w", text)
    assert not [path for path in named if not (ROOT / path).exists()]


def test_the_pages_can_be_read_in_two_hours() -> None:
    pages = (page for page in (ROOT / "docs").glob("*.md") if page.name != "settings.md")
    words = (word for page in pages for word in page.read_text(encoding="utf-8").split())
    assert sum(bool(re.search(r"\w", word)) for word in words) <= 22_000


@pytest.mark.parametrize("page", sorted((ROOT / "docs").glob("*.md")), ids=lambda page: page.name)
def test_a_page_has_a_command_on_its_first_screen(page: Path) -> None:
    if page.stem in WITHOUT_COMMANDS:
        return
    start = page.read_text(encoding="utf-8")[:1500]
    assert re.search(r"^(?:```|    graphwalker )", start, re.M), "which command is the page about?"


WITHOUT_COMMANDS = {"faq", "threat-model"}
"""Pages of answers and of rules."""


NOTEBOOKS = sorted((ROOT / "examples").glob("*.ipynb"))
TRAINS = {"train"}
"""Notebooks that train for minutes."""


@pytest.mark.parametrize(
    "path",
    [
        pytest.param(path, marks=pytest.mark.slow if path.stem in TRAINS else pytest.mark.long)
        for path in NOTEBOOKS
    ],
    ids=lambda path: path.stem,
)
def test_a_notebook_shows_what_its_cells_give(path: Path) -> None:
    import nbformat

    assert outputs(tutorials.run(path)) == outputs(nbformat.read(path, as_version=4))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_stored_with_outputs_and_without_machine_paths(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    cells = [cell for cell in json.loads(text)["cells"] if cell["cell_type"] == "code"]
    assert all(cell["execution_count"] for cell in cells)
    assert any(cell["outputs"] for cell in cells)
    assert not re.search(r"/(?:root|home|tmp|work|Users)/", text)
    assert list(tutorials.blocks(json.loads(text)))


def outputs(notebook: Any) -> list[list[Any]]:
    """What each cell of code shows, without its warnings; a cell tagged `varies` only runs."""
    cells = [
        cell.outputs
        for cell in notebook.cells
        if cell.cell_type == "code" and "varies" not in cell.metadata.get("tags", ())
    ]
    return [
        [one.get("data") or one.text for one in cell if one.get("name") != "stderr"]
        for cell in cells
    ]


@pytest.mark.long
def test_the_site_builds_and_every_link_leads_somewhere(tmp_path):
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    assert "graphwalker.api.rollout" in (tmp_path / "api/index.html").read_text()
