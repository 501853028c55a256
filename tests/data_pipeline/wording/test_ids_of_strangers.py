"""Ids as strangers' graphs have them, with the kinds of things at both ends."""

import random

from data_pipeline.wording.composition.questions import ProgrammaticTeacher
from data_pipeline.wording.lexicon import Lexicon, entry_from_id
from data_pipeline.wording.predicates import Nouns
from graphwalker.graphs.base import Direction, Entity
from graphwalker.query.query import Branch, Hop, Query

TYPED = [
    ("prescribed", "patient", "drug", "the drug that {x} was prescribed", "the patient who was pr"),
    (
        "prescribed",
        "doctor",
        "drug",
        "the drug that {x} prescribed",
        "the doctor who prescribed {x}",
    ),
    ("head_of_dept", "department", "doctor", "the head of {x}", "the department whose head is {x}"),
    ("head_of", "person", "club", "the club that {x} is the head of", "the head of {x}"),
    ("DIRECTOR", "person", "film", "the film that {x} is the director of", "the director of {x}"),
    (
        "may_treat",
        "drug",
        "disease",
        "the disease that {x} may treat",
        "the drug that may treat {x}",
    ),
    (
        "LOCATION_IN_AREA",
        "location",
        "area",
        "the area that {x} is in",
        "the location that is in {x}",
    ),
    ("KNOWS_THROUGH_WORK", "person", "person", "the person that {x} knows through work", "the p"),
    ("customer_id", "order", "customer", "the customer of {x}", "the order whose customer is {x}"),
    ("founded", "company", "year", "the year in which {x} was founded", "the company that was"),
    ("qty_in_stock", "product", "number", "the quantity in stock of {x}", "the product whose qua"),
    ("hosts", "server", "app", "the app that {x} hosts", "the server that hosts {x}"),
    ("hosts", "show", "person", "the host of {x}", "the show whose host is {x}"),
    ("practicedIn", "architect", "city", "the city that {x} practiced in", "the architect who pra"),
    ("trained_on", "model", "dataset", "the dataset that {x} was trained on", "the model that was"),
    (
        "DOWNSTREAM_OF",
        "meter",
        "fuse",
        "the fuse that {x} is downstream of",
        "the meter that is dow",
    ),
    ("cites_as_authority", "case", "case", "the case that {x} cites as authority", "the case that"),
    ("PART_OF_TACTIC", "technique", "tactic", "the tactic that {x} is part of", "the technique t"),
    (
        "aimed_to_climb",
        "team",
        "peak",
        "the peak that {x} aimed to climb",
        "the team that aimed to",
    ),
]
UNTYPED = [
    ("worksfor", "the thing that {x} works for"),
    ("person.works_for", "the thing that {x} works for"),
    ("carries_out", "the thing that {x} carries out"),
    ("TEACH", "the thing that {x} teaches"),
    ("playing_for", "the thing that {x} plays for"),
    ("length_km", "the length in km of {x}"),
    ("num_employees", "the number of employees of {x}"),
    ("hq_city", "the headquarters city of {x}"),
    ("author1", "the author of {x}"),
    ("from_station", "the station of {x}"),
    ("owl:sameAs", "the thing that {x} is equal to"),
    ("hasBeenAwarded", "the thing that {x} was awarded"),
    ("formerly part of", "the thing that {x} was formerly part of"),
    ("set_off_from", "the thing that {x} departs from"),
    ("instance of", "the kind of thing that {x} is"),
    ("friends_with", "the thing that {x} is friends with"),
]


def test_the_kinds_at_both_ends_tell_who_does_what() -> None:
    for relation, start, end, out, into in TYPED:
        nouns = Nouns(start, end)
        phrases = {d: entry_from_id(Hop(relation, d), nouns).phrases[0].text for d in Direction}
        assert phrases[Direction.OUT] == out
        assert phrases[Direction.IN].startswith(into)


def test_an_id_without_types_is_read() -> None:
    for relation, out in UNTYPED:
        assert entry_from_id(Hop(relation)).phrases[0].text == out


def typed(hop: Hop):
    ends = {"BELONGS_TO": Nouns("company", "club"), "SPONSORS": Nouns("company", "user")}
    return entry_from_id(hop, ends.get(hop.relation, Nouns("company", "company")))


def texts(*hops: Hop) -> set[str]:
    teacher = ProgrammaticTeacher(Lexicon.for_graph([hop.relation for hop in hops], {}, typed))
    query = Query((Branch(Entity("a", "Ana"), hops),))
    drafts = [teacher.ask(query, [Entity("c", "Rowing")], random.Random(n)) for n in range(30)]
    return {draft.text for draft in drafts if draft}


def test_a_question_ends_on_what_is_asked_where_its_verb_would_stand_far_behind() -> None:
    said = texts(Hop("SPONSORS", Direction.IN), Hop("FOLLOWS", Direction.IN), Hop("BELONGS_TO"))
    assert said == {"The company that follows the company that sponsors Ana belongs to which club?"}


def test_what_would_hold_a_clause_in_a_clause_in_a_clause_is_not_asked() -> None:
    inner = (Hop("SPONSORS", Direction.IN), Hop("FOLLOWS", Direction.IN))
    assert not texts(*inner, Hop("SUPPLIES_TO"), Hop("DELIVERS_TO"), Hop("BELONGS_TO"))
