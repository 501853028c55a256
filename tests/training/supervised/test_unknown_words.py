"""Word dropout: what is replaced in a question, by what, and what stays as it is."""

import re
from collections.abc import Sequence

import pytest

from graphwalker.errors import UserError
from graphwalker.graphs.base import Entity
from graphwalker.query.draft import Draft
from graphwalker.question import Question
from graphwalker.tokens.segments import IGNORED, Row
from training.supervised.unknown_words import with_unknown_words

TEXT = "What is the creed of the spouse of Anna Berg?"
SPOKEN = "the creed of the spouse of it"
SPARE = ("lingo", "passport", "knot")


class Words:
    """A tokenizer whose tokens are words and signs."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._words = sorted({word for text in texts for word in self._cut(text)})

    def _cut(self, text: str) -> list[str]:
        return re.findall(r"\w+|[^\w\s]", text)

    def __len__(self) -> int:
        return len(self._words)

    def encode(self, text: str, **_: object) -> list[int]:
        return [self._words.index(word) for word in self._cut(text) if word in self._words]

    def decode(self, ids: Sequence[int]) -> str:
        return " ".join(self._words[token] for token in ids)


def question(wording: bool = True, text: str = TEXT) -> Question:
    phrases = (("the spouse of {x}", "the creed of {x}"),)
    draft = Draft(text, phrases, (), ((), ())) if wording else None
    return Question("q", text, (Entity("m.0", "Anna Berg"),), wording=draft)


TOKENIZER = Words([TEXT, SPOKEN, *SPARE])


def row() -> Row:
    prompt, spoken = TOKENIZER.encode(TEXT), TOKENIZER.encode(SPOKEN)
    return Row([*prompt, *spoken], [IGNORED] * len(prompt) + spoken)


def replaced(questions: Sequence[Question], share: float = 1.0, seed: int = 0) -> list[Row]:
    return with_unknown_words([row() for _ in questions], questions, TOKENIZER, share, seed)


def texts(rows: Sequence[Row]) -> set[str]:
    return {TOKENIZER.decode(row.input_ids) for row in rows}


def test_the_words_of_one_step_become_words_that_no_row_shows():
    rows = replaced([question()] * 60)
    without = {
        re.sub("|".join(SPARE), "_", text).removesuffix(f" {SPOKEN}") for text in texts(rows)
    }
    assert without == {
        "What is the _ of the spouse of Anna Berg ?",
        "What is the creed of the _ of Anna Berg ?",
    }
    assert {word for text in texts(rows) for word in text.split()} >= set(SPARE)


def test_what_is_trained_on_stays():
    for changed in replaced([question()] * 20):
        assert changed.labels == row().labels
        trained = [i for i, label in enumerate(changed.labels) if label != IGNORED]
        assert [changed.input_ids[i] for i in trained] == TOKENIZER.encode(SPOKEN)


def test_names_stay_where_no_phrases_are_known():
    rows = replaced([question(wording=False)] * 60)
    assert all("of Anna Berg ?" in text for text in texts(rows))
    assert row() not in rows


def test_a_question_of_short_words_stays_as_it_is():
    assert replaced([question(wording=False, text="Who is it?")]) == [row()]


def test_the_share_and_the_seed_decide():
    many = [question()] * 400
    assert replaced(many, 0.0) == [row()] * 400
    some = replaced(many, 0.25)
    assert some == replaced(many, 0.25)
    assert some != replaced(many, 0.25, seed=1)
    assert 70 < sum(changed != row() for changed in some) < 130


def test_a_tokenizer_without_spare_words_is_refused_by_name():
    full = Words([TEXT, SPOKEN])
    ids = full.encode(TEXT)
    rows = [Row([*ids, *full.encode(SPOKEN)], [IGNORED] * len(ids) + full.encode(SPOKEN))]
    with pytest.raises(UserError, match=r"unknown_words: .* set it to 0"):
        with_unknown_words(rows, [question()], full, 0.5, 0)
