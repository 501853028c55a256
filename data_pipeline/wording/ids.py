"""English of relation ids: `worksFor` becomes `the company that {x} works for`.

An id is read as a predicate about its start, or else as a noun for what it leads to. One template
words each of the two.
"""

import re
from functools import cache
from typing import Any, NamedTuple

from data_pipeline.wording.english import (
    BASES,
    PARTICIPLES,
    PAST,
    PERSONS,
    PREPOSITIONS,
    TIMES,
    TRUTH,
    VALUES,
    article,
    base_of,
    capitals,
    english,
    is_adverb,
    is_participle,
    is_person,
    join_labels,
    noun_of_label,
    packaged_table,
    participle,
    past_tense,
    singular,
    spell_out,
    that_or_who,
    third_person,
    words_of,
    words_of_kind,
)
from graphwalker.graphs.base import FLATTENED, Direction

_OF_A_KIND = re.compile(r"[A-Za-z]\w*\.[A-Za-z][\w-]*")
_PLAIN = re.compile(r"(?s)[A-Za-z][A-Za-z0-9+.-]*:.+|[A-Za-z]\w*\.[A-Za-z][\w-]*|/[a-z]/\w+|[^./]*")
"""IRIs, `person.works_for`, ConceptNet's `/r/UsedFor`, `livesIn`."""


class Nouns(NamedTuple):
    """What a relation starts at and what it leads to: `paper` and `journal`."""

    subject: str = ""
    object: str = ""

    def at_end(self, direction: Direction) -> str:
        return self.object if direction is Direction.OUT else self.subject


NOTHING_KNOWN = Nouns()


class HopWords(NamedTuple):
    """How a hop is worded from its id alone; a text is `""` where none reads well."""

    phrase: str
    clause: str
    noun: str
    question: str = ""
    nested: str = ""
    """Another noun phrase, for inside of others: it ends on its slot."""
    final_question: str = ""
    """Another question, around long phrases: `{x} belongs to which club?`."""


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
        words = join_labels(domain, noun_of_label(words), noun_of_label(_halves(second)[1]))
    return word_hop(words.split(), direction, Nouns(domain))


def label_of(relation: str) -> str:
    """Return what a relation to values is called: `release date`."""
    known = _table()["label"].get(relation)
    words = _halves(relation)[1] if not is_plain(relation) else " ".join(words_of(relation))
    return known or capitals(noun_of_label(words))


def is_plain(relation: str) -> bool:
    """Return whether an id has no domain in it, as Freebase's have: `livesIn`, an IRI;
    `person.works_for` has but a kind."""
    return _PLAIN.fullmatch(relation) is not None


@cache
def _table() -> dict[str, dict[str, Any]]:
    """Return the packaged table `labels.toml`; what a verb words, by direction."""
    table = packaged_table("labels.toml")
    wording = {
        row["id"]: {d: HopWords(row[d], row[f"clause_{d}"], row[f"noun_{d}"]) for d in Direction}
        for row in table["wording"]
    }
    return {**table, "wording": wording}


def _halves(relation: str) -> tuple[str, str]:
    """Return the domain as a noun and the words of the property."""
    parts = [part for part in relation.replace("/", ".").split(".") if part] or ["relation"]
    if len(parts) > 2 and re.fullmatch(r"P\d+", parts[-2]):
        parts = parts[-1:]  # `wdt.P19.place_of_birth` names no domain
    # The lone `s` of `owner_s` is no word.
    words = [" ".join(w for w in words_of(part) if w != "s") or "relation" for part in parts[-2:]]
    *named, last = words[0].split() if len(words) > 1 else ["thing"]
    domain = " ".join([*named, last if last == "games" else singular(last)])
    return _table()["domain"].get(domain, capitals(domain)), words[-1]


def word_hop(words: list[str], direction: Direction, nouns: Nouns) -> HopWords:
    """Word a hop whose relation is these words, between things of these kinds.

    >>> word_hop(["works", "for"], Direction.OUT, Nouns("person", "company")).phrase
    'the company that {x} works for'
    >>> word_hop(["genre"], Direction.IN, Nouns("film", "genre")).phrase
    'the film whose genre is {x}'
    """
    if nouns.object == TRUTH:
        return name_hop(f'value of "{" ".join(words)}"', direction, nouns.subject or "thing")
    words = spell_out(words, is_thing=nouns.object not in ("", *VALUES))
    predicate = _read_predicate(words, nouns)
    found = _say(predicate, direction, nouns) if predicate else _name(words, direction, nouns)
    return HopWords(*map(capitals, found))


