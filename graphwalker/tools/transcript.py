"""A transcript: all that the tools say about an entity, by which two graphs can be compared."""

from collections.abc import Iterator, Sequence

from graphwalker.graphs.base import Entity, KnowledgeGraph
from graphwalker.question import Question
from graphwalker.tools.base import Call, Observation
from graphwalker.tools.settings import WalkerSettings
from graphwalker.tools.walker import WalkerTools

QUESTION = "Who is related to whom, where, and since when?"


def transcript(
    graph: KnowledgeGraph, topic: Entity, settings: WalkerSettings | None = None
) -> Iterator[tuple[Call, Observation]]:
    """Yield the calls of one episode about `topic` and what they show: its relations, the triples
    of each of them (and of one that does not exist), and its name misspelt."""
    limits = settings or WalkerSettings()
    tools = WalkerTools(graph, Question("transcript", QUESTION, (topic,)), limits)
    shown = tools.topic_names()[0]
    first = Call("get_relations", {"entity": shown})
    listed = tools.call(first)
    yield first, listed
    relations = [*listed.relations, "no.such.relation"]
    for start in range(0, len(relations), limits.relations_per_call):
        wanted = relations[start : start + limits.relations_per_call]
        call = Call("get_triples", {"entity": shown, "relations": wanted})
        yield call, tools.call(call)
    for name in (topic.name.upper(), topic.id, f"{topic.name} x"):
        call = Call("get_relations", {"entity": name})
        yield call, tools.call(call)


def differences(
    graph: KnowledgeGraph, reference: KnowledgeGraph, topics: Sequence[Entity]
) -> Iterator[tuple[Entity, Call, str, str]]:
    """Yield where the tools say anything else over `graph` than over `reference`: topic, call, the
    text of the one and of the other. The first difference of each topic is enough."""
    for topic in topics:
        pairs = zip(transcript(graph, topic), transcript(reference, topic), strict=False)
        for (call, seen), (_, expected) in pairs:
            if seen != expected:
                yield topic, call, seen.text, expected.text
                break
