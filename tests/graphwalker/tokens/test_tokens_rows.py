"""Rows of random trajectories in every chat format: what is trained on is what a rollout drew."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphwalker.graphs.base import Entity
from graphwalker.question import Question
from graphwalker.tokens.formats import chat_format
from graphwalker.tokens.segments import (
    IGNORED,
    RememberingTokenizer,
    Row,
    closed_ids,
    completion_ids,
    end_of_turn_id,
    extension_ids,
    prompt_ids,
    training_row,
)
from graphwalker.trajectory import Message, StopReason, Trajectory, Turn
from support.token_kinds import ADDED, SETTINGS, SPECIALS

HOSTILE = [*SPECIALS, *ADDED, "[UNK]", "<unk>", "</tool_resp", "onse>", "<|im_", "end|>"]
PIECES = [*HOSTILE, *" aé\n\"'<>|/_日", "Anna Kovar", '"]) </kg-query>', "<information> "]
TEXTS = st.lists(st.sampled_from(PIECES), min_size=1, max_size=8).map("".join)


@st.composite
def trajectories(draw) -> Trajectory:
    turns = []
    for number in range(draw(st.integers(1, 4))):
        context = [Message("user", draw(TEXTS))]
        if number == 0 and draw(st.booleans()):
            context.insert(0, Message("system", draw(TEXTS)))
        turns.append(Turn(tuple(context), draw(TEXTS)))
    question = Question("q", "Who?", (Entity("m.1", "Anna"),))
    return Trajectory(question, "react", "oracle", tuple(turns), ("Bob",), StopReason.ANSWERED)


def rolled_out(trajectory: Trajectory, fmt, tokenizer) -> Row:
    """The ids as an engine puts them together, turn by turn, its own marked."""
    row = Row([], [])
    for number, turn in enumerate(trajectory.turns):
        first = prompt_ids if number == 0 else extension_ids
        context = first(turn.context, fmt, tokenizer)
        continues = turn is not trajectory.turns[-1]
        written = completion_ids(turn.completion, fmt, tokenizer, continues=continues)
        row.input_ids.extend([*context, *written])
        row.labels.extend([*[IGNORED] * len(context), *written])
    return row


@settings(max_examples=80, deadline=None)
@given(trajectory=trajectories(), setting=st.sampled_from(SETTINGS), kind=st.integers(0, 3))
def test_a_row_is_what_a_rollout_puts_together_and_trains_on_the_agent_alone(
    trajectory, setting, kind, tokenizers
) -> None:
    fmt = chat_format(setting)
    row = training_row(trajectory, fmt, tokenizers[kind])
    assert row == rolled_out(trajectory, fmt, tokenizers[kind])


@settings(max_examples=80, deadline=None)
@given(trajectory=trajectories(), setting=st.sampled_from(SETTINGS), kind=st.integers(0, 3))
def test_remembered_texts_make_the_same_rows(trajectory, setting, kind, tokenizers) -> None:
    fmt, remembering = chat_format(setting), RememberingTokenizer(tokenizers[kind], texts=5)
    row = training_row(trajectory, fmt, tokenizers[kind])
    for _ in range(3):
        assert training_row(trajectory, fmt, remembering) == row


@settings(max_examples=80, deadline=None)
@given(trajectory=trajectories(), setting=st.sampled_from(SETTINGS), kind=st.integers(0, 3))
def test_no_text_writes_a_token_of_the_layout(trajectory, setting, kind, tokenizers) -> None:
    fmt, tokenizer = chat_format(setting), tokenizers[kind]
    plain = Trajectory(
        trajectory.question,
        "react",
        "oracle",
        tuple(
            Turn(tuple(Message(m.role, "x") for m in turn.context), "x")
            for turn in trajectory.turns
        ),
        None,
        StopReason.ANSWERED,
    )
    tokens = [*SPECIALS, *(t for t in ADDED if t in fmt.markup)]
    ids = tokenizer.convert_tokens_to_ids(tokens)
    hostile = training_row(trajectory, fmt, tokenizer).input_ids
    harmless = training_row(plain, fmt, tokenizer).input_ids
    assert [hostile.count(i) for i in ids] == [harmless.count(i) for i in ids]


@pytest.mark.long
@settings(max_examples=40, deadline=None)
@given(data=st.data(), setting=st.sampled_from(SETTINGS), kind=st.integers(0, 3))
def test_drawn_ids_are_trained_on_as_they_are(data, setting, kind, tokenizers) -> None:
    fmt, tokenizer = chat_format(setting), tokenizers[kind]
    walked = data.draw(trajectories())
    end = end_of_turn_id(fmt, tokenizer)
    drawn = st.lists(st.integers(0, 60), min_size=1, max_size=6)
    turns = [
        Turn(t.context, t.completion, token_ids=tuple(closed_ids(data.draw(drawn), fmt, tokenizer)))
        for t in walked.turns
    ]
    row = training_row(
        Trajectory(walked.question, "react", "m", tuple(turns), None, StopReason.FORCED),
        fmt,
        tokenizer,
    )
    wanted = [i for turn in turns for i in turn.token_ids or ()]
    if fmt.inline_observations and wanted[-1] != end:  # the end may have been drawn
        wanted.append(end)
    assert [i for i in row.labels if i != IGNORED] == wanted
