"""Measures SPARQL: requests and time per tool call against the per-relation, per-CVT plan.

    python -m benchmarks.graphs_sparql --folder runs/bench-virtuoso --entities 3000

Starts a Virtuoso of its own on a made world, compares every observation with the compiled graph,
and asks the same queries of Virtuoso and of `graph serve`. Writes
`benchmarks/results/graphs_sparql.json`.
"""

import argparse
import json
import random
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlencode
from urllib.request import Request, urlopen

from benchmarks.record import record
from graphwalker.graphs.base import FLATTENED, Direction, Entity, KnowledgeGraph
from graphwalker.graphs.names import names_nothing
from graphwalker.graphs.open import open_graph
from graphwalker.graphs.sparql.graph import SparqlGraph
from graphwalker.graphs.virtuoso.load import load
from graphwalker.graphs.virtuoso.server import down, up
from graphwalker.question import Question
from graphwalker.tools.base import Call
from graphwalker.tools.walker import WalkerTools
from graphwalker.world.generate import make_world

GRAPH = "http://rdf.freebase.com"
WORDED = """PREFIX ns: <http://rdf.freebase.com/ns/> SELECT DISTINCT ?x ?n WHERE {{
FILTER (?x != ns:{topic}) FILTER (!isLiteral(?x) OR lang(?x) = '' OR langMatches(lang(?x), 'en'))
ns:{topic} ns:{relation} ?x . OPTIONAL {{ ?x ns:type.object.name ?n }} }}"""


def main() -> None:
    """Measure and record."""
    options = _options()
    world = options.folder / f"world-{options.entities}-{options.seed}"
    if not (world / "graph").exists():
        make_world(options.entities, options.seed, world)
    compiled = open_graph(world / "graph")
    server = up(options.folder / "server", options.memory)
    try:
        loaded = load(options.folder / "server", [world / "triples.nt.gz"], graph=GRAPH)
        graph = SparqlGraph(server.endpoint, default_graph=GRAPH)
        count = options.calls + options.warm
        drawn = random.Random(options.seed).sample(range(compiled.size), count)
        topics = [compiled.entity_at(index) for index in drawn]
        topics, others = topics[: options.calls], topics[options.calls :]
        figures: dict[str, Any] = {
            "triples_in_virtuoso": loaded["held"],
            "calls_each": len(topics),
            "warmed_with_other_calls": len(others),
            **_compare_plans(graph, compiled, topics, others),
            "served": _compare_served(server.endpoint, compiled, topics),
        }
    finally:
        down(options.folder / "server")
    names = ("entities", "calls", "warm")
    values = {name: getattr(options, name) for name in names}
    given = " ".join(f"--{name} {value}" for name, value in values.items())
    command = f"python -m benchmarks.graphs_sparql {given}"
    sys.stdout.write(f"{record('graphs_sparql', figures, command, options.seed)}\n")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, default=Path("runs/bench-virtuoso"))
    parser.add_argument("--entities", type=int, default=3000)
    parser.add_argument("--calls", type=int, default=64)
    parser.add_argument("--warm", type=int, default=128, help="calls on other entities before")
    parser.add_argument("--memory", default="500MB")
    parser.add_argument("--seed", type=int, default=0)
    return parser.parse_args()


def _compare_plans(
    graph: SparqlGraph, compiled: KnowledgeGraph, topics: Sequence[Entity], others: Sequence[Entity]
) -> dict[str, Any]:
    """Time both plans on the same calls, one after the other, and compare observations."""
    ours: dict[str, list[dict[str, float]]] = {"get_relations": [], "get_triples": []}
    plain: list[dict[str, float]] = []
    differing = 0
    for warm in (True, False):
        for topic in others if warm else topics:
            question = _question(topic)
            tools = [WalkerTools(g, question, list_relations=None) for g in (graph, compiled)]
            call = Call("get_relations", {"entity": tools[0].topic_names()[0]})
            seen = [toolbox.call(call) for toolbox in tools]
            relations = list(seen[1].relations)[:4]
            follow = Call("get_triples", {**call.arguments, "relations": relations})
            shown = [toolbox.call(follow) for toolbox in tools]
            differing += (seen[0] != seen[1]) + (shown[0] != shown[1])
            fresh = WalkerTools(graph, question)
            taken = [_measure(graph, lambda c=c, f=fresh: f.call(c)) for c in (call, follow)]
            plan = Baseline(graph)
            slow = _measure(graph, lambda t=topic, r=relations, p=plan: p.get_triples(t.id, r))
            if not warm:
                ours["get_relations"].append(taken[0])
                ours["get_triples"].append(taken[1])
                plain.append(slow)
    summaries = {tool: _summary(rows) for tool, rows in ours.items()}
    base = _summary(plain)
    return {
        "observations_differing_from_compiled": differing,
        "ours": summaries,
        "baseline_get_triples": base,
        "times_faster": {"mean": base["ms_mean"] / summaries["get_triples"]["ms_mean"]},
    }


