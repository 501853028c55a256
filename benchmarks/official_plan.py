"""Measures SPARQL beside the plan of the released client, request by request, on one server.

    python -m benchmarks.freebase_world --lines 3000000 --out runs/big
    graphwalker graph build --triples runs/big/world.nt --out runs/big/graph
    graphwalker virtuoso up runs/big/server --memory 2GB
    graphwalker virtuoso load runs/big/server --triples runs/big/world.nt
    python -m benchmarks.official_plan --server runs/big/server --graph runs/big/graph --label 3M

The released client's requests (docs/freebase.md) are written anew and sent as it sends them:
through SPARQLWrapper, one at a time. Both sides are asked about the same entities after a warm-up
of ours with others: an entity is new to each, as in most calls of an agent (take another seed for
another run: a server remembers the client's texts). They take turns, twenty entities at a time in
an order that is drawn, so that the same load and the same pages meet both. CPU is that of this
process and of the server. The hub was listed thirty times before; the first listing of a process,
in which its relations are probed, stands by itself. The compiled graph, of the same triples, says
what ought to be seen: the texts of both tools are compared.
Adds to `benchmarks/results/official_plan.json`.
"""

import argparse
import json
import random
import resource
import statistics
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from SPARQLWrapper import JSON, SPARQLWrapper

from benchmarks.freebase_world import HUB
from benchmarks.record import RESULTS, record
from graphwalker.graphs.base import FLATTENED, Direction, Entity, KnowledgeGraph, Side, Step
from graphwalker.graphs.compiled.open import open_compiled
from graphwalker.graphs.sparql.graph import SparqlGraph
from graphwalker.graphs.virtuoso.load import GRAPH
from graphwalker.graphs.virtuoso.server import status
from graphwalker.question import Question
from graphwalker.tools.base import Call
from graphwalker.tools.walker import WalkerTools

NS = "http://rdf.freebase.com/ns/"
LISTED, PER_CVT, NAMES = 100, 50, 50
SHOWN = 20
"""The released client's limit for each relation; tails are asked for twice, heads four times."""
EXPANDED = 8
"""Relations behind one CVT node that it asks for."""
TAKEN, LIMIT = 4, 5
HUB_WARM = 30
"""Listings of the hub before it is measured: every portion of it was counted again, and planned."""

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
        self._threads = Path(f"/proc/{pid}/task")
        self._ms: dict[str, list[float]] = {}
        self._client: defaultdict[str, float] = defaultdict(float)
        self._server: defaultdict[str, float] = defaultdict(float)

    def measure(self, name: str, calls: Sequence[Callable[[], object]]) -> None:
        server, client = self._server_ms(), _client_ms()
        for call in calls:
            started = time.perf_counter()
            call()
            self._ms.setdefault(name, []).append((time.perf_counter() - started) * 1e3)
        self._client[name] += _client_ms() - client
        self._server[name] += self._server_ms() - server

    def figures(self, name: str) -> dict[str, float]:
        """Means of all calls of that name."""
        times = self._ms[name]
        client, server = self._client[name] / len(times), self._server[name] / len(times)
        return {
            "calls": len(times),
            "ms_median": round(statistics.median(times), 3),
            "client_cpu_ms": round(client, 3),
            "server_cpu_ms": round(server, 3),
            "cpu_ms": round(client + server, 3),
        }

    def _server_ms(self) -> float:
        """What the scheduler gave the server's threads, in nanoseconds; they outlive requests."""
        return sum(_thread_ns(thread) for thread in self._threads.iterdir()) / 1e6


def _thread_ns(thread: Path) -> int:
    try:
        return int((thread / "schedstat").read_text(encoding="ascii").split()[0])
    except FileNotFoundError:
        return 0


def compare(topics: Sequence[Entity], graphs: "Graphs", meter: Meter) -> dict[str, dict[str, Any]]:
    """Both calls on both sides, and on the compiled graph; texts compared afterwards."""
    ours, official, compiled = graphs
    before = ours.client.counts["requests"], official.requests
    for first in range(0, len(topics), ROUND):
        for call, of_sides in _calls(topics[first : first + ROUND], graphs).items():
            for side in random.Random(first).sample(SIDES, len(SIDES)):
                meter.measure(f"{call} {side}", of_sides[side])
    asked = ours.client.counts["requests"] - before[0], official.requests - before[1]
    requests = [round(number / len(topics), 2) for number in asked]
    differing = sum(_texts(ours, t) != _texts(compiled, t) for t in topics)
    figures: dict[str, dict[str, Any]] = {
        "requests a topic": dict(zip(SIDES, requests, strict=False))
    }
    for call in ("get_relations", "get_triples"):
        of_call: dict[str, Any] = {name: meter.figures(f"{call} {name}") for name in SIDES}
        times = of_call["official plan"]["cpu_ms"] / of_call["graphwalker"]["cpu_ms"]
        figures[call] = {**of_call, "official / graphwalker, by CPU": round(times, 2)}
    figures["topics whose texts differ from the compiled graph's"] = {"count": differing}
    return figures


