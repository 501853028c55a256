"""Phrases made from a relation id, for graphs whose relations nobody has put into words."""

from dataclasses import dataclass

from graphwalker.graphs.base import FLATTENED, Direction

IRREGULAR = {"children": "child", "people": "person", "media": "medium", "series": "series"}
UNCHANGED = ("ss", "us", "is", "news", "sports", "series", "species")
LINKS = ("of", "in", "by", "for", "on", "at", "to", "from", "with", "as")


@dataclass(frozen=True, slots=True)
class Said:
    """What can be said of a hop from its id alone."""

    phrase: str
    clause: str
    noun: str
    source: str
    plural: str


def generated_entry(relation: str, direction: Direction) -> Said:
    """Words for a hop: the last segment names the relation, the one before it the domain.

    >>> generated_entry("location.hud_county_place.county", Direction.OUT).phrase
    'the county of {x}'
    >>> generated_entry("location.hud_county_place.county", Direction.IN).phrase
    'the hud county place whose county is {x}'
    """
    domain, label = _words(relation)
    if direction is Direction.OUT:
        return _along(domain, label)
    return _against(domain, label)


def _along(domain: str, label: str) -> Said:
    if label.split()[-1] in LINKS:
        phrase = f"the one that {{x}} is {label}"
        clause = f"is what {{x}} is {label}"
        return Said(phrase, clause, "entity", domain, "entities")
    return Said(
        f"the {label} of {{x}}", f"is the {label} of {{x}}", label, domain, pluralised(label)
    )


def _against(domain: str, label: str) -> Said:
    if label.split()[-1] in LINKS:
        phrase, clause = f"the {domain} that is {label} {{x}}", f"is {label} {{x}}"
    else:
        phrase = f"the {domain} whose {label} is {{x}}"
        clause = f"has {{x}} as its {label}"
    return Said(phrase, clause, domain, label, pluralised(domain))


def _words(relation: str) -> tuple[str, str]:
    """(domain, label) of a relation id; a flattened pair is labelled by both of its halves."""
    first, _, second = relation.partition(FLATTENED)
    domain, label = _halves(first)
    if not second:
        return domain, label
    _, last = _halves(second)
    if last == label or last in label.split() or label in last.split():
        return domain, max(label, last, key=len)
    return domain, f"{label} {last}"


def _halves(relation: str) -> tuple[str, str]:
    parts = [part for part in relation.replace("/", ".").split(".") if part] or ["relation"]
    label = " ".join(_split(parts[-1])) or "relation"
    domain = " ".join(_split(parts[-2])) if len(parts) > 1 else "entity"
    return domain or "entity", singular(label)


def _split(segment: str) -> list[str]:
    return [word for word in segment.replace("-", "_").split("_") if word and word != "s"]


def singular(label: str) -> str:
    """The label with its last plural noun made singular: `works written` becomes `work written`."""
    words = label.split()
    links = [i for i, word in enumerate(words) if word in LINKS]
    last = (links[0] if links and links[0] > 0 else len(words)) - 1
    if last > 0 and words[last].endswith(("ed", "en")):
        last -= 1
    words[last] = _singular_word(words[last])
    return " ".join(words)


def _singular_word(word: str) -> str:
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
