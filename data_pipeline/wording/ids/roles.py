"""What one thing is to another: `capital of`, `similar to`, `head_of_dept`, and which end of a
relation is which, by the kinds of things there."""

from data_pipeline.wording.ids.inflection import (
    BARE,
    BASES,
    IS_TO,
    NOUNS_TOO,
    PAST,
    base_of,
    is_adjective,
    is_participle,
    singular,
)
from data_pipeline.wording.ids.predicates import (
    PERSONS,
    PREPOSITIONS,
    TIMES,
    Nouns,
    PlainWords,
    active,
    article,
    being,
    is_person,
    question_word,
    role_of,
    that_or_who,
)
from data_pipeline.wording.ids.words import MEASURED_IN
from graphwalker.graphs.base import Direction

_ROLES = ("er", "or", "ist", "ian", "man", "ant", "member", "citizen", "student")
_INTO = (
    "into",
    "onto",
    "through",
    "upon",
    "against",
    "towards",
    "over",
    "under",
    "along",
    "across",
)
"""What stands behind an unknown word in `s` makes a verb of it: `zorbs into`."""
_PLURALS = (
    *("offices", "roles", "branches", "operations", "items", "students", "customers", "shares"),
    *("stakes", "parts", "awards", "degrees", "positions", "seats", "campuses", "stores", "rights"),
    *("interests", "investments", "locations", "elections", "matches", "games", "goals", "points"),
    *("effects", "views", "visits", "trips", "exports", "imports", "children", "sales", "homes"),
    *("flights", "routes", "roads", "relations", "connections", "ties", "references", "friends"),
    *("partners", "members", "links", "relationships", "contracts", "treaties", "deals", "access"),
)


_WHERE = (
    *("downstream", "upstream", "north", "south", "east", "west", "ahead", "outside", "inside"),
    *("northeast", "northwest", "southeast", "southwest", "short", "independent", "composed"),
    *("aware", "exclusive", "left", "right", "tolerant", "ashore", "offshore", "uphill"),
)
"""Where something is, and how: `downstream of`."""


def by_kinds(words: list[str], nouns: Nouns) -> list[str]:
    """The words of a role as its ends need them: the doctor that a department has as its
    `head_of_dept` is its head, the person whose `DIRECTOR` is a film is the director of it.

    >>> by_kinds(["head", "of", "department"], Nouns("department", "doctor"))
    ['head']
    >>> by_kinds(["director"], Nouns("person", "film"))
    ['director', 'of']
    """
    start, end = nouns.subject.split()[-1:], nouns.object.split()[-1:]
    kind = nouns.subject.split()
    if kind and words[: len(kind)] == kind and len(words) > len(kind) + 1:
        words = words[len(kind) :]  # `movie directed by` of a movie
    if "of" in words[1:]:
        place = words.index("of", 1)
        label, named = words[:place], words[place + 1 :]
        if label[-1] in PREPOSITIONS or is_participle(label[-1]):
            return words
        if named and named[-1:] == start and start != end:
            return label
        held = is_person(label[-1]) and is_person(nouns.object)
        if not named and nouns.subject and held and not is_person(nouns.subject):
            return label
        return label if not named and [label[-1]] == end != start else words
    known = nouns.subject and nouns.object and nouns.object not in ("date", "year", "number")
    one_has_it = is_person(nouns.subject) and not is_person(nouns.object)
    if known and len(words) < 4 and is_person(words[-1]) and one_has_it:
        return [*words, "of"]
    return words


def between(words: list[str], direction: Direction, nouns: Nouns) -> PlainWords | None:
    """Words for `room_in_building`, `role_in_film`: a noun, where it is, and what it leads to.

    >>> between(["room", "in", "building"], Direction.OUT, Nouns("room", "building")).phrase
    'the building that {x} is in'
    """
    links = [place for place, word in enumerate(words) if word in PREPOSITIONS]
    if len(links) != 1 or not 0 < links[0] < len(words) - 1 or words[links[0]] in ("of", "by"):
        return None
    place = links[0]
    label, link, named = words[:place], words[place], words[place + 1 :]
    if any(map(_is_no_noun, label)) or named[-1] in (*MEASURED_IN, *TIMES):
        return None
    if nouns.object and nouns.object.split()[-1] != singular(named[-1]):
        return None  # `quantity in stock` is a number
    if not nouns.object and link not in ("in", "on", "at", "within"):
        return None  # `reason for visit` is a reason
    led = Nouns(nouns.subject, nouns.object or " ".join([*named[:-1], singular(named[-1])]))
    if "".join(label) == nouns.subject.replace(" ", ""):
        return being(link, direction, led)
    return linked_words([*label, link], direction, led, is_one=not nouns.subject)


