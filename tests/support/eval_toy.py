"""Questions on the toy graph; scripts of an agent that knows the way and of one that babbles."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from graphwalker.agents.environment import Environment
from graphwalker.files import write_jsonl
from graphwalker.graphs.base import Direction, Entity
from graphwalker.graphs.build.build import build_graph
from graphwalker.policies.scripted import Line
from graphwalker.protocols.base import FinalAnswer
from graphwalker.protocols.tags import TagProtocol
from graphwalker.question import Answer, Question
from graphwalker.tools.base import Call
from graphwalker.tools.walker import EXAMPLES
from support.backends import write
from support.toy import TOY_NAMES, TOY_TRIPLES, TOY_TYPES, toy_graph

SPOUSE = "people.person.spouse_s..people.marriage.spouse"
# name, text, topic, relations of the walk, answers, structure, how the trained agent fares
ROWS: tuple[tuple[str, str, str, tuple[str, ...], tuple[str, ...], str, str], ...] = (
    ("q01", "Who is married to Ada Mbeki?", "m.0ada", (SPOUSE,), ("m.0tom",), "1-hop", "right"),
    ("q02", "Where was Tom Lindqvist's wife born?", "m.0tom",
     (SPOUSE, "people.person.place_of_birth"), ("m.0city1",), "2-hop", "recovered"),
    ("q03", "Which genres do Ada Mbeki's films have?", "m.0ada",
     ("film.director.film", "film.film.genre"), ("m.0genre1", "m.0genre2"), "2-hop", "wrong"),
    ("q04", "Which language is spoken in films by Eve's mother?", "m.0eve",
     ("people.person.parents", "film.director.film", "film.film.language"), ("m.0lang",),
     "3-hop", "right"),
    ("q05", "Which films did Ada Mbeki make that are dramas?", "m.0ada",
     ("film.director.film",), ("m.0film1", "m.0film2"), "2I", "recovered"),
    ("q06", "Which city is the capital of Verria?", "m.0land",
     ("location.country.capital",), ("m.0city2",), "1-hop", "right"),
    ("q07", "Who wrote The Glass Harbor?", "m.0film1", ("film.film.written_by",), ("m.0bob",),
     "1-hop", "silent"),
    ("q08", "Whose parents are Ada and Tom?", "m.0ada", ("people.person.children",), ("m.0eve",),
     "2I", "right"),
)  # fmt: skip


def toy_environment() -> Environment:
    return Environment(toy_graph())


def toy_questions() -> list[Question]:
    found: list[Question] = []
    for name, text, topic, relations, answers, structure, _ in ROWS:
        gold = tuple(Answer(TOY_NAMES[a], a) for a in answers)
        asked = Question(name, text, (Entity(topic, TOY_NAMES[topic]),), gold, "toy", structure)
        split = "test-path" if name in ("q04", "q08") else "test-entity"
        found.append(replace(asked, hops=len(relations), split=split))
    return found


def make_toy(folder: Path) -> Path:
    """The toy graph, compiled to `graph`, and its questions as `q.jsonl`."""
    build_graph([write(folder / "source", TOY_TRIPLES, TOY_NAMES, TOY_TYPES)], folder / "graph")
    write_jsonl(folder / "q.jsonl", [question.to_json() for question in toy_questions()])
    return folder


def trained_script() -> dict[str, Sequence[Line]]:
    """Walks that succeed, recover from a wrong relation, answer too little, or never answer."""
    return {name: _walk(*row) for name, _, *row in ROWS}


def untrained_script() -> dict[str, Sequence[Line]]:
    """Babble to the end of every episode, the forced answer included."""
    return {name: ["the the <kg-query> Verria"] * 11 for name, *_ in ROWS}


def _walk(
    topic: str, relations: tuple[str, ...], answers: tuple[str, ...], _: str, ending: str
) -> list[Line]:
    if ending == "silent":
        return ["I do not know what to do here."] * 11
    say = TagProtocol(EXAMPLES).render
    graph, here, lines = toy_graph(), topic, list[Line]()
    for relation in relations:
        name = graph.name(here)
        lines.append(say(f"I look around {name}.", Call("get_relations", {"entity": name})))
        if ending == "recovered" and here == topic:
            wrong = {"entity": name, "relations": ["music.artist.album"]}
            lines.append(say("Perhaps its albums say it.", Call("get_triples", wrong)))
        onward = {"entity": name, "relations": [relation]}
        lines.append(say("This relation leads on.", Call("get_triples", onward)))
        here = graph.step(here, relation, Direction.OUT)[0].id
    given = answers[:1] if ending == "wrong" else answers
    names = tuple(TOY_NAMES[answer] for answer in given)
    lines.append(say("The walk ends here.", FinalAnswer(names)))
    return lines
