"""SimpleQuestions about entities that the graph lacks, asked of some that it has."""

import pytest

from benchmarks.webqsp_moved import Asked, Mentions, moved
from graphwalker.graphs.memory import MemoryGraph

NAMES = ("ken barlow", "rita tanner", "emily bishop", "curly watts", "alf roberts")
TEXTS = [
    *(f"where was {name} born" for name in NAMES),
    *(f"what is the profession of {name}?" for name in NAMES),
    *(f"what film did {name} produce" for name in NAMES),
]
BORN, WORK = "people.person.place_of_birth", "people.person.profession"


def asked(text: str, relation: str = BORN, name: str = "q") -> Asked:
    return Asked(name, "m.elsewhere", relation, text)


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
    places = [k for k in range(graph.size) if graph.entity_at(k).id != "m.b"]
    texts = [asked(f"where was {word} born", name=word) for word in ("vera", "ivy", "mavis")]
    texts.append(asked("what is the profession of vera?", WORK))
    found = list(moved(texts, mentions, {BORN: places}, graph, seed=0))
    assert [one.id for one, _, _ in found] == ["vera", "ivy", "mavis"]
    for one, topic, ends in found:
        assert one.text == f"where was {topic.name} born" and one.subject == topic.id
        assert [end.name for end in ends] == ["Bern"]
    later = list(moved(texts[1:], mentions, {BORN: places}, graph, seed=0))
    assert later == found[1:]  # what a question gets does not hang on the others
