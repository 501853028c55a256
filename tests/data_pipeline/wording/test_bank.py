"""The phrase bank: every text can be said, and a text that means several relations says so."""

import random
import re
import tomllib
from collections import Counter
from importlib.resources import files
from typing import Any

from data_pipeline.wording.banks.bank import bank
from data_pipeline.wording.banks.genders import genders_of, suits
from data_pipeline.wording.banks.roles import has_roles, titles_of
from data_pipeline.wording.composition.openings import typed_text
from data_pipeline.wording.composition.questions import ProgrammaticTeacher
from data_pipeline.wording.lexicon import Lexicon, parse_table
from data_pipeline.wording.quality import judge
from data_pipeline.wording.type_nouns import fits
from data_pipeline.wording.vocabulary import labels_of
from graphwalker.graphs.base import Direction, Entity
from graphwalker.graphs.memory import MemoryGraph
from graphwalker.query.query import Branch, Hop, Query, parse_hop

ROWS: list[dict[str, Any]] = bank()["relation"]
PATH = files("data_pipeline.wording").joinpath("banks/wikidata.toml")
TABLE: dict[str, Any] = tomllib.loads(PATH.read_text(encoding="utf-8"))


def test_every_text_of_the_bank_is_well_formed() -> None:
    kinds = TABLE["kind"] | bank()["kind"]
    for row in (*ROWS, *TABLE["relation"]):
        assert {"out", "in"} & row.keys() and {row["from"], row["to"]} <= kinds.keys()
        for direction in {"out", "in"} & row.keys():
            wording = row[direction]
            texts = [text for found in wording.values() for text in found]
            assert len(texts) == len(set(texts)) and wording["phrase"]
            assert wording.keys() <= {"phrase", "clause", "question"}
            for text in texts:
                assert text.count("{x}") == 1 and text == text.strip()
                assert not re.search(r"[_|]|\.\.|  |\b(a|an|the) \{x\}", text)
                assert text.endswith("?") is (text in wording.get("question", ()))
                assert text.startswith("the ") is (text in wording["phrase"])
            for clause in wording.get("clause", ()):  # not `Which city is where Ann is from?`
                assert not re.match("(is|was|are|were) (where|when|how|what|who|why)\\b", clause)


def test_a_relation_is_worded_once_and_its_inverse_with_it() -> None:
    ids = Counter(relation for row in ROWS for relation in {row["id"], row.get("inverse")} - {None})
    assert [relation for relation, count in ids.items() if count > 1] == []


def test_a_direction_that_nobody_asks_for_is_worded_from_the_id() -> None:
    lexicon = Lexicon.for_graph([*(row["id"] for row in ROWS), "x.y.z"])
    assert all(lexicon.entry(Hop(row["id"], d)).phrases for row in ROWS for d in Direction)


def test_casual_questions_are_typed_and_short() -> None:
    found = [row.get(f"{d}_casual", "").strip("\n") for row in ROWS for d in Direction]
    texts = [text for lines in found if lines for text in lines.split("\n")]
    assert len(texts) > 6000
    for text in texts:
        assert text.count("{x}") == 1 and text == text.strip().lower(), text
        assert not re.search(r"[_|?.,]|  ", text) and len(text.split()) <= 16, text
        assert not re.match("(is|are|was|were|do|does|did|has|can) ", text), (
            text
        )  # yes is no entity


def test_a_typed_question_keeps_its_name_whole() -> None:
    texts = {typed_text("what's {x}'s job", "Bo'Ann", random.Random(seed)) for seed in range(40)}
    assert {"whats Bo'Ann's job?", "what's bo'ann's job"} <= texts
    assert typed_text("who is a {x}", "Editor", random.Random(0)).startswith("who is an ")
    assert "the the" not in typed_text("who is in the {x}", "The Band", random.Random(0)).lower()