class Baseline:
    """`get_triples` as published clients plan it: a query for each relation and direction, and
    for each CVT node one for its relations and one for each of them; a query for each name."""

    def __init__(self, graph: SparqlGraph) -> None:
        self._client, self._iri = graph.client, graph.vocabulary.iri
        self._name = self._iri(graph.vocabulary.name)

    def get_triples(self, entity_id: str, relations: Sequence[str]) -> "Baseline":
        here = self._iri(entity_id)
        for relation in relations:
            first, _, second = relation.partition(FLATTENED)
            for near, out in ((first, True), (second or first, False)):
                edge = f"{here} {self._iri(near)} ?x" if out else f"?x {self._iri(near)} {here}"
                for end in self._ask(f"{edge} LIMIT 40"):
                    if end.startswith("<") and names_nothing(self._name_of(end)):
                        self._around(end)
        return self

    def _around(self, cvt: str) -> None:
        relations = self._ask(f"{cvt} ?x ?o LIMIT 50")
        for relation in dict.fromkeys(relations):
            for end in self._ask(f"{cvt} {relation} ?x LIMIT 10"):
                if end.startswith("<"):
                    self._name_of(end)

    def _name_of(self, term: str) -> str:
        return next(iter(self._ask(f"{term} {self._name} ?x LIMIT 1")), "")

    def _ask(self, pattern: str) -> list[str]:
        body, _, limit = pattern.partition(" LIMIT ")
        rows = self._client.rows(f"SELECT DISTINCT ?x WHERE {{ {body} }} LIMIT {limit}")
        return [
            f"<{row['x']['value']}>" if row["x"]["type"] == "uri" else row["x"]["value"]
            for row in rows
        ]


def _measure(graph: SparqlGraph, call: Callable[[], object]) -> dict[str, float]:
    requests, started = graph.client.counts["requests"], time.perf_counter()
    call()
    return {
        "ms": (time.perf_counter() - started) * 1e3,
        "requests": graph.client.counts["requests"] - requests,
    }


def _summary(rows: Sequence[dict[str, float]]) -> dict[str, float]:
    times = sorted(row["ms"] for row in rows)
    return {
        "ms_median": statistics.median(times),
        "ms_p99": times[min(len(times) - 1, int(len(times) * 0.99))],
        "ms_mean": statistics.fmean(times),
        "requests_mean": statistics.fmean(row["requests"] for row in rows),
        "requests_max": max(row["requests"] for row in rows),
    }


def _compare_served(
    endpoint: str, compiled: KnowledgeGraph, topics: Sequence[Entity]
) -> dict[str, Any]:
    """Ask for the ends of every relation of the topics, as WebQSP's queries do; twice each."""
    command = [sys.executable, "-m", "graphwalker", "graph", "serve", str(compiled.path)]
    server = subprocess.Popen([*command, "--port", "0"], stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    addresses = {"virtuoso": endpoint, "served": server.stdout.readline().split()[-1]}
    times: dict[str, list[float]] = {f"{name}_{n}": [] for name in addresses for n in (1, 2)}
    differing = 0
    try:
        for topic in topics:
            for relation, _ in compiled.relations(topic.id, Direction.OUT):
                query = WORDED.format(topic=topic.id, relation=relation)
                form = urlencode({"query": query, "default-graph-uri": GRAPH}).encode()
                shown: list[list[str]] = []
                for name, address in [*addresses.items()] * 2:
                    started = time.perf_counter()
                    given = Request(address, form, {"Accept": "application/sparql-results+json"})
                    with urlopen(given, timeout=120) as answer:
                        rows = json.load(answer)["results"]["bindings"]
                    times[f"{name}_{1 + len(shown) // 2}"].append(time.perf_counter() - started)
                    shown.append(sorted(json.dumps(row, sort_keys=True) for row in rows))
                differing += any(one != shown[0] for one in shown)
    finally:
        server.terminate()
    figures = {
        f"{name}_ms": {
            "median": statistics.median(taken) * 1e3,
            "p99": statistics.quantiles(taken, n=100)[98] * 1e3,
        }
        for name, taken in times.items()
    }
    return {"queries": len(times["served_1"]), "differing": differing, **figures}


def _question(topic: Entity) -> Question:
    return Question("bench", "Who is related to whom, where and when?", (topic,))


if __name__ == "__main__":
    main()
