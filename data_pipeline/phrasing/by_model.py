"""Wordings by a chat model: one request for each relation, its answer checked text by text."""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from data_pipeline.config import PhrasesConfig
from data_pipeline.teacher.client import TeacherClient, Unusable
from data_pipeline.teacher.parse import Unreadable
from data_pipeline.teacher.paths import one_line
from data_pipeline.wording.banks.bank import not_asked
from data_pipeline.wording.lexicon import Lexicon
from data_pipeline.wording.type_nouns import spread
from data_pipeline.wording.vocabulary import lexicon_of, most_used, relation_block
from graphwalker.errors import UserError
from graphwalker.files import write_text
from graphwalker.graphs.base import Direction, Entity, KnowledgeGraph
from graphwalker.query.query import Hop
from graphwalker.tokens.loose_json import first_value
from graphwalker.tokens.reasoning import without_reasoning

FACTS = 3
LOOKED_AT = 4_000
"""Entities that are looked at for facts."""


MOST = 6
"""Texts of a kind that are kept."""
KindsOfText = dict[str, dict[str, list[str]]]
"""Of `out` and `in` the texts by kind: `phrase`, `clause`, `question`, `casual`."""


MODEL_HEAD = """\
# How the relations of {graph} are put into words, by the chat model {model}: mend what
# reads badly, and give the file as phrases_file=FILE. `out` is what the relation finds from
# {{x}}, `in` what it finds from its other end; the lists `_casual` are whole questions as people
# type them.
# {kept} texts of {worded} relations are kept; refused: {refused}.
"""


@dataclass(frozen=True, slots=True)
class ShownRelation:
    """A relation as the prompt shows it."""

    relation: str
    subject: str
    """What it starts from: `person`; `""` where nobody knows."""
    object: str
    facts: tuple[tuple[str, str], ...]
    """Names of both ends of some of its edges."""

    @property
    def names(self) -> tuple[str, ...]:
        """What no wording may contain."""
        return tuple(name for fact in self.facts for name in fact)


@dataclass(slots=True)
class ModelWordings:
    """What came of asking for many relations."""

    wordings: dict[str, KindsOfText] = field(default_factory=dict[str, KindsOfText])
    kept: int = 0
    refused: Counter[str] = field(default_factory=Counter[str])
    """Texts by the reason for which they are refused."""
    unusable: Counter[str] = field(default_factory=Counter[str])
    """Relations without wordings, by reason."""


def by_model(
    graph: KnowledgeGraph,
    name: str,
    out: Path,
    settings: PhrasesConfig,
    tick: Callable[[int, int], None],
) -> dict[str, Any]:
    """Write what a chat model says; returns what the command prints. Its answers are kept in
    `OUT.answers`, and paid for once."""
    lexicon = lexicon_of(graph)
    relations = _of_one_spelling(most_used(graph, name), lexicon)[: settings.most]
    facts = facts_of(graph, relations, list(spread(graph, LOOKED_AT)))
    shown = [
        ShownRelation(relation, *_nouns(lexicon, relation), facts[relation])
        for relation in relations
        if facts[relation]
    ]
    folder = out.with_name(f"{out.name}.answers")
    with closing(TeacherClient(settings.teacher, folder)) as client:
        found = ask(client, shown, settings.teacher.concurrency, tick)
        spent = client.usage
    if not found.kept:
        raise UserError(f"{settings.teacher.model} wrote no usable text: {dict(found.refused)}")
    write_text(out, model_text(name, settings.teacher.model, shown, found))
    return {
        "relations": len(shown),
        "worded": len(found.wordings),
        "texts": found.kept,
        "refused": dict(found.refused),
        "without words": dict(found.unusable),
        "requests": spent.requests,
        "written": str(out),
    }


def _of_one_spelling(relations: Sequence[str], lexicon: Lexicon) -> list[str]:
    """Leave out what nobody asks for, and of a relation and its inverse the less used one."""
    kept: dict[str, None] = {}
    for relation in relations:
        inverse = lexicon.inverse(Hop(relation))
        known = inverse is not None and inverse.relation in kept
        if not known and relation not in not_asked():
            kept[relation] = None
    return list(kept)


def _nouns(lexicon: Lexicon, relation: str) -> tuple[str, str]:
    found = (lexicon.entry(Hop(relation, d)) for d in (Direction.IN, Direction.OUT))
    subject, target = (entry.noun if not entry.generated else "" for entry in found)
    return subject, target


