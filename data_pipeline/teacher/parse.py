"""A teacher's answer, read: a tag or a JSON field, mended where what is meant is plain."""

import re
from collections.abc import Iterable, Sequence
from typing import Any, cast

from graphwalker.tokens.loose_json import first_value
from graphwalker.tokens.reasoning import without_reasoning

_NUMBER = r"(\d+(?:\.\d+)?)(?:\s*/\s*10)?(?![\w/]|\.\d|\s*/)"
"""A score, as `9`, `8.5` or `9/10`."""
_BARE = re.compile(rf"(?:{_NUMBER}[\s,;|]*)+\.?")
_COUNTED = re.compile(r"^\s*\d[.)]\s+(?=\d)", re.MULTILINE)
_LABEL = re.compile(r"[\s*#]*question[\s*]*:[\s*]*", re.IGNORECASE)
_AROUND = re.compile(r"""^(?:```\w*\s|[*"'“‘\s])+|(?:```|[*"'”’\s])+$""")
_CHATTER = re.compile(
    r"(?:(?:here|sure|certainly|of course|okay|ok|the question|my question)\b[^?:!.]*[:!.]\s*)+",
    re.IGNORECASE,
)
_THOUGHT_TAG = re.compile(r"<thought[\s_-]*(\d*)>(.*?)(</thought|<thought|\Z)", re.DOTALL | re.I)
_THOUGHT_LINE = re.compile(
    r"^[\s*#>-]*(?:(?:thought|step)\s*#?)?(\d+)\s*[.:)*-]+\s*(.*?)(?=^[\s*#>-]*(?:thought|step)?"
    r"\s*#?\d+\s*[.:)*-]|\Z)",
    re.DOTALL | re.IGNORECASE | re.MULTILINE,
)
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
    """Return what stands in `<tag>`, or in the JSON field of that name, on one line.

    >>> read_text('Sure! <question>Who wrote  it?</question>', "question")
    'Who wrote it?'
    >>> read_text('```json\\n{"question": "Who wrote it?",}\\n```', "question")
    'Who wrote it?'
    >>> read_text('{"question": "Who wrote it?"', "question")
    'Who wrote it?'
    >>> read_text("<question>Who wrote it?</answer>", "question")
    'Who wrote it?'

    A text that was cut off within itself is not mended: half a question is none. Raises
    `Unreadable`.
    """
    text = without_reasoning(answer)
    found = re.findall(rf"<{tag}>(.*?)</{tag}>", text, re.DOTALL | re.IGNORECASE)
    found = found or re.findall(rf"<{tag}>([^<>]*[?.!][\s\"]*)(?:<|\Z)", text, re.IGNORECASE)
    if found:
        return _line(found[-1], tag)
    field = _fields(text).get(tag)
    if isinstance(field, str):
        return _line(field, tag)
    if not text:
        raise Unreadable("it was empty")
    raise Unreadable(f"it held no <{tag}>...</{tag}>")


def read_thoughts(answer: str, numbers: Sequence[int]) -> dict[int, str]:
    """Return those of the numbered thoughts that are there: in tags, as JSON, or in numbered lines.

    >>> read_thoughts("<thought1> I begin. </thought1> <thought2>Half of", [1, 2])
    {1: 'I begin.'}
    >>> read_thoughts('{"thought1": "I begin.", "thought3": "So."}', [1, 2, 3])
    {1: 'I begin.', 3: 'So.'}
    >>> read_thoughts("<thought>I begin.</thought>", [4])
    {4: 'I begin.'}
    >>> read_thoughts("**Thought 1:** I begin.\\nThought 3: So.", [2, 4])
    {2: 'I begin.', 4: 'So.'}

    Thoughts under other numbers count by their order, where there are as many as were asked for.
    """
    text = without_reasoning(answer)
    found = [
        (number, body)
        for number, body, end in _THOUGHT_TAG.findall(text)
        if end or body.rstrip().endswith((".", "!", "?", '"'))
    ]
    found = found or _thoughts_of(_value(text)) or _THOUGHT_LINE.findall(text)
    if not found and len(numbers) == 1 and (bare := _AROUND.sub("", text)):
        found = [("", bare)] if not re.search(r"[<>{}]", bare) else []
    known = {str(number) for number in numbers}
    if len(found) == len(numbers) and {number for number, _ in found} != known:
        found = [(str(n), body) for n, (_, body) in zip(numbers, found, strict=True)]
    lines = {number: " ".join(body.split()).strip("* ") for number, body in found}
    return {n: lines[str(n)] for n in numbers if lines.get(str(n))}


