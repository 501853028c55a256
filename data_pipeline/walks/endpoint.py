"""Walks over an endpoint: many attempts at once, their look-ups gathered into few requests."""

from collections.abc import Sequence
from concurrent.futures import Future
from pathlib import Path
from threading import BoundedSemaphore, Lock
from typing import TYPE_CHECKING, Any

from data_pipeline.seeds.seeds import relations_in
from graphwalker.agents.environment import EnvironmentConfig
from graphwalker.errors import GraphError, UserError
from graphwalker.graphs.base import FLATTENED, KnowledgeGraph, OverGraph
from graphwalker.graphs.cache.calls import AnsweringGraph, GraphCall, answer
from graphwalker.graphs.open import is_endpoint, open_graph
from graphwalker.graphs.views.settings import GraphLayers, with_layers

if TYPE_CHECKING:
    from data_pipeline.config import SamplingConfig

REQUESTS = 2
"""Gatherings under way at once; what comes meanwhile waits for the next one."""


class EndpointGraph(AnsweringGraph, OverGraph):
    """Gives what `graph` gives. Look-ups of several threads go out together: while one gathering
    is answered the next one fills, so that requests are few where many walk and none waits long.

    `relations` are those that walks may take: an endpoint does not list all that it has.
    """

    def __init__(self, graph: KnowledgeGraph, relations: Sequence[str]) -> None:
        super().__init__(graph)
        halves = {half for relation in relations for half in relation.split(FLATTENED)}
        self._relations = sorted(halves | set(relations))
        self._waiting: list[tuple[Sequence[GraphCall], Future[list[Any]]]] = []
        self._lock, self._requests = Lock(), BoundedSemaphore(REQUESTS)

    def relation_ids(self) -> list[str]:
        return list(self._relations)

    def answer(self, calls: Sequence[GraphCall]) -> list[Any]:
        found: Future[list[Any]] = Future()
        with self._lock:
            self._waiting.append((calls, found))
        with self._requests:
            if not found.done():
                self._ask_for_all()
        return found.result()

    def _ask_for_all(self) -> None:
        """Look up everything that waits, and hand out the answers, or the failure."""
        with self._lock:
            waiting, self._waiting = self._waiting, []
        try:
            results = iter(answer(self.graph, [call for calls, _ in waiting for call in calls]))
        except BaseException as error:  # whatever it is, nobody is left waiting
            failure = (
                error if isinstance(error, Exception) else GraphError("the call was interrupted")
            )
            for _, found in waiting:
                found.set_exception(failure)
            raise
        for calls, found in waiting:
            found.set_result([next(results) for _ in calls])


def open_shared(
    graph: Path | str, environment: EnvironmentConfig, relations: Sequence[str] = ()
) -> KnowledgeGraph:
    """Return the graph as a worker uses it: an endpoint's look-ups are gathered over its threads,
    and `relations` are those that it is taken to have. Wikidata's layer renames what walks and
    questions name, so it is laid at once."""
    layers = environment.layers
    opened = open_graph(graph, wikidata=layers.wikidata)
    opened = EndpointGraph(opened, relations) if is_endpoint(graph) else opened
    own = GraphLayers(wikidata=layers.wikidata, statements=layers.statements and layers.wikidata)
    return as_shown(opened, own)


def as_shown(graph: KnowledgeGraph, layers: GraphLayers) -> KnowledgeGraph:
    """Return the graph as an environment shows it, under its layers; no hint where it has none."""
    return graph if layers == GraphLayers() else with_layers(graph, layers)


def open_for_walks(graph: Path | str, config: "SamplingConfig") -> KnowledgeGraph:
    """Return the graph that walks are made on. An endpoint does not list all that it has: it needs
    the seeds and the predicates of the config. Raises `UserError` for one without them."""
    if not is_endpoint(graph):
        return open_shared(graph, config.environment)
    if not config.seeds_file or not config.predicates_file:
        raise UserError(
            "walks over an endpoint need like=FILE with training questions, or seeds_file=FILE and "
            "predicates_file=FILE, which `graphwalker seeds` makes from their SPARQL"
        )
    return open_shared(graph, config.environment, relations_in(config.predicates_file))
