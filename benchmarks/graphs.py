"""The compiled graph, measured: look-ups by degree, processes that share it, costs of a build.

    python -m benchmarks.graphs calls  --graph WORK/10000000/graph
    python -m benchmarks.graphs build  --work WORK --triples 1000000 10000000 40000000
    python -m benchmarks.graphs store  --graph WORK/10000000/graph

`build` makes worlds (benchmarks/big_world.py) and compiles each in a process of its own. `calls`
asks the graph of such a world. `store` makes what SPARQL asks, and asks it for the ends of
relations. CPU is that of the thread that asks.
"""

import argparse
import json
import multiprocessing
import random
import shutil
import time
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.big_world import HUB, HUB_RELATION, make
from benchmarks.freebase_build import build_once
from benchmarks.record import record
from graphwalker.graphs.base import Direction, Entity, KnowledgeGraph, Step, Triple
from graphwalker.graphs.compiled.graph import CompiledGraph
from graphwalker.graphs.open import open_graph
from graphwalker.graphs.sparql_engine.results import JSON
from graphwalker.graphs.sparql_engine.store import find_store
from graphwalker.graphs.sparql_engine.worker import StoreReader
from graphwalker.question import Question
from graphwalker.tools.base import Call
from graphwalker.tools.listing import Lister, lister
from graphwalker.tools.settings import WalkerSettings
from graphwalker.tools.walker import WalkerTools

