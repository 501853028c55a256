"""What turns repeat word for word, as tokens of their own."""

import pytest

from graphwalker.question import Entity, Question
from graphwalker.trajectory import StopReason, Trajectory, Turn
from training.models.phrases import frequent_phrases
from training.models.tiny import make_tokenizer

FITS = ', this fits. </think>\n<kg-query> get_triples("'


def walk(word: str, *said: str) -> Trajectory:
    question = Question("q", f"Who is the {word} of Anna?", (Entity("m.1", "Anna"),))
    turns = tuple(Turn((), text) for text in said)
    return Trajectory(question, "react", "oracle", turns, ("Bob",), StopReason.ANSWERED)


def walks(count: int = 40) -> list[Trajectory]:
    words = [f"{letter}{other}" for letter in "abcdefgh" for other in "ijklmn"][:count]
    return [
        walk(
            word,
            f'<think> For the {word}{" of it" * (n % 2)}{FITS}#0.1", ["a.b.{word}"]) </kg-query>',
            f'<think> Found {n}. That is the answer. </think>\n<answer> ["#{1 + n % 2}"] </answer>',
        )
        for n, word in enumerate(words)
    ]


def test_phrases_stand_between_what_a_turn_chooses() -> None:
    found = frequent_phrases(walks(), 50)
    assert {FITS, "<think> Found ", '"]) </kg-query>', "#0.1", "#1", "#2"} <= {*found}
    # Neither a relation, nor a word of a question, nor a number; and no choice has two tokens.
    assert not [one for one in found if "a.b." in one or " the ai" in one]
    assert "<think> For the " not in found
    assert frequent_phrases(walks(), 50) == found


def test_the_most_useful_ones_are_kept_and_rare_ones_never() -> None:
    first, *others = frequent_phrases(walks(), 1)
    assert "answer" in first and all(one[0] == "#" for one in others)
    strange = walk("aunt", "<think> Dead end: what next? </think>\n<answer> [] </answer>")
    assert not [one for one in frequent_phrases([*walks(), strange], 99) if "Dead end" in one]


@pytest.mark.parametrize(
    "text",
    [
        f'<think> For the ai of it{FITS}#1", ["a.b.ai"]) </kg-query>',
        "#1 #12 #1.2 #2x x#2 #2 x #2.x ##1 #1#1",
        "a.b.ai#1 #1a.b.ai, this fits. </think>x",
        "<think> Found <think> Found 1.1 Found",
    ],
)
def test_texts_stay_whole(text: str) -> None:
    some = walks()
    said = [turn.completion for one in some for turn in one.turns]
    relations = [f"a.b.{word}" for word in ("ai", "aj")]
    tokenizer = make_tokenizer(said, relations, 700, pieces=frequent_phrases(some, 50))
    ids = tokenizer.encode(text, add_special_tokens=False)
    assert tokenizer.decode(ids) == text
    assert tokenizer.tokenize("#12")[0] != "#1"


def test_rows_become_shorter() -> None:
    some = walks()
    said = [turn.completion for one in some for turn in one.turns]
    plain = make_tokenizer(said, [], 700)
    with_phrases = make_tokenizer(said, [], 700, pieces=frequent_phrases(some, 50))
    text = some[0].turns[1].completion
    assert len(with_phrases.encode(text)) < 0.7 * len(plain.encode(text))
