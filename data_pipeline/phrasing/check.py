"""What a chat model wrote for a hop, checked: is it a wording that any entity fits into?"""

import re
from collections.abc import Iterable

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