def _is_no_noun(word: str) -> bool:
    verb = base_of(word) and base_of(word) not in NOUNS_TOO
    return bool(verb) or word in BARE or is_participle(word) or word in PAST or is_adjective(word)


def linked_words(
    words: list[str], direction: Direction, nouns: Nouns, is_one: bool = False
) -> PlainWords | None:
    """Words for a relation that ends in a preposition: `capital_of`, `similar_to`, `citizen_in`;
    `None` where there is none. `is_one`: the id began with `is`."""
    *label, last = words
    if last not in PREPOSITIONS or not label:
        return None
    if label[0] in PREPOSITIONS or any(word in PREPOSITIONS for word in label):
        return None
    if (
        last == "than"
        or (len(label) == 1 and label[0] in _WHERE)
        or (is_adjective(label[0]) and len(label) == 1)
    ):
        return being(" ".join(words), direction, nouns)
    if label == nouns.subject.split() and last not in ("of", "by"):
        return being(last, direction, nouns)  # `claim against` of a claim
    if label == ["same"]:
        return being(f"the same {last}", direction, nouns)
    if label[0] == "not" or (last == "with" and _mutual(label[-1])):
        return being(" ".join(words), direction, nouns)
    if last == "of":
        return role_of(words, direction, nouns)
    if len(label) == 1 and last in _INTO and _may_be_a_verb(label[0]):
        return active(singular(label[0]), label[0], "does", [last], direction, nouns)
    named = " ".join(label)
    if last == "by":
        return _work_by(" ".join(label), direction, nouns)
    role = label[-1].endswith(_ROLES) and label[-1] not in BASES
    role = role and (not nouns.subject or is_person(nouns.subject))
    had = label[-1] in _HAD_FOR or is_person(nouns.subject)  # a patron's season ticket for a stage
    role = role or (last == "for" and not had)
    if is_one or role or label[-1] in (*IS_TO, *PERSONS):
        return being(
            f"{'' if label[0] == 'part' else article(named)} {named} {last}".lstrip(),
            direction,
            nouns,
        )
    an = "the" if label[0] == "same" else article(named)
    held = named if named.endswith("s") else f"{an} {named}"
    if direction is Direction.IN:
        noun = nouns.subject
        predicate = f"has {held} {last} {{x}}"
        return PlainWords(
            f"the {noun or 'entity'} {that_or_who(noun or 'thing')} {predicate}", predicate, noun
        )
    noun = nouns.object
    question = f"{question_word(noun)} does {{x}} have {held} {last}?"
    return PlainWords(f"the {noun or 'thing'} that {{x}} has {held} {last}", "", noun, question)


_HAD_FOR = (
    *("responsibility", "contract", "budget", "reason", "preference", "approval", "application"),
    *("demand", "request", "license", "permit", "need", "plan", "talent", "passion", "respect"),
    *("love", "reputation", "award", "prize", "nomination", "evidence", "support", "visa", "bid"),
)


def _work_by(work: str, direction: Direction, nouns: Nouns) -> PlainWords:
    """`music_by`, `first_ascent_by`: by whom a part of something is."""
    noun, be = nouns.found(direction), "are" if work.endswith("s") else "is"
    if direction is Direction.IN:
        return PlainWords(f"the {noun or 'entity'} whose {work} {be} by {{x}}", "", noun)
    question = f"{question_word(noun) if noun else 'Who'} {be} the {work} of {{x}} by?"
    phrase = f"the {noun or 'one'} that the {work} of {{x}} {be} by"
    return PlainWords(phrase, "", noun, question)


def _mutual(word: str) -> bool:
    """`friends with`: what two are to one another."""
    one = singular(word)
    return one != word and (one in PERSONS or one in ("ally", "enemy", "neighbor", "neighbour"))


def _may_be_a_verb(word: str) -> bool:
    return word.endswith("s") and not word.endswith(("ss", "us", "is")) and word not in _PLURALS
