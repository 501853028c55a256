"""A user's own agent in one file: one tool, the tags and the loop of GraphWalker, its prompt."""

from graphwalker.agents.preset import Preset
from graphwalker.agents.presets import react
from graphwalker.config import Config
from graphwalker.graphs.base import Direction
from graphwalker.protocols.tags import TagProtocol
from graphwalker.tools.base import Observation
from graphwalker.tools.namebook import NameBook

SIDES = {"outgoing": Direction.OUT, "incoming": Direction.IN}
FORM = 'search("entity", "outgoing" or "incoming")'


class Options(Config):
    rows: int = 50
    """Triples shown by one search."""


class SearchTools:
    def __init__(self, graph, question, rows):
        self.graph, self.rows, self.book = graph, rows, NameBook(graph)
        self.topics = tuple(self.book.show(topic) for topic in question.topic_entities)

    def call(self, call):
        entity = self.book.find(str(call.arguments.get("entity", "")))
        side = SIDES.get(str(call.arguments.get("direction", "")))
        if call.tool != "search" or entity is None or side is None:
            return Observation(f"Error: write {FORM}", "bad_arguments")
        relations = [relation for relation, _ in self.graph.relations(entity.id, side)]
        rows = [(r, end) for r in relations for end in self.graph.neighbors(entity.id, r, side)]
        lines = [f"{r}: {self.book.show(end)}" for r, end in rows[: self.rows]]
        return Observation("\n".join(lines), shown=tuple(end for _, end in rows[: self.rows]))

    def entity_id(self, name):
        return self.book.entity_id(name)

    def topic_names(self):
        return self.topics

    def signatures(self):
        return FORM


def tools(graph, settings, rank):
    rows = Options(**settings.options).rows
    return lambda question: SearchTools(graph, question, rows)


SPEC = Preset(
    name="one-search",
    version=1,
    source="a test",
    tools=tools,
    protocol=lambda settings: TagProtocol({"search": {"entity": "Name", "direction": "outgoing"}}),
    agent=react,
    prompts={"search": "Search the graph: {tools}\n---\n{question} (about {entities})"},
    options=Options,
)
