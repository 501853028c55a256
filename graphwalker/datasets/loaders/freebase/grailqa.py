"""GrailQA (Gu et al., 2021): Freebase questions at three levels of generalisation."""

from typing import Annotated, Literal, get_args

from graphwalker.datasets import records
from graphwalker.datasets.answers import distinct
from graphwalker.datasets.loaders.freebase.freebase import EntityId, GivenAnswer, Topics, topics
from graphwalker.graphs.base import Entity
from graphwalker.question import Question

Level = Literal["i.i.d.", "compositional", "zero-shot"]
LEVELS: tuple[str, ...] = get_args(Level)


class _Node(records.Nested):
    node_type: records.Text
    id: EntityId
    friendly_name: records.MaybeText = ""


class _GraphQuery(records.Nested):
    nodes: Annotated[list[_Node], records.ByColumn]


class GrailQa(records.Published):
    """A record as released: topic entities are the entity nodes of its graph query.

    The level is the structure, the number of edges the hops.
    """

    form = "GrailQA"
    datasets = ("grailqa",)
    lacks = frozenset({"topic_entity"})

    qid: records.Key
    question: records.Text
    graph_query: _GraphQuery
    answer: Annotated[list[GivenAnswer], records.ByColumn]
    level: Level
    num_edge: records.Whole
    sparql_query: records.Text
    s_expression: records.Text
    function: records.Text
    domains: list[records.Text]

    def to_question(self, number: int, file: records.DatasetFile) -> Question:
        return Question(
            id=self.qid,
            text=self.question,
            topic_entities=self.topics(),
            answers=distinct(given.answer() for given in self.answer),
            structure=self.level,
            hops=self.num_edge,
            annotations={"sparql": self.sparql_query, "s_expression": self.s_expression},
            facets={
                "level": self.level,
                "function": self.function,
                "domain": self.domains[0] if self.domains else "",
            },
        )

    def topics(self) -> tuple[Entity, ...]:
        nodes = [node for node in self.graph_query.nodes if node.node_type == "entity"]
        return tuple(Entity(node.id, node.friendly_name) for node in nodes)


class GrailQaLinked(GrailQa):
    """A record with `topic_entity` as {mid: name}, as ToG samples them."""

    form = "GrailQA with topic entities"
    lacks = frozenset[str]()

    topic_entity: Topics

    def topics(self) -> tuple[Entity, ...]:
        return topics(self.topic_entity)
