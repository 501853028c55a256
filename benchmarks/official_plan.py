"""Measures SPARQL beside the plan of the released client, request by request, on one server.

    python -m benchmarks.official_plan --endpoint "http://localhost:8890/sparql#http://big" \
        --graph runs/big/graph --hub m.00hub --pid 4711 --calls 60

The released client's requests (docs/freebase.md) are written anew and sent as it sends them:
through SPARQLWrapper, one at a time. `--graph` is the same triples compiled, which says what ought
to be seen; `--pid` is the server's process, whose CPU counts. Writes
`benchmarks/results/official_plan.json`.
"""

import argparse
import random
import resource
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from SPARQLWrapper import JSON, SPARQLWrapper

from benchmarks.record import record
from graphwalker.graphs.base import FLATTENED, Direction, Entity, KnowledgeGraph, Side, Step
from graphwalker.graphs.compiled.open import open_compiled
from graphwalker.graphs.open import open_endpoint

NS = "http://rdf.freebase.com/ns/"
LISTED, PER_CVT, NAMES = 100, 50, 50
SHOWN = 20
"""The released client's limit for each relation; tails are asked for twice, heads four times."""
EXPANDED = 8
"""Relations behind one CVT node that it asks for."""
TAKEN, LIMIT = 4, 5

Row = dict[str, dict[str, str]]


class OfficialPlan:
    """The requests of the released client, and nothing else of it: no ranking, no text."""

    def __init__(self, address: str, graph: str) -> None:
        self._wrapper = SPARQLWrapper(address, defaultGraph=graph or None, returnFormat=JSON)
        self.requests = 0

    def get_relations(self, entity: str) -> list[str]:
        here = f"<{NS}{entity}>"
        out = self._relations(f"{here} ?relation ?tail", LISTED)
        return [*out, *self._relations(f"?head ?relation {here}", LISTED)]

    def get_triples(self, entity: str, relations: Sequence[str]) -> int:
        here, found = f"<{NS}{entity}>", 0
        self._ask(f"SELECT DISTINCT ?n WHERE {{ {here} <{NS}type.object.name> ?n }} LIMIT {NAMES}")
        for relation in relations[:TAKEN]:
            near = f"<{NS}{relation.partition(FLATTENED)[0]}>"
            ends = self._ends(f"{here} {near} ?x", 2 * SHOWN)
            ends += self._ends(f"?x {near} {here}", 4 * SHOWN)
            for row in ends:
                if row["x"]["type"] == "uri" and "n" not in row and "m" not in row:
                    found += self._behind(here, near, f"<{row['x']['value']}>")
            found += len(ends)
        return found

    def _behind(self, here: str, near: str, cvt: str) -> int:
        relations = self._relations(f"{cvt} ?relation ?tail", PER_CVT)
        found = 0
        for relation in relations[:EXPANDED]:
            crossed = f"{here} {near} ?cvt . FILTER(?cvt = {cvt}) ?cvt <{relation}> ?x"
            found += len(self._ends(crossed, 2 * SHOWN))
        return found

    def _relations(self, pattern: str, limit: int) -> list[str]:
        rows = self._ask(
            f"SELECT DISTINCT ?relation WHERE {{ {pattern} . FILTER(isIRI(?relation))"
            f' FILTER(STRSTARTS(STR(?relation), "{NS}")) }} LIMIT {limit}'
        )
        return [row["relation"]["value"] for row in rows]

    def _ends(self, pattern: str, limit: int) -> list[Row]:
        name = f"<{NS}type.object.name>"
        english = f'?x {name} ?a . FILTER(LANGMATCHES(LANG(?a), "en"))'
        return self._ask(
            f"SELECT ?x (SAMPLE(?a) AS ?n) (SAMPLE(?b) AS ?m) WHERE {{ {pattern} ."
            f" OPTIONAL {{ {english} }} OPTIONAL {{ ?x {name} ?b }} }} GROUP BY ?x LIMIT {limit}"
        )

    def _ask(self, query: str) -> list[Row]:
        self.requests += 1
        self._wrapper.setQuery(query)
        answer: Any = self._wrapper.query().convert()
        return answer["results"]["bindings"]


class Meter:
    """CPU of this process and of the server, and the clock."""

    def __init__(self, pid: int) -> None:
        self._pid = pid

    def measure(self, calls: Sequence[Callable[[], object]]) -> dict[str, float]:
        """Means of a whole round: Linux counts the server's CPU in hundredths of a second."""
        times: list[float] = []
        client, server = _client_ms(), self._server_ms()
        for call in calls:
            started = time.perf_counter()
            call()
            times.append((time.perf_counter() - started) * 1e3)
        client, server = _client_ms() - client, self._server_ms() - server
        return {
            "calls": len(calls),
            "ms_median": round(statistics.median(times), 3),
            "ms_mean": round(statistics.fmean(times), 3),
            "client_cpu_ms": round(client / len(calls), 3),
            "server_cpu_ms": round(server / len(calls), 3),
            "cpu_ms": round((client + server) / len(calls), 3),
        }

    def _server_ms(self) -> float:
        if not self._pid:
            return 0.0
        stat = Path(f"/proc/{self._pid}/stat").read_text(encoding="utf-8").rpartition(")")[2]
        fields = stat.split()
        return (int(fields[11]) + int(fields[12])) * 10.0


