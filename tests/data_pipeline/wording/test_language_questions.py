"""Questions: every hop is said, nothing is given away, and the filter sees what is wrong."""

import random
from dataclasses import replace

from data_pipeline.wording.composition.questions import ProgrammaticTeacher
from data_pipeline.wording.lexicon import Lexicon
from data_pipeline.wording.quality import judge
from graphwalker.graphs.base import Entity
from graphwalker.query.draft import Draft
from graphwalker.query.query import Branch, Query, parse_hop
from graphwalker.world.schema import relation_ids

LEXICON = Lexicon.for_graph(relation_ids())
TEACHER = ProgrammaticTeacher(LEXICON)
FILM, ACTOR, CITY = (
    Entity("m.01", "Silent Harbor"),
    Entity("m.02", "Tor Velsen"),
    Entity("m.3", "Ova"),
)
ANSWER = Entity("m.09", "Mira Brekov")
SPOUSE = "people.person.spouse_s..people.marriage.spouse"
STARRING = "film.film.starring..film.performance.actor"


def _branch(topic: Entity, *hops: str) -> Branch:
    return Branch(topic, tuple(map(parse_hop, hops)))


TWO_HOPS = Query((_branch(FILM, "film.film.directed_by", SPOUSE),))
FIVE_HOPS = Query(
    (
        _branch(
            *(FILM, "film.film.directed_by", SPOUSE, "people.person.place_of_birth"),
            *("location.location.containedby", "location.administrative_division.country"),
        ),
    )
)
BOTH = Query(
    (_branch(FILM, "film.film.directed_by"), _branch(CITY, "~people.person.place_of_birth"))
)
PI = Query((_branch(FILM, "film.film.directed_by", SPOUSE), BOTH.branches[1]))
IP = Query(
    (_branch(ACTOR, f"~{STARRING}"), _branch(Entity("m.4", "Ann Ard"), "~film.film.directed_by")),
    (parse_hop("film.film.genre"),),
)
ALL = {"2-hop": TWO_HOPS, "5-hop": FIVE_HOPS, "2I": BOTH, "PI": PI, "IP": IP}


def _drafts(query: Query, count: int = 40) -> list[Draft]:
    drafts = [TEACHER.ask(query, [ANSWER], random.Random(i)) for i in range(count)]
    return [draft for draft in drafts if draft is not None]


def test_every_structure_is_asked_and_each_hop_has_its_phrase_and_its_readings() -> None:
    for query in ALL.values():
        drafts = _drafts(query)
        assert len(drafts) == 40
        for draft in drafts:
            assert judge(draft.text, query, draft).reasons == ()
            worded = zip(query.branches, draft.phrases, draft.readings, strict=True)
            for branch, phrases, readings in worded:
                assert len(phrases) == len(branch.hops)
                assert tuple(found[0] for found in readings) == branch.hops
            assert len(draft.tail_phrases) == len(draft.tail_readings) == len(query.tail)


def test_vague_phrases_come_as_often_as_asked() -> None:
    first = TWO_HOPS.branches[0].hops[0]
    blurred = set(LEXICON.entry(first).vague)

    def share(vague: float) -> float:
        teacher = ProgrammaticTeacher(LEXICON, vague)
        drafts = [teacher.ask(TWO_HOPS, [ANSWER], random.Random(i)) for i in range(200)]
        return sum(d is not None and d.phrases[0][0] in blurred for d in drafts) / 200

    assert share(0.0) == 0.0
    assert 0.3 < share(0.5) < 0.7
    assert share(1.0) == 1.0


def test_what_names_its_answer_or_has_a_question_mark_in_its_topic_is_not_asked() -> None:
    for topic, answer in ((FILM, "silent harbor"), (Entity("m.6", "Who Goes?"), "Mira")):
        query = Query((_branch(topic, "film.film.directed_by"),))
        assert TEACHER.ask(query, [Entity("m.5", answer)], random.Random(0)) is None


def _judged(text: str) -> tuple[bool, str]:
    draft = replace(
        _drafts(TWO_HOPS, 1)[0], phrases=(("the director of {x}", "the spouse of {x}"),)
    )
    verdict = judge(text, TWO_HOPS, draft)
    return verdict.kept, "; ".join(verdict.reasons)


def test_the_filter_drops_a_faulty_question() -> None:
    for text, reason in (
        ("Who is the spouse of the director of Silent Harbor", "question mark"),
        ("Who is the the spouse of the director of Silent Harbor?", "doubled"),
        ("Who is the spouse of the director of it?", "topic entity"),
        ("Who is the spouse of Silent Harbor?", "not said"),
        ("Who is the spouse of the director of Silent Harbor film.film.genre?", "id"),
        ("who is the spouse of the director of Silent Harbor?", "untidy"),
        ("Who is the spouse of the director of Silent Harbor that?", "breaks off"),
        ("Who is a actor and the spouse of the director of Silent Harbor?", "a or an"),
    ):
        kept, reasons = _judged(text)
        assert not kept and reason in reasons


def test_the_filter_drops_a_question_that_names_an_intermediate_entity() -> None:
    draft = _drafts(TWO_HOPS, 1)[0]
    text = draft.text.replace("?", " Mira Brekov?")
    assert not judge(text, TWO_HOPS, draft, intermediates=[ANSWER]).kept


def test_the_filter_drops_a_phrase_that_does_not_mean_its_hop() -> None:
    draft = _drafts(TWO_HOPS, 1)[0]
    wrong = replace(draft, readings=(((parse_hop("film.film.genre"),), draft.readings[0][1]),))
    assert not judge(draft.text, TWO_HOPS, wrong).kept
