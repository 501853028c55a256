"""Phrases made from a relation id, for graphs whose relations nobody has put into words."""

import re
import tomllib
from functools import cache
from importlib.resources import files
from typing import Any

from data_pipeline.wording.ids.inflection import singular
from data_pipeline.wording.ids.predicates import Nouns
from data_pipeline.wording.labels import (
    LINKS,
    HopWords,
    capitals,
    labelled,
    named,
    noun_label,
)
from data_pipeline.wording.plain_ids import from_words, words_of
from graphwalker.graphs.base import FLATTENED, Direction

NOTHING_KNOWN = Nouns()
_IRI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:.")
_OF_A_KIND = re.compile(r"[A-Za-z]\w*\.[A-Za-z][\w-]*")
_PATH = re.compile(r"/[a-z]/\w+")
"""ConceptNet's relations: `/r/UsedFor`."""


def generated_entry(
    relation: str, direction: Direction, nouns: Nouns = NOTHING_KNOWN, label: str = ""
) -> HopWords:
    """Words for a hop: the last segment names the relation, the one before it the domain.

    An id without a domain (`livesIn`, `has_genre`, an IRI) is read as English words, those of
    `label` where the graph has one; `nouns` say what it joins.

    >>> generated_entry("geography.river_delta.county", Direction.OUT).phrase
    'the county of {x}'
    >>> generated_entry("geography.river_delta.county", Direction.IN).phrase
    'the river delta whose county is {x}'
    >>> generated_entry("sports.team.countries_played_in", Direction.OUT).phrase
    'the country that {x} played in'
    """
    if relation in _table()["wording"]:
        return _table()["wording"][relation][direction]
    if is_plain(relation):
        if _OF_A_KIND.fullmatch(relation):
            kind, _, relation = relation.partition(".")
            nouns = Nouns(nouns.subject or " ".join(words_of(kind)), nouns.object)
        words = words_of(relation) if not label else re.findall(r"[^\W_]+", label.lower())
        default = "thing" if relation.isupper() else "entity"
        return from_words(words or ["relation"], direction, nouns, default)
    first, _, second = relation.partition(FLATTENED)
    domain, label = _halves(first)
    if relation in _table()["label"]:
        return named(domain, _table()["label"][relation], direction)
    last = _halves(second)[1] if second else ""
    if last and last.split()[-1] in LINKS and label.split()[-1] not in LINKS:
        return _through(domain, label, last, direction)
    return labelled(domain, _combined(domain, label, last) if last else label, direction)


def is_plain(relation: str) -> bool:
    """Whether an id has no domain in it, as Freebase's have: `livesIn`, an IRI; `person.works_for`
    has but a kind."""
    if _OF_A_KIND.fullmatch(relation) or _IRI.match(relation) or _PATH.fullmatch(relation):
        return True
    return not any(mark in relation for mark in "./")


@cache
def _table() -> dict[str, dict[str, Any]]:
    """The packaged table `labels.toml`; what a verb words, by direction."""
    text = files("data_pipeline.wording").joinpath("labels.toml").read_text(encoding="utf-8")
    table = tomllib.loads(text)
    wording = {
        row["id"]: {d: HopWords(row[d], row[f"clause_{d}"], row[f"noun_{d}"]) for d in Direction}
        for row in table["wording"]
    }
    return {**table, "wording": wording}


def _through(domain: str, label: str, last: str, direction: Direction) -> HopWords:
    """Flattened pairs whose second half ends in a preposition: winners, then `honored for`."""
    if direction is Direction.OUT:
        return HopWords(f"the thing that the {label} of {{x}} is {last}", "", "thing")
    return HopWords(f"the {domain} whose {label} is {last} {{x}}", "", domain)


def _combined(domain: str, label: str, last: str) -> str:
    """One label for both halves of a flattened pair; back to the own kind it is a `fellow` one."""
    if last == domain:
        return f"fellow {last}"
    if set(last.split()) <= set(label.split()):
        return label
    if set(label.split()) <= set(last.split()) or label.split()[-1] in LINKS:
        return last
    if len(label.split()) + len(last.split()) > 3:
        return last  # `regular dubbing performance language` means no more than `language`
    return f"{label} {last}"


def _halves(relation: str) -> tuple[str, str]:
    """The words of the domain and of the label; of an IRI only its last part means something."""
    if _IRI.match(relation):
        return "entity", capitals(noun_label(_local_words(relation) or "relation"))
    parts = [part for part in relation.replace("/", ".").split(".") if part] or ["relation"]
    label = " ".join(_split(parts[-1])) or "relation"
    words = _split(parts[-2]) if len(parts) > 1 else []
    *named, last = words or ["entity"]
    domain = " ".join([*named, last if last == "games" else singular(last)])
    return _table()["domain"].get(domain, capitals(domain)), capitals(noun_label(label))


def _local_words(iri: str) -> str:
    """The words of an IRI's last part: `placeOfBirth` in `http://x.org/rel#placeOfBirth`."""
    last = re.split(r"[#/:]", iri.rstrip("#/:"))[-1]
    return " ".join(_split(last))


def _split(segment: str) -> list[str]:
    """Its words; the lone `s` of `owner_s` is none."""
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", segment)
    words = [word for word in re.findall(r"[^\W_]+", spaced.lower()) if word != "s"]
    return ["included" if word == "includes" else word for word in words]