def compare(
    topics: Sequence[Entity], graphs: Any, meter: Meter, name: str
) -> dict[str, dict[str, Any]]:
    """Both calls on both sides, and on the compiled graph; texts compared on the way."""
    endpoint, official, compiled = graphs
    chosen = {t.id: _relations(compiled, t.id) for t in topics}
    sides = {t.id: [Side(t.id, d) for d in Direction] for t in topics}
    steps = {
        i: [Step(i, r, d, LIMIT) for r in relations for d in Direction]
        for i, relations in chosen.items()
    }

    def listing(graph: KnowledgeGraph) -> list[Callable[[], object]]:
        return [lambda i=t.id: graph.flat_relations_many(sides[i]) for t in topics]

    def stepping(graph: KnowledgeGraph) -> list[Callable[[], object]]:
        return [lambda i=t.id: graph.step_many(steps[i]) for t in topics]

    before = endpoint.client.counts["requests"], official.requests
    figures: dict[str, dict[str, Any]] = {
        "get_relations": {
            "graphwalker": meter.measure(listing(endpoint)),
            "official plan": meter.measure(
                [lambda i=t.id: official.get_relations(i) for t in topics]
            ),
            "compiled": meter.measure(listing(compiled)),
        },
        "get_triples": {
            "graphwalker": meter.measure(stepping(endpoint)),
            "official plan": meter.measure(
                [lambda i=t.id: official.get_triples(i, chosen[i]) for t in topics]
            ),
            "compiled": meter.measure(stepping(compiled)),
        },
    }
    asked = endpoint.client.counts["requests"] - before[0], official.requests - before[1]
    figures["both"] = {
        "requests a topic": round(asked[0] / len(topics), 2),
        "requests a topic, official plan": round(asked[1] / len(topics), 2),
        "answers that differ from the compiled graph": _differing(endpoint, compiled, sides, steps),
    }
    for call in ("get_relations", "get_triples"):
        sides_of = figures[call]
        times = sides_of["official plan"]["cpu_ms"] / max(sides_of["graphwalker"]["cpu_ms"], 1e-9)
        sides_of["official / graphwalker, by CPU"] = round(times, 2)
        sys.stdout.write(f"{name} {call}: {sides_of}\n")
    return figures


def _relations(compiled: KnowledgeGraph, entity_id: str) -> list[str]:
    listed = [r for d in Direction for r, _ in compiled.flat_relations(entity_id, d)]
    rng = random.Random(entity_id)
    return rng.sample(listed, min(TAKEN, len(listed)))


def _differing(endpoint: Any, compiled: Any, sides: Any, steps: Any) -> int:
    return sum(
        (endpoint.flat_relations_many(sides[i]) != compiled.flat_relations_many(sides[i]))
        + (endpoint.step_many(steps[i]) != compiled.step_many(steps[i]))
        for i in sides
    )


def _client_ms() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return (used.ru_utime + used.ru_stime) * 1e3


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--endpoint", required=True)
    parser.add_argument("--graph", type=Path, required=True)
    parser.add_argument("--hub", default="")
    parser.add_argument("--pid", type=int, default=0)
    parser.add_argument("--calls", type=int, default=60)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    compiled, endpoint = open_compiled(given.graph), open_endpoint(given.endpoint)
    address, _, named = given.endpoint.partition("#")
    graphs, meter = (endpoint, OfficialPlan(address, named), compiled), Meter(given.pid)
    drawn = random.Random(given.seed).sample(range(compiled.size), 2 * given.calls)
    topics = [compiled.entity_at(place) for place in drawn]
    topics = [topic for topic in topics if topic.id != given.hub]
    compare(topics[given.calls :], graphs, meter, "warming up")
    figures: dict[str, Any] = {
        "any entity": compare(topics[: given.calls], graphs, meter, "any entity")
    }
    if given.hub:
        hub = [Entity(given.hub, compiled.name(given.hub))]
        figures["hub"] = compare(hub * 3, graphs, meter, "hub")
    figures["graph"] = compiled.info()
    command = f"python -m benchmarks.official_plan --calls {given.calls}"
    sys.stdout.write(f"{record('official_plan', figures, command, given.seed)}\n")


if __name__ == "__main__":
    main()
