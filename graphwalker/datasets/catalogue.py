"""The catalogue: each dataset's title, graph, source, licence and published sizes."""

import tomllib
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Size:
    """How many questions a published file holds. `part` names a domain or a common sample."""

    split: str
    count: int
    part: str = ""


@dataclass(frozen=True, slots=True)
class Dataset:
    """A published dataset; `docs/datasets.md` says what its loader keeps."""

    name: str
    title: str
    graph: str
    url: str = ""
    licence: str = ""
    sizes: tuple[Size, ...] = ()
    open_topics: bool = False
    """Some or all of its questions name no topic entity."""
    structures: dict[str, int] = field(default_factory=dict[str, int])
    """Questions by structure in a whole file."""


def _read() -> tuple[Dataset, ...]:
    text = Path(__file__).with_name("catalogue.toml").read_text(encoding="utf-8")
    return tuple(
        Dataset(name, sizes=tuple(Size(*size) for size in facts.pop("sizes", ())), **facts)
        for name, facts in tomllib.loads(text).items()
    )


CATALOGUE = _read()


def dataset(name: str) -> Dataset:
    """Return the dataset of that name; one that is not in the catalogue has no published sizes."""
    return next((d for d in CATALOGUE if d.name == name), Dataset(name, name, ""))


def published_size(
    name: str, split: str, count: int, parts: frozenset[str] = frozenset()
) -> Size | None:
    """Return the published file of exactly that many questions, if there is one for that split.

    `parts` is what the questions say of themselves: where a size names one of them, it is meant.
    """
    sizes = [s for s in dataset(name).sizes if s.count == count]
    fits = [s for s in sizes if not s.split or not split or s.split == split]
    return next((s for s in fits if s.part in parts), fits[0] if fits else None)
