"""The documentation: its examples run, its commands parse, its links lead somewhere."""

import doctest
import json
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import typer
from pydantic import ValidationError

from dev import tutorials
from dev.reference import SETTINGS, pages, settings_text
from graphwalker.cli.app import app
from graphwalker.config import Config, read_settings
from graphwalker.console.settings import describe
from graphwalker.demo.models import config_models
from support.code import sources
from support.pages import anchors, command_lines, is_placeholder, links, section_of, settings_given
from support.paths import ROOT


@pytest.mark.long
def test_the_first_answer_of_the_start_page_needs_no_model(tmp_path: Path) -> None:
    text = (ROOT / "docs/index.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"^make setup[^\n]*\n(.*?)^```", text, re.S | re.M)
    path = f"{Path(sys.executable).parent}:/usr/bin:/bin"
    own = {"PATH": path, "HOME": str(tmp_path), "PYTHONPATH": str(ROOT)}
    line = ["bash", "-c", f"set -e\n{block}"]
    done = subprocess.run(line, cwd=tmp_path, env=own, capture_output=True, text=True)
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


def test_what_a_command_reads_of_the_demo_is_what_the_demo_makes() -> None:
    texts = [page.read_text(encoding="utf-8") for page in PAGES]
    found = {name for text in texts for name in re.findall(r"runs/demo/([\w/.]+)", text)}
    assert found == {"world/graph", "questions.jsonl", "grpo/final", "eval/grpo"}


def test_the_files_that_a_page_names_are_there() -> None:
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        named = re.findall(rf"(?<![\w./])(?:{FOLDERS})/[\w./-]*\w", text)
        assert not [f"{page.name}: {path}" for path in named if not (ROOT / path).exists()]


def test_the_pages_can_be_read_in_two_hours() -> None:
    pages = (page for page in (ROOT / "docs").glob("*.md") if page.name != "settings.md")
    words = (word for page in pages for word in page.read_text(encoding="utf-8").split())
    assert sum(bool(re.search(r"\w", word)) for word in words) <= 22_000


WITHOUT_COMMANDS = {"faq", "threat-model"}
"""Pages of answers and of rules."""


def test_a_page_has_a_command_on_its_first_screen() -> None:
    for page in (ROOT / "docs").glob("*.md"):
        shown = re.search(r"^(?:```|    graphwalker )", page.read_text("utf-8")[:1500], re.M)
        assert shown or page.stem in WITHOUT_COMMANDS, f"which command is {page} about?"


NOTEBOOKS = sorted((ROOT / "examples").glob("*.ipynb"))
MARKED = [
    pytest.param(path, marks=pytest.mark.slow if path.stem == "train" else pytest.mark.long)
    for path in NOTEBOOKS
]
"""One of them trains for minutes."""


@pytest.mark.parametrize("path", MARKED, ids=lambda path: path.stem)
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
    assert "next: accelerate" not in text, "`graphwalker sft` and `grpo` are what is typed next"
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


ROOT_COMMAND = typer.main.get_command(app)
SETTINGS_OF = {"verify": "ceiling", "compare": "eval"}
SETTINGS_OF |= dict.fromkeys(("ranker train", "ranker eval"), "environment")
"""Commands whose settings are those of another config."""

OPEN = ("options.", "environment.options.", "trainer.", "mix.", "rewards.", "jobs.", "sft1.")
"""Settings whose entries have no fixed names, and sections of a pipeline's config."""
OTHERS = {"a.b", "most", "name"}
"""A placeholder, a setting of `graphwalker phrases`, and an attribute of a networkx node."""


def test_links_and_anchors_lead_somewhere() -> None:
    generated = {ROOT / "docs" / path for path in pages()}
    for page in [*PAGES, ROOT / "CHANGELOG.md"]:
        for file, anchor in links(page.read_text(encoding="utf-8")):
            target = (page.parent / file).resolve() if file else page
            if target not in generated:
                assert target.exists(), f"{page.name}: {file}"
                if anchor and target.suffix == ".md":
                    known = anchors(target.read_text(encoding="utf-8"))
                    assert anchor in known, f"{page.name}: {file}#{anchor}: no heading"


