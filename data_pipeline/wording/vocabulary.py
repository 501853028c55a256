"""The lexicon of one graph: people's own words (a phrases file), hand-written ones, else made from
ids, from the graph's labels of its relations and from the types of its nodes."""

import json
import re
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from data_pipeline.wording.english import is_person, packaged_table, plural
from data_pipeline.wording.ids import Nouns, is_plain
from data_pipeline.wording.lexicon import (
    Entry,
    Lexicon,
    entry_from_id,
    hand_written_inverses,
    parse_table,
    written_for,
)
from data_pipeline.wording.type_nouns import nouns_of, spread
from graphwalker.errors import UserError
from graphwalker.files import digest, write_text
from graphwalker.graphs.base import FLATTENED, Direction, Entity, KnowledgeGraph, Step
from graphwalker.graphs.triples import Side
from graphwalker.graphs.views.wikidata import usual_labels
from graphwalker.query.query import Hop
from graphwalker.question import Question

CASUAL, COUNTS = "casual", "counts"
"""`out_casual`: questions as typed. `out_counts`: how often each was asked, for people to see."""
KEYS = (
    *("id", "from", "to", *map(str, Direction)),
    *(f"{direction}_{what}" for direction in Direction for what in (CASUAL, COUNTS)),
)
HEAD = """# How the relations of {graph} are put into words, most used first: mend what
# reads badly, remove what you leave as it is, and give the file as phrases_file=FILE.
# `out` is what the relation finds from {{x}}, `in` what it finds from its other end. A text that
# begins with "the" or "a" is a noun phrase (one at least), one that ends in "?" a question, any
# other one a clause, to stand after "Who" or "Which film". `from` and `to` are the nouns of both
# ends. `out_casual` and `in_casual` are whole questions as people type them, without marks; where
# `out` or `in` is left out, they come on top of the words that the hop has.
"""


