"""GraphWalker as its released client plays it: ten relations, its LIMITs, no early end.

The client's defects that only cost time (a query for each CVT node and relation) are not copied;
those that change what an agent sees are."""

from collections.abc import Sequence

from graphwalker.agents.preset import Preset, listing_tools
from graphwalker.agents.react import react
from graphwalker.graphs.base import FLATTENED, Direction, Entity, KnowledgeGraph, Side, Step
from graphwalker.oracle.speakers import ReleasedSpeaker
from graphwalker.protocols.tags import TagProtocol
from graphwalker.question import Question
from graphwalker.ranking.bm25 import Ranker
from graphwalker.tools.base import Observation
from graphwalker.tools.listing import Lister, Listing, hidden_test
from graphwalker.tools.settings import WalkerSettings
from graphwalker.tools.walker import EXAMPLES, Page, WalkerTools

LISTED = 100
"""Relations looked at in each direction (the client's LIMIT), the first in order of id."""
TAILS, HEADS = 10, 20
"""Triples of a relation: at its tails, at its heads."""
WITH_CVT = 15
"""Triples of a relation once a CVT node was met."""
FLAT = 8
"""Relations followed through CVT nodes, the most relevant ones."""


class ReleasedTools(WalkerTools):
    """Relations are listed plain: the client's whitelist drops the flattened ones. get_triples of a
    relation that leads to CVT nodes shows what lies behind them."""

    def __init__(
        self,
        graph: KnowledgeGraph,
        question: Question,
        settings: WalkerSettings,
        flat: Lister,
        rank: Ranker,
    ) -> None:
        self._flat = flat
        self._hidden = hidden_test(settings.skip_relations)
        self._first_turn = True
        super().__init__(graph, question, settings, self._plain, rank)

    def _plain(self, entity_id: str) -> Listing:
        sides = [Side(entity_id, Direction.OUT), Side(entity_id, Direction.IN)]
        out, into = (
            dict([(r, n) for r, n in found if n > 0 and not self._hidden(r)][:LISTED])
            for found in self._graph.relations_many(sides)
        )
        return Listing(out, into)

    def _get_relations(self, name: str) -> Observation:
        self._first_turn = False
        return super()._get_relations(name)

    def _get_triples(self, name: str, requested: Sequence[str]) -> Observation:
        if self._first_turn:  # the client checks a relation from the second turn on
            self._seen.update(requested)
        self._first_turn = False
        return super()._get_triples(name, requested)

    def _show_triples(
        self, entity: Entity, listing: Listing, relations: Sequence[str]
    ) -> Observation:
        page = Page(self._book, self._settings.entry_chars)
        steps = [step for relation in relations for step in self._steps(entity, listing, relation)]
        self._graph_calls += len(steps)
        found = self._graph.step_many(steps)
        behind = self._flat(entity.id)
        for step, ends in zip(steps, found, strict=True):
            totals = behind.out if step.direction is Direction.OUT else behind.into
            total = max(len(ends), totals.get(step.relation, 0))
            page.add(entity, step.relation, step.direction, ends, total)
        return self._observe_page(page, entity)

    def _steps(self, entity: Entity, listing: Listing, relation: str) -> list[Step]:
        """Return the relation itself, and the most relevant ways through its CVT nodes."""
        steps: list[Step] = []
        flat = self._flat(entity.id)
        for direction, _ in listing.sides(relation):
            out = direction is Direction.OUT
            behind = [r for r in (flat.out if out else flat.into) if _near(r, out) == relation]
            ranked = self._rank(self._question.text, entity.name, tuple(sorted(behind)))[:FLAT]
            limit = WITH_CVT if behind else (TAILS if out else HEADS)
            steps += [Step(entity.id, one, direction, limit) for one in (relation, *ranked)]
        return steps


def _near(flattened: str, out: bool) -> str:
    """Return the half of a flattened relation that touches the entity; `""` for a plain one."""
    first, flat, second = flattened.partition(FLATTENED)
    return (first if out else second) if flat else ""


GRAPHWALKER_CODE = Preset(
    name="graphwalker-code",
    version=2,
    source="GraphWalker (arXiv:2603.28533), its released client; score with graphwalker_em",
    tools=listing_tools(ReleasedTools),
    protocol=lambda settings: TagProtocol(EXAMPLES, lenient=settings.is_lenient),
    agent=react,
    defaults={"top_relations": 10, "ranker": "bm25-ids", "max_malformed": 0},
    most_entries=lambda settings: max(
        LISTED, 2 * settings.relations_per_call * (1 + FLAT) * max(WITH_CVT, TAILS, HEADS)
    ),
    calls=tuple(EXAMPLES),
    speaker=ReleasedSpeaker(),
)