def test_the_reference_names_every_command_and_every_file_with_its_first_line() -> None:
    made = pages()
    assert "## graphwalker graph build\n" in made["reference/commands.md"]
    assert "## graphwalker/agents\n" in made["reference/files.md"]
    assert "| `rollout.py` | The one loop" in made["reference/files.md"]


def test_the_page_of_settings_is_the_one_that_the_code_makes() -> None:
    made = settings_text()
    assert SETTINGS.read_text(encoding="utf-8") == made, "run `python dev/reference.py`"
    for model in config_models().values():
        for row in describe(model, whole=False):
            assert f"| `{row.key}` |" in made and row.meaning.endswith((".", ".)"))
    assert "| `lr` | `1e-05` | float | Peak learning rate (GraphWalker: 1e-5; " in made
    assert "; a tiny model from scratch: 3e-3). | 1e-5 |" in made
    assert "| `top_relations` | `20` | int |" in made
    assert "(GraphWalker Table 8). | Table 8 |" in made


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_command_of_the_page_parses(page: Path) -> None:
    for words in command_lines(page.read_text(encoding="utf-8")):
        assert not list(faults(words)), " ".join(words)


def shown_commands(command: Any, names: tuple[str, ...] = ()) -> Iterator[tuple[str, str]]:
    """Every command that a person sees, with its help."""
    for name, one in getattr(command, "commands", {}).items():
        yield from () if one.hidden else shown_commands(one, (*names, name))
    if not hasattr(command, "commands"):
        yield " ".join(names), command.help


def test_the_help_of_every_command_has_an_example_that_parses() -> None:
    wrong: list[str] = []
    for name, text in shown_commands(ROOT_COMMAND):
        examples = re.findall(r"Examples?: (.+?)(?:\n\n|$)", text, re.S)
        wrong += [] if examples else [f"{name}: no example"]
        for line in re.split(r"; |, then ", " ".join("; ".join(examples).split())):
            wrong += [f"{line}: {fault}" for fault in faults(shlex.split(line))]
    assert not wrong


def test_every_setting_that_a_sentence_gives_is_known() -> None:
    known = {row.key for model in config_models().values() for row in describe(model)}
    known = {key.split(".", n)[-1] for key in known for n in range(key.count(".") + 1)}
    for page in PAGES:
        for name in settings_given(page.read_text(encoding="utf-8")):
            assert name in known | OTHERS or name.startswith(OPEN), f"{page.name}: {name}"


def test_every_command_of_a_group_that_a_message_names_exists() -> None:
    every = getattr(ROOT_COMMAND, "commands", {}).items()
    groups = {name: one.commands for name, one in every if hasattr(one, "commands")}
    named = re.compile(rf"graphwalker ({'|'.join(groups)}) ([a-z-]+)\b")
    for path in sources():
        for found in named.finditer(path.read_text(encoding="utf-8")):
            assert found[2] in groups[found[1]], f"{path.name}: {found[0]}"


def test_a_wrong_command_is_found() -> None:
    for line in (
        "graphwalker evla --model m", "graphwalker eval --modle m", "graphwalker synth conut=3",
        "graphwalker eval --config configs/none.yaml", "python -m benchmarks.none",
        "accelerate launch training/sft.py --config configs/sft.yaml nosuch=1",
        "python -m benchmarks.demo --nosuch 1", "sbatch slurm/none.sbatch",
        "graphwalker config configs/cluster.yaml#none",
    ):  # fmt: skip
        assert list(faults(line.split())), line


