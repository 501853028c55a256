"""Thoughts: short, deterministic, and about the phrase at hand."""

import random
from collections.abc import Callable

from graphwalker.oracle import thoughts

DIRECTOR = "the director of {x}"
STEPS: dict[str, Callable[[random.Random], str]] = {
    "start": lambda rng: thoughts.start("Silent Harbor", DIRECTOR, rng),
    "choose": lambda rng: thoughts.choose(DIRECTOR, ["film.film.directed_by"], rng),
    "move": lambda rng: thoughts.move("Tor Velsen", DIRECTOR, rng),
    "move_many": lambda rng: thoughts.move_many(3, "Tor Velsen", DIRECTOR, rng),
    "branch": lambda rng: thoughts.branch("Silent Harbor", DIRECTOR, rng),
    "intersect": lambda rng: thoughts.intersect(["Tor Velsen"], DIRECTOR, rng),
    "answer": lambda rng: thoughts.answer(["Tor Velsen"], rng),
    "answer_both": lambda rng: thoughts.answer_both(["Tor", "Ann"], rng),
    "dead_end": lambda rng: thoughts.dead_end("Tor Velsen", DIRECTOR, rng),
    "wrong_result": lambda rng: thoughts.wrong_result(DIRECTOR, rng),
    "back": lambda rng: thoughts.back("Silent Harbor", DIRECTOR, rng),
}


def test_a_thought_is_one_short_line() -> None:
    for step in STEPS:
        for seed in range(20):
            thought = STEPS[step](random.Random(seed))
            assert 3 <= len(thought.split()) <= 18
            assert "\n" not in thought and "{x}" not in thought and thought.endswith(".")


def test_a_thought_varies_by_its_generator_alone() -> None:
    for step in STEPS:
        forms = [STEPS[step](random.Random(seed)) for seed in range(20)]
        assert len(set(forms)) > 1
        assert forms == [STEPS[step](random.Random(seed)) for seed in range(20)]


def test_every_form_of_phrase_is_spoken_of() -> None:
    for phrase, said in (
        (DIRECTOR, "the director of it"),
        ("directed {x}", "what directed it"),
        ("When was {x} born?", "when was it born"),
    ):
        assert said in thoughts.start("Silent Harbor", phrase, random.Random(0))