def name_hop(label: str, direction: Direction, subject: str) -> HopWords:
    """Word a hop whose relation is a noun: `the genre of {x}`, `the film whose genre is {x}`."""
    if direction is Direction.OUT:
        return HopWords(f"the {label} of {{x}}", f"is the {label} of {{x}}", label)
    its = "their" if is_person(subject) else "its"
    clause = f"has {{x}} as {its} {label}"
    return HopWords(f"the {subject} whose {label} is {{x}}", clause, subject)


def _name(words: list[str], direction: Direction, nouns: Nouns) -> HopWords:
    kind, skipped = nouns.subject.split(), PREPOSITIONS | {"has", "have", "the", "is"}
    if kind and words[-len(kind) - 1 :] == ["of", *kind]:
        words = words[: -len(kind) - 1]  # `head_of_department` of a department
    while len(words) > 1 and words[0] in skipped:
        words = words[1:]
    while len(words) > 1 and words[-1] in skipped:
        words = words[:-1]
    if kind and words[: len(kind)] == kind and len(words) > len(kind):
        words = words[len(kind) :]  # `recipeIngredient` of a recipe is its ingredient
    label = capitals(noun_of_label(" ".join(word for word in words if word != "the") or "relation"))
    made = name_hop(label, direction, nouns.subject or "thing")
    # What is found stays what it is: `Which city is the seat of X?`.
    known = direction is Direction.OUT and nouns.object not in ("", *VALUES)
    return made._replace(noun=nouns.object) if known and not is_person(made.noun) else made


class Predicate(NamedTuple):
    """What a relation says of its start."""

    auxiliary: str
    """`does`, `did`, `is`, `may`: what asks, before the subject."""
    verb: str = ""
    """Its base form, `""` behind `is` and `was`."""
    rest: str = ""
    """`for` of `works for`, `located in` of `is located in`."""
    object: str = ""
    """What the id itself says that it leads to: `city` of `lives_in_city`."""
    role: str = ""
    """What the start is of the end: `member` of `member_of`."""
    done: str = ""
    """The participle of what the end undergoes, as `owned` of `owns`; `""` where nothing is."""
    flipped: bool = False
    """Whether it is said of the end: `directed_by`."""

    @property
    def says(self) -> str:
        """`works for`, `is located in`."""
        *adverb, verb = self.verb.split() or [""]
        form = {"does": third_person, "did": past_tense}.get(self.auxiliary)
        words = [*adverb, form(verb)] if form else [self.auxiliary, *adverb, verb]
        return " ".join(filter(None, (*words, self.rest)))

    @property
    def passive(self) -> str:
        """What the end undergoes, where it stands right behind the verb: `is owned by`."""
        be = {"does": "is", "did": "was", "": "was"}.get(self.auxiliary, f"{self.auxiliary} be")
        return f"{be} {self.done} by" if self.done else ""

    def with_adverb(self, adverb: str) -> "Predicate":
        """Return `formerly played for` of `played for`, `was formerly part of` of `is part of`."""
        if self.verb:
            return self._replace(verb=f"{adverb} {self.verb}", role="", done="")
        be = "was" if adverb in ("formerly", "previously", "originally") else self.auxiliary
        return self._replace(auxiliary=be, rest=f"{adverb} {self.rest}", role="")


def _read_predicate(words: list[str], nouns: Nouns) -> Predicate | None:
    """Return what the words say of the start; `None` where they are a noun."""
    first, *rest = words
    if rest and first in words_of_kind("modals"):
        tail, named = _split(rest[1:])
        done = "" if tail else participle(rest[0])
        return Predicate(first, rest[0], " ".join(tail), named, done=done)
    is_one = bool(rest) and first in ("is", "was", "are")
    if has := bool(rest) and first in ("has", "have"):
        if rest[0] in PARTICIPLES:
            rest = [past_tense(PARTICIPLES[rest[0]]), *rest[1:]]
        elif rest[-1] not in PREPOSITIONS:
            return None
    words = rest if has or is_one else words
    if is_one and len(words) == 1 and is_participle(words[0]):
        return Predicate("was" if first == "was" else "is", rest=words[0])
    if len(words) > 1 and is_adverb(words[0]):
        found = _read_predicate(words[1:], nouns)
        return found and found.with_adverb(words[0])
    if "by" in words[1:]:
        return _read_agent(words, is_one)
    if words[0] in PREPOSITIONS:
        whole = len(words) == 1 or words[-1] in PREPOSITIONS
        return Predicate("is", rest=" ".join(words)) if whole else None
    if len(words) > 2 and words[-1] in PREPOSITIONS and is_participle(words[-2]):
        found = _read_verb(words[-2:], nouns)  # `countries_played_in`
        return found and found._replace(object=" ".join([*words[:-3], singular(words[-3])]))
    return _read_verb(words, nouns) or _read_role(words, nouns, is_one)


