"""The path oracle: it walks a relation path hop by hop, from all that a hop found at once."""

from graphwalker.errors import UserError
from graphwalker.graphs.base import KnowledgeGraph
from graphwalker.oracle.plan import Plan, PlannedPolicy
from graphwalker.oracle.speakers import FrontierSpeaker
from graphwalker.protocols.base import ActionProtocol, FinalAnswer
from graphwalker.query.query import parse_hop
from graphwalker.question import Question
from graphwalker.tools.base import Call
from graphwalker.trajectory import Turn

HOPS = (1, 2, 3)


class PathOracle(PlannedPolicy):
    """Plays `relation_path` of a question: for each hop a look and a query, both from the topic
    entity or from the result of the hop before; the last result is the answer.

    The first thought is the path, the others are what is left of it. The topic is never among the
    answers, as MetaQA has it: no result holds it.
    """

    name = "path-oracle"

    def __init__(self, graph: KnowledgeGraph, protocol: ActionProtocol) -> None:
        super().__init__(graph, protocol)
        self._speaker = FrontierSpeaker()

    def plan(self, key: str, question: Question) -> Plan:
        """Raises `UserError` for a question without a path of one to three hops."""
        hops = [parse_hop(text) for text in question.annotations.get("relation_path", ())]
        if len(hops) not in HOPS or len(question.topic_entities) != 1:
            raise UserError(f"{question.id}: no relation path of 1 to {HOPS[-1]} hops")
        start = question.topic_entities[0].name
        for place, hop in enumerate(hops):
            left = ", ".join(map(str, hops[place:]))
            yield left, self._speaker.relations(start)
            turn = yield str(hop), self._speaker.triples(start, hop.relation)
            start, page = self._result(turn), 2
            while turn.hidden and not turn.error:
                call = self._page_of(turn, page)
                turn, page = (yield "more", call), page + 1
        yield "", FinalAnswer((start,))

    def _result(self, turn: Turn) -> str:
        return self._speaker.reference(self._speaker.number(turn.observation))

    def _page_of(self, turn: Turn, page: int) -> Call:
        arguments = turn.action["arguments"]
        return self._speaker.triples_page(arguments["entity"], arguments["relations"][0], page)