def read_phrases(
    file: str, relations: Iterable[str], made: Callable[[Hop], Entry]
) -> dict[Hop, Entry]:
    """Return the entries of a phrases file. What it does not say of a hop is `made`.

    Raises `UserError` naming the file, the relation and what is wrong with it.
    """
    try:
        table = tomllib.loads(Path(file).read_text(encoding="utf-8"))
    except OSError as error:
        raise UserError(f"{file}: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UserError(f"{file}: not TOML: {error}") from None
    rows = table.get("relation")
    if not isinstance(rows, list) or not rows:
        raise UserError(f"{file}: no [[relation]] in it; `graphwalker phrases` writes such a file")
    known, entries = set(relations), dict[Hop, Entry]()
    for row in rows:
        relation = row.get("id") if isinstance(row, dict) else None
        if not isinstance(relation, str):
            raise UserError(f"{file}: a [[relation]] without an id")
        if wrong := sorted(set(row) - set(KEYS)):
            raise UserError(f"{file}: {relation}: {wrong[0]}: known are {', '.join(KEYS)}")
        if relation in known or known.issuperset(relation.split(FLATTENED)):
            for direction in Direction:
                hop = Hop(relation, direction)
                entries[hop] = _own(f"{file}: {relation}: {direction}", row, hop, made(hop))
    if not entries:
        raise UserError(f"{file}: none of its {len(rows)} relations is one of the graph")
    return _with_inverses(entries, known)


def _with_inverses(entries: Mapping[Hop, Entry], known: set[str]) -> dict[Hop, Entry]:
    """Let a hop and its inverse share their entry, as in the bank: they state one fact."""
    shared = dict(entries)
    for hop, inverse in hand_written_inverses().items():
        if hop in entries and inverse in entries:
            one, other = (entries[found] for found in sorted((hop, inverse)))
            # Not where people have mended one of the two.
            if (one.phrases, one.vague) == (other.phrases, other.vague):
                casual = tuple(dict.fromkeys((*one.casual, *other.casual)))
                shared[hop] = shared[inverse] = replace(one, casual=casual)
        elif hop in entries and known.issuperset(inverse.relation.split(FLATTENED)):
            shared[inverse] = shared[hop]
    return shared


def phrase_facts(file: str) -> dict[str, str]:
    """Return what a run holds of its phrases file: other words make another run."""
    return {"phrases": digest(file)} if file else {}


def _own(place: str, row: Mapping[str, Any], hop: Hop, made: Entry) -> Entry:
    texts = _texts(place, row, str(hop.direction))
    casual = _texts(place, row, f"{hop.direction}_{CASUAL}")
    nouns = [row.get(key, "") for key in ("to", "from")]
    if not all(isinstance(noun, str) for noun in nouns):
        raise UserError(f"{place}: from and to are nouns, such as film")
    found, start = nouns if hop.direction is Direction.OUT else reversed(nouns)
    entry = replace(made, source=start or made.source)
    if found:
        who = "Who" if is_person(found) else "What"
        entry = replace(entry, noun=found, plural=plural(found), question_word=who)
    if not texts:
        return replace(entry, casual=tuple(dict.fromkeys((*casual, *made.casual))))
    questions = tuple(text for text in texts if text.endswith("?"))
    phrases = tuple(text for text in texts if _is_phrase(text))
    return replace(
        entry,
        phrases=phrases or made.phrases,
        vague=() if phrases else made.vague,
        clauses=tuple(text for text in texts if text not in (*questions, *phrases)),
        vague_clauses=(),
        questions=questions,
        casual=tuple(dict.fromkeys(casual)),
    )


def _texts(place: str, row: Mapping[str, Any], key: str) -> list[str]:
    texts = row.get(key, [])
    texts = [texts] if isinstance(texts, str) else texts
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise UserError(f"{place}: write a list of texts")
    for text in texts:
        if text.count("{x}") != 1:
            raise UserError(f"{place}: {text!r}: write {{x}} once, where the entity stands")
    return texts


def _is_phrase(text: str) -> bool:
    return text.startswith(("the ", "a ", "an ")) and not text.endswith("?")


def relation_block(relation: str, values: Iterable[tuple[str, str]]) -> str:
    """Return one `[[relation]]` of a phrases file; `values` are written in TOML."""
    rows = [("id", json.dumps(relation, ensure_ascii=False)), *values]
    return "\n".join(["[[relation]]", *(f"{key} = {value}" for key, value in rows)]) + "\n"


COUNTED = 20_000
"""Entities whose relations are counted."""
WIKIDATA = "http://www.wikidata.org/entity/"


MET_AT = 20
"""Questions at whose topics the relations of an endpoint are looked up."""
MOST_MET = 200
"""Entities of an endpoint whose types are looked up."""
SEEDS_MET = 50
"""Seeds of an endpoint from which these are met."""


class GraphSample(NamedTuple):
    """What was met of a graph that cannot list what it has."""

    relations: frozenset[str]
    entities: tuple[Entity, ...]


def look_around(graph: KnowledgeGraph, questions: Sequence[Question]) -> GraphSample | None:
    """Return what lies around the topics of the first questions; `None` where the graph can list
    its own relations."""
    if graph.relation_ids():
        return None
    relations, entities = set[str](), dict[str, Entity]()
    for question in questions[:MET_AT]:
        own, here = graph.for_question(question), list(question.topic_entities)
        for _ in range(2):  # the topics, then what their relations lead to
            entities.update((entity.id, entity) for entity in here)
            sides = [Side(entity.id, way) for entity in here for way in Direction]
            listed = zip(sides, own.relations_many(sides), strict=True)
            steps = [Step(s.entity_id, r, s.direction, 2) for s, found in listed for r, _ in found]
            relations |= {step.relation for step in steps}
            here = [end for ends in own.step_many(steps) for end in ends if end.id not in entities]
            here = [] if written_for(relations) else here  # the bank needs no looking
    return GraphSample(frozenset(relations), tuple(entities.values())[:MOST_MET])


def look_from(graph: KnowledgeGraph, seeds: Sequence[Entity]) -> list[Entity]:
    """Return the seeds of a graph that cannot list its entities, and some of what they lead to."""
    sides = [Side(entity.id, way) for entity in seeds for way in Direction]
    listed = zip(sides, graph.relations_many(sides), strict=True)
    steps = [Step(s.entity_id, r, s.direction, 1) for s, found in listed for r, _ in found]
    ends = [end for ends in graph.step_many(steps) for end in ends]
    return list({entity.id: entity for entity in (*seeds, *ends)}.values())[:MOST_MET]


def lexicon_of(
    graph: KnowledgeGraph,
    phrases_file: str = "",
    around: GraphSample | None = None,
    seeds: Sequence[Entity] = (),
) -> Lexicon:
    """Return how the relations of the graph, or those that were met, are worded; `seeds` are
    entities of a graph that cannot list its own. Raises `UserError` for a bad phrases file."""
    if around and written_for(around.relations):
        return Lexicon.for_endpoint(around.relations)
    relations = sorted(around.relations) if around else graph.relation_ids()
    plain = [relation for relation in relations if is_plain(relation)]
    labels = labels_of(graph, plain) if plain else {}
    met = around.entities if around else look_from(graph, seeds) if plain and seeds else ()
    nouns = nouns_of(graph, labels, met) if plain else {}
    unknown = Nouns()

    def make_entry(hop: Hop) -> Entry:
        relation = hop.relation
        property_ = _wikidata_id(relation)
        label = labels.get(relation, "" if relation.startswith("wdt.") else None)
        if property_ and label is not None and not _own_wikibase(relation, label):
            written = wikidata().get(Hop(property_, hop.direction))
            if written:
                return written
        return entry_from_id(hop, nouns.get(relation, unknown), labels.get(relation, ""))

    if not phrases_file:
        return Lexicon.for_graph(relations, {}, make_entry)
    written = written_for(relations)
    own = read_phrases(phrases_file, relations, lambda hop: written.get(hop) or make_entry(hop))
    return Lexicon.for_graph(relations, own, make_entry)


@cache
def wikidata() -> dict[Hop, Entry]:
    """Return the phrase bank of Wikidata's properties, by their bare ids."""
    return parse_table(packaged_table("banks", "wikidata.toml"))


def _wikidata_id(relation: str) -> str:
    """`P31` of the property itself, of its IRIs and of `wdt.P31.instance_of`, `""` of anything
    else."""
    last = re.split(r"[#/:]", relation)[-1]
    found = re.fullmatch(r"wdt\.(P\d+)(?:\.\w*)?|(P\d+)", last)
    return found[1] or found[2] if found else ""


def _own_wikibase(relation: str, label: str) -> bool:
    """Return whether a property is of somebody's own Wikibase, where P57 is not Wikidata's."""
    return bool(label) and not _is_wikidatas(relation)


def _is_wikidatas(relation: str) -> bool:
    return "://" not in relation or "wikidata.org" in relation


def labels_of(graph: KnowledgeGraph, relations: Sequence[str]) -> dict[str, str]:
    """Return what the graph calls each relation (`rdfs:label`, Wikidata's label), else its usual
    label where it is Wikidata's, else `""`."""
    spellings: dict[str, list[str]] = {}
    for relation in relations:
        property_ = _wikidata_id(relation)
        more = [WIKIDATA + property_, property_] if property_ else []
        more += [_entity_iri(relation, property_)] if property_ and "/prop/" in relation else []
        spellings[relation] = list(dict.fromkeys([relation, *more]))
    wanted = [spelling for found in spellings.values() for spelling in found]
    names = dict(zip(wanted, graph.names_many(wanted), strict=True))
    return {
        relation: next(
            (n for n in map(names.__getitem__, found) if _is_label(n) and n not in found),
            usual_labels().get(_wikidata_id(relation), "") if _is_wikidatas(relation) else "",
        )
        for relation, found in spellings.items()
    }


def _entity_iri(relation: str, property_: str) -> str:
    """Return where a Wikibase keeps a label: `.../entity/P57` of `.../prop/direct/P57`."""
    return f"{relation.partition('/prop/')[0]}/entity/{property_}"


def _is_label(name: str) -> bool:
    return bool(name.strip()) and ":" not in name and len(name.split()) <= 8


def most_used(graph: KnowledgeGraph, name: str) -> list[str]:
    """Return the relations of the graph, ways through CVT nodes among them, most used first;
    counted around the entities looked at. Raises `UserError` for a graph that lists none."""
    counts: Counter[str] = Counter()
    for entity in spread(graph, COUNTED):
        counts.update(dict(graph.flat_relations(entity.id, Direction.OUT)))
    through = {half for r in counts if FLATTENED in r for half in r.split(FLATTENED)}
    counts.update(dict.fromkeys(set(graph.relation_ids()) - through, 0))
    if not counts:
        raise UserError(f"{name} cannot list its relations: write the file by hand")
    return sorted(counts, key=lambda relation: (-counts[relation], relation))


def write_used_words(graph: KnowledgeGraph, name: str, out: Path) -> dict[str, Any]:
    """Write a phrases file of the words that are used now; returns what the command prints."""
    relations, lexicon = most_used(graph, name), lexicon_of(graph)
    blocks = [HEAD.format(graph=name)]
    for relation in relations:
        found, into = (lexicon.entry(Hop(relation, direction)) for direction in Direction)
        values: dict[str, object] = {"from": into.noun, "to": found.noun}
        for direction, entry in zip(Direction, (found, into), strict=True):
            values[str(direction)] = [*entry.phrases, *entry.clauses, *entry.questions]
            if entry.casual:
                values[f"{direction}_{CASUAL}"] = entry.casual
        rows = [(key, json.dumps(value, ensure_ascii=False)) for key, value in values.items()]
        blocks.append(relation_block(relation, rows))
    write_text(out, "\n".join(blocks))
    return {"relations": len(relations), "written": str(out)}
