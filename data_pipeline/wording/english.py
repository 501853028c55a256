"""English forms: plurals and articles by the library `inflect`, verbs by `english.toml`."""

import re
import tomllib
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any


@cache
def packaged_table(*path: str) -> dict[str, Any]:
    """Return a TOML file of this folder."""
    text = files("data_pipeline.wording").joinpath(*path).read_text(encoding="utf-8")
    return tomllib.loads(text)


def english() -> dict[str, Any]:
    """Return the packaged table `english.toml`."""
    return packaged_table("english.toml")


@cache
def words_of_kind(name: str) -> frozenset[str]:
    """Return a list of `[kinds]`; a phrase such as `set off` stands there as `set_off`."""
    return frozenset(word.replace("_", " ") for word in english()["kinds"][name].split())


PERSONS = words_of_kind("persons")
PREPOSITIONS = words_of_kind("prepositions")
TIMES = ("date", "year", "time", "day", "month")
VALUES = ("number", "date", "year")
"""Nouns of values, which name no kind of thing."""
TRUTH = "truth value"
"""What a relation such as `alive` leads to, whose words are no noun."""
UNSPECIFIC = (
    *("place", "organization", "entity", "thing", "person", "title", "work", "film or show"),
    *(
        "event",
        "group",
        "location",
        "participant",
        "party or candidate",
        "organization or politician",
    ),
)
"""Nouns that say less than `what` or `who` alone."""


def mentions(text: str, name: str) -> bool:
    """Return whether the name stands in the text as whole words, whatever the case."""
    wanted, folded = name.strip().casefold(), text.casefold()
    start = folded.find(wanted) if wanted else -1
    while start >= 0:
        end = start + len(wanted)
        around = folded[start - 1 : start] + folded[end : end + 1]
        # No pattern is compiled: names are many, and each is looked for once.
        if not any(character.isalnum() or character == "_" for character in around):
            return True
        start = folded.find(wanted, start + 1)
    return False


@cache
def _inflect() -> Any:
    # Imported here: the library takes 0.2 s to load, more than the rest of a login node's check.
    import inflect

    return inflect.engine()


@lru_cache(1 << 14)
def singular(word: str) -> str:
    """Return the singular of a plural noun; any other word stays."""
    if word in english()["singular"]:
        return english()["singular"][word]
    # `inflect` takes "bus" and "analysis" for plurals.
    ends = word.endswith(("s", "men", "people", "children")) and len(word) > 3
    if not ends or word.endswith(("ss", "us", "is")) or word in words_of_kind("unchanged"):
        return word
    return _inflect().singular_noun(word) or word


@lru_cache(1 << 14)
def plural(noun: str) -> str:
    """Return the plural of a noun of one or more words.

    >>> plural("grown child"), plural("city"), plural("headquarters")
    ('grown children', 'cities', 'headquarters')
    """
    ends_in_s = noun.endswith("s") and not noun.endswith("ss")
    return noun if ends_in_s else _inflect().plural_noun(noun)


@lru_cache(1 << 14)
def article(noun: str) -> str:
    """Return `a` or `an`, by the sound of the noun: `an hour`, `a unit`."""
    return _inflect().a(noun).partition(" ")[0]


def is_person(noun: str) -> bool:
    return noun.rpartition(" ")[2] in PERSONS


def that_or_who(noun: str) -> str:
    return "who" if is_person(noun) else "that"


def third_person(base: str) -> str:
    """Return `owns`, `studies`, `has` of a verb."""
    if base == "have":
        return "has"
    if base.endswith("y") and base[-2] not in "aeiou":
        return base[:-1] + "ies"
    return base + ("es" if base.endswith(("s", "x", "ch", "sh", "o", "z")) else "s")


def past_tense(base: str) -> str:
    """Return `owned`, `wrote`, `studied` of a verb."""
    if base in english()["irregular"]:
        return english()["irregular"][base][0]
    if base.endswith("y") and base[-2] not in "aeiou":
        return base[:-1] + "ied"
    if base in words_of_kind("doubled") or re.fullmatch(r"[^aeiou]*[aeiou][^aeiouwxy]", base):
        return base + base[-1] + "ed"
    return base + ("d" if base.endswith("e") else "ed")