def read_question(answer: str) -> str:
    """Return the question, in its tag or bare: one sentence with one question mark, at its end.

    >>> read_question("<question>who wrote it?</question>"), read_question('Question: "Who sang?"')
    ('Who wrote it?', 'Who sang?')
    >>> read_question("Sure! Here is one:\\n\\n**Who wrote it?**\\n\\nIt asks for the writer.")
    'Who wrote it?'

    Raises `Unreadable`, also for a bare text with several questions, or with none.
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
    """Return those of the scores that are there, each from 0 to 10: in tags, whichever closes them,
    as JSON, as `name: 9`, or as bare numbers in the order of the names, one for each.

    >>> names = ["path", "relevance", "coherence"]
    >>> read_scores("<path>9</path> <relevance>8/10</path> <coherence>11</coherence>", names)
    {'path': 9.0, 'relevance': 8.0}
    >>> read_scores('{"path": 7.5}', names), read_scores("Path: 9/10, relevance = 7", names)
    ({'path': 7.5}, {'path': 9.0, 'relevance': 7.0})
    >>> read_scores("9, 8, 10", names), read_scores("9 8", names)
    ({'path': 9.0, 'relevance': 8.0, 'coherence': 10.0}, {})
    >>> read_scores("- **Path completeness** - 9\\n| relevance | 8 |", names)
    {'path': 9.0, 'relevance': 8.0}

    A score that is given twice, with two values, is none.
    """
    text = without_reasoning(answer)
    found = {name: _scores_of(text, name) for name in names}
    if not any(found.values()):
        numbers = _bare_scores(text, len(names))
        found = {name: {number} for name, number in zip(names, numbers, strict=False)}
    scores = {name: some.pop() for name, some in found.items() if len(some) == 1}
    return {name: score for name, score in scores.items() if score <= 10}


def is_english(text: str, names: Iterable[str]) -> bool:
    """Return whether the text, apart from the names in it, looks like English: Latin letters, and a
    word that English can hardly do without.

    >>> [is_english(t, ["Łódź"]) for t in ("Who is from Łódź?", "谁来自 Łódź?", "Wer kam?")]
    [True, False, False]
    """
    for name in sorted(names, key=len, reverse=True):
        text = text.replace(name, " ")
    letters = [c for c in text if c.isalpha()]
    foreign = sum(c > "\u024f" for c in letters)
    return foreign * 5 <= len(letters) and _ENGLISH.search(text) is not None


def _bare_question(text: str) -> str:
    """Return the one question of a text without tags, `""` where it has none or several."""
    lines = [_LABEL.sub("", line.strip(), count=1) for line in text.splitlines()]
    asking = [k for k, line in enumerate(lines) if "?" in line]
    if len(asking) != 1 or re.search(r"[<>{}]", text):
        return ""
    end = start = asking[0]
    while start and lines[start - 1] and lines[start - 1][-1] not in ".:!`*":
        start -= 1
    bare = _AROUND.sub("", _CHATTER.sub("", " ".join(lines[start : end + 1])))
    bare = _AROUND.sub("", _LABEL.sub("", bare, count=1))
    return bare if bare.endswith("?") and bare.count("?") == 1 else ""


def _scores_of(text: str, name: str) -> set[float]:
    """Return the values that a text gives for one score."""
    label = rf"\b{name}\b[^\n\d<>:=|{{}}-]{{0,30}}(?:[:=|]|[-–—]\s)"
    written = rf"""(?:<{name}>|{label})[\s"*]*{_NUMBER}"""
    return {float(number) for number in re.findall(written, text, re.IGNORECASE)}


def _bare_scores(text: str, count: int) -> list[float]:
    """So many scores without their names, in one line or in a numbered list; else none."""
    text = _COUNTED.sub("", text)
    if count == 1:
        text = re.sub(r"^\W*(?:score|rating)\W*[:=]\W*", "", text, flags=re.IGNORECASE)
    numbers = re.findall(_NUMBER, text) if _BARE.fullmatch(text) else []
    return list(map(float, numbers)) if len(numbers) == count else []


def _thoughts_of(value: Any) -> list[tuple[str, str]]:
    """Thoughts by number out of JSON: an object by its keys, a list by its order."""
    if isinstance(value, dict) and len(value) == 1:  # {"thoughts": [...]}
        (inner,) = cast(dict[str, Any], value).values()
        value = inner if isinstance(inner, dict | list) else value
    if isinstance(value, list):
        items = enumerate(cast(list[Any], value), start=1)
        value = {str(number): _body_of(item) for number, item in items}
    if not isinstance(value, dict):
        return []
    pairs = ((re.search(r"\d*$", key), body) for key, body in cast(dict[str, Any], value).items())
    return [(found[0], body) for found, body in pairs if found and isinstance(body, str)]


def _body_of(item: Any) -> Any:
    fields = cast(dict[str, Any], item) if isinstance(item, dict) else {}
    return fields.get("thought", fields.get("text")) if fields else item


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


def _value(text: str) -> Any:
    """Return the JSON object or array that an answer holds, whichever begins first."""
    first = re.search(r"[{\[]", text)
    return first_value(text, first[0]) if first else None