def model_text(
    graph: str, model: str, relations: Sequence[ShownRelation], made: ModelWordings
) -> str:
    """Return the file of a chat model's wordings."""
    refused = ", ".join(f"{n} {reason}" for reason, n in sorted(made.refused.items())) or "none"
    about = {"graph": graph, "model": model, "kept": made.kept, "worded": len(made.wordings)}
    blocks = [MODEL_HEAD.format(**about, refused=refused)]
    for seen in relations:
        if (wordings := made.wordings.get(seen.relation)) is None:
            continue
        found: dict[str, object] = {"from": seen.subject, "to": seen.object}
        for direction in Direction:
            kinds = wordings.get(direction, {})
            texts = [text for k in ("phrase", "clause", "question") for text in kinds.get(k, ())]
            found |= {f"{direction}": texts, f"{direction}_casual": kinds.get("casual")}
        values = [(key, json.dumps(v, ensure_ascii=False)) for key, v in found.items() if v]
        blocks.append(relation_block(seen.relation, values))
    return "\n".join(blocks)


PROMPT = """You write down how English speakers ask about one kind of fact in a knowledge graph.

Relation: {relation}
It leads from {subject} to {object}. Three facts:
{facts}

"out" asks for what the relation leads to; {{x}} is what it starts from, such as {first}.
"in" asks the other way round; {{x}} is what it leads to, such as {last}.

For each direction write
- "phrase": 2 or 3 noun phrases that begin with "the" and end in {{x}}, such as
  "the birthplace of {{x}}";
- "clause": 1 or 2 predicates of what is asked for, such as "was written by {{x}}";
- "question": 2 or 3 plain questions with a capital and a question mark; say the kind of the
  answer in one of them;
- "casual": 3 or 4 questions as people type them into a search box: lower case, no marks, everyday
  words.
Every text has {{x}} exactly once and would fit any other such fact: no names in it, no ids.
Where nobody would ask in a direction, leave its lists empty.

Reply with JSON and nothing else, "in" having the same four lists as "out":
{{"out": {{"phrase": [], "clause": [], "question": [], "casual": []}}, "in": {{}}}}"""


def prompt_of(seen: ShownRelation) -> str:
    """Return the whole prompt."""
    lines = [f"- {one_line(start)} -> {one_line(end)}" for start, end in seen.facts]
    first, last = seen.facts[0] if seen.facts else ("the one", "the other")
    return PROMPT.format(
        relation=seen.relation,
        subject=_a(seen.subject),
        object=_a(seen.object),
        facts="\n".join(lines) or "- none is known",
        first=one_line(first),
        last=one_line(last),
    )


def facts_of(
    graph: KnowledgeGraph, relations: Sequence[str], entities: Sequence[Entity]
) -> dict[str, tuple[tuple[str, str], ...]]:
    """Up to three facts of every relation, of different entities, in the order of the graph."""
    found: dict[str, list[tuple[str, str]]] = {relation: [] for relation in relations}
    for entity in entities:
        if not entity.name.strip():
            continue
        for relation, _ in graph.flat_relations(entity.id, Direction.OUT):
            facts = found.get(relation)
            if facts is None or len(facts) >= FACTS:
                continue
            ends = graph.step(entity.id, relation, Direction.OUT, 5)
            named = next((end.name for end in ends if end.name.strip()), "")
            if named and all(named != end for _, end in facts):
                facts.append((entity.name, named))
    return {relation: tuple(facts) for relation, facts in found.items()}


def _a(noun: str) -> str:
    return f"a {noun}" if noun and noun != "entity" else "one thing"


def ask(
    client: TeacherClient,
    relations: Sequence[ShownRelation],
    concurrency: int,
    tick: Callable[[int, int], None],
) -> ModelWordings:
    """Ask for every relation; `tick` is told how many are done, of how many.

    Answers are stored, so that a second run pays for none that the first has got. Raises
    `UserError` where the server cannot be reached, a cap is reached, or no answer can be read.
    """
    made = ModelWordings()
    with ThreadPoolExecutor(concurrency) as pool:
        answers = pool.map(lambda seen: _one(client, seen), relations)
        for count, (seen, found) in enumerate(zip(relations, answers, strict=True), start=1):
            if isinstance(found, str):
                made.unusable[found] += 1
            else:
                _keep(made, seen, found)
            tick(count, len(relations))
    return made


def _one(client: TeacherClient, seen: ShownRelation) -> KindsOfText | str:
    try:
        return client.request("wording", prompt_of(seen), read_wordings)
    except Unusable as error:
        return str(error)