Graphs = tuple[SparqlGraph, OfficialPlan, KnowledgeGraph]
SIDES = ("graphwalker", "official plan", "compiled")
ROUND = 20
"""Calls of one side before the next one takes its turn."""


def _calls(
    topics: Sequence[Entity], graphs: Graphs
) -> dict[str, dict[str, list[Callable[[], object]]]]:
    """What each side is asked about the entities, by tool."""
    ours, official, compiled = graphs
    listed = [[Side(topic.id, direction) for direction in Direction] for topic in topics]
    chosen = [_relations(compiled, topic.id) for topic in topics]
    taken = list(zip((topic.id for topic in topics), chosen, strict=True))
    steps = [_steps(compiled, *one) for one in taken]
    return {
        "get_relations": {
            "graphwalker": [partial(ours.flat_relations_many, some) for some in listed],
            "official plan": [partial(official.get_relations, topic.id) for topic in topics],
            "compiled": [partial(compiled.flat_relations_many, some) for some in listed],
        },
        "get_triples": {
            "graphwalker": [partial(ours.step_many, some) for some in steps],
            "official plan": [partial(official.get_triples, *one) for one in taken],
            "compiled": [partial(compiled.step_many, some) for some in steps],
        },
    }


def _relations(compiled: KnowledgeGraph, entity_id: str) -> list[str]:
    listed = sorted({r for d in Direction for r, _ in compiled.flat_relations(entity_id, d)})
    return random.Random(entity_id).sample(listed, min(TAKEN, len(listed)))


def _steps(compiled: KnowledgeGraph, entity_id: str, relations: Sequence[str]) -> list[Step]:
    """What the tool asks: each relation in the directions in which the entity has it."""
    listed = {d: dict(compiled.flat_relations(entity_id, d)) for d in Direction}
    return [Step(entity_id, r, d, LIMIT) for r in relations for d in Direction if r in listed[d]]


def _texts(graph: KnowledgeGraph, topic: Entity) -> list[str]:
    """What an agent reads of the entity: its relations, and the triples of the first four."""
    tools = WalkerTools(graph, Question("q", "Who is related to whom?", (topic,)))
    listed = tools.call(Call("get_relations", {"entity": topic.name}))
    wanted = {"entity": topic.name, "relations": list(listed.relations)[:TAKEN]}
    return [listed.text, tools.call(Call("get_triples", wanted)).text]


def _client_ms() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return (used.ru_utime + used.ru_stime) * 1e3


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--server", type=Path, required=True)
    parser.add_argument("--graph", type=Path, required=True)
    parser.add_argument("--label", required=True)
    parser.add_argument("--calls", type=int, default=100)
    parser.add_argument("--warm", type=int, default=150)
    parser.add_argument("--hub-calls", type=int, default=5)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    server = status(given.server)
    if server is None:
        parser.error(f"{given.server}: no server runs here")
    compiled = open_compiled(given.graph)
    ours = SparqlGraph(server.endpoint, default_graph=GRAPH)
    graphs = ours, OfficialPlan(server.endpoint, GRAPH), compiled
    drawn = random.Random(given.seed).sample(range(compiled.size), given.warm + given.calls)
    topics = [compiled.entity_at(place) for place in drawn]
    topics = [topic for topic in topics if topic.id != HUB]
    hub = Entity(HUB, compiled.name(HUB))
    first = Meter(server.pid)
    first.measure("hub", [partial(ours.flat_relations_many, [Side(HUB, d) for d in Direction])])
    for topic in [*topics[: given.warm], *[hub] * HUB_WARM]:
        _texts(ours, topic)
    of_any = compare(topics[given.warm :], graphs, Meter(server.pid))
    _texts(ours, hub)  # both sides' texts about the hub are planned
    graphs[1].get_relations(HUB)
    figures: dict[str, Any] = {
        "any entity": of_any,
        "hub": compare([hub] * given.hub_calls, graphs, Meter(server.pid)),
        "hub, first listing of a process": first.figures("hub"),
        "graph": compiled.info(),
        "drawn": {"seed": given.seed, "calls": given.calls, "hub calls": given.hub_calls},
    }
    path = RESULTS / "official_plan.json"
    known = json.loads(path.read_text(encoding="utf-8"))["figures"] if path.exists() else {}
    kept = {label: of_label for label, of_label in known.items() if "hub" in of_label}
    sys.stdout.write(json.dumps(figures, indent=1) + "\n")
    command = (
        "python -m benchmarks.official_plan --server SERVER --graph GRAPH "
        f"--label {given.label!r} --calls {given.calls} --warm {given.warm} "
        f"--hub-calls {given.hub_calls}"
    )
    figures = {**kept, given.label: figures}
    sys.stdout.write(f"{record('official_plan', figures, command, given.seed)}\n")


if __name__ == "__main__":
    main()