def test_styles_are_drawn_as_asked() -> None:
    lexicon = Lexicon.for_graph(["people.person.religion", "x.y.z"])
    query = Query((Branch(Entity("p", "Ann Lee"), (Hop("people.person.religion"),)),))

    def typed_share(styles: dict[str, float]) -> float:
        teacher = ProgrammaticTeacher(lexicon, styles=styles)
        drafts = [teacher.ask(query, [], random.Random(seed)) for seed in range(60)]
        assert all(draft and judge(draft.text, query, draft).kept for draft in drafts)
        return sum(draft is not None and draft.text[0].islower() for draft in drafts) / 60

    assert typed_share({"casual": 1.0}) == 1.0 and typed_share({"formal": 1.0}) == 0.0
    assert 0.3 < typed_share({"casual": 1.0, "plain": 1.0}) < 0.7


def test_words_fit_the_genders_that_are_known() -> None:
    for form, start, found, suited in (
        ("who is {x}'s wife", "bob", "ann", True),
        ("who is {x}'s wife", "ann", "bob", False),
        ("Who is {x}'s husband?", "ann", "bob", True),
        ("who is {x} the son of", "bob", "ann", True),
        ("who is {x} the son of", "ann", "bob", False),
        ("whose father is {x}", "ann", "bob", False),
        ("who are {x}'s brothers and sisters", "ann", "bob", True),
        ("where did {x} spend his childhood", "ann", "town", False),
        ("who is {x}'s wife", "nobody", "town", True),
    ):
        names = {"ann": "Ann", "bob": "Bob", "f": "Female", "m": "Male", "town": "Ova"}
        triples = [("ann", "people.person.gender", "f"), ("bob", "people.person.gender", "m")]
        assert suits(form, start, [found], genders_of(MemoryGraph(triples, names))) is suited
        assert suits(form, start, [found], genders_of(MemoryGraph([("a", "x.y", "b")], names)))


def test_the_noun_that_is_asked_for_fits_the_answers() -> None:
    kinds = {"nile": ["geography.river"], "cairo": ["location.citytown"]}
    rivers, cities = "what rivers are in {x}", "Which city is in {x}?"
    for form, answer, fitting in (
        (rivers, "nile", True),
        (rivers, "cairo", False),
        (rivers, "unknown", True),
        (cities, "cairo", True),
        ("what are the rivers in {x}", "cairo", False),
        ("name some rivers in {x}", "cairo", False),
        ("name a river in {x}", "cairo", False),
        ("what oscars did {x} win", "Academy Award for Best Picture", True),
        ("what oscars did {x} win", "BAFTA Award for Best Film", False),
    ):
        assert fits(form, [Entity(answer, answer)], lambda one: kinds.get(one, [])) is fitting


OFFICE = "government.politician.government_positions_held..government.government_position_held"


def test_a_role_is_claimed_only_of_those_whose_titles_the_graph_knows() -> None:
    titles = {"eve": ["Prime minister"], "jim": ["Governor", "President"], "sue": ["Senator"]}
    triples = [
        (one, f"{OFFICE}.basic_title", name) for one, held in titles.items() for name in held
    ]
    known = titles_of(
        MemoryGraph(triples, {name: name for held in titles.values() for name in held})
    )
    for form, found, suited in (
        ("who was the prime minister of {x}", ["eve"], True),
        ("who was the prime minister of {x}", ["eve", "sue"], False),
        ("who is the president of {x}", ["jim"], False),  # of another country, perhaps
        ("Who is the senator of {x}?", ["sue"], True),
        ("who led {x}", ["sue"], False),
        ("who held office in {x}", ["nobody"], True),
        ("who is the mayor of {x}", ["nobody"], False),
    ):
        assert has_roles(form, "place", "politician", "ova", found, known) is suited
    assert has_roles("where was {x} mayor", "politician", "place", "eve", ["ova"], known) is False
    assert has_roles("who is the host of {x}", "place", "person", "ova", ["sue"], known)


def test_a_senator_is_asked_for_by_no_higher_office() -> None:
    lexicon = Lexicon.for_graph([f"{OFFICE}.jurisdiction_of_office", "x.y.z"])
    branch = Branch(Entity("o", "Ova"), (parse_hop(f"~{OFFICE}.jurisdiction_of_office"),))
    triples, names = [("sue", f"{OFFICE}.basic_title", "s")], {"s": "Senator"}
    titles = titles_of(MemoryGraph(triples, names))
    teacher = ProgrammaticTeacher(lexicon, titles=titles)
    texts = {
        draft.text.lower()
        for seed in range(200)
        if (draft := teacher.ask(Query((branch,)), [Entity("sue", "Sue")], random.Random(seed)))
    }
    higher = re.compile("president|minister|governor|mayor|king|queen|leader|rule|in charge")
    assert len(texts) > 10 and not any(map(higher.search, texts))
    assert any("senator" in text for text in texts)


