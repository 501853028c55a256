"""The sections of a chain's config that are stages, and what each of them does."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import takewhile
from typing import Any, cast

from graphwalker.config import Config, parse_config
from graphwalker.errors import UserError

KINDS = "synth", "questions", "bench", "experts", "sft", "grpo", "eval", "report", "make"
"""What a stage can do. A section does what its name begins with: `eval-cwq`, `sft1`."""
QUESTIONS = "rl", "practice", "test", "test_words"
"""Sections of other names that make questions."""


class MakeConfig(Config):
    """A section `make-...`: any command of graphwalker that makes files."""

    command: tuple[str, ...]
    """The words behind `graphwalker`, such as `graph, mazes, --out, runs/mazes`."""
    output_dir: str
    """The folder that it makes."""
    makes: str
    """The file in it that is written last."""


class ReportConfig(Config):
    """A section `report`: one page about several evaluations."""

    runs: tuple[str, ...]
    """Folders of the evaluations."""
    published: tuple[str, ...] = ()
    """Tables of papers to stand beside them, such as `graphwalker-table2`."""
    output_dir: str
    """Folder of the page."""
    title: str = "GraphWalker report"
    """Heading of the page."""


@dataclass(frozen=True, slots=True)
class ChainSection:
    """A section that is a stage: its name, what it does, its settings."""

    name: str
    kind: str
    settings: Mapping[str, Any]

    @property
    def out(self) -> str:
        """Its folder."""
        return str(self.settings["output_dir"])

    def text(self, key: str) -> str:
        """A setting as text, `""` where it is not given."""
        value = self.settings.get(key)
        return "" if value is None else str(value)


def read_sections(settings: Mapping[str, Any], source: str) -> list[ChainSection]:
    """Return the stages of a chain in the order of its file.

    Raises `UserError` for a file without stages, and for a stage without a folder.
    """
    found = list(_stages_in(settings))
    if not found:
        raise UserError(f"{source}: no stages here; see configs/cluster.yaml")
    for section in found:
        where = f"{source}#{section.name}"
        if not re.fullmatch(r"\w[\w.-]*", section.name, re.ASCII):
            raise UserError(f"{where}: the name of a stage has letters, digits, dots, - and _ only")
        if not section.settings.get("output_dir"):
            raise UserError(f"{where}: output_dir is missing")
        check_folder(section.settings["output_dir"], f"{where}: output_dir")
    return found


_READ_BY_OTHERS = re.compile(r"[#%\\\x00-\x1f\x7f]|\{part\}|^[-\s]|\s$")
"""In names of folders: a section of a config, a pattern of sbatch, an option, part of an array."""


def check_folder(name: Any, what: str) -> str:
    """Return the name of a folder. Raises `UserError` for one that Slurm or YAML would read as
    something else."""
    if not isinstance(name, str):
        raise UserError(f"{what}: YAML reads {name!r} here; put the name in quotes")
    if found := _READ_BY_OTHERS.search(name):
        raise UserError(
            f"{what}: {name!r} holds {found[0]!r}, which a config or Slurm reads as something "
            "else; give another name"
        )
    return name


def kind_of(name: str) -> str:
    """Return what a section of this name does, `""` where it is no stage.

    >>> kind_of("eval-cwq"), kind_of("sft1"), kind_of("practice"), kind_of("environment")
    ('eval', 'sft', 'questions', '')
    """
    if name in QUESTIONS:
        return "questions"
    first = name.partition("-")[0].rstrip("0123456789")
    return first if first in KINDS else ""


def made_before(settings: Mapping[str, Any], name: str) -> list[str]:
    """Return the folders of the sections that stand before this one in its file."""
    before = takewhile(lambda section: section.name != name, _stages_in(settings))
    return [section.out for section in before if section.text("output_dir")]


def _stages_in(settings: Mapping[str, Any]) -> Iterator[ChainSection]:
    for name, values in settings.items():
        if isinstance(values, dict) and values and (kind := kind_of(name)):
            yield ChainSection(name, kind, cast(dict[str, Any], values))


def command_of(section: ChainSection) -> tuple[str, ...]:
    """Return the words behind `graphwalker` of a section `make-...` or `report`."""
    if section.kind == "make":
        return parse_config(MakeConfig, section.settings, section.name).command
    config = parse_config(ReportConfig, section.settings, section.name)
    published = [word for table in config.published for word in ("--published", table)]
    title = ("--title", config.title)
    return ("report", *config.runs, "--out", config.output_dir, *title, *published)


def texts(settings: Any) -> Iterator[str]:
    """Yield every text in nested settings."""
    if isinstance(settings, Mapping):
        for value in settings.values():  # pyright: ignore[reportUnknownVariableType]
            yield from texts(value)
    elif isinstance(settings, list):
        for value in settings:  # pyright: ignore[reportUnknownVariableType]
            yield from texts(value)
    elif isinstance(settings, str):
        yield settings
