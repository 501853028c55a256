"""A teacher's answer, read: a tag or a JSON field, mended where what is meant is plain."""

import re
from collections.abc import Iterable, Sequence
from typing import Any, cast

from graphwalker.loose_json import first_value, without_reasoning

_NUMBER = re.compile(r"(?:score\s*[:=]?\s*)?(\d+(?:\.\d+)?)\s*(?:/\s*10)?\.?", re.IGNORECASE)
_THOUGHT = re.compile(r"<thought\s*(\d+)>(.*?)</thought\s*\1>", re.DOTALL | re.IGNORECASE)
_ENGLISH = re.compile(
    r"\b(?:the|of|and|that|this|there|with|from|by|for|to|what|which|who|whose|whom|where|when|why|"
    r"how|did|does|has|have|had|were|are|been|can|could|name|tell|list|find|give|show|it|its|not|"
    r"but)\b",
    re.IGNORECASE,
)
"""Words that hardly an English sentence does without, and that other languages do not write."""


class Unreadable(ValueError):
    """An answer out of which nothing can be made; the text says what was wrong with it."""


def read_text(answer: str, tag: str) -> str:
    """What stands in `<tag>`, or in the JSON field of that name, on one line.

    >>> read_text('Sure! <question>Who wrote  it?</question>', "question")
    'Who wrote it?'
    >>> read_text('```json\\n{"question": "Who wrote it?",}\\n```', "question")
    'Who wrote it?'
    >>> read_text('{"question": "Who wrote it?"', "question")
    'Who wrote it?'

    A text that was cut off within itself is not mended: half a question is none. Raises
    `Unreadable`.
    """
    text = without_reasoning(answer)
    found = re.findall(rf"<{tag}>(.*?)</{tag}>", text, re.DOTALL | re.IGNORECASE)
    if found:
        return _line(found[-1], tag)
    field = _fields(text).get(tag)
    if isinstance(field, str):
        return _line(field, tag)
    if not text:
        raise Unreadable("it was empty")
    raise Unreadable(f"it held no <{tag}>...</{tag}>")


def read_thoughts(answer: str, numbers: Sequence[int]) -> dict[int, str]:
    """Those of the numbered thoughts that are there, from tags or from JSON.

    >>> read_thoughts("<thought1> I begin. </thought1> <thought2>Half of", [1, 2])
    {1: 'I begin.'}
    >>> read_thoughts('{"thought1": "I begin.", "thought3": "So."}', [1, 2, 3])
    {1: 'I begin.', 3: 'So.'}
    >>> read_thoughts("<thought>I begin.</thought>", [4])
    {4: 'I begin.'}
    """
    text = without_reasoning(answer)
    found = {int(number): body for number, body in _THOUGHT.findall(text)}
    if not found:
        fields = _fields(text)
        named = {n: fields.get(f"thought{n}") for n in numbers}
        found = {n: body for n, body in named.items() if isinstance(body, str)}
    if not found and len(numbers) == 1:
        try:
            found = {numbers[0]: read_text(answer, "thought")}
        except Unreadable:
            return {}
    lines = {n: " ".join(found[n].split()) for n in numbers if n in found}
    return {n: line for n, line in lines.items() if line}


def read_scores(answer: str, names: Sequence[str]) -> dict[str, float]:
    """Those of the scores that are there, each from 0 to 10.

    >>> read_scores("<path>9</path> <relevance>8/10</relevance> <coherence>11</coherence>",
    ...             ["path", "relevance", "coherence"])
    {'path': 9.0, 'relevance': 8.0}
    >>> read_scores('{"path": 7.5}', ["path"])
    {'path': 7.5}
    """
    found: dict[str, float] = {}
    for name in names:
        try:
            found[name] = read_score(answer, name)
        except Unreadable:
            continue
    return found


def read_score(answer: str, tag: str = "score") -> float:
    """A score from 0 to 10. Raises `Unreadable`.

    >>> [read_score(t) for t in ("<score>9</score>", '{"score": 8.5}', "Score: 7/10", "10")]
    [9.0, 8.5, 7.0, 10.0]
    """
    whole = without_reasoning(answer)
    field = _fields(whole).get(tag)
    if isinstance(field, int | float) and not isinstance(field, bool):
        text = str(field)
    elif tag == "score" and _NUMBER.fullmatch(whole):
        text = whole
    else:
        text = read_text(answer, tag)
    number = _NUMBER.fullmatch(text.strip())
    if number is None or not 0 <= float(number[1]) <= 10:
        raise Unreadable("its score is no number from 0 to 10")
    return float(number[1])


def is_english(text: str, names: Iterable[str]) -> bool:
    """Whether the text, apart from the names in it, looks like English: Latin letters, and a word
    that English can hardly do without.

    >>> [is_english(t, ["Łódź"]) for t in ("Who is from Łódź?", "谁来自 Łódź?", "Wer kam?")]
    [True, False, False]
    """
    for name in sorted(names, key=len, reverse=True):
        text = text.replace(name, " ")
    letters = [c for c in text if c.isalpha()]
    foreign = sum(c > "\u024f" for c in letters)
    return foreign * 5 <= len(letters) and _ENGLISH.search(text) is not None


def _line(text: str, tag: str) -> str:
    line = " ".join(text.split()).strip()
    if not line:
        raise Unreadable(f"its <{tag}> was empty")
    if "<" in line and re.search(rf"</?{tag}\b", line, re.IGNORECASE):
        raise Unreadable(f"its <{tag}> was nested")
    return line


def _fields(text: str) -> dict[str, Any]:
    value = first_value(text, "{")
    return cast(dict[str, Any], value) if isinstance(value, dict) else {}
