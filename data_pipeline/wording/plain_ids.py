"""Phrases from a relation id that is a few English words: `livesIn`, `has_genre`, `directed_by`."""

import re
from dataclasses import dataclass

from graphwalker.graphs.base import Direction

_REGULAR = (
    *("acquire", "affect", "appoint", "approve", "attend", "author", "award", "belong"),
    *("border", "cause", "cite", "compete", "compose", "connect", "contain", "control"),
    *("cover", "create", "cross", "depend", "deploy", "describe", "design", "develop"),
    *("direct", "discover", "edit", "employ", "enter", "finance", "follow", "found", "fund"),
    *("govern", "graduate", "host", "house", "implement", "import", "include", "influence"),
    *("inherit", "inhabit", "inspire", "introduce", "invent", "invest", "join", "like"),
    *("link", "list", "live", "locate", "maintain", "manage", "manufacture", "marry"),
    *("mention", "merge", "move", "name", "need", "nominate", "occupy", "offer", "operate"),
    *("order", "organize", "orbit", "own", "paint", "participate", "perform", "pioneer"),
    *("play", "portray", "precede", "prescribe", "present", "process", "produce", "publish"),
    *("purchase", "receive", "refer", "reference", "relate", "replace", "report", "represent"),
    *("require", "review", "serve", "show", "sign", "sponsor", "star", "start", "stock"),
    *("store", "study", "succeed", "supervise", "supply", "support", "target", "trade"),
    *("train", "transport", "treat", "use", "visit", "voice", "want", "work", "act", "appear"),
    *("contribute", "collaborate", "die", "document", "enroll", "head", "invite", "load"),
    *("migrate", "narrate", "open", "share", "partner", "record", "register", "reside"),
    *("return", "ship", "specialize", "stay"),
)
_IRREGULAR = {
    **{"write": ("wrote", "written"), "sing": ("sang", "sung"), "speak": ("spoke", "spoken")},
    **{"teach": ("taught", "taught"), "hold": ("held", "held"), "win": ("won", "won")},
    **{"know": ("knew", "known"), "build": ("built", "built"), "make": ("made", "made")},
    **{"lead": ("led", "led"), "draw": ("drew", "drawn"), "give": ("gave", "given")},
    **{"choose": ("chose", "chosen"), "buy": ("bought", "bought"), "sell": ("sold", "sold")},
    **{"run": ("ran", "run"), "feed": ("fed", "fed"), "send": ("sent", "sent")},
    **{"have": ("had", "had"), "eat": ("ate", "eaten"), "beat": ("beat", "beaten")},
    **{"bear": ("bore", "born"), "find": ("found", "found"), "bring": ("brought", "brought")},
    **{"take": ("took", "taken"), "see": ("saw", "seen"), "meet": ("met", "met")},
    **{"fly": ("flew", "flown"), "drive": ("drove", "driven"), "read": ("read", "read")},
    **{"grow": ("grew", "grown"), "begin": ("began", "begun"), "bind": ("bound", "bound")},
}
PREPOSITIONS = (
    *("of", "in", "by", "for", "on", "at", "to", "from", "with", "as", "about", "under", "near"),
    *("through", "into", "over", "after", "before", "during", "against", "within", "between"),
)
STATES = (
    *("located", "headquartered", "based", "known", "owned", "spoken", "married", "used", "held"),
    *("related", "connected", "linked", "employed", "included", "situated", "contained", "part"),
    *("controlled", "governed", "affiliated", "associated", "enrolled", "named", "managed", "led"),
    *("supervised", "operated", "classified", "derived", "composed", "bound", "covered"),
)
"""Participles of what still holds: `is located in`; others are over: `was born in`."""
INTRANSITIVE = (
    *("live", "work", "act", "appear", "participate", "compete", "serve", "graduate", "die"),
    *("star", "belong", "reside", "study", "specialize", "collaborate", "contribute", "depend"),
    *("migrate", "invest", "perform", "play", "stay", "merge", "refer"),
)
AGENTS = {
    **{"directed": "director", "written": "writer", "produced": "producer", "founded": "founder"},
    **{"composed": "composer", "edited": "editor", "owned": "owner", "published": "publisher"},
    **{"created": "creator", "designed": "designer", "invented": "inventor", "led": "leader"},
    **{"developed": "developer", "distributed": "distributor", "managed": "manager"},
    **{"taught": "teacher", "supervised": "supervisor", "painted": "painter"},
    **{"employed": "employer", "operated": "operator", "manufactured": "manufacturer"},
    **{"sponsored": "sponsor", "discovered": "discoverer", "reviewed": "reviewer"},
    **{"authored": "author", "narrated": "narrator", "performed": "performer"},
}
PEOPLE_DO = (
    *("live", "marry", "act", "graduate", "die", "study", "reside", "write", "bear", "teach"),
    *("sing", "paint", "invent"),
)
PLACES = (
    *("located", "headquartered", "based", "born", "situated", "buried", "filmed", "raised"),
    "educated",
)
JOINED = {
    **{"birth place": "birthplace", "birth date": "date of birth", "death date": "date of death"},
    **{"death place": "place of death", "resting place": "burial place"},
    **{"birth year": "year of birth", "death year": "year of death", "starring": "star"},
    **{"birthdate": "date of birth", "deathplace": "place of death", "a": "type", "isa": "type"},
    **{"see also": "related thing", "sub class of": "subclass of", "based near": "home town"},
    **dict.fromkeys(("starred actors", "starred actor", "starring actors"), "star"),
    **{"followed by": "successor", "starring": "star", "cast": "cast member"},
}