def read_wordings(answer: str) -> KindsOfText:
    """Return the texts of an answer by direction and kind; what is no text is left out.

    >>> read_wordings('Sure: {"out": {"casual": ["who wrote {x}", 3]}, "in": {}}')
    {'out': {'casual': ['who wrote {x}']}, 'in': {}}

    Raises `Unreadable` for an answer without such JSON.
    """
    value: Any = first_value(without_reasoning(answer), "{")
    if not isinstance(value, dict) or not any(str(d) in value for d in Direction):
        raise Unreadable('it held no JSON object with "out" and "in"')
    return {str(direction): _kinds(value.get(str(direction))) for direction in Direction}


def _kinds(value: Any) -> dict[str, list[str]]:
    if not isinstance(value, dict):
        return {}
    return {
        kind: [" ".join(text.split()) for text in value[kind] if isinstance(text, str)]
        for kind in LONGEST
        if isinstance(value.get(kind), list)
    }


def _keep(made: ModelWordings, seen: ShownRelation, found: KindsOfText) -> None:
    """Add the texts without a fault; count the others by theirs."""
    rows: KindsOfText = {}
    for direction, kinds in found.items():
        for kind, texts in kinds.items():
            good: list[str] = []
            for text in texts:
                reason = fault(kind, text, seen.names)
                reason = reason or ("twice" if text in good else "")
                reason = reason or ("too_many" if len(good) >= MOST else "")
                if reason:
                    made.refused[reason] += 1
                else:
                    good.append(text)
            if good:
                rows.setdefault(direction, {})[kind] = good
            made.kept += len(good)
    if rows:
        made.wordings[seen.relation] = rows
    else:
        made.unusable["no_wording_left"] += 1


LONGEST = {"phrase": 12, "clause": 12, "question": 16, "casual": 14}
"""Words of a wording of each kind."""
_MARKUP = re.compile(r"[<>{}\[\]|\\_`*#=\"\n\r\t]|https?:|\.\.|\b[mg]\.[0-9a-z]")
_ENGLISH = frozenset(
    (
        *("the", "of", "a", "an", "in", "is", "was", "are", "were", "did", "does", "do", "who"),
        *("what", "whats", "where", "wheres", "when", "which", "how", "why", "whose", "by"),
        *("to", "for", "on", "at", "from", "with", "that", "has", "have", "had", "name", "s"),
    )
)
_INSTRUCTS = re.compile(r"\b(ignore|instructions?|as an ai|sorry|cannot|json|example)\b")
_CRAMPED = re.compile(r"\b(?:a|an|the) \{x\}")


def fault(kind: str, text: str, examples: Iterable[str]) -> str:
    """Return why a wording is refused, or `""`. `examples`: names that the prompt has shown.

    >>> fault("question", "Who is {x} married to?", ["Ann Lee"])
    ''
    >>> fault("question", "Who is Ann Lee married to, not {x}?", ["Ann Lee"])
    'names_an_example'
    """
    checks = (
        ("no_slot", text.count("{x}") != 1),
        ("markup", bool(_MARKUP.search(text.replace("{x}", "")))),
        ("other_language", not _is_english(text)),
        ("length", not _is_brief(kind, text)),
        ("names_an_example", _names(text, examples)),
        ("instructs", bool(_INSTRUCTS.search(text.lower()))),
        ("form", not _has_form(kind, text)),
    )
    return next((reason for reason, wrong in checks if wrong), "")


def _is_brief(kind: str, text: str) -> bool:
    return 2 <= len(text.split()) <= LONGEST[kind]


def _is_english(text: str) -> bool:
    words = re.findall(r"[^\W_]+", text.replace("{x}", " ").lower())
    return text.isascii() and (len(words) <= 2 or not _ENGLISH.isdisjoint(words))


def _names(text: str, examples: Iterable[str]) -> bool:
    # One word of a name is often one of the language: "Forward", "Drama".
    folded = f" {_bare(text)} "
    return any(f" {name} " in folded for name in map(_bare, examples) if len(name) > 2)


def _bare(text: str) -> str:
    return " ".join(re.findall(r"[^\W_]+", text.lower()))


def _has_form(kind: str, text: str) -> bool:
    """Check the form: a noun phrase begins with `the`; a question with a capital, and ends with its
    mark; casual questions are in lower case and have no marks."""
    if kind == "phrase":
        return text.startswith("the ") and not text.endswith("?") and not _CRAMPED.search(text)
    if kind == "clause":
        return (
            text[:1].islower()
            and not text.startswith(("the ", "who ", "which ", "that "))
            and (text[-1] not in ".?!")
        )
    if kind == "question":
        return text[:1].isupper() and text.endswith("?") and text.count("?") == 1
    return text == text.lower() and not re.search(r"[?.!,;:]", text)
