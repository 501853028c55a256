"""Held-out wordings: wordings of a hop that no demonstration has, as users' own words are."""

from collections.abc import Iterable
from dataclasses import replace
from hashlib import blake2b
from typing import Literal

from data_pipeline.wording.lexicon import Entry, Lexicon

Wordings = Literal["shown", "held-out", "all"]


def with_wordings(lexicon: Lexicon, which: Wordings, share: float, seed: int) -> Lexicon:
    """Return the lexicon of one side. `held-out` words a hop in held-out phrases where it has any;
    what a phrase may mean stays that of the whole lexicon."""
    if which == "all" or share == 0.0:
        return lexicon
    held = held_out(lexicon.entries.values(), share, seed)
    sides = {id(entry): _side(entry, held, which) for entry in lexicon.entries.values()}
    entries = {hop: sides[id(entry)] for hop, entry in lexicon.entries.items()}
    return replace(lexicon, entries=entries)


def held_out(entries: Iterable[Entry], share: float, seed: int) -> frozenset[str]:
    """Texts of the exact phrases, clauses and questions that are held out: about `share` of them,
    but of each hop one noun phrase that nests is always shown. The draw is a hash, like that of
    `Splits`: every machine and every run holds out the same."""
    texts: set[str] = set()
    shown: set[str] = set()
    for entry in entries:
        texts.update(entry.phrases, entry.clauses, entry.questions, entry.casual)
        shown.add(min(entry.phrases, key=lambda t: (not t.endswith("{x}"), _draw(t, seed))))
    return frozenset(text for text in texts - shown if _draw(text, seed) < share)


def _side(entry: Entry, held: frozenset[str], which: Wordings) -> Entry:
    def keep(texts: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(text for text in texts if (text in held) is (which == "held-out"))

    kept = {name: keep(getattr(entry, name)) for name in ("questions", "casual", "clauses")}
    clauses = kept.pop("clauses") or (entry.clauses if which == "held-out" else ())
    return replace(entry, phrases=keep(entry.phrases) or entry.phrases, clauses=clauses, **kept)


def _draw(text: str, seed: int) -> float:
    return share_of(f"{seed}/wording/{text}")


def share_of(key: str) -> float:
    """Return a number in [0, 1) drawn from the key: the same on every machine."""
    return int.from_bytes(blake2b(key.encode(), digest_size=8).digest()) / 2**64
