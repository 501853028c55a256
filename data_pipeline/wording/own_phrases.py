"""People's own words for the relations of their graph: a phrases file, read, and written to be
mended."""

import json
import re
import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from data_pipeline.wording.english import is_person, plural
from data_pipeline.wording.lexicon import Entry, Lexicon, Phrase, hand_written_inverses
from graphwalker.errors import UserError
from graphwalker.files import digest
from graphwalker.graphs.base import FLATTENED, Direction
from graphwalker.query.query import Hop

CASUAL, COUNTS = "casual", "counts"
"""`out_casual`: questions as typed. `out_counts`: how often each was asked, for people to see."""
KEYS = (
    *("id", "from", "to", *map(str, Direction)),
    *(f"{direction}_{what}" for direction in Direction for what in (CASUAL, COUNTS)),
)
HEAD = """# How the relations of {graph} are put into words, most used first: mend what
# reads badly, remove what you leave as it is, and give the file as phrases_file=FILE.
# `out` is what the relation finds from {{x}}, `in` what it finds from its other end. A text that
# begins with "the" is a noun phrase (one at least), one that ends in "?" a question, any other
# one a clause, to stand after "Who" or "Which film". `from` and `to` are the nouns of both ends.
# `out_casual` and `in_casual` are whole questions as people type them, without marks; where `out`
# or `in` is left out, they come on top of the words that the hop has.
"""


def read_phrases(
    file: str, relations: Iterable[str], made: Callable[[Hop], Entry]
) -> dict[Hop, Entry]:
    """The entries of a phrases file. What it does not say of a hop is `made`.

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
    """The same words for the same fact: a hop and its inverse share their entry, as in the bank."""
    shared = dict(entries)
    for hop, inverse in hand_written_inverses().items():
        if hop in entries and inverse in entries:
            one, other = (entries[found] for found in sorted((hop, inverse)))
            if one.phrases == other.phrases:  # not where people have mended one of the two
                casual = tuple(dict.fromkeys((*one.casual, *other.casual)))
                shared[hop] = shared[inverse] = replace(one, casual=casual)
        elif hop in entries and known.issuperset(inverse.relation.split(FLATTENED)):
            shared[inverse] = shared[hop]
    return shared


def phrase_facts(file: str) -> dict[str, str]:
    """What a run holds of its phrases file: other words make another run."""
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
    phrases = tuple(Phrase(text) for text in texts if _is_phrase(text))
    clauses = tuple(
        Phrase(text, clause=True)
        for text in texts
        if text not in questions and not _is_phrase(text)
    )
    return replace(
        entry,
        phrases=phrases or made.phrases,
        clauses=clauses,
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


def used_words_text(graph: str, lexicon: Lexicon, relations: Iterable[str]) -> str:
    """Return a phrases file with the words that are used now."""
    blocks = [HEAD.format(graph=graph)]
    for relation in relations:
        out, into = (lexicon.entry(Hop(relation, direction)) for direction in Direction)
        values: dict[str, object] = {"from": into.noun, "to": out.noun}
        for direction, entry in zip(Direction, (out, into), strict=True):
            texts = [p.text for p in (*entry.phrases, *entry.clauses) if not p.vague]
            values[str(direction)] = [*texts, *entry.questions]
            if entry.casual:
                values[f"{direction}_{CASUAL}"] = entry.casual
        rows = [(key, json.dumps(value, ensure_ascii=False)) for key, value in values.items()]
        blocks.append(relation_block(relation, rows))
    return "\n".join(blocks)


def relation_block(relation: str, values: Iterable[tuple[str, str]]) -> str:
    """Return one `[[relation]]` of a phrases file; `values` are written in TOML."""
    rows = [("id", json.dumps(relation, ensure_ascii=False)), *values]
    return "\n".join(["[[relation]]", *(f"{key} = {value}" for key, value in rows)]) + "\n"


def words_of_lexicon(lexicon: Lexicon) -> set[str]:
    """Every word that its texts use."""
    texts = (
        text
        for entry in lexicon.entries.values()
        for text in (
            *(phrase.text for phrase in (*entry.phrases, *entry.clauses)),
            *entry.questions,
            *entry.casual,
        )
    )
    return {w for text in texts for w in re.findall(r"[^\W_]+", text.lower().replace("{x}", ""))}
