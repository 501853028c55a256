"""Every command on a page parses: known command, known options, known settings, existing config."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer
from pydantic import ValidationError

from dev.reference import SETTINGS, pages, settings_text
from graphwalker.cli.app import app
from graphwalker.config import Config, read_settings
from graphwalker.console.settings import describe
from graphwalker.demo.models import config_models
from support.pages import anchors, command_lines, is_placeholder, links, section_of, settings_given
from support.paths import ROOT

PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
ROOT_COMMAND = typer.main.get_command(app)
SETTINGS_OF = {
    **{"verify": "ceiling", "compare": "eval", "ranker train": "environment"},
    "ranker eval": "environment",
}
"""Commands whose settings are those of another config."""

OPEN = ("options.", "environment.options.", "trainer.", "mix.", "rewards.", "jobs.", "sft1.")
"""Settings whose entries have no fixed names, and sections of a pipeline's config."""
OTHERS = {"a.b", "most", "name"}
"""A placeholder, a setting of `graphwalker phrases`, and an attribute of a networkx node."""


def test_links_and_anchors_lead_somewhere() -> None:
    wrong = []
    generated = {ROOT / "docs" / path for path in pages()}
    for page in [*PAGES, ROOT / "CHANGELOG.md"]:
        text = page.read_text(encoding="utf-8")
        for file, anchor in links(text):
            target = (page.parent / file).resolve() if file else page
            if target in generated:
                continue
            if not target.exists():
                wrong.append(f"{page.name}: {file}: no such file")
            elif anchor and target.suffix == ".md":
                known = anchors(target.read_text(encoding="utf-8"))
                wrong += [] if anchor in known else [f"{page.name}: {file}#{anchor}: no heading"]
    assert not wrong, "\n".join(wrong)


def test_the_reference_names_every_command() -> None:
    assert "## graphwalker graph build\n" in pages()["reference/commands.md"]


def test_the_page_of_settings_is_the_one_that_the_code_makes() -> None:
    made = settings_text()
    assert SETTINGS.read_text(encoding="utf-8") == made, "run `python dev/reference.py`"
    for model in config_models().values():
        for row in describe(model, whole=False):
            assert f"| `{row.key}` |" in made and row.meaning.endswith((".", ".)"))
    assert "| `lr` | `1e-05` | float | Peak learning rate (GraphWalker: 1e-5; " in made
    assert "; a tiny model from scratch: 3e-3). | 1e-5 |" in made
    assert (
        "| `top_relations` | `20` | int |" in made and "(GraphWalker Table 8). | Table 8 |" in made
    )


def test_the_reference_names_every_file_with_its_first_line() -> None:
    made = pages()["reference/files.md"]
    assert "## graphwalker/agents\n" in made
    assert "| `rollout.py` | The one loop" in made


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_command_of_the_page_parses(page: Path) -> None:
    wrong = [
        f"{' '.join(words)}: {fault}"
        for words in command_lines(page.read_text(encoding="utf-8"))
        for fault in faults(words)
    ]
    assert not wrong, "\n".join(wrong)


def test_every_setting_that_a_sentence_gives_is_known() -> None:
    known = {row.key for model in config_models().values() for row in describe(model)}
    known = {key.split(".", n)[-1] for key in known for n in range(key.count(".") + 1)}
    wrong = [
        f"{page.name}: {name}"
        for page in PAGES
        for name in settings_given(page.read_text(encoding="utf-8"))
        if name not in known and not name.startswith(OPEN) and name not in OTHERS
    ]
    assert not wrong, "\n".join(wrong)


def test_every_command_of_a_group_that_a_message_names_exists() -> None:
    every = getattr(ROOT_COMMAND, "commands", {}).items()
    groups = {name: one.commands for name, one in every if hasattr(one, "commands")}
    named = re.compile(rf"graphwalker ({'|'.join(groups)}) ([a-z-]+)\b")
    wrong = [
        f"{path.name}: {found[0]}"
        for folder in ("graphwalker", "data_pipeline", "training", "eval")
        for path in (ROOT / folder).rglob("*.py")
        for found in named.finditer(path.read_text(encoding="utf-8"))
        if found[2] not in groups[found[1]]
    ]
    assert not wrong, "\n".join(wrong)


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
    """Yield what is wrong with a command line."""
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
        case _:
            pass


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
    models = config_models()
    name = " ".join(names)
    return models.get(SETTINGS_OF.get(name, name))


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
