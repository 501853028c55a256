"""A teacher's answer, read: a tag or a JSON field, mended where what is meant is plain."""

import re
from collections.abc import Iterable, Sequence
from typing import Any, cast

from graphwalker.loose_json import first_value, without_reasoning

_NUMBER = r"(\d+(?:\.\d+)?)(?:\s*/\s*10)?(?![\w/]|\.\d|\s*/)"
"""A score, as `9`, `8.5` or `9/10`."""
_BARE = re.compile(rf"(?:{_NUMBER}[\s,;|]*)+\.?")
_LABEL = re.compile(r"[\s*#]*question[\s*]*:[\s*]*", re.IGNORECASE)
_AROUND = re.compile(r"""^(?:```\w*\s|[*"'“‘\s])+|(?:```|[*"'”’\s])+$""")
_CHATTER = re.compile(r"(?:here|sure|certainly|of course|okay|ok)\b[^?]*[:!,.]", re.IGNORECASE)
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


def read_question(answer: str) -> str:
    """The question, in its tag or bare: one paragraph with one question mark, at its end.

    >>> read_question("<question>who wrote it?</question>"), read_question('Question: "Who sang?"')
    ('Who wrote it?', 'Who sang?')

    Raises `Unreadable`, also for a bare text that says anything else.
    """
    try:
        text = read_text(answer, "question")
    except Unreadable:
        text = _bare_question(without_reasoning(answer))
        if not text:
            raise
    if text.count("?") != 1 or not text.endswith("?"):
        raise Unreadable("its question has not one question mark, at its end")
    return text[0].upper() + text[1:]


def read_scores(answer: str, names: Sequence[str]) -> dict[str, float]:
    """Those of the scores that are there, each from 0 to 10: in tags, whichever closes them, as
    JSON, as `name: 9`, or as bare numbers in the order of the names, one for each.

    >>> names = ["path", "relevance", "coherence"]
    >>> read_scores("<path>9</path> <relevance>8/10</path> <coherence>11</coherence>", names)
    {'path': 9.0, 'relevance': 8.0}
    >>> read_scores('{"path": 7.5}', names), read_scores("Path: 9/10, relevance = 7", names)
    ({'path': 7.5}, {'path': 9.0, 'relevance': 7.0})
    >>> read_scores("9, 8, 10", names), read_scores("9 8", names)
    ({'path': 9.0, 'relevance': 8.0, 'coherence': 10.0}, {})

    A score that is given twice, with two values, is none.
    """
    text = without_reasoning(answer)
    found = {name: _scores_of(text, name) for name in names}
    if not any(found.values()) and _BARE.fullmatch(text):
        numbers = re.findall(_NUMBER, text)
        if len(numbers) == len(names):
            found = {name: {float(n)} for name, n in zip(names, numbers, strict=True)}
    scores = {name: some.pop() for name, some in found.items() if len(some) == 1}
    return {name: score for name, score in scores.items() if score <= 10}


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


def _bare_question(text: str) -> str:
    """A text that is a question and nothing else, `""` for any other."""
    bare = _AROUND.sub("", _LABEL.sub("", _AROUND.sub("", text), count=1))
    lines = [line.strip() for line in bare.splitlines()]
    ended = any(not line or line[-1] in ".:!?" for line in lines[:-1])
    whole = not ended and bare.count("?") == 1 and bare.endswith("?")
    return (
        " ".join(lines)
        if whole and not re.search(r"[<>{}]", bare) and not _CHATTER.match(bare)
        else ""
    )


def _scores_of(text: str, name: str) -> set[float]:
    """The values that a text gives for one score."""
    written = rf"""(?:<{name}>|\b{name}\b["*]*\s*[:=])[\s"*]*{_NUMBER}"""
    return {float(number) for number in re.findall(written, text, re.IGNORECASE)}


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
