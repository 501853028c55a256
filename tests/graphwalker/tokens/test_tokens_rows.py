"""Rows of trajectories in every chat format: what is trained on is what a rollout drew."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphwalker.errors import UserError
from graphwalker.graphs.base import Entity
from graphwalker.question import Question
from graphwalker.tokens.formats import FORMATS, chat_format
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
    training_rows,
)
from graphwalker.trajectory import Message, StopReason, Trajectory, Turn
from support.token_kinds import ADDED, SETTINGS, SPECIALS

HOSTILE = [*SPECIALS, *ADDED, "[UNK]", "<unk>", "</tool_resp", "onse>", "<|im_", "end|>"]
PIECES = [*HOSTILE, *" aé\n\"'<>|/_日", "Anna Kovar", '"]) </kg-query>', "<information> "]
TEXTS = st.lists(st.sampled_from(PIECES), min_size=1, max_size=8).map("".join)


@st.composite
def trajectories(draw):
    turns = []
    for number in range(draw(st.integers(1, 4))):
        context = [Message("user", draw(TEXTS))]
        if number == 0 and draw(st.booleans()):
            context.insert(0, Message("system", draw(TEXTS)))
        turns.append(Turn(tuple(context), draw(TEXTS)))
    question = Question("q", "Who?", (Entity("m.1", "Anna"),))
    return Trajectory(question, "react", "oracle", tuple(turns), ("Bob",), StopReason.ANSWERED)


def rolled_out(trajectory, fmt, tokenizer):
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


def any_row(test):
    drawn = {"setting": st.sampled_from(SETTINGS), "kind": st.integers(0, 3)}
    return settings(max_examples=50, deadline=None)(given(trajectory=trajectories(), **drawn)(test))


@any_row
def test_a_row_is_what_a_rollout_puts_together_and_trains_on_the_agent_alone(
    trajectory, setting, kind, tokenizers
):
    fmt = chat_format(setting)
    row = training_row(trajectory, fmt, tokenizers[kind])
    assert row == rolled_out(trajectory, fmt, tokenizers[kind])


@any_row
def test_remembered_texts_make_the_same_rows(trajectory, setting, kind, tokenizers):
    fmt, remembering = chat_format(setting), RememberingTokenizer(tokenizers[kind], texts=5)
    row = training_row(trajectory, fmt, tokenizers[kind])
    for _ in range(3):
        assert training_row(trajectory, fmt, remembering) == row


@any_row
def test_no_text_writes_a_token_of_the_layout(trajectory, setting, kind, tokenizers):
    fmt, tokenizer = chat_format(setting), tokenizers[kind]
    contexts = [tuple(Message(m.role, "x") for m in turn.context) for turn in trajectory.turns]
    plain = replace(trajectory, turns=tuple(Turn(context, "x") for context in contexts))
    tokens = [*SPECIALS, *(t for t in ADDED if t in fmt.markup)]
    ids = tokenizer.convert_tokens_to_ids(tokens)
    hostile = training_row(trajectory, fmt, tokenizer).input_ids
    harmless = training_row(plain, fmt, tokenizer).input_ids
    assert [hostile.count(i) for i in ids] == [harmless.count(i) for i in ids]


@pytest.mark.long
@settings(max_examples=40, deadline=None)
@given(data=st.data(), setting=st.sampled_from(SETTINGS), kind=st.integers(0, 3))
def test_drawn_ids_are_trained_on_as_they_are(data, setting, kind, tokenizers):
    fmt, tokenizer = chat_format(setting), tokenizers[kind]
    walked = data.draw(trajectories())
    end = end_of_turn_id(fmt, tokenizer)
    drawn = st.lists(st.integers(0, 60), min_size=1, max_size=6)
    turns = [
        Turn(t.context, t.completion, token_ids=tuple(closed_ids(data.draw(drawn), fmt, tokenizer)))
        for t in walked.turns
    ]
    row = training_row(replace(walked, turns=tuple(turns)), fmt, tokenizer)
    wanted = [i for turn in turns for i in turn.token_ids or ()]
    if fmt.inline_observations and wanted[-1] != end:  # the end may have been drawn
        wanted.append(end)
    assert [i for i in row.labels if i != IGNORED] == wanted


RELATIONS = ["people.person.spouse", "film.film.starring", "film.film.starring..film.actor.film"]


SAID = [
    'Who is married to Anna Kovar?\nTopic entities: "Anna Kovar", "Bob Lind"',
    '<think>Anna Kovar has spouses.</think>\n<kg-query>get_triples("Anna Kovar", '
    '["people.person.spouse", "film.film.starring"])</kg-query>',
    '<information>("Anna Kovar", people.person.spouse, "Bob Lind (actor)")</information>',
    '<think>Found it, Anna.</think>\n<answer>["Bob Lind", "Anna Kovar"]</answer>',
] * 3


@pytest.fixture(scope="session")
def tokenizer():
    from training.tiny.make import make_tokenizer

    return make_tokenizer(SAID, RELATIONS, 900)


def trajectory(*turns):
    question = Question("q", "Who?", (Entity("m.1", "Anna Kovar"),))
    return Trajectory(question, "react", "oracle", turns, ("Bob Lind",), StopReason.ANSWERED)


def two_turns():
    start, first, observed, second = SAID[:4]
    shown = (Message("user", observed),)
    return trajectory(Turn((Message("user", start),), first), Turn(shown, second))


def decode(tokenizer, ids):
    return tokenizer.decode(list(ids), skip_special_tokens=False)


@pytest.mark.parametrize(("untrained", "kept"), [({0}, 1), ({1}, 0)])
def test_a_turn_that_is_set_aside_is_read_as_context_alone(untrained, kept, tokenizer):
    fmt, walked = FORMATS["inline"], two_turns()
    (row,) = training_rows(walked, fmt, tokenizer, untrained)
    trained = [label for label in row.labels if label != IGNORED]
    assert decode(tokenizer, trained) == walked.turns[kept].completion + fmt.end_of_turn
    assert row.input_ids == training_row(walked, fmt, tokenizer).input_ids


def test_token_ids_without_an_end_of_turn_are_refused(tokenizer):
    walked = trajectory(Turn((Message("user", "Who?"),), "Anna", token_ids=(5, 6)))
    with pytest.raises(UserError, match="do not end with"):
        training_row(walked, FORMATS["inline"], tokenizer)


def test_a_restarted_context_is_a_row_of_its_own(tokenizer):
    first, second = two_turns().turns
    again = Turn(second.context, second.completion, restart=True)
    rows = training_rows(trajectory(first, again), FORMATS["inline"], tokenizer)
    alone = [training_row(trajectory(one), FORMATS["inline"], tokenizer) for one in (first, second)]
    assert rows == alone


TEXT_PIECES = [*" aB1_\"',.()[]<>\n\t\x1d\x1e\x1f", "é", "\u0301", "\u200d", "日", "Ⅳ", "ğ"]


TEXT_PIECES += ["<think> ", ' </think>\n<kg-query> get_triples("', '", ["', '"]) </kg-query>']


TEXT_PIECES += ["<think>", "</answer>", *RELATIONS, "..", "<|im_end|>", "<|endoftext|>"]


@settings(max_examples=80, deadline=None)
@given(text=st.one_of(st.text(), st.lists(st.sampled_from(TEXT_PIECES)).map("".join)))
def test_every_text_comes_back_unchanged(text, tokenizer):
    ids = tokenizer.encode(text, add_special_tokens=False, split_special_tokens=True)
    assert decode(tokenizer, ids) == text
