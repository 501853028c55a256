"""Phrases made from a relation id, for graphs whose relations nobody has put into words."""

import re
import tomllib
from functools import cache
from importlib.resources import files
from typing import Any

from data_pipeline.wording.english import PREPOSITIONS, capitals, noun_of_label, singular, words_of
from data_pipeline.wording.predicates import Nouns
from data_pipeline.wording.relation_words import HopWords, name_hop, word_hop
from graphwalker.graphs.base import FLATTENED, Direction

NOTHING_KNOWN = Nouns()
_IRI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:.")
_OF_A_KIND = re.compile(r"[A-Za-z]\w*\.[A-Za-z][\w-]*")
_PATH = re.compile(r"/[a-z]/\w+")
"""ConceptNet's relations: `/r/UsedFor`."""


def generated_entry(
    relation: str, direction: Direction, nouns: Nouns = NOTHING_KNOWN, label: str = ""
) -> HopWords:
    """Word a hop by its id: the last segment names the relation, the one before it the domain.

    An id without a domain (`livesIn`, `has_genre`, an IRI) is read by its words, or by those of
    `label` where the graph has one; `nouns` say what it joins.

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
        words = re.findall(r"[^\W_]+", label.lower()) if label else words_of(relation)
        return word_hop(words or ["relation"], direction, nouns)
    first, _, second = relation.partition(FLATTENED)
    domain, words = _halves(first)
    if relation in _table()["label"]:
        return name_hop(_table()["label"][relation], direction, domain)
    if second:
        words = _combined(domain, noun_of_label(words), noun_of_label(_halves(second)[1]))
    return word_hop(words.split(), direction, Nouns(domain))


def label_of(relation: str) -> str:
    """Return what a relation to values is called: `release date`."""
    known = _table()["label"].get(relation)
    words = _halves(relation)[1] if not is_plain(relation) else " ".join(words_of(relation))
    return known or capitals(noun_of_label(words))


def is_plain(relation: str) -> bool:
    """Whether an id has no domain in it, as Freebase's have: `livesIn`, an IRI; `person.works_for`
    has but a kind."""
    if _OF_A_KIND.fullmatch(relation) or _IRI.match(relation) or _PATH.fullmatch(relation):
        return True
    return not any(mark in relation for mark in "./")


@cache
def _table() -> dict[str, dict[str, Any]]:
    """Return the packaged table `labels.toml`; what a verb words, by direction."""
    text = files("data_pipeline.wording").joinpath("labels.toml").read_text(encoding="utf-8")
    table = tomllib.loads(text)
    wording = {
        row["id"]: {d: HopWords(row[d], row[f"clause_{d}"], row[f"noun_{d}"]) for d in Direction}
        for row in table["wording"]
    }
    return {**table, "wording": wording}


def _combined(domain: str, label: str, last: str) -> str:
    """Return one label for both halves of a flattened pair; back to the own kind it is a `fellow`
    one."""
    if last == domain:
        return f"fellow {last}"
    if set(last.split()) <= set(label.split()):
        return label
    linked = label.split()[-1] in PREPOSITIONS
    if set(label.split()) <= set(last.split()) or linked or len(f"{label} {last}".split()) > 3:
        return last  # `regular dubbing performance language` means no more than `language`
    return f"{label} {last}"


def _halves(relation: str) -> tuple[str, str]:
    """Return the domain as a noun and the words of the property."""
    parts = [part for part in relation.replace("/", ".").split(".") if part] or ["relation"]
    # The lone `s` of `owner_s` is no word.
    words = [" ".join(w for w in words_of(part) if w != "s") or "relation" for part in parts[-2:]]
    *named, last = words[0].split() if len(words) > 1 else ["thing"]
    domain = " ".join([*named, last if last == "games" else singular(last)])
    return _table()["domain"].get(domain, capitals(domain)), words[-1]