SETTINGS = WalkerSettings()
LIMIT = SETTINGS.triples_per_relation
Hops = tuple[str, tuple[tuple[str, Direction], ...]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    commands = parser.add_subparsers(dest="command", required=True)
    calls = commands.add_parser("calls")
    calls.add_argument("--graph", type=Path, required=True)
    calls.add_argument("--calls", type=int, default=4000)
    calls.add_argument("--seconds", type=float, default=3.0, help="for each number of processes")
    build = commands.add_parser("build")
    build.add_argument("--work", type=Path, required=True)
    build.add_argument("--triples", type=int, nargs="+", required=True)
    build.add_argument("--memory-limit", default="2GB")
    build.add_argument("--keep", action="store_true", help="keep worlds and graphs")
    store = commands.add_parser("store")
    store.add_argument("--graph", type=Path, required=True)
    store.add_argument("--calls", type=int, default=4000)
    given = parser.parse_args()
    if given.command == "build":
        measure_builds(given.work, given.triples, given.memory_limit, given.seed, given.keep)
    elif given.command == "store":
        measure_store(given.graph, given.calls, given.seed)
    else:
        measure_calls(given.graph, given.calls, given.seconds, given.seed)


def measure_calls(path: Path, calls: int, seconds: float, seed: int) -> None:
    """Print the table of look-ups and write results/graphs.json."""
    figures: dict[str, Any] = {
        "open_ms": spread(times(lambda _: open_graph(path), range(30), time.perf_counter), 1e3)
    }
    graph = open_graph(path)
    figures["graph"] = {k: v for k, v in graph.info().items() if k != "checksum"}
    rng = random.Random(seed)
    entities = [graph.entity_at(rng.randrange(graph.size)).id for _ in range(calls)]
    figures["compiled"] = rows = time_calls(graph, entities, rng)
    show("compiled graph (CPU microseconds)", rows)
    print(f"open: {figures['open_ms']} ms")
    figures["processes"] = scaling(path, entities[:500], seconds)
    for count, row in figures["processes"].items():
        print(f"{count} processes: {row}")
    command = f"python -m benchmarks.graphs calls --graph DIR --calls {calls}"
    print(record("graphs", figures, command, seed))


def measure_store(path: Path, calls: int, seed: int) -> None:
    """Make the store of a graph and write results/graphs_store.json."""
    graph = open_graph(path)
    assert isinstance(graph, CompiledGraph)
    started, cpu = time.perf_counter(), time.process_time()
    store = find_store(graph)
    made = {"s": time.perf_counter() - started, "cpu_s": time.process_time() - cpu}
    size = sum(file.stat().st_size for file in store.rglob("*") if file.is_file())
    rng, listing = random.Random(seed), lister(graph, SETTINGS, remembered=0)
    drawn = [graph.entity_at(rng.randrange(graph.size)).id for _ in range(calls)]
    hops = [(entity, h[0]) for entity in drawn for _, h in [pick_hops(listing, entity, rng)] if h]
    relations = [
        (entity, relation.partition("..")[0], direction) for entity, (relation, direction) in hops
    ]
    reader = StoreReader(store)

    def ask(hop: tuple[str, str, Direction]) -> None:
        ends = (f"ns:{hop[0]}", "?x") if hop[2] is Direction.OUT else ("?x", f"ns:{hop[0]}")
        query = (
            f"SELECT ?x ?n {{ {ends[0]} ns:{hop[1]} {ends[1]} OPTIONAL {{ ?x rdfs:label ?n }} }}"
        )
        request = {"form": JSON, "graphs": [], "is_ours": False, "max_rows": 10**6}
        assert reader.answer({**request, "query": query})[0] == 200

    opened = times(lambda _: StoreReader(store), range(20), time.process_time)
    figures = {
        "triples": graph.info()["triples"],
        "graph_bytes": graph.info()["bytes"],
        "store_bytes": size,
        "made": made,
        "open_cpu_ms": spread(opened, 1e3),
        "select_cpu_ms": spread(times(ask, relations, time.thread_time), 1e3),
    }
    print(json.dumps(figures))
    print(record("graphs_store", figures, "python -m benchmarks.graphs store --graph DIR", seed))


def time_calls(
    graph: KnowledgeGraph,
    entities: Sequence[str],
    rng: random.Random,
    clock: Callable[[], float] = time.thread_time,
) -> dict[str, dict[str, float]]:
    """Return the median and 99th percentile of each kind of call, in microseconds."""
    listing = lister(graph, SETTINGS, remembered=0)
    hops = [pick_hops(listing, entity, rng) for entity in entities]
    hub: Hops = (HUB, ((HUB_RELATION, Direction.IN),))
    names = graph.names_many(entities)
    timed: dict[str, list[float]] = {
        "get_relations": times(listing, entities, clock),
        "get_triples": times(partial(triples_of, graph), hops, clock),
        "get_triples, observation": times(observer(graph), hops, clock),
        "name to entity": times(graph.resolve, names, clock),
        "walk step": times(partial(walk_step, graph), [h for h in hops if h[1]], clock),
        "hub: get_relations": times(listing, [HUB] * len(entities), clock),
        "hub: get_triples": times(partial(triples_of, graph), [hub] * len(entities), clock),
    }
    return {name: spread(values, 1e6) for name, values in timed.items() if values}


def pick_hops(listing: Lister, entity: str, rng: random.Random) -> Hops:
    """Draw four of the entity's relations, in every direction in which it has them."""
    found = listing(entity)
    relations = rng.sample(found.relations, min(4, len(found.relations)))
    return entity, tuple((r, direction) for r in relations for direction, _ in found.sides(r))


def triples_of(graph: KnowledgeGraph, hops: Hops) -> list[Triple]:
    """Return the named triples of an observation, up to the limit a relation and direction."""
    entity, wanted = hops
    here = graph.name(entity)
    found = graph.step_many([Step(entity, r, direction, LIMIT) for r, direction in wanted])
    head = Entity(entity, here)
    return [
        Triple(head, r, end) if direction is Direction.OUT else Triple(end, r, head)
        for (r, direction), ends in zip(wanted, found, strict=True)
        for end in ends
    ]


def observer(graph: KnowledgeGraph) -> Callable[[Hops], str]:
    """Return a whole tool call, from the name that a model wrote to the text that it reads."""
    listing = lister(graph, SETTINGS)

    def observe(hops: Hops) -> str:
        entity, wanted = hops
        question = Question(id="q", text="who?", topic_entities=(), answers=())
        tools = WalkerTools(graph, question, SETTINGS, listing)
        name = graph.name(entity)
        tools.call(Call("get_relations", {"entity": name}))
        relations = list(dict.fromkeys(relation for relation, _ in wanted))
        return tools.call(Call("get_triples", {"entity": name, "relations": relations})).text

    return observe


def walk_step(graph: KnowledgeGraph, hops: Hops) -> Any:
    """Take one step of a random walk: a relation's neighbors with their names."""
    entity, wanted = hops
    return graph.step_many([Step(entity, *wanted[0], 1)])


def times(
    call: Callable[[Any], Any], items: Iterable[Any], clock: Callable[[], float]
) -> list[float]:
    """Return the seconds of each call, after a pass that brings the pages into memory."""
    items = list(items)
    for item in items:
        call(item)
    taken: list[float] = []
    for item in items:
        started = clock()
        call(item)
        taken.append(clock() - started)
    return taken


def spread(values: Sequence[float], scale: float) -> dict[str, float]:
    ordered = sorted(values)
    at = {"median": 0.5, "p99": 0.99}
    last = len(ordered) - 1
    return {name: round(ordered[round(share * last)] * scale, 3) for name, share in at.items()}


def scaling(path: Path, entities: Sequence[str], seconds: float) -> dict[int, dict[str, float]]:
    """Tool calls (get_relations and get_triples in turn) of 1 to 8 processes: in a second, and in
    a second of CPU, which other work on the machine does not change."""
    found: dict[int, dict[str, float]] = {}
    context = multiprocessing.get_context("spawn")
    for count in (1, 2, 4, 8):
        with context.Pool(count) as pool:
            work = [(str(path), list(entities), seconds, seed) for seed in range(count)]
            done = pool.starmap(busy, work, chunksize=1)
        cpu = sum(used for _, _, used in done)
        rate = sum(calls / wall for calls, wall, _ in done)
        found[count] = {
            "calls_per_s": round(rate),
            "calls_per_cpu_s": round(sum(calls for calls, _, _ in done) / cpu),
            "cores_used": round(sum(used / wall for _, wall, used in done), 2),
        }
    return found


def busy(path: str, entities: list[str], seconds: float, seed: int) -> tuple[int, float, float]:
    """Calls, seconds and seconds of CPU of one process. It opens the graph itself; the pages
    are shared."""
    graph, rng = open_graph(path), random.Random(seed)
    listing = lister(graph, SETTINGS, remembered=0)
    hops = [pick_hops(listing, entity, rng) for entity in entities]
    calls, started, cpu = 0, time.perf_counter(), time.process_time()
    while time.perf_counter() - started < seconds:
        for one in hops:
            listing(one[0])
            triples_of(graph, one)
        calls += 2 * len(hops)
    return calls, time.perf_counter() - started, time.process_time() - cpu


def show(title: str, rows: dict[str, dict[str, float]]) -> None:
    print(f"\n{title}\n{'call':<28}{'median':>10}{'p99':>10}")
    for name, row in rows.items():
        print(f"{name:<28}{row['median']:>10.1f}{row['p99']:>10.1f}")


def measure_builds(work: Path, sizes: Sequence[int], memory: str, seed: int, keep: bool) -> None:
    """Print what each size costs and write results/graphs_build.json."""
    rows: list[dict[str, Any]] = []
    for triples in sizes:
        world = work / str(triples)
        if not (world / "types.tsv").is_file():
            make(triples, world, seed)
        files = [f"--{name}={world / name}.tsv" for name in ("names", "types")]
        row = build_once(world / "triples.tsv", world / "graph", 1, memory, *files)
        rows.append({"asked": triples, **row})
        print(json.dumps(rows[-1]), flush=True)
        if not keep:
            shutil.rmtree(world)
    command = f"python -m benchmarks.graphs build --work DIR --triples {' '.join(map(str, sizes))}"
    command += f" --memory-limit {memory}"
    print(record("graphs_build", {"memory_limit": memory, "builds": rows}, command, seed))


if __name__ == "__main__":
    main()
