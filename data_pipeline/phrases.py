"""Phrases made from a relation id, for graphs whose relations nobody has put into words."""

import re
from dataclasses import dataclass

from graphwalker.graphs.base import FLATTENED, Direction

IRREGULAR = {"children": "child", "people": "person", "media": "medium", "alumni": "graduate"}
UNCHANGED = ("ss", "us", "is", "news", "sports", "series", "species")
LINKS = ("of", "in", "by", "for", "on", "at", "to", "from", "with", "as")
PARTICIPLES = ("ed", "ing", "won", "written", "held", "taught", "spoken", "sung", "born", "owned")
PERSONS = (
    *("person", "actor", "director", "producer", "writer", "author", "politician", "athlete"),
    *("player", "coach", "editor", "composer", "lyricist", "founder", "nominee", "spouse"),
    *("child", "parent", "sibling", "character", "monarch", "student", "graduate", "friend"),
)


@dataclass(frozen=True, slots=True)
class Said:
    """What can be said of a hop from its id alone; `clause` is `""` where none reads well."""

    phrase: str
    clause: str
    noun: str

    @property
    def asker(self) -> str:
        return "Who" if self.noun.split()[-1] in PERSONS else "What"

    @property
    def plural(self) -> str:
        return pluralised(self.noun)


def generated_entry(relation: str, direction: Direction) -> Said:
    """Words for a hop: the last segment names the relation, the one before it the domain.

    >>> generated_entry("location.hud_county_place.county", Direction.OUT).phrase
    'the county of {x}'
    >>> generated_entry("location.hud_county_place.county", Direction.IN).phrase
    'the hud county place whose county is {x}'
    """
    first, _, second = relation.partition(FLATTENED)
    domain, label = _halves(first)
    last = _halves(second)[1] if second else ""
    if last and last.split()[-1] in LINKS and label.split()[-1] not in LINKS:
        return _through(domain, label, last, direction)
    label = _combined(domain, label, last) if last else label
    if label.split()[-1] in LINKS:
        return _linked(domain, label, direction)
    if direction is Direction.OUT:
        return Said(f"the {label} of {{x}}", f"is the {label} of {{x}}", label)
    return Said(f"the {domain} whose {label} is {{x}}", f"has {{x}} as its {label}", domain)


def _linked(domain: str, label: str, direction: Direction) -> Said:
    """Labels that end in a preposition, such as `category of`."""
    if direction is Direction.OUT:
        return Said(f"the thing that {{x}} is {label}", f"is what {{x}} is {label}", "thing")
    return Said(f"the {domain} that is {label} {{x}}", f"is {label} {{x}}", domain)


def _through(domain: str, label: str, last: str, direction: Direction) -> Said:
    """Flattened pairs whose second half ends in a preposition: winners, then `honored for`."""
    if direction is Direction.OUT:
        return Said(f"the thing that the {label} of {{x}} is {last}", "", "thing")
    return Said(f"the {domain} whose {label} is {last} {{x}}", "", domain)


def _combined(domain: str, label: str, last: str) -> str:
    """One label for both halves of a flattened pair; back to the own kind it is a `fellow` one."""
    if last == domain:
        return f"fellow {last}"
    if set(last.split()) <= set(label.split()):
        return label
    if set(label.split()) <= set(last.split()):
        return last
    return f"{label} {last}"


def _halves(relation: str) -> tuple[str, str]:
    parts = [part for part in relation.replace("/", ".").split(".") if part] or ["relation"]
    label = " ".join(_split(parts[-1])) or "relation"
    domain = " ".join(_split(parts[-2])) if len(parts) > 1 else "entity"
    return domain or "entity", noun_label(label)


def _split(segment: str) -> list[str]:
    """Its words; the lone `s` of `owner_s` is none."""
    return [word for word in re.findall(r"[^\W_]+", segment.lower()) if word != "s"]


def noun_label(label: str) -> str:
    """The label as a singular noun: `films in this genre` becomes `film`.

    >>> noun_label("films executive produced")
    'executive produced film'
    """
    words = label.split()
    links = [i for i, word in enumerate(words) if word in LINKS]
    if "this" in words and links and links[0] > 0:
        words, links = words[: links[0]], []
    last = (links[0] if links and links[0] > 0 else len(words)) - 1
    if not links and len(words) > 1 and words[-1].endswith(PARTICIPLES):
        first = _singular(words[0])
        return " ".join([*words[1:], first]) if first != words[0] else " ".join(words)
    words[last] = _singular(words[last])
    return " ".join(words)


def _singular(word: str) -> str:
    if word in IRREGULAR:
        return IRREGULAR[word]
    if len(word) < 4 or word.endswith(UNCHANGED) or not word.endswith("s"):
        return word
    if word.endswith("ies"):
        return word[:-3] + "y"
    if word.endswith(("ches", "shes", "sses", "xes")):
        return word[:-2]
    return word[:-1]


def pluralised(noun: str) -> str:
    """A plain English plural of a generated noun."""
    if noun.endswith("y") and noun[-2:-1] not in "aeiou":
        return noun[:-1] + "ies"
    if noun.endswith(("s", "x", "ch", "sh")):
        return noun if noun.endswith("s") else noun + "es"
    return noun + "s"