def _read_agent(words: list[str], still: bool) -> Predicate | None:
    """Return the predicate of `directed_by`, `looked_after_by`, `motivated_by_goal`."""
    place = words.index("by", 1)
    verb, named = words[:place], words[place + 1 :]
    while len(verb) > 1 and not is_participle(verb[0]):
        verb = verb[1:]  # `movie_directed_by` of a movie
    if not is_participle(verb[0]) or PREPOSITIONS & {*named}:
        return None
    base = PARTICIPLES.get(verb[0], "")
    now = "does" if still or verb[0] in words_of_kind("states") else "did"
    thing = " ".join([*named[:-1], *map(singular, named[-1:])])
    form, rest, done = now if base else "", " ".join(verb[1:]), " ".join(verb)
    return Predicate(form, base or verb[0], rest, thing, done=done, flipped=True)


def _split(rest: list[str]) -> tuple[list[str], str]:
    """Split what stands behind a verb: what belongs to it, and the noun of what it leads to."""
    links = [k for k, word in enumerate(rest) if word in PREPOSITIONS]
    named = rest[links[0] + 1 :] if links else rest
    if not named or len(links) > 1 or named[0] in words_of_kind("particles"):
        return rest, ""  # `works_for`, `competes_for_food_with`
    return rest[: links[0] + 1] if links else [], " ".join([*named[:-1], singular(named[-1])])


def _do(base: str, is_past: bool, tail: list[str], named: str) -> Predicate:
    """Return what one does or did: `owns`, `acted in`, `owns a stake in`."""
    bare = PREPOSITIONS | words_of_kind("without_article")
    if len(tail) > 1 and tail[0] not in bare and not tail[-2].endswith("s"):
        tail = [article(tail[0]), *tail]
    done = "" if tail or base in words_of_kind("never_undergone") else participle(base)
    return Predicate("did" if is_past else "does", base, " ".join(tail), named, done=done)


def _read_verb(words: list[str], nouns: Nouns) -> Predicate | None:
    """Return the predicate of `owns`, `acted_in`, `located_in`, `serves_cuisine`, `LIVE_IN`."""
    first, *rest = words
    tail, named = _split(rest)
    person, linked = is_person(nouns.subject), bool(tail)
    if base := base_of(first):
        noun = base in words_of_kind("nouns_too") and not linked
        things = nouns.object not in ("", base, *VALUES) and person >= is_person(nouns.object)
        fits = nouns.object in ("", named) if named else things
        return None if noun and not fits else _do(base, False, tail, named)
    if (linked or not rest) and first in BASES & words_of_kind("bare" if linked else "alone"):
        return _do(first, False, tail, named)
    if first not in PAST and not is_participle(first):
        return None
    base = PAST.get(first) or PARTICIPLES.get(first, "")
    only_past = first in PAST and first not in PARTICIPLES
    if not linked:
        did = only_past or first in words_of_kind("did") or (person and named == nouns.object)
        if rest and not did:
            return None  # `registered_office`
        if not rest and nouns.object in ("date", "year"):
            return Predicate("was", rest=f"{first} {'on' if nouns.object == 'date' else 'in'}")
        if nouns.subject == "patient" and base in ("prescribe", "assign"):
            return Predicate("was", rest=first)
        return _do(base, True, [], named) if base else Predicate("", first, object=named)
    who = not nouns.subject or person or nouns.subject.split()[-1] in words_of_kind("groups")
    did = base in words_of_kind("intransitive") or only_past
    did = did or (who and base in words_of_kind("people_act"))
    if first in PAST and (did or tail[0] not in PREPOSITIONS | words_of_kind("particles")):
        return _do(base, True, tail, named)
    be = "is" if first in words_of_kind("states") else "was"
    rest = " ".join([first, *tail])
    return Predicate(be, rest=rest, object=named) if is_participle(first) else None


