"""Thoughts: short, deterministic, and about the phrase at hand."""

import random
from collections.abc import Callable

from graphwalker.graphs.base import Entity
from graphwalker.oracle import thoughts
from graphwalker.oracle.choices import ChoiceThoughts, Says, says_nothing
from graphwalker.query.query import Branch, Hop, Query
from graphwalker.question import Question

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


def test_a_thought_is_one_short_line_that_varies_by_its_generator_alone() -> None:
    for name, step in STEPS.items():
        forms = [step(random.Random(seed)) for seed in range(20)]
        assert forms == [step(random.Random(seed)) for seed in range(20)]
        assert len(set(forms)) > 1, name
        for thought in forms:
            assert 3 <= len(thought.split()) <= 18, thought
            assert "\n" not in thought and "{x}" not in thought and thought.endswith(".")


def test_every_form_of_phrase_is_spoken_of() -> None:
    for phrase, said in {
        DIRECTOR: "the director of it",
        "directed {x}": "the one that directed it",
        "who directed {x}": 'the answer to "who directed it"',
        "When was {x} born?": 'the answer to "when was it born"',
        "what movies did {x} star in": 'the answer to "what movies did it star in"',
        "what is the capital of {x}": "the capital of it",
        "is where {x} lived": "where it lived",
        "": "what the question asks for",
    }.items():
        assert thoughts.about(phrase) == said


BANK = {
    "film.film.directed_by": "the director of {x}",
    "film.film.produced_by": "the director of the making of {x}",
    "film.film.country": "the country of {x}",
    "film.film.genre": "",
}
LISTED = [Hop(relation) for relation in ("film.film.country", *BANK)]
NORA = Entity("m.n", "Silent Harbor")


def explain(text: str, phrase: str, says: Says = says_nothing) -> set[str]:
    hop = LISTED[1]
    question = Question("q", text, (NORA,), query=Query((Branch(NORA, (hop,)),)))
    choices = ChoiceThoughts(question, says)
    seeds = [random.Random(seed) for seed in range(30)]
    return {choices.explain(hop, hop.relation, phrase, LISTED, rng) for rng in seeds}


def test_a_choice_names_the_nearest_relations_and_what_they_would_give() -> None:
    found = explain("Who directed Silent Harbor?", DIRECTOR, lambda hop: BANK[hop.relation])
    nearest, other = "the director of the making of it", "the country of it"
    assert found == {
        f"I need the director of it: directed_by gives that. produced_by would give {nearest} "
        f"and country {other}.",
        f"produced_by would give {nearest} and country {other}, but I need the director of it: "
        "directed_by.",
        f'"directed" points to directed_by (the director of it), not to produced_by ({nearest}) '
        f"or country ({other}).",
    }


def test_without_phrases_a_choice_quotes_the_question() -> None:
    rest = "country and produced_by would give something else."
    assert explain("who was silent harbor shot by?", "") == {
        '"who was ... shot by" fits directed_by better than country or produced_by.',
        f'"who was ... shot by" asks for directed_by; {rest}',
    }
