"""What a free wording may mean: by its words, and by a judge where they are its own."""

from collections.abc import Sequence

from data_pipeline.certificates import other_reading
from data_pipeline.teacher.readings import TextReadings
from data_pipeline.wording.vocabulary import lexicon_of
from graphwalker.graphs.base import Entity
from graphwalker.graphs.memory import MemoryGraph
from graphwalker.query.draft import Draft
from graphwalker.query.query import Branch, Hop, Query, execute

TRIPLES = [
    ("Anna", "directed", "Blue"),
    ("Anna", "produced", "Blue"),
    ("Anna", "produced", "Red"),
    ("Anna", "works_for", "Acme"),
    ("Blue", "starring", "Carl"),
    ("Blue", "starring", "Dora"),
    ("Blue", "composed_by", "Emil"),
    ("Anna", "parent", "Greta"),
    ("Fritz", "parent", "Anna"),
]


def graph() -> MemoryGraph:
    names = {name for head, _, tail in TRIPLES for name in (head, tail)}
    return MemoryGraph(TRIPLES, {name: name for name in names})


def worded(text: str, *hops: Hop) -> tuple[Draft, str, list[str]]:
    """The draft of a text for a path from Anna, the rival that the certificate finds, and the
    relations that a judge would be shown."""
    world = graph()
    query = Query((Branch(Entity("Anna", "Anna"), hops),))
    run = execute(world, query)
    readings = TextReadings(world, lexicon_of(world))
    plain = Draft(text, (tuple("" for _ in hops),), (), (tuple((hop,) for hop in hops),))
    draft = readings.of(text, query, run, plain)
    doubts = [str(r) for doubt in readings.doubts(query, draft, run) for r in doubt.rivals]
    return draft, other_reading(world, query, draft, run), doubts


def of_hop(draft: Draft, number: int) -> Sequence[str]:
    return list(map(str, draft.readings[0][number]))


def test_a_relation_that_the_words_fit_as_well_is_executed_as_a_rival():
    draft, rival, _ = worded("What was directed and produced by Anna?", Hop("directed"))
    assert of_hop(draft, 0) == ["directed", "produced"]
    assert rival == "produced"  # it gives Blue and Red


def test_a_relation_to_another_kind_than_is_asked_for_is_no_rival():
    facts = [
        ("Blue", "film.film.produced_by", "Anna"),
        ("Acme", "film.production_company.films", "Blue"),
    ]
    world = MemoryGraph(facts, {name: name for name in ("Blue", "Anna", "Acme")})
    query = Query((Branch(Entity("Blue", "Blue"), (Hop("film.film.produced_by"),)),))
    run, plain = execute(world, query), Draft("", (("",),), (), (((Hop("x"),),),))
    readings = TextReadings(world, lexicon_of(world))

    def read_as(text: str) -> list[str]:
        return of_hop(readings.of(text, query, run, plain), 0)

    assert read_as("Who is the producer of Blue?") == ["film.film.produced_by"]
    both = ["film.film.produced_by", "~film.production_company.films"]
    assert read_as("What produced Blue?") == both


def test_words_that_another_hop_has_taken_are_no_rival_of_this_one():
    hops = (Hop("produced"), Hop("composed_by"))
    draft, rival, _ = worded("Who composed the music of what Anna produced?", *hops)
    assert of_hop(draft, 0) == ["produced"] and of_hop(draft, 1) == ["composed_by"] and not rival


def test_the_same_relation_backwards_is_told_apart_by_the_order_of_words():
    draft, rival, _ = worded("Who is the parent of Anna?", Hop("parent"))
    assert of_hop(draft, 0) == ["parent"] and not rival


def test_a_step_in_words_of_ones_own_is_left_to_a_judge_with_its_rivals():
    draft, rival, doubts = worded("Which movie did Anna make?", Hop("directed"))
    assert draft.own_words == ("directed",) and not rival
    assert "produced" in doubts  # another film: Red
    assert Draft.from_json("", draft.to_json()).own_words == draft.own_words