def faults(words: list[str]) -> Iterator[str]:
    yield from _missing_configs(words)
    match words:
        case ["graphwalker", *rest]:
            yield from _command_faults(rest)
        case ["accelerate", "launch", *rest]:
            yield from _training_faults(rest)
        case ["python", "-m", module, *rest] if module.startswith(("benchmarks.", "training.")):
            yield from _script_faults(ROOT / f"{module.replace('.', '/')}.py", rest)
        case ["python", script, *rest] if script.startswith("training/"):
            yield from _script_faults(ROOT / script, rest)
        case ["sbatch", *rest]:
            scripts = [word for word in rest if word.endswith(".sbatch")]
            yield from (f"{one}: no such file" for one in scripts if not (ROOT / one).exists())
        case ["make", target, *_] if f"\n{target}:" not in (ROOT / "Makefile").read_text():
            yield f"{target}: not a target of the Makefile"


def _missing_configs(words: list[str]) -> Iterator[str]:
    for word in words:
        if word.startswith("configs/"):
            name, _, section = word.partition("#")
            if not (ROOT / name).exists():
                yield f"{name}: no such file"
            elif section and not section_of(ROOT / name, section):
                yield f"{name} has no section {section}"


def _command_faults(words: list[str]) -> Iterator[str]:
    command, names = ROOT_COMMAND, list[str]()
    while (commands := getattr(command, "commands", None)) and words and words[0][0] != "-":
        if is_placeholder(words[0]):
            return
        if words[0] not in commands:
            yield f"{words[0]}: no such command"
            return
        names, command, words = [*names, words[0]], commands[words[0]], words[1:]
    known = {option for parameter in command.params for option in parameter.opts} | {"--help"}
    words = words[: words.index("--")] if "--" in words else words  # the rest goes on
    given = {word.partition("=")[0] for word in words if word.startswith("--")}
    yield from (f"{name}: no such option of {' '.join(names)}" for name in sorted(given - known))
    valued = {o for p in command.params if not getattr(p, "is_flag", False) for o in p.opts}
    pairs = zip(["", *words], words, strict=False)
    yield from _setting_faults(
        _settings_model(names), [w for before, w in pairs if before not in valued]
    )


def _settings_model(names: list[str]) -> type[Config] | None:
    name = " ".join(names)
    return config_models().get(SETTINGS_OF.get(name, name))


def _training_faults(words: list[str]) -> Iterator[str]:
    scripts = [word for word in words if word.startswith(("training/", "training."))]
    for script in scripts:
        path = ROOT / f"{script.removesuffix('.py').replace('.', '/')}.py"
        yield from _script_faults(path, words[words.index(script) + 1 :])


def _script_faults(path: Path, words: list[str]) -> Iterator[str]:
    if not path.is_file():
        yield f"{path.relative_to(ROOT)}: no such file"
        return
    if path.parent.name == "training":
        yield from _setting_faults(config_models().get(path.stem), words)
        return
    source = path.read_text(encoding="utf-8")
    for option in (word for word in words if word.startswith("--")):
        if f'"{option}"' not in source:
            yield f"{option}: no such option of {path.name}"


def _setting_faults(model: type[Config] | None, words: list[str]) -> Iterator[str]:
    if model is None:
        return
    for word in words:
        name, equals, _ = word.partition("=")
        if equals and not word.startswith("-") and not is_placeholder(name):
            wrong: list[str] = []
            try:
                model.model_validate(read_settings(None, [word]))
            except ValidationError as error:
                wrong = [one["type"] for one in error.errors()]
            if "extra_forbidden" in wrong:
                yield f"{name}: no such setting of {model.__name__}"


def modules_with_examples() -> list[str]:
    shown = [path for path in sources() if ">>> " in path.read_text(encoding="utf-8")]
    return [".".join(path.relative_to(ROOT).with_suffix("").parts) for path in shown]


@pytest.mark.parametrize("module", modules_with_examples())
def test_the_examples_in_the_docstrings_hold(module: str) -> None:
    found = doctest.testmod(import_module(module))
    assert found.attempted and not found.failed
