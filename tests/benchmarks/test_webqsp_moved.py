"""SimpleQuestions about entities that the graph lacks, asked of some that it has."""

import pytest

from benchmarks.webqsp_moved import Asked, Mentions, Ways, moved
from graphwalker.graphs.memory import MemoryGraph

NAMES = ("ken barlow", "rita tanner", "emily bishop", "curly watts", "alf roberts")
TEXTS = [
    *(f"where was {name} born" for name in NAMES),
    *(f"what is the profession of {name}?" for name in NAMES),
    *(f"what film did {name} produce" for name in NAMES),
]
BORN, WORK = "people.person.place_of_birth", "people.person.profession"
BORN_HERE = "location.location.people_born_here"


def asked(text: str, relation: str = BORN, name: str = "q", subject: str = "m.no") -> Asked:
    return Asked(name, subject, relation, text)


@pytest.fixture
def mentions(monkeypatch: pytest.MonkeyPatch) -> Mentions:
    monkeypatch.setattr("benchmarks.webqsp_moved.COMMON", 1.5)  # there are only 15 questions
    questions = [asked(text, WORK if "profession" in text else BORN) for text in TEXTS]
    return Mentions.of(TEXTS, questions)


@pytest.mark.parametrize(
    ("text", "relation", "mention"),
    [
        ("where was vera duckworth born", BORN, "vera duckworth"),
        ("what is the profession of Vera Duckworth?", WORK, "Vera Duckworth"),
        ("what film did o'hara produce", BORN, "o'hara"),
        ("what is the professional of profession", WORK, "professional"),
    ],
)
def test_a_mention_is_what_stands_in_a_frame(
    mentions: Mentions, text: str, relation: str, mention: str
):
    found = mentions.find(asked(text, relation))
    assert found and text[slice(*found)] == mention


def test_words_of_the_relation_are_no_mention(mentions: Mentions):
    assert mentions.find(asked("place birth", BORN)) is None
    assert mentions.find(asked("", BORN)) is None


def test_questions_are_asked_of_an_entity_that_has_the_relation(mentions: Mentions):
    names = {"m.a": "Ada", "m.b": "Bern", "m.c": "Cleo"}
    graph = MemoryGraph([("m.a", BORN, "m.b"), ("m.c", BORN, "m.b")], names)
    texts = [asked(f"where was {word} born", name=word) for word in ("vera", "ivy", "mavis")]
    texts.append(asked("what is the profession of vera?", WORK))
    found = list(moved(texts, mentions, Ways(graph, {}), graph, seed=0))
    assert [one.id for one, _, _ in found] == ["vera", "ivy", "mavis"]
    for one, topic, ends in found:
        assert one.text == f"where was {topic.name} born" and one.subject == topic.id
        assert one.relation == BORN and [end.name for end in ends] == ["Bern"]
    later = list(moved(texts[1:], mentions, Ways(graph, {}), graph, seed=0))
    assert later == found[1:]  # what a question gets does not hang on the others


def test_the_way_is_the_one_that_leads_to_most(mentions: Mentions):
    names = {"m.a": "Ada", "m.b": "Bern", "m.c": "Cleo", "m.d": "Dover"}
    facts = [("m.b", BORN_HERE, "m.a"), ("m.d", BORN_HERE, "m.a"), ("m.a", BORN, "m.b")]
    graph = MemoryGraph([*facts, ("m.c", BORN, "m.d")], names)
    ways = Ways(graph, {BORN: BORN_HERE})
    there = [asked("where was ada born", subject="m.a"), asked("where was cleo born", subject="m.c")]
    (ada, _, places), (cleo, _, place) = moved(there, mentions, ways, graph, seed=0)
    assert (ada.text, ada.relation) == ("where was ada born", f"~{BORN_HERE}")
    assert {end.name for end in places} == {"Bern", "Dover"}
    assert cleo.relation == BORN and [end.name for end in place] == ["Dover"]
    assert list(moved(there, mentions, Ways(graph, {}), graph, seed=0))[0][0].relation == BORN