PERSONS = (
    *("artist", "winner", "inventor", "contributor", "celebrity", "musician", "designer"),
    *("soldier", "philosopher", "instrumentalist", "graduate", "employee", "member", "performer"),
    *("crewmember", "cinematographer", "impersonator", "friend", "partner", "participant"),
    *("person", "actor", "director", "producer", "writer", "author", "politician", "athlete"),
    *("player", "coach", "editor", "composer", "lyricist", "founder", "nominee", "spouse"),
    *("child", "parent", "sibling", "character", "monarch", "student", "graduate", "friend"),
    *(
        "supervisor",
        "teacher",
        "manager",
        "owner",
        "leader",
        "inhabitant",
        "researcher",
        "narrator",
    ),
    *("painter", "poet", "singer", "scientist", "customer", "user", "man", "woman", "citizen"),
    *("executive", "ceo", "CEO", "chairman", "president", "wife", "husband", "father", "mother"),
    *("brother", "sister", "son", "daughter", "advisor", "reviewer", "colleague", "reader"),
)


@dataclass(frozen=True, slots=True)
class Nouns:
    """What a relation starts at and what it leads to: `paper` and `journal`."""

    subject: str = ""
    object: str = ""

    def found(self, direction: Direction) -> str:
        return self.object if direction is Direction.OUT else self.subject


@dataclass(frozen=True, slots=True)
class PlainWords:
    """How a hop is worded: a noun phrase, a clause and a question where they read well, the noun of
    what it finds."""

    phrase: str
    clause: str
    noun: str
    question: str = ""
    nested: str = ""
    """Another noun phrase, for inside of others: it ends on its slot, where `the place that {x}
    lives in` would put one preposition behind another."""


NAMED = {
    **dict.fromkeys(("works for", "works at", "worked for"), "the employer of {x}"),
    **dict.fromkeys(("lives in", "resides in"), "the home town of {x}"),
    **dict.fromkeys(("located in", "situated in", "based in"), "the location of {x}"),
    **dict.fromkeys(("acted in", "appeared in", "starred in"), "the {noun} featuring {x}"),
    **dict.fromkeys(("educated at", "studied at", "graduated from"), "the alma mater of {x}"),
    **{"headquartered in": "the seat of {x}", "published in": "the {noun} that published {x}"},
    **{"born in": "the birthplace of {x}", "died in": "the place where {x} died"},
    **{"affiliated with": "the affiliation of {x}", "married to": "the spouse of {x}"},
    **{"owns stake in": "the {noun} part-owned by {x}", "based on": "the basis of {x}"},
    **{"enrolled in": "the course of {x}", "belongs to": "the owner of {x}"},
}


def _named(words: list[str], noun: str) -> str:
    return NAMED.get(" ".join(words), "").replace("{noun}", noun or "thing")


def words_of(relation: str) -> list[str]:
    """The words of an id, of an IRI those of its last part.

    >>> words_of("http://dbpedia.org/ontology/birthPlace")
    ['birth', 'place']
    """
    last = re.split(r"[#/:]", relation.rstrip("#/:"))[-1]
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", " ", last)
    return [word.lower() for word in re.findall(r"[^\W_]+", spaced)] or ["relation"]


def third(base: str) -> str:
    """The verb as one does it now: `owns`, `studies`."""
    if base == "have":
        return "has"
    if base.endswith("y") and base[-2] not in "aeiou":
        return base[:-1] + "ies"
    return base + ("es" if base.endswith(("s", "x", "ch", "sh", "o")) else "s")


def past(base: str) -> str:
    """The verb as one did it: `owned`, `wrote`."""
    if base in _IRREGULAR:
        return _IRREGULAR[base][0]
    if base.endswith("y") and base[-2] not in "aeiou":
        return base[:-1] + "ied"
    return base + ("d" if base.endswith("e") else "red" if base == "star" else "ed")


def participle(base: str) -> str:
    """What was done to it: `is owned`, `was written`."""
    return _IRREGULAR[base][1] if base in _IRREGULAR else past(base)


