"""Ids of relations as people write them, put into English."""

import random

from data_pipeline.wording.composition.questions import ProgrammaticTeacher
from data_pipeline.wording.ids import Nouns
from data_pipeline.wording.lexicon import Entry, Lexicon, Make, entry_from_id
from graphwalker.graphs.base import Direction, Entity
from graphwalker.query.query import Branch, Hop, Query

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
