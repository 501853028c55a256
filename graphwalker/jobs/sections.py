"""The stages of a road as rows: what each runs, reads and writes last, by the sections of a config.

Every stage runs on this machine (`local`) or as Slurm jobs (`road`), from the same row.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from typing import Annotated, Any, Literal, cast

from graphwalker.config import Config, parse_config
from graphwalker.errors import UserError
from graphwalker.runs import CARD
from graphwalker.trust import RUNS, ByHand, check_trust


@dataclass(frozen=True, slots=True)
class StageKind:
    """What the stages of a kind run, and what they write last."""

    module: str
    """Behind `python -m`, with its first words."""
    last_file: str = ""
    """In the stage's folder. Empty: the section says it."""
    script: str = "synth.sbatch make"
    """Of `slurm/`, with its first words."""
    options: Literal["data", "train", "eval"] = "data"
    """The options of sbatch that its jobs take."""
    has_walks: bool = False
    """Whether it samples walks, which may start from the seeds of `jobs.seeds`."""


OWN = "own"
KINDS = {
    "synth": StageKind("graphwalker synth", CARD, "synth.sbatch synth", has_walks=True),
    "questions": StageKind("graphwalker questions", CARD, "synth.sbatch questions", has_walks=True),
    "bench": StageKind("graphwalker bench", "GWBench.json", "synth.sbatch bench", has_walks=True),
    "experts": StageKind("graphwalker experts", CARD, "experts.sbatch"),
    "sft": StageKind("graphwalker sft", "final", "sft.sbatch", "train"),
    "grpo": StageKind("graphwalker grpo", "final", "grpo.sbatch", "train"),
    "eval": StageKind("graphwalker eval", "report.html", "eval.sbatch", "eval"),
    "report": StageKind("graphwalker", "report.html"),
    "make": StageKind("graphwalker"),
    OWN: StageKind("", script="synth.sbatch run"),
}
"""What a stage can do. A section does what its name begins with (`eval-cwq`, `sft1`); one with the
setting `module` is the user's own."""
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


class OwnConfig(Config):
    """A section with `module`, of any name: a stage of your own, run as `python -m MODULE`."""

    module: Annotated[str, ByHand(RUNS)]
    """The module. A file's module runs only under `--trust`."""
    inputs: tuple[str, ...] = ()
    """Files that it reads; it waits for the stages that make them."""
    last_file: str
    """The file or folder that it writes last: the stage is done when it is there."""
    arguments: tuple[str, ...] = ()
    """Words behind the module."""


@dataclass(frozen=True, slots=True)
class ChainSection:
    """A section that is a stage: the row from which it runs, here or as Slurm jobs."""

    name: str
    kind: str
    settings: Mapping[str, Any]

    @property
    def out(self) -> str:
        """Its folder; of a stage of the user's own what it writes last."""
        return str(self.settings["last_file" if self.kind == OWN else "output_dir"])

    @property
    def last_file(self) -> str:
        """What is there when it is done."""
        if self.kind == OWN:
            return self.out
        return f"{self.out}/{KINDS[self.kind].last_file or self.text('makes')}"

    @property
    def module(self) -> str:
        """What `python -m` runs, with its first words."""
        return KINDS[self.kind].module or self.text("module")

    @property
    def inputs(self) -> list[str]:
        """The texts of its settings, some of which name files of other stages."""
        return [text for text in texts(self.settings) if text != self.out]

    def words(self, config: Path, seeds: Sequence[str] = ()) -> tuple[str, ...]:
        """Return the words behind the module (`seeds`: where walks may start)."""
        if self.kind == OWN:
            return parse_config(OwnConfig, self.settings, self.name).arguments
        if self.kind in ("make", "report"):
            return command_of(self)
        walks = seeds if KINDS[self.kind].has_walks else ()
        return ("--config", f"{config}#{self.name}", *walks)

    def text(self, key: str) -> str:
        """Return a setting as text, `""` where it is not given."""
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
        place = "last_file" if section.kind == OWN else "output_dir"
        if not section.settings.get(place):
            raise UserError(f"{where}: {place} is missing")
        check_folder(section.settings[place], f"{where}: {place}")
    return found


def check_own_stages(
    sections: Sequence[ChainSection],
    source: Path | str,
    overrides: Sequence[str] = (),
    trust: Sequence[str] = (),
) -> None:
    """Raise `UserError` for a module that the file `source` names, unless its folder is trusted or
    the same module was typed among the overrides."""
    typed = {key: value for key, _, value in (text.partition("=") for text in overrides)}
    for section in sections:
        if section.kind != OWN:
            continue
        own, name = {"module": section.text("module")}, f"{section.name}."
        given = {"module": typed[f"{name}module"]} if f"{name}module" in typed else {}
        check_trust(OwnConfig, own, source, given=given, trust=trust, prefix=name)


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
    return first if first in KINDS and first != OWN else ""


def made_before(settings: Mapping[str, Any], name: str) -> list[str]:
    """Return the folders of the sections that stand before this one in its file."""
    before = takewhile(lambda section: section.name != name, _stages_in(settings))
    return [one.out for one in before if one.text("output_dir") or one.text("last_file")]


def _stages_in(settings: Mapping[str, Any]) -> Iterator[ChainSection]:
    for name, values in settings.items():
        if isinstance(values, dict) and values:
            own = OWN if "module" in values else ""
            if kind := own or kind_of(name):
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
