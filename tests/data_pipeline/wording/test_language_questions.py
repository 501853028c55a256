"""Questions: every hop is said, nothing is given away, ids are read as people mean them."""

import random
from dataclasses import replace

from data_pipeline.wording.composition.questions import ProgrammaticTeacher
from data_pipeline.wording.ids import Nouns
from data_pipeline.wording.lexicon import Entry, Lexicon, Make, entry_from_id
from data_pipeline.wording.quality import judge
from graphwalker.graphs.base import Direction, Entity
from graphwalker.query.draft import Draft
from graphwalker.query.query import Branch, Hop, Query, parse_hop
from graphwalker.world.schema import relation_ids

LEXICON = Lexicon.for_graph(relation_ids())
TEACHER = ProgrammaticTeacher(LEXICON)
FILM, CITY = Entity("m.01", "Silent Harbor"), Entity("m.3", "Ova")
ACTOR = Entity("m.02", "Tor Velsen")
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
    phrases = (("the director of {x}", "the spouse of {x}"),)
    draft = replace(_drafts(TWO_HOPS, 1)[0], phrases=phrases)
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


WORDED = """
interactsWith | | the thing that {x} interacts with | the one that interacts with {x}
co-occurs_with | | the thing that {x} co-occurs with | the one that co-occurs with {x}
down_regulates | | the thing that {x} down-regulates | the one that down-regulates {x}
objectifies | | the thing that {x} objectifies | the one that objectifies {x}
LIVE_IN | | the place that {x} lives in | the person who lives in {x}
lost_to | | the thing that {x} lost to | the one that lost to {x}
sits_next_to | | the thing that {x} sits next to | the one that sits next to {x}
GREW_UP_IN | | the thing that {x} grew up in | the one that grew up in {x}
GUEST_STARRED_IN | | the thing that {x} guest starred in | the one that guest starred in {x}
shares_universe_with | | the thing that {x} shares a universe with | the one that shares a
studied_law_at | | the thing that {x} studied law at | the person who studied law at {x}
formerly_played_for | | the thing that {x} formerly played for | the one that formerly pl
hasWonPrize | | the prize that {x} won | the one that won {x}
servesCuisine | | the cuisine that {x} serves | the one that serves {x}
livesInCity | | the city that {x} lives in | the person who lives in {x}
belongsToParty | politician > party | the party that {x} belongs to | the politician who belongs
usedForPurpose | | the purpose that {x} is used for | the one that is used for {x}
memberOfParty | | the party that {x} is a member of | the member of {x}
motivated_by_goal | | the goal that motivated {x} | the thing that {x} motivated
dateOfBirth | | the date of birth of {x} | the thing whose date of birth is {x}
head_of_government | | the head of government of {x} | the thing whose head of government
diagnosedWith | | the thing that {x} was diagnosed with | the one that was diagnosed
conceptually_related_to | | the thing that {x} is conceptually related to | the one that
at_war_with | | the thing that {x} is at war with | the one that is at war with {x}
translatedBy | | the translator of {x} | the thing that {x} translated
looked_after_by | | the one that looked after {x} | the thing that {x} looked after
firstDescribedBy | | the one that first described {x} | the thing that {x} first described
/r/UsedFor | | the thing that {x} is used for | the one that is used for {x}
/r/CapableOf | | the thing that {x} is capable of | the one that is capable of {x}
is_a | | the type of {x} | the thing whose type is {x}
prescribed | patient > drug | the drug that {x} was prescribed | the patient who was pr
prescribed | doctor > drug | the drug that {x} prescribed | the doctor who prescribed {x}
head_of | person > club | the club that {x} is the head of | the head of {x}
DIRECTOR | person > film | the film that {x} is the director of | the director of {x}
may_treat | drug > disease | the disease that {x} may treat | the drug that may treat {x}
LOCATION_IN_AREA | location > area | the area that {x} is in | the location that is in {x}
customer_id | order > customer | the customer of {x} | the order whose customer is {x}
founded | company > year | the year in which {x} was founded | the company that was
qty_in_stock | product > number | the quantity in stock of {x} | the product whose qua
hosts | server > app | the app that {x} hosts | the server that hosts {x}
hosts | show > person | the host of {x} | the show whose host is {x}
practicedIn | architect > city | the city that {x} practiced in | the architect who pra
trained_on | model > dataset | the dataset that {x} was trained on | the model that was
DOWNSTREAM_OF | meter > fuse | the fuse that {x} is downstream of | the meter that is dow
PART_OF_TACTIC | technique > tactic | the tactic that {x} is part of | the technique t
worksfor | | the thing that {x} works for
person.works_for | | the thing that {x} works for
carries_out | | the thing that {x} carries out
length_km | | the length in km of {x}
num_employees | | the number of employees of {x}
hq_city | | the headquarters city of {x}
author1 | | the author of {x}
from_station | | the station of {x}
owl:sameAs | | the thing that {x} is equal to
formerly part of | | the thing that {x} was formerly part of
set_off_from | | the thing that {x} departs from
friends_with | | the thing that {x} is friends with
"""
"""An id, the nouns of its ends, how it is said from its start, and how that begins from its end."""


