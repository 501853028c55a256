"""The lexicon: how each hop is worded, exactly or vaguely, and which hops a phrase may mean."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from data_pipeline.wording.banks.bank import bank
from data_pipeline.wording.english import is_person, packaged_table, plural, words_of, words_of_kind
from data_pipeline.wording.ids import NOTHING_KNOWN, Nouns, generated_entry, is_plain
from graphwalker.graphs.base import FLATTENED, Direction
from graphwalker.oracle.choices import Phrases
from graphwalker.query.query import Hop, parse_hop
from graphwalker.world.schema import relation_ids as schema_relations


@dataclass(frozen=True, slots=True)
class Entry:
    """All wordings of one hop, with `{x}` for the entity that it starts from.

    A noun phrase nests (`the director of {x}`); a clause is about the entity that the hop finds
    (`directed {x}`) and stands after `Who`, `Which film` or `the person who`.
    """

    phrases: tuple[str, ...]
    """Noun phrases, the plainest first; never empty."""
    clauses: tuple[str, ...] = ()
    vague: tuple[str, ...] = ()
    """Noun phrases that fit several relations: only the graph shows which one is meant."""
    vague_clauses: tuple[str, ...] = ()
    noun: str = "entity"
    """What the hop finds: `person`, `film`."""
    source: str = ""
    """What the hop starts from, `""` when unknown."""
    plural: str = ""
    question_word: str = "What"
    """`Who` or `What`: the question word for what the hop finds."""
    questions: tuple[str, ...] = ()
    """Whole questions about it, where a noun phrase would be stiff: `When was {x} born?`."""
    generated: bool = False
    """Whether it is made from the relation id, not put into words by people."""
    plain: bool = False
    """Whether that id is a few English words, such as `livesIn`, without a domain."""
    casual: tuple[str, ...] = ()
    """The same as people type it into a search box: `who is {x} married to`."""

    @property
    def texts(self) -> tuple[str, ...]:
        """Every phrase and clause."""
        return (*self.phrases, *self.vague, *self.clauses, *self.vague_clauses)


Make = Callable[[Hop], Entry]


@dataclass(frozen=True)
class Lexicon(Phrases):
    """Phrases of the hops of one graph. Hand-written where there are any, else made from the id."""

    entries: Mapping[Hop, Entry]
    meanings: Mapping[str, tuple[Hop, ...]]
    inverses: Mapping[Hop, Hop] = field(default_factory=dict)
    written: frozenset[Hop] = frozenset()
    """The hops that people have put into words."""

    @classmethod
    def for_graph(
        cls, relation_ids: Iterable[str], own: Mapping[Hop, Entry] = {}, made: Make | None = None
    ) -> "Lexicon":
        """Return the lexicon of a graph that has these relations, plain or natively flattened.

        `own` entries win over every other; `made` makes one where nobody wrote any.
        """
        known, make = set(relation_ids), made or entry_from_id
        fictional = _fictional(known)
        entries = {**written_for(known), **own}
        for relation in sorted(known - _halves_of(entries)):
            for direction in Direction:
                hop = Hop(relation, direction)
                if hop not in entries:
                    entries[hop] = make(hop)
        written = {hop for hop, entry in entries.items() if not entry.generated} | own.keys()
        meanings = _meanings(entries, questions=not fictional)
        return cls(entries, meanings, _inverses(entries), frozenset(written))

    @classmethod
    def for_endpoint(cls, met: Iterable[str]) -> "Lexicon":
        """Return the lexicon of a graph that cannot list its relations, of which those in `met` are
        known: what people have written for such a graph, whether or not the graph has it."""
        known = set(met)
        entries = hand_written(_fictional(known)) if written_for(known) else {}
        return cls(entries, {}, _inverses(entries), frozenset(entries))

    def entry(self, hop: Hop) -> Entry:
        """Return the entry of a hop, made from its id where nobody wrote one for its CVT."""
        return self.entries.get(hop) or entry_from_id(hop)

    def readings(self, phrase_text: str) -> tuple[Hop, ...]:
        """Return every hop that the phrase may mean, inverse relations too, in a stable order."""
        return self.meanings.get(phrase_text, ())

    def readings_of(self, phrase_text: str, hop: Hop) -> tuple[Hop, ...]:
        """Return the readings of a phrase that words `hop`: the true hop first. A relation that
        people read both ways (`What interacts with X?`) may be meant from its other end, too."""
        others = list(self.readings(phrase_text))
        if reads_both_ways(hop.relation):
            others.append(Hop(hop.relation, hop.direction.reverse))
        return tuple(dict.fromkeys((hop, *others)))

    def says(self, hop: Hop) -> tuple[str, ...]:
        """Return the noun phrases of a hop, the plainest first; none where people have worded other
        relations of this graph, but not this one."""
        return self.entry(hop).phrases if hop in self.written or not self.written else ()

    def questions(self, hop: Hop) -> tuple[str, ...]:
        return (*self.entry(hop).questions, *self.entry(hop).casual)

    def pronoun(self, hop: Hop) -> str:
        """Return what stands for the entity that a hop starts from: a person is not `it`."""
        source = self.entry(hop).source
        return f"this {source}" if is_person(source) else "it"

    def inverse(self, hop: Hop) -> Hop | None:
        """Return the same fact seen the other way round: `~film.director.film` for
        `film.film.directed_by`, a symmetric relation (a marriage) reversed; else `None`."""
        return self.inverses.get(hop)


@cache
def reads_both_ways(relation: str) -> bool:
    """Return whether the words of the id say the same of both ends.

    >>> reads_both_ways("interacts_with"), reads_both_ways("borderingCountry")
    (True, True)
    >>> reads_both_ways("people.person.sibling_s"), reads_both_ways("parent_of")
    (True, False)
    """
    words = re.split(r"[./#]", relation.partition(FLATTENED)[0])[-1]
    return not words_of_kind("both_ways").isdisjoint(words_of(words))


def written_for(relations: Iterable[str]) -> dict[Hop, Entry]:
    """Return the hand-written entries of a graph that has these relations."""
    known = set(relations)
    found = hand_written(_fictional(known))
    return {hop: entry for hop, entry in found.items() if _present(hop.relation, known)}


def _fictional(relations: set[str]) -> bool:
    return relations <= set(schema_relations())


@cache
def hand_written(fictional: bool = True) -> dict[Hop, Entry]:
    """Return the entries of `phrases.toml`, for the fictional world, or of the phrase bank."""
    return parse_table(packaged_table("phrases.toml") if fictional else bank())


def parse_table(table: Mapping[str, Any]) -> dict[Hop, Entry]:
    """Read `[kind]`, `[[relation]]` and `[[vague]]` of a phrase table. A direction without
    wording has no entry; a relation that is its own inverse needs but one."""
    vague = _vague_phrases(table.get("vague", ()))
    entries: dict[Hop, Entry] = {}
    for row in table["relation"]:
        source, target = table["kind"][row["from"]], table["kind"][row["to"]]
        for direction, start, end in (
            (Direction.OUT, source, target),
            (Direction.IN, target, source),
        ):
            if str(direction) not in row:
                continue
            hop = Hop(row["id"], direction)
            casual = row.get(f"{direction}_casual", "").split("\n")
            wording = _entry(row[str(direction)], casual, start, end, vague.get(hop, []))
            if direction is Direction.IN and row["in"] == row.get("out"):
                wording = entries[Hop(row["id"], Direction.OUT)]  # symmetric, as a marriage is
            entries[hop] = wording
            if "inverse" in row:
                entries[Hop(row["inverse"], direction.reverse)] = wording
    return entries


def _entry(
    wording: Mapping[str, Any],
    casual: Sequence[str],
    start: Mapping[str, str],
    end: Mapping[str, str],
    vague: Sequence[tuple[str, str]],
) -> Entry:
    return Entry(
        phrases=tuple(wording.get("phrase", ())),
        clauses=tuple(wording.get("clause", ())),
        vague=tuple(phrase for phrase, _ in vague),
        vague_clauses=tuple(clause for _, clause in vague),
        noun=end["noun"],
        source=start["noun"],
        plural=end["plural"],
        question_word=end["question_word"],
        questions=tuple(wording.get("question", ())),
        casual=tuple(filter(None, casual)),
    )


def _vague_phrases(rows: Iterable[Mapping[str, Any]]) -> dict[Hop, list[tuple[str, str]]]:
    """Return the phrase and the clause of each row, by the hops that they may mean."""
    found: dict[Hop, list[tuple[str, str]]] = {}
    for row in rows:
        for text in row["hops"]:
            found.setdefault(parse_hop(text), []).append((row["phrase"], row["clause"]))
    return found


def _present(relation: str, known: set[str]) -> bool:
    return relation in known or (
        FLATTENED in relation and all(part in known for part in relation.split(FLATTENED))
    )


def _halves_of(entries: Mapping[Hop, Entry]) -> set[str]:
    """Relations to or from a CVT node; nothing but their pairs is ever worded."""
    return {
        half
        for hop in entries
        if FLATTENED in hop.relation
        for half in hop.relation.split(FLATTENED)
    }


def _meanings(entries: Mapping[Hop, Entry], questions: bool) -> dict[str, tuple[Hop, ...]]:
    """`questions`: whole questions, too, which mean one relation each in the fictional world."""
    found: dict[str, list[Hop]] = {}
    for hop in sorted(entries):
        entry = entries[hop]
        whole = (*entry.questions, *entry.casual) if questions else ()
        for text in (*entry.texts, *whole):
            found.setdefault(text, []).append(hop)
    return {text: tuple(hops) for text, hops in found.items()}


def _inverses(entries: Mapping[Hop, Entry]) -> dict[Hop, Hop]:
    by_entry: dict[int, list[Hop]] = {}
    for hop in sorted(entries):
        by_entry.setdefault(id(entries[hop]), []).append(hop)
    pairs = [hops for hops in by_entry.values() if len(hops) == 2]
    return {a: b for first, second in pairs for a, b in ((first, second), (second, first))}


@cache
def hand_written_inverses() -> Mapping[Hop, Hop]:
    """`Lexicon.inverse` of every hop that stands in the table or in the bank, whatever a graph
    holds of them."""
    return {**_inverses(hand_written(fictional=False)), **_inverses(hand_written())}


@cache
def entry_from_id(hop: Hop, nouns: Nouns = NOTHING_KNOWN, label: str = "") -> Entry:
    """Get the entry of a hop that nobody wrote down, from its id and what the graph knows of it."""
    wording = generated_entry(hop.relation, hop.direction, nouns, label)
    return Entry(
        phrases=tuple(text for text in (wording.phrase, wording.nested) if text),
        clauses=(wording.clause,) if wording.clause else (),
        noun=wording.noun,
        plural=plural(wording.noun),
        source=nouns.at_end(hop.direction.reverse),
        question_word="Who" if is_person(wording.noun) else "What",
        questions=tuple(text for text in (wording.question, wording.final_question) if text),
        generated=True,
        plain=is_plain(hop.relation),
    )