def test_a_family_is_what_a_person_belongs_to() -> None:
    lexicon = Lexicon.for_graph(["people.family_member.family", "x.y.z"])
    assert lexicon.entry(Hop("people.family_member.family")).noun == "family"


def test_a_profession_is_not_asked_for_as_a_job_nor_a_question_within_a_question() -> None:
    def texts(relation: str, name: str) -> set[str]:
        query = Query((Branch(Entity("a", name), (Hop(relation),)),))
        teacher = ProgrammaticTeacher(Lexicon.for_graph([relation, "x.y.z"]))
        drafts = [teacher.ask(query, [], random.Random(seed)) for seed in range(2000)]
        return {draft.text for draft in drafts if draft}

    jobs = texts("people.person.profession", "Ana")
    assert "What is the job of Ana?" in jobs
    assert not any(text.startswith("Which profession is the") for text in jobs)
    towns = texts("people.person.place_of_birth", "Ana")
    assert "What is the hometown of Ana?" in towns
    assert not any("know what is the" in text for text in towns)


def test_two_are_no_member_and_a_contact_clause_stands_behind_no_other_verb() -> None:
    def texts(*branches: Branch) -> set[str]:
        lexicon = Lexicon.for_graph([hop.relation for b in branches for hop in b.hops] + ["x.y"])
        teacher = ProgrammaticTeacher(lexicon)
        drafts = [teacher.ask(Query(branches), [], random.Random(seed)) for seed in range(60)]
        return {draft.text for draft in drafts if draft}

    group = Hop("music.group_member.membership..music.group_membership.group")
    both = texts(*(Branch(Entity(name, name), (group,)) for name in ("Ana", "Ben")))
    assert both and not any("as a member" in text for text in both)
    spoken = texts(
        Branch(Entity("o", "Ova"), (Hop("location.country.languages_spoken"),)),
        Branch(Entity("f", "Dusk"), (Hop("film.film.language"),)),
    )
    assert spoken and not any("people use in Ova is" in text for text in spoken)
    bought = texts(
        Branch(
            Entity("d", "Dusk"),
            (Hop("award.award_winning_work.awards_won..award.award_honor.award_winner"),),
        ),
        Branch(
            Entity("s", "Sole"),
            (
                Hop(
                    "organization.organization.companies_acquired..business.acquisition.company_acquired"
                ),
            ),
        ),
    )
    assert bought and all("company" in text for text in bought)
    sponsored = texts(
        Branch(
            Entity("s", "Sole"),
            (Hop("business.sponsor.sponsorship..business.sponsorship.sponsored_recipient"),),
        ),
        Branch(Entity("o", "Ova"), (parse_hop("~people.person.place_of_birth"),)),
    )
    assert sponsored and all(
        text.startswith(("Who ", "who ", "Do you know who")) for text in sponsored
    )


def test_every_property_reads_as_an_entry_in_the_directions_that_people_ask() -> None:
    entries = parse_table(TABLE)
    assert len({hop.relation for hop in entries}) >= 200
    assert entries[Hop("P57")].question_word == "Who" and Hop("P1082") in entries
    assert parse_hop("~P1082") not in entries  # what has a population of 4,711?
    assert entries[Hop("P26")] is entries[parse_hop("~P26")]
    assert entries[Hop("P1376")] is entries[parse_hop("~P36")]


def test_a_property_without_a_label_in_the_graph_has_its_usual_one() -> None:
    relations = ["http://www.wikidata.org/prop/direct/P749", "P287", "http://own.org/P287"]
    graph = MemoryGraph([("a", relation, "b") for relation in relations], {"P287": "plan of"})
    found = list(labels_of(graph, relations).values())
    assert found == ["parent organization", "plan of", "plan of"]