def test_an_id_is_read_as_people_mean_it() -> None:
    for row in WORDED.strip().splitlines():
        relation, ends, out, *into = map(str.strip, row.split("|"))
        nouns = Nouns(*ends.split(" > ")) if ends else Nouns()
        phrases = {d: entry_from_id(Hop(relation, d), nouns).phrases[0] for d in Direction}
        assert phrases[Direction.OUT] == out
        assert phrases[Direction.IN].startswith("".join(into))


def question_texts(query: Query, relations: list[str], made: Make) -> set[str]:
    teacher = ProgrammaticTeacher(Lexicon.for_graph(relations, {}, made))
    drafts = [teacher.ask(query, [Entity("c", "Poetry")], random.Random(n)) for n in range(30)]
    return {draft.text for draft in drafts if draft}


def course_entry(hop: Hop) -> Entry:
    return entry_from_id(hop, Nouns("student", "course"))


def test_two_are_enrolled_where_one_is() -> None:
    hop = Hop("ENROLLED_IN")
    ana, ben = (Branch(Entity(name, name), (hop,)) for name in ("Ana", "Ben"))
    texts = question_texts(Query((ana, ben)), ["ENROLLED_IN"], course_entry)
    assert texts and all("both Ana and Ben are enrolled in" in text for text in texts)


def test_a_branch_without_a_clause_stands_behind_which() -> None:
    takes = Branch(Entity("a", "Ana"), (Hop("ENROLLED_IN"),))
    held = Branch(Entity("d", "Ms. Dunn"), (Hop("TEACHES"),))
    texts = question_texts(Query((takes, held)), ["ENROLLED_IN", "TEACHES"], course_entry)
    assert "Which course that Ana is enrolled in is taught by Ms. Dunn?" in texts
    assert not any("course is the course" in text for text in texts)


def company_entry(hop: Hop) -> Entry:
    ends = {"BELONGS_TO": Nouns("company", "club"), "SPONSORS": Nouns("company", "user")}
    return entry_from_id(hop, ends.get(hop.relation, Nouns("company", "company")))


def texts(*hops: Hop) -> set[str]:
    return question_texts(
        Query((Branch(Entity("a", "Ana"), hops),)), [hop.relation for hop in hops], company_entry
    )


def test_a_question_ends_on_what_is_asked_where_its_verb_would_stand_far_behind() -> None:
    said = texts(Hop("SPONSORS", Direction.IN), Hop("FOLLOWS", Direction.IN), Hop("BELONGS_TO"))
    assert said == {"The company that follows the company that sponsors Ana belongs to which club?"}


def test_what_would_hold_a_clause_in_a_clause_in_a_clause_is_not_asked() -> None:
    inner = (Hop("SPONSORS", Direction.IN), Hop("FOLLOWS", Direction.IN))
    assert not texts(*inner, Hop("SUPPLIES_TO"), Hop("DELIVERS_TO"), Hop("BELONGS_TO"))


def test_a_noun_that_begins_with_the_kind_of_what_has_it_is_said_without() -> None:
    assert entry_from_id(Hop("recipeIngredient"), Nouns("recipe")).noun == "ingredient"
    assert entry_from_id(Hop("recipeIngredient"), Nouns("book")).noun == "recipe ingredient"