BASES = (*_REGULAR, *_IRREGULAR)
THIRD = {third(base): base for base in BASES}
PAST = {past(base): base for base in BASES}
PARTICIPLE = {participle(base): base for base in BASES}


def plain_words(words: list[str], direction: Direction, nouns: Nouns) -> PlainWords | None:
    """Words for a hop whose relation is a verb or ends in a preposition; `None` for a noun.

    >>> plain_words(["works", "for"], Direction.OUT, Nouns("person", "company")).question
    'Which company does {x} work for?'
    """
    first, *rest = words
    if len(words) > 1 and words[-1] == "by" and words[-2] in PARTICIPLE:
        return _by(words[:-1], direction, nouns)
    link = rest[0] if rest else ""
    if first in PAST and not (first in PARTICIPLE and first in STATES and link in PREPOSITIONS):
        base = PAST[first]
        if (base in INTRANSITIVE or link not in PREPOSITIONS) and _ends_well(rest):
            return _active(base, first, "did", rest, direction, nouns)
    if link in PREPOSITIONS and len(words) == 2 and _is_participle(first):
        return _passive(first, link, direction, nouns)
    base = THIRD.get(first, "")
    if base and _ends_well(rest) and not (base in _NOUNS_TOO and not link):
        return _active(base, first, "does", rest, direction, nouns)
    if first in _BARE and (not rest or rest[-1] in PREPOSITIONS):
        return _active(first, third(first), "does", rest, direction, nouns)
    return None


_NOUNS_TOO = ("star", "play", "work", "study", "list", "name", "order", "review", "report", "host")
"""Verbs whose third person is a noun's plural when it stands alone: `works`."""
_BARE = ("own", "know", "follow", "contain", "include", "manage", "cite", "employ", "belong")


def _is_participle(word: str) -> bool:
    regular = word.endswith("ed") and word not in ("seed", "breed", "speed", "feed", "bed")
    return word in PARTICIPLE or regular


def _ends_well(rest: list[str]) -> bool:
    """Nothing behind the verb, a preposition, or an object and its preposition."""
    return not rest or rest[-1] in PREPOSITIONS


def _with_article(rest: list[str]) -> str:
    """`stake in` as a phrase has it: `a stake in`."""
    if len(rest) < 2 or rest[0] in PREPOSITIONS or rest[-2].endswith("s"):
        return " ".join(rest)
    return f"{article(rest[0])} {' '.join(rest)}"


def article(word: str) -> str:
    """`a` or `an`, by its letters."""
    return "an" if word[:1] in tuple("aeio") or word.startswith(("un", "um", "up")) else "a"


def _that(noun: str) -> str:
    return "who" if noun.split()[-1] in PERSONS else "that"


def _question_word(noun: str) -> str:
    """What a question begins with: `Who`, `Which company`, `What`."""
    return "Who" if noun == "person" else f"Which {noun}" if noun else "What"


def _active(
    base: str, verb: str, aux: str, rest: list[str], direction: Direction, nouns: Nouns
) -> PlainWords:
    """What somebody does or did: `owns`, `works for`, `acted in`."""
    tail = " ".join(filter(None, [_with_article(rest)]))
    done = f"{verb} {tail}".rstrip()
    if direction is Direction.IN:
        guess = "person" if base in PEOPLE_DO else ""
        noun = nouns.subject or guess
        that = _that(noun or "one")
        return PlainWords(f"the {noun or 'one'} {that} {done} {{x}}", f"{done} {{x}}", noun)
    noun = nouns.object or ("place" if rest == ["in"] and base in ("live", "reside", "die") else "")
    question = f"{_question_word(noun)} {aux} {{x}} {base} {tail}".rstrip() + "?"
    finished = "was" if aux == "did" else "is"
    clause = f"{finished} {participle(base)} by {{x}}" if not rest else ""
    nested = _named([verb, *rest], noun)
    if not rest and base != "have":
        nested = f"the {noun or 'thing'} {participle(base)} by {{x}}"
    return PlainWords(f"the {noun or 'thing'} that {{x}} {done}", clause, noun, question, nested)


def _by(words: list[str], direction: Direction, nouns: Nouns) -> PlainWords:
    """What was done to the subject, by the object: `directed by`, `art directed by`."""
    done = words[-1]
    be = "is" if done in STATES else "was"
    verb = past(PARTICIPLE[done]) if be == "was" else third(PARTICIPLE[done])
    predicate = " ".join(words)
    if direction is Direction.IN:
        noun = nouns.subject
        return PlainWords(
            f"the {noun or 'thing'} that {{x}} {verb}"
            if len(words) == 1
            else f"the {noun or 'thing'} that {be} {predicate} by {{x}}",
            f"{be} {predicate} by {{x}}",
            noun,
            nested=f"the {noun or 'thing'} {predicate} by {{x}}",
        )
    noun = AGENTS.get(done, nouns.object) if not nouns.object or done in AGENTS else nouns.object
    if len(words) > 1:
        return PlainWords(f"the {noun or 'one'} that {{x}} {be} {predicate} by", "", noun)
    if done in AGENTS:
        question = "" if nouns.object and _that(nouns.object) == "that" else f"Who {verb} {{x}}?"
        return PlainWords(f"the {noun} of {{x}}", f"{verb} {{x}}", nouns.object or noun, question)
    that = _that(noun or "one")
    return PlainWords(f"the {noun or 'one'} {that} {verb} {{x}}", f"{verb} {{x}}", noun)


