"""A graph that counts its calls, and can be slow or broken: what layers are tested over."""

import threading
import time

from graphwalker.errors import GraphError
from graphwalker.graphs.base import KnowledgeGraph, OverGraph
from graphwalker.graphs.cache.calls import AnsweringGraph, answer


class CountedGraph(AnsweringGraph, OverGraph):
    """Passes every call on; one batched call is one round trip."""

    def __init__(self, graph, seconds=0.0):
        super().__init__(graph)
        self.seconds = seconds
        self.broken = False
        self.trips = 0
        self.asks = []
        self._lock = threading.Lock()

    def answer(self, asks):
        with self._lock:
            self.trips += 1
            self.asks += asks
        time.sleep(self.seconds)
        if self.broken:
            raise GraphError("the graph is down")
        return answer(self.graph, asks)


class RawGraph(CountedGraph):
    """The same without crossing CVT nodes by itself, as a plain endpoint is."""

    flat_relations_many = KnowledgeGraph.flat_relations_many
    step_many = KnowledgeGraph.step_many
