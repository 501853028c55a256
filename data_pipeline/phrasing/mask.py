"""A question with its topic's name taken out: the frame that other topics fit into."""

import re
from collections.abc import Iterable

LONGEST = 16
"""Words of a frame."""
SLOT = "{x}"
_WORD = re.compile(r"[^\W_]+")
_LITTLE = frozenset(
    ("the", "of", "a", "an", "in", "and", "to", "for", "s", "on", "at", "by", "de", "is", "was")
)


def frame_of(question: str, names: Iterable[str]) -> str:
    """The question in lower case with `{x}` for the topic, or `""` where its name is not found or
    too little is left.

    A name counts as found when at least half of its words that say something stand together.

    >>> frame_of("Who does Joakim Noah play for?", ["Joakim Noah"])
    'who does {x} play for'
    >>> frame_of("what time is it in the us?", ["United States of America"])
    ''
    """
    text = question.lower().replace("’", "'").strip()
    found = max((_span(text, name.lower()) for name in names), key=_length, default=None)
    if found is None:
        return ""
    frame = f"{text[: found[0]]}{SLOT}{text[found[1] :]}"
    frame = re.sub(r"\s+", " ", re.sub(r"\s+'s\b", "'s", frame)).rstrip(" ?.!,")
    words = frame.split()
    plain = frame.replace(SLOT, "").replace("'", " ")
    if not 2 <= len(words) <= LONGEST or not all(w.isalpha() for w in plain.split()):
        return ""
    return frame if frame.isascii() else ""


def _length(span: tuple[int, int] | None) -> int:
    return span[1] - span[0] if span else 0


def _span(text: str, name: str) -> tuple[int, int] | None:
    """Where the name, or most of it, stands: from and to, in letters."""
    at = re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text) if name.strip() else None
    if at:
        return at.span()
    wanted = set(_WORD.findall(re.sub(r"\(.*?\)", "", name)))
    telling = wanted - _LITTLE
    best: tuple[int, int] | None = None
    run: list[re.Match[str]] = []
    for word in [*_WORD.finditer(text), None]:
        if word is not None and word[0] in wanted:
            run.append(word)
            continue
        while run and run[-1][0] in _LITTLE:
            run.pop()
        while run and run[0][0] in _LITTLE and run[0][0] not in name.split()[:1]:
            run.pop(0)
        common = {match[0] for match in run} & telling
        if common and 2 * len(common) >= len(telling):
            best = max(best, (run[0].start(), run[-1].end()), key=_length)
        run = []
    return best
