"""Word dropout: questions in which the words of one step are tokens that mean nothing.

A model that has seen every word of its questions is sure of itself where it meets one that it never
saw, and sure of something random: at temperature 1 all its episodes walk the same wrong relation,
and GRPO has nothing to compare. Where some of its questions had such words, it has learned what
may be meant, given the other words and what is listed (word dropout: Iyyer et al., 2015, "Deep
Unordered Composition Rivals Syntactic Methods for Text Classification").
"""

import random
import re
from collections.abc import Sequence
from typing import Any

from graphwalker.errors import UserError
from graphwalker.question import Question
from graphwalker.tokens.segments import IGNORED, Row

WORD = re.compile(r"[^\W\d_]+")
WHOLE = re.compile(r" ?[a-z]{2,}")
"""A token that is, or may be, a word: no part of a name."""
SHORTEST = 4
"""Letters of a word that is taken out: shorter ones (of, the, who) hold a question together."""


def with_unknown_words(
    rows: Sequence[Row], questions: Sequence[Question], tokenizer: Any, share: float, seed: int
) -> list[Row]:
    """The rows, `share` of them with the words of one step put as tokens that no row shows.

    `questions` are those of the rows, in their order. Only the prompt before the first trained
    token changes. Raises `UserError` where the rows show every token of the tokenizer.
    """
    if not share:
        return list(rows)
    seen = {token for row in rows for token in row.input_ids}
    unknown = [
        token
        for token in range(len(tokenizer))
        if token not in seen and WHOLE.fullmatch(tokenizer.decode([token]))
    ]
    if not unknown:
        raise UserError(
            "unknown_words: the rows show every token of the tokenizer that is a word: set it to 0"
        )
    rng = random.Random(f"{seed}:unknown words")
    return [
        _replaced(row, _step(question, rng), tokenizer, unknown, rng)
        if rng.random() < share
        else row
        for row, question in zip(rows, questions, strict=True)
    ]


def _step(question: Question, rng: random.Random) -> list[str]:
    """The words of one step; of a question whose phrases are not known, one word."""
    if question.wording:
        phrases = [*question.wording.tail_phrases]
        phrases += [phrase for branch in question.wording.phrases for phrase in branch]
        if phrases:
            return _words(rng.choice(phrases).replace("{x}", " "))
    names = {word for entity in question.topic_entities for word in _words(entity.name)}
    words = [word for word in _words(question.text) if word not in names]
    return [rng.choice(words)] if words else []


def _words(text: str) -> list[str]:
    return [word for word in WORD.findall(text) if len(word) >= SHORTEST]


def _replaced(
    row: Row, words: Sequence[str], tokenizer: Any, unknown: Sequence[int], rng: random.Random
) -> Row:
    ids = list(row.input_ids)
    end = next((i for i, label in enumerate(row.labels) if label != IGNORED), len(ids))
    for word in words:
        for text in (f" {word}", word):
            piece = tokenizer.encode(text, add_special_tokens=False)
            for start in _places(ids[:end], piece):
                ids[start : start + len(piece)] = rng.choices(unknown, k=len(piece))
    return Row(ids, row.labels)


def _places(ids: Sequence[int], piece: Sequence[int]) -> list[int]:
    """Where `piece` stands in `ids`.

    >>> _places([1, 2, 3, 2, 3], [2, 3])
    [1, 3]
    """
    width = len(piece)
    return [i for i in range(len(ids) - width + 1) if list(ids[i : i + width]) == list(piece)]