def _passive(done: str, link: str, direction: Direction, nouns: Nouns) -> PlainWords:
    """What the subject is or was: `born in`, `published in`, `married to`."""
    be = "is" if done in STATES else "was"
    if direction is Direction.IN:
        noun = nouns.subject or ("person" if done == "born" else "")
        that = _that(noun or "thing")
        predicate = f"{be} {done} {link} {{x}}"
        return PlainWords(f"the {noun or 'entity'} {that} {predicate}", predicate, noun)
    noun = nouns.object or ("place" if done in PLACES and link in ("in", "at") else "")
    if done in PLACES and link in ("in", "at"):
        question = f"Where {be} {{x}} {done}?"
    else:
        question = f"{_question_word(noun)} {be} {{x}} {done} {link}?"
    nested = _named([done, link], noun)
    return PlainWords(
        f"the {noun or 'thing'} that {{x}} {be} {done} {link}", "", noun, question, nested
    )


ADJECTIVES = (
    *("similar", "adjacent", "close", "next", "equal", "native", "famous", "responsible", "near"),
    *("known", "guilty", "allergic", "loyal", "parallel", "prior", "identical", "opposite"),
)


def linked_words(words: list[str], direction: Direction, nouns: Nouns) -> PlainWords | None:
    """Words for a relation that ends in a preposition:
    `capital_of`, `similar_to`, `citizen_in`; `None` where there is none."""
    *label, last = words
    if last not in PREPOSITIONS or not label:
        return None
    if label[0] in PREPOSITIONS or any(word in PREPOSITIONS for word in label):
        return None
    if label[0] in ADJECTIVES:
        return _being(" ".join(words), direction, nouns)
    if last == "of":
        return _role(words, direction, nouns)
    named = " ".join(label)
    if label[-1].endswith(("er", "or", "ist", "ian", "man", "ant", "member", "citizen", "student")):
        return _being(f"{article(named)} {named} {last}", direction, nouns)
    held = named if named.endswith("s") else f"{article(named)} {named}"
    if direction is Direction.IN:
        noun = nouns.subject
        predicate = f"has {held} {last} {{x}}"
        return PlainWords(
            f"the {noun or 'entity'} {_that(noun or 'thing')} {predicate}", predicate, noun
        )
    noun = nouns.object
    question = f"{_question_word(noun)} does {{x}} have {held} {last}?"
    return PlainWords(f"the {noun or 'thing'} that {{x}} has {held} {last}", "", noun, question)


def _being(predicate: str, direction: Direction, nouns: Nouns) -> PlainWords:
    noun = nouns.found(direction)
    if direction is Direction.OUT:
        return PlainWords(f"the {noun or 'thing'} that {{x}} is {predicate}", "", noun)
    that = _that(noun or "thing")
    return PlainWords(
        f"the {noun or 'entity'} {that} is {predicate} {{x}}", f"is {predicate} {{x}}", noun
    )


ONLY_ONE = (
    *(
        "capital",
        "ceo",
        "head",
        "owner",
        "president",
        "chairman",
        "king",
        "queen",
        "mayor",
        "leader",
    ),
    *("father", "mother", "wife", "husband", "author", "director", "sequel", "founder"),
)


def _role(words: list[str], direction: Direction, nouns: Nouns) -> PlainWords | None:
    """What the subject is of the object: `capital of`, `part of`, `brother of`."""
    if words[-1] != "of" or len(words) < 2:
        return None
    label, noun = " ".join(words[:-1]), nouns.object
    an = "the" if words[-2] in ONLY_ONE else article(label)
    if direction is Direction.IN:
        return PlainWords(f"the {label} of {{x}}", f"is {an} {label} of {{x}}", label)
    word = "Who" if _that(noun or "thing") == "who" else "What"
    question = f"{word} is {{x}} {an} {label} of?"
    whose = f"the {noun or 'thing'} whose {label} is {{x}}"
    nested = "" if label in ("part", "instance", "type", "kind", "subclass", "example") else whose
    phrase = f"the {noun or 'thing'} that {{x}} is {an} {label} of"
    return PlainWords(phrase, "", noun, question, nested)
