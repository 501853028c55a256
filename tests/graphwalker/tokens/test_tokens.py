"""Tokens: segments, masks and chat formats, with the tiny tokenizer and stand-ins for Qwen's."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphwalker.errors import UserError
from graphwalker.graphs.base import Entity
from graphwalker.question import Question
from graphwalker.tokens.formats import FORMATS
from graphwalker.tokens.segments import (
    IGNORED,
    training_row,
    training_rows,
)
from graphwalker.trajectory import Message, StopReason, Trajectory, Turn

RELATIONS = ["people.person.spouse", "film.film.starring", "film.film.starring..film.actor.film"]
TEXTS = [
    'Who is married to Anna Kovar?\nTopic entities: "Anna Kovar", "Bob Lind"',
    '<think>Anna Kovar has spouses.</think>\n<kg-query>get_triples("Anna Kovar", '
    '["people.person.spouse", "film.film.starring"])</kg-query>',
    '<information>("Anna Kovar", people.person.spouse, "Bob Lind (actor)")</information>',
    '<think>Found it, Anna.</think>\n<answer>["Bob Lind", "Anna Kovar"]</answer>',
] * 3


@pytest.fixture(scope="session")
def tokenizer():
    from training.tiny.make import make_tokenizer

    return make_tokenizer(TEXTS, RELATIONS, 900)


def conversation() -> list[Message]:
    roles = ("user", "assistant", "user", "assistant")
    return [Message("system", "Walk the graph."), *map(Message, roles, TEXTS[:4])]


def trajectory(*turns: Turn) -> Trajectory:
    question = Question("q", "Who?", (Entity("m.1", "Anna Kovar"),))
    return Trajectory(question, "react", "oracle", turns, ("Bob Lind",), StopReason.ANSWERED)


def two_turns() -> Trajectory:
    start, first, observed, second = conversation()[1:]
    return trajectory(Turn((start,), first.content), Turn((observed,), second.content))


def decode(tokenizer, ids) -> str:
    return tokenizer.decode(list(ids), skip_special_tokens=False)


@pytest.mark.parametrize(("untrained", "kept"), [({0}, 1), ({1}, 0)])
def test_a_turn_that_is_set_aside_is_read_as_context_alone(untrained, kept, tokenizer) -> None:
    fmt, walked = FORMATS["inline"], two_turns()
    (row,) = training_rows(walked, fmt, tokenizer, untrained)
    trained = [label for label in row.labels if label != IGNORED]
    assert decode(tokenizer, trained) == walked.turns[kept].completion + fmt.end_of_turn
    assert row.input_ids == training_row(walked, fmt, tokenizer).input_ids


def test_token_ids_without_an_end_of_turn_are_refused(tokenizer) -> None:
    walked = trajectory(Turn((Message("user", "Who?"),), "Anna", token_ids=(5, 6)))
    with pytest.raises(UserError, match="do not end with"):
        training_row(walked, FORMATS["inline"], tokenizer)


def test_a_restarted_context_is_a_row_of_its_own(tokenizer) -> None:
    first, second = two_turns().turns
    again = Turn(second.context, second.completion, restart=True)
    rows = training_rows(trajectory(first, again), FORMATS["inline"], tokenizer)
    assert rows == [
        training_row(trajectory(first), FORMATS["inline"], tokenizer),
        training_row(trajectory(second), FORMATS["inline"], tokenizer),
    ]


PIECES = [*" aB1_\"',.()[]<>\n\t\x1d\x1e\x1f", "é", "\u0301", "\u200d", "日", "Ⅳ", "ğ"]
PIECES += ["<think> ", ' </think>\n<kg-query> get_triples("', '", ["', '"]) </kg-query>']
PIECES += ["<think>", "</answer>", *RELATIONS, "..", "<|im_end|>", "<|endoftext|>"]


@settings(max_examples=150, deadline=None)
@given(text=st.one_of(st.text(), st.lists(st.sampled_from(PIECES)).map("".join)))
def test_every_text_comes_back_unchanged(text, tokenizer) -> None:
    ids = tokenizer.encode(text, add_special_tokens=False, split_special_tokens=True)
    assert decode(tokenizer, ids) == text