def participle(base: str) -> str:
    """Return `owned`, `written`, `run` of a verb."""
    irregular = english()["irregular"]
    return irregular[base][1] if base in irregular else past_tense(base)


BASES = frozenset((*words_of_kind("regular"), *english()["irregular"]))
THIRD = {third_person(base): base for base in BASES}
PAST = {past_tense(base): base for base in BASES}
PARTICIPLES = {participle(base): base for base in BASES} | english()["participles"]


def base_of(word: str) -> str:
    """Return the verb of which a word is the third person, `""` where it is of none.

    >>> base_of("treats"), base_of("down-regulates"), base_of("genres")
    ('treat', 'down-regulate', '')
    """
    before, hyphen, verb = word.rpartition("-")
    if verb in THIRD:
        return f"{before}{hyphen}{THIRD[verb]}"
    # Endings of verbs that are in no list; nouns such as `candidates` are.
    ends = ("ates", "izes", "ifies", "duces", "scribes", "ceives")
    is_verb = word.endswith(ends) and len(word) > 7 and word not in words_of_kind("nouns_in_s")
    return str(_inflect().plural_verb(word)) if is_verb else ""


def is_participle(word: str) -> bool:
    known = word.rpartition("-")[2] in PARTICIPLES
    return known or (word.endswith("ed") and word not in words_of_kind("no_participles"))


def is_adverb(word: str) -> bool:
    ends_in_ly = word.endswith("ly") and word not in words_of_kind("no_adverbs")
    return ends_in_ly or word in words_of_kind("adverbs")


def plural_verb(verb: str) -> str:
    """Return the verb as two do it: `are`, `attend`."""
    return {"is": "are", "was": "were", "has": "have"}.get(verb) or base_of(verb) or singular(verb)


def words_of(relation: str) -> list[str]:
    """Return the words of an id, of an IRI those of its last part.

    >>> words_of("http://dbpedia.org/ontology/birthPlace")
    ['birth', 'place']
    """
    last = re.split(r"[#/:]", relation.rstrip("#/:"))[-1]
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", " ", last)
    prefix = r"(?i)(?<![a-z])co[-_ ](?=[a-z])|^(?:up|down)[-_ ](?=[a-z]{4})"
    found = re.sub(prefix, lambda match: f"{match[0][:-1]}-", spaced)
    words = re.findall(r"(?i)(?<![a-z])(?:co|up|down)-[a-z]+|[^\W_]+", found)
    return [word.lower() for word in words] or ["relation"]


def spell_out(words: list[str], is_thing: bool) -> list[str]:
    """Return the words of a relation as one would say them. `is_thing`: it leads to no mere value.

    >>> spell_out(["hq", "city"], False), spell_out(["customer", "id"], True)
    (['headquarters', 'city'], ['customer'])
    """
    keys = ("id", "ids", "ref", "fk", "key", "iri", "uri", "name")
    if is_thing and len(words) > 1 and words[-1] in keys:
        words = words[:-1]
    words = [*words[:-1], re.sub(r"(?<=[a-z]{3})\d{1,2}$", "", words[-1])]  # `author1`
    if len(words) > 1 and words[-1] in english()["units"]:
        words = [*words[:-1], english()["units"][words[-1]]]
    text = " ".join(english()["short"].get(word, word) for word in words)
    text = text.replace(" of of ", " of ")
    return english()["joined"].get(text, text).split()


def capitals(text: str) -> str:
    """Return the text with abbreviations and names in capitals: `the CEO of {x}`."""
    known = english()["capitals"]
    words = [w.upper() if re.fullmatch(r"p\d+", w) else known.get(w, w) for w in text.split()]
    return " ".join(words)


def noun_of_label(label: str) -> str:
    """Return a label as a singular noun.

    >>> noun_of_label("films in this genre"), noun_of_label("fields or topics")
    ('film', 'field or topic')
    """
    words = label.split()
    links = [k for k, word in enumerate(words) if k and word in PREPOSITIONS]
    if "this" in words and links:
        words, links = words[: links[0]], []
    if "or" in words or "and" in words:
        return " ".join("or" if word == "and" else singular(word) for word in words)
    last = links[0] - 1 if links else len(words) - 1
    return " ".join([*words[:last], singular(words[last]), *words[last + 1 :]])


def join_labels(domain: str, label: str, last: str) -> str:
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