def _read_role(words: list[str], nouns: Nouns, is_one: bool) -> Predicate | None:
    """Return the predicate of `capital_of`, `similar_to`, `member_of_party`, `has_effect_on`."""
    thing, person = nouns.object, is_person(nouns.subject)
    if not PREPOSITIONS & {*words}:
        of_thing = person and thing not in ("", *VALUES) and not is_person(thing)
        if not (is_one or (of_thing and is_person(words[-1]))):
            return None
        words = [*words, "of"]  # `DIRECTOR` of a film, `is_capital` of a country
    place = next(k for k, word in enumerate(words) if word in PREPOSITIONS)
    label, link, named = words[:place], words[place], words[place + 1 :]
    what, noun = " ".join(label), " ".join(map(singular, named))
    bare = what in words_of_kind("without_article") or label[-1].endswith("s")
    an = "" if bare else "the " if label[-1] in words_of_kind("only_one") else f"{article(what)} "
    held = f"{an}{what} {link}"
    if what in words_of_kind("adjectives") or what.endswith(("able", "ible", "ous", "ful")):
        return Predicate("is", rest=f"{what} {link}", object=noun)
    if link == "of":
        theirs = is_person(thing) and not person and is_person(label[-1])
        if (named and label[-1] not in ("member", "part", "citizen", "resident")) or theirs:
            return None  # `date_of_birth`; the person whom a club has as its `head_of`
        return Predicate("is", rest=held, object=noun, role=what)
    if named and (thing.split()[-1:] != named[-1:] or label[-1] in nouns.subject.split()):
        return Predicate("is", rest=link, object=noun) if what == nouns.subject else None
    if is_one or link in ("to", "with") or label[-1] in PERSONS:
        return Predicate("is", rest=held, object=noun)
    return Predicate("does", "have", held, noun)


def _say(predicate: Predicate, direction: Direction, nouns: Nouns) -> HopWords:
    """Word a predicate: `the company that {x} works for`, `the person who works for {x}`."""
    nouns = Nouns(nouns.subject, nouns.object or predicate.object)
    if predicate.flipped:
        straight = predicate._replace(flipped=False, object="")
        found = _say(straight, direction.reverse, Nouns(nouns.object, nouns.subject))
        agent = english()["agents"].get(predicate.done, "")
        if agent and direction is Direction.OUT:
            found = found._replace(phrase=f"the {agent} of {{x}}", noun=nouns.object or agent)
        return found
    noun, role = nouns.at_end(direction), predicate.role
    if direction is Direction.OUT:
        return _ask(predicate, noun)
    says = f"{predicate.says} {{x}}"
    if role and role not in words_of_kind("general_roles"):
        return HopWords(f"the {role} of {{x}}", says, noun or role)
    verbs = {base_of(word) or PAST.get(word) or PARTICIPLES.get(word) for word in says.split()[:2]}
    noun = noun or ("person" if verbs & words_of_kind("people_do") else "")
    return HopWords(
        f"the {noun or 'one'} {that_or_who(noun or 'one')} {says}", says, noun or "thing"
    )


def _ask(predicate: Predicate, noun: str) -> HopWords:
    """Word what a predicate leads to."""
    says, role, passive = predicate.says, predicate.role, predicate.passive
    verb, _, link = says.rpartition(" ")
    where = verb.rpartition(" ")[2] in words_of_kind("places") and link in ("in", "at")
    noun = noun or ("place" if where or says in ("lives in", "resides in", "works at") else "")
    asks = " ".join(filter(None, (predicate.auxiliary, "{x}", predicate.verb, predicate.rest)))
    if noun in TIMES and link in ("in", "on", "at", "since"):
        link = {"date": "on", "day": "on", "time": "at"}.get(noun, "in")
        question = f"When {asks.rpartition(' ')[0]}?"
        return HopWords(f"the {noun} {link} which {{x}} {verb}", "", noun, question)
    word = "Who" if noun == "person" else f"Which {noun}" if noun else "What"
    question = f"Where {asks.rpartition(' ')[0]}?" if where else f"{word} {asks}?"
    last = f"{{x}} {says} {f'which {noun}' if noun else 'what'}?"
    thing, nested = noun or "thing", ""
    if passive:
        undergone = re.sub(r"^(?:is|was) ", "", passive)
        nested = f"the {thing} {'that ' * (undergone == passive)}{undergone} {{x}}"
    elif role and role not in words_of_kind("general_roles"):
        nested = f"the {thing} whose {role} is {{x}}"
    # `the employer of {x}` for `works for`, where the noun may be called so.
    key = re.sub(r"^(?:is|was) (?:a )?", "", says).replace("owns a", "owns")
    may_be = not noun or noun.split()[-1] in english()["fits"].get(key, noun).split()
    usual = english()["named"].get(key, "") if may_be else ""
    return HopWords(
        f"the {thing} that {{x}} {says}",
        f"{passive} {{x}}" if passive else "",
        thing,
        question if predicate.auxiliary else "",
        usual.replace("{noun}", thing) or nested,
        last if noun != "person" else "",
    )
