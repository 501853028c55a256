"""Thoughts: short, deterministic, and about the phrase at hand."""

import random
from collections.abc import Callable

import pytest

from data_pipeline.wording.english import is_person
from data_pipeline.wording.lexicon import Lexicon, hand_written
from graphwalker.graphs.base import Direction, Entity
from graphwalker.oracle import thoughts
from graphwalker.oracle.choices import ChoiceThoughts, Phrases
from graphwalker.query.query import Branch, Hop, Query
from graphwalker.question import Question

DIRECTOR = "the director of it"
STEPS: dict[str, Callable[[random.Random | None], str]] = {
    "start": lambda rng: thoughts.start("Silent Harbor", DIRECTOR, rng),
    "choose": lambda rng: thoughts.choose("directed_by", DIRECTOR, rng),
    "guess": lambda rng: thoughts.guess("produced_by", DIRECTOR, rng),
    "move": lambda rng: thoughts.move("Tor Velsen", DIRECTOR, rng),
    "move_many": lambda rng: thoughts.move_many(3, "Tor Velsen", DIRECTOR, rng),
    "next_relations": lambda rng: thoughts.next_relations(DIRECTOR, rng),
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
        assert name == "branch" or len(set(forms)) > 1, name
        for thought in [*forms, step(None)]:
            assert 3 <= len(thought.split()) <= 18, thought
            assert "\n" not in thought and "{" not in thought and thought.endswith(".")


def test_plain_thoughts_are_sentences() -> None:
    said = {name: STEPS[name](None) for name in ("start", "move", "choose", "next_relations")}
    assert said == {
        "start": "I start at Silent Harbor.",
        "move": "I go on from Tor Velsen.",
        "choose": "directed_by gives the director of it.",
        "next_relations": "None of these gives the director of it; the next page.",
    }


def test_every_form_of_phrase_is_spoken_of() -> None:
    for phrase, said in {
        "the director of {x}": DIRECTOR,
        "directed {x}": "the one that directed it",
        "who directed {x}": 'the answer to "who directed it"',
        "When was {x} born?": 'the answer to "when was it born"',
        "what movies did {x} star in": 'the answer to "what movies did it star in"',
        "what is the capital of {x}": "the capital of it",
        "is where {x} lived": "where it lived",
        "": "what the question asks for",
    }.items():
        assert thoughts.about(phrase) == said


class Bank(Phrases):
    def __init__(self, **said: str) -> None:
        self.said = said

    def says(self, hop: Hop) -> tuple[str, ...]:
        return tuple(filter(None, self.said.get(hop.relation.rpartition(".")[2], "").split("|")))


BANK = Bank(
    directed_by="the director of {x}|the person who shot {x}",
    produced_by="the director of the making of {x}",
    country="the country of {x}",
)
NAMES = ("country", "directed_by", "produced_by", "country", "genre")
LISTED = [Hop(f"film.film.{name}") for name in NAMES]
NORA = Entity("m.n", "Silent Harbor")


def of_question(text: str, phrases: Phrases = BANK, hop: Hop = LISTED[1]) -> ChoiceThoughts:
    return ChoiceThoughts(
        Question("q", text, (NORA,), query=Query((Branch(NORA, (hop,)),))), phrases
    )


def explain(text: str, phrase: str = "", phrases: Phrases = BANK) -> set[str]:
    choices, hop = of_question(text, phrases), LISTED[1]
    aim = choices.aim(hop, phrase)
    seeds = [random.Random(seed) for seed in range(30)]
    return {choices.explain(hop, hop.relation, aim, LISTED, rng) for rng in seeds}


def test_a_choice_names_the_nearest_relations_and_what_they_would_give() -> None:
    found = explain("Who was the director of Silent Harbor?")
    nearest, other = "the director of the making of it", "the country of it"
    assert found == {
        f"I need the director of it: directed_by gives that. produced_by would give {nearest} "
        f"and country {other}.",
        f"produced_by would give {nearest} and country {other}, but I need the director of it: "
        "directed_by.",
        f'"director" points to directed_by (the director of it), not to produced_by ({nearest}) '
        f"or country ({other}).",
    }


def test_a_relation_of_several_words_stays_whole_in_a_choice() -> None:
    taken, rival = Hop("born in"), Hop("works at")
    bank = Bank(**{"born in": "the birthplace of {x}", "works at": "the employer of {x}"})
    choices = of_question("What is the birthplace of Silent Harbor?", bank, taken)
    aim = choices.aim(taken, "")
    draws = map(random.Random, range(30))
    found = {choices.explain(taken, "born in", aim, [taken, rival], rng) for rng in draws}
    assert (
        "works at would give the employer of it, but I need the birthplace of it: born in." in found
    )


def test_a_quote_is_of_words_that_no_rival_has() -> None:
    taken, rival = Hop("written_by", Direction.IN), Hop("directed_by", Direction.IN)
    bank = Bank(written_by="the film that {x} wrote", directed_by="the film that {x} directed")
    choices = of_question("What is the genre of the film that Silent Harbor wrote?", bank, taken)
    aim = choices.aim(taken, "")
    draws = map(random.Random, range(30))
    found = {choices.explain(taken, "written_by", aim, [taken, rival], rng) for rng in draws}
    quotes = {thought for thought in found if "points" in thought}
    assert quotes and all(thought.startswith('"wrote" points to') for thought in quotes)


def test_without_phrases_a_choice_quotes_the_question() -> None:
    rest = "country and produced_by would give something else."
    assert explain("who was silent harbor shot by?", phrases=Phrases()) == {
        '"who was ... shot by" fits directed_by better than country or produced_by.',
        f'"who was ... shot by" asks for directed_by; {rest}',
    }


def test_the_phrase_that_is_nearest_to_the_question_is_taken() -> None:
    choices = of_question("who shot Silent Harbor?")
    assert choices.aim(LISTED[1], "").sought == "the person who shot it"


def test_what_the_question_does_not_say_is_said_only_once_it_is_listed() -> None:
    aim = of_question("whose film is Silent Harbor?").aim(LISTED[1], "")
    assert (aim.sought, aim.is_guessable) == ('the answer to "whose film is ..."', False)
    for thought in explain("whose film is Silent Harbor?"):
        assert thought.startswith('"whose film is ..." ') and "the director of it" in thought


def test_a_relation_that_fits_the_question_better_is_not_named_as_a_rival() -> None:
    for thought in explain("which making is Silent Harbor?", "the one behind {x}"):
        assert "produced_by" not in thought and "country" in thought


def test_nor_one_that_fits_better_than_what_is_said_of_the_relation_taken() -> None:
    bank = Bank(teams="the team from {x}|the sport of {x}", olympics="the Olympic sport of {x}")
    taken, listed = Hop("teams"), [Hop("teams"), Hop("olympics")]
    choices = of_question("what sport is there in Silent Harbor?", bank, taken)
    aim = choices.aim(taken, "")
    draws = map(random.Random, range(9))
    assert aim.phrase == "the sport of {x}"
    assert not any("olympics" in choices.explain(taken, "teams", aim, listed, r) for r in draws)


def test_the_possessive_of_a_topic_is_left_out_of_a_quote() -> None:
    aim = of_question("who is Silent Harbor's maker?").aim(LISTED[1], "")
    assert aim.sought == 'the answer to "who is ... maker"'
    aim = of_question("who is Silent Harbor 's maker 's friend ?").aim(LISTED[1], "")
    assert aim.sought == 'the answer to "who is ... maker\'s friend"'


@pytest.mark.parametrize(
    ("hop", "pronoun"),
    [
        (Hop("people.person.nationality"), "this person"),
        (Hop("film.film.directed_by", Direction.IN), "this person"),
        (Hop("film.film.directed_by"), "it"),
    ],
)
def test_a_person_is_not_it(hop: Hop, pronoun: str) -> None:
    lexicon = Lexicon.for_graph(["people.person.nationality", "film.film.directed_by"])
    aim = of_question("who?", lexicon, hop).aim(hop, "the kin of {x}", plain=True)
    assert aim.wanted == f"the kin of {pronoun}"


def test_what_a_question_says_of_two_things_is_looked_for_of_one() -> None:
    hop, bank = Hop("sold_at"), Bank(sold_at="the shop that {x} is sold at")
    aim = of_question("which shop?", bank, hop).aim(hop, "the shop that {x} are sold at", True)
    assert aim.wanted == "the shop that it is sold at"


def test_a_hop_before_the_last_says_what_it_finds_and_not_the_answer() -> None:
    aim = of_question("whose film is Silent Harbor?").aim(LISTED[1], "", is_last=False)
    assert (aim.sought, aim.is_guessable) == ("the director of it", True)


def test_a_question_without_a_verb_is_told_by_the_noun_of_its_relation() -> None:
    hop = Hop("location.location.time_zones")
    lexicon = Lexicon.for_graph([hop.relation])
    aim = of_question("time zone for Silent Harbor", lexicon, hop).aim(hop, "time zone for {x}")
    assert aim.sought == "the time zone of it"


def test_whoever_is_asked_for_by_who_is_a_person_or_an_organization() -> None:
    bank = hand_written(fictional=False).values()
    found = {entry.noun for entry in bank if entry.question_word == "Who"}
    assert {noun for noun in found if not is_person(noun)} == {"organization"}
