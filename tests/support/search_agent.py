"""A user's own agent in one file: one tool, the tags of GraphWalker, its loop, its own prompt."""

from graphwalker.agents.preset import Preset
from graphwalker.agents.presets import react
from graphwalker.config import Config
from graphwalker.graphs.base import Direction, Step
from graphwalker.protocols.tags import TagProtocol
from graphwalker.tools.base import Call, Observation
from graphwalker.tools.namebook import NameBook

SIDES = {"outgoing": Direction.OUT, "incoming": Direction.IN}
PROMPT = """Search the graph: {tools}
---
{question} (about {entities}, {max_turns} messages)"""


class SearchOptions(Config):
    rows: int = 50
    """Triples shown by one search."""


class SearchTools:
    def __init__(self, graph, question, rows):
        self._graph, self._rows, self._book = graph, rows, NameBook(graph)
        self._topics = tuple(self._book.show(topic) for topic in question.topic_entities)

    def call(self, call):
        entity = self._book.find(str(call.arguments.get("entity", "")))
        side = SIDES.get(str(call.arguments.get("direction", "")))
        if call.tool != "search" or entity is None or side is None:
            return Observation("Error: write " + self.signatures(), "bad_arguments")
        rows = []
        for relation, _ in self._graph.relations(entity.id, side):
            (ends,) = self._graph.neighbors_many([Step(entity.id, relation, side, self._rows)])
            rows += [(relation, end) for end in ends]
        text = "\n".join(f"{r}: {self._book.show(end)}" for r, end in rows[: self._rows])
        return Observation(text, shown=tuple(end for _, end in rows[: self._rows]))

    def entity_id(self, name):
        return self._book.entity_id(name)

    def topic_names(self):
        return self._topics

    def signatures(self):
        return 'search("entity", "outgoing" or "incoming")'


class Speaker:
    def relations(self, entity):
        return self.triples(entity, "", Direction.OUT)

    def triples(self, entity, relation, direction=None):
        side = "incoming" if direction is Direction.IN else "outgoing"
        return Call("search", {"entity": entity, "direction": side})


def tools(graph, settings, rank):
    rows = SearchOptions(**settings.options).rows
    return lambda question: SearchTools(graph, question, rows)


SPEC = Preset(
    name="one-search",
    version=1,
    source="a test",
    tools=tools,
    protocol=lambda _: TagProtocol({"search": {"entity": "Name", "direction": "outgoing"}}),
    agent=react,
    prompts={"search": PROMPT},
    options=SearchOptions,
    speaker=Speaker(),
)
