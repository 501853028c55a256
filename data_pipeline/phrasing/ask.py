"""Wordings by a chat model: one request for each relation, its answer checked text by text."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from data_pipeline.phrasing.prompt import ShownRelation, prompt_of
from data_pipeline.teacher.client import TeacherClient, Unusable
from data_pipeline.teacher.parse import Unreadable
from graphwalker.graphs.base import Direction
from graphwalker.loose_json import first_value, without_reasoning

MOST = 6
"""Texts of a kind that are kept."""
KindsOfText = dict[Direction, dict[str, tuple[str, ...]]]
"""Of each direction the texts by kind: `phrase`, `clause`, `question`, `casual`."""


@dataclass(slots=True)
class ModelWordings:
    """What came of asking for many relations."""

    wordings: dict[str, KindsOfText] = field(default_factory=dict[str, KindsOfText])
    kept: int = 0
    refused: Counter[str] = field(default_factory=Counter[str])
    """Texts by the reason for which they are refused."""
    unusable: Counter[str] = field(default_factory=Counter[str])
    """Relations without wordings, by reason."""


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


def _one(client: TeacherClient, seen: ShownRelation) -> dict[str, dict[str, list[str]]] | str:
    try:
        return client.request("wording", prompt_of(seen), read_wordings)
    except Unusable as error:
        return str(error)


def read_wordings(answer: str) -> dict[str, dict[str, list[str]]]:
    """The texts of an answer by direction and kind; what is no text is left out.

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


def _keep(made: ModelWordings, seen: ShownRelation, found: dict[str, dict[str, list[str]]]) -> None:
    rows: KindsOfText = {}
    for direction in Direction:
        kept: dict[str, tuple[str, ...]] = {}
        for kind, texts in found[str(direction)].items():
            good: list[str] = []
            for text in texts:
                reason = fault(kind, text, seen.names)
                if not reason and text in good:
                    reason = "twice"
                if not reason and len(good) >= MOST:
                    reason = "too_many"
                if reason:
                    made.refused[reason] += 1
                else:
                    good.append(text)
            if good:
                kept[kind] = tuple(good)
        if kept:
            rows[direction] = kept
            made.kept += sum(map(len, kept.values()))
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
    """Why a wording is refused, or `""`. `examples`: names that the prompt has shown.

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
    """A noun phrase begins with `the`; a question with a capital, and ends with its mark; casual
    questions are in lower case and have no marks."""
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
