"""What a hub with CVT relations costs on a compiled graph, with its listings stored and without.

The same file is opened as it is, and as it would be without the stored listings; both are asked in
turn in one process. Microseconds of CPU for each call, medians; answers must be equal.

    python -m benchmarks.freebase_world --lines 3000000 --out WORLD
    graphwalker graph build --triples WORLD/world.nt --out GRAPH
    python -m benchmarks.hub_listings --graph GRAPH
"""

import argparse
import random
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.freebase_world import HUB, HUB_RELATIONS
from benchmarks.graphs import LIMIT, SETTINGS, Hops, find_leaf, pick_hops, triples_of
from benchmarks.record import record
from graphwalker.graphs.base import FLATTENED, Direction, Step
from graphwalker.graphs.compiled.graph import CompiledGraph
from graphwalker.graphs.compiled.open import open_compiled
from graphwalker.graphs.format.layout import FILE_NAME, Layout, LayoutWriter
from graphwalker.tools.listing import lister

ASKED, ROUNDS, HUB_CALLS = 600, 5, 20


def without_listings(graph: Path, folder: Path) -> CompiledGraph:
    """The same graph in a file without stored listings."""
    layout, writer = Layout(graph), LayoutWriter(folder)
    for name in layout.section_names():
        if "_listed_" not in name:
            writer.section(name, layout.section(name).typecode).write(layout.array(name))
    writer.finish(folder / FILE_NAME, layout.counts)
    return open_compiled(folder)


def differences(stored: CompiledGraph, walked: CompiledGraph, entities: list[str]) -> int:
    """Entities whose listing, or whose first neighbors over any listed relation, differ."""
    found, listings = 0, [lister(graph, SETTINGS, remembered=0) for graph in (stored, walked)]
    for entity in entities:
        one, other = (listing(entity) for listing in listings)
        steps = [
            Step(entity, relation, direction, limit)
            for relation in one.relations
            for direction, _ in one.sides(relation)
            for limit in (LIMIT, 4 * LIMIT)
        ]
        found += one != other or stored.step_many(steps) != walked.step_many(steps)
    return found


def calls(graph: CompiledGraph, entities: list[str], seed: int) -> dict[str, float]:
    """Median microseconds of each kind of call."""
    listing, triples = lister(graph, SETTINGS, remembered=0), partial(triples_of, graph)
    rng = random.Random(seed)
    hops = [pick_hops(listing, entity, rng) for entity in entities]
    leaves = [leaf for leaf in (find_leaf(listing, entity) for entity in entities) if leaf]
    crossing = [r for r, n in listing(HUB).out.items() if FLATTENED in r and n >= LIMIT][-4:]
    flat: Hops = HUB, tuple((r, Direction.OUT) for r in crossing)
    plain: Hops = HUB, tuple((r, Direction.IN) for r in HUB_RELATIONS)
    return {
        "get_relations": took(listing, entities),
        "leaf: get_relations": took(listing, [entity for entity, _ in leaves]),
        "hub: get_relations": took(listing, [HUB] * HUB_CALLS),
        "get_triples": took(triples, hops),
        "leaf: get_triples": took(triples, leaves),
        "hub: get_triples, plain": took(triples, [plain] * HUB_CALLS),
        "hub: get_triples, through CVT nodes": took(triples, [flat] * HUB_CALLS),
    }


def took(call: Callable[[Any], Any], items: Iterable[Any]) -> float:
    found: list[float] = []
    for item in items:
        started = time.thread_time()
        call(item)
        found.append(time.thread_time() - started)
    return 1e6 * median(found)


def main() -> int:
    """Ask both in turn, print the table, write the record."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--graph", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    stored, rng = open_compiled(given.graph), random.Random(given.seed)
    with tempfile.TemporaryDirectory(dir=given.graph) as folder:
        walked = without_listings(given.graph, Path(folder))
        entities = [stored.entity_at(rng.randrange(stored.size)).id for _ in range(ASKED)]
        differ = differences(stored, walked, [*entities, HUB])
        rounds: dict[str, list[dict[str, float]]] = {"stored": [], "walked": []}
        for _ in range(ROUNDS):
            for name, graph in (("stored", stored), ("walked", walked)):
                rounds[name].append(calls(graph, entities, given.seed))
        sizes = [int(graph.info()["bytes"]) for graph in (stored, walked)]
    tables = {
        name: {what: round(median(one[what] for one in found), 1) for what in found[0]}
        for name, found in rounds.items()
    }
    for what, cost in tables["stored"].items():
        print(f"{what:40}{cost:10.1f}{tables['walked'][what]:12.1f}")
    print(f"{differ} of {ASKED + 1} entities differ; {sizes[0] - sizes[1]:,} bytes more")
    figures = {"microseconds": tables, "differ": differ, "entities": ASKED + 1}
    size = {"triples": stored.info()["triples"], "bytes": sizes[0], "listings": sizes[0] - sizes[1]}
    command = "python -m benchmarks.hub_listings --graph GRAPH"
    print(record("hub_listings", {**size, **figures}, command, given.seed))
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main())
