"""Damaged copies of a graph: each must be refused when it is opened, or answer as the sound one.

Copies are the sound file with bits flipped, bytes overwritten, pages zeroed or moved, the end cut
off or extended; each is opened as a user would and, where that is let through, asked.

python -m benchmarks.damaged_graphs --graph runs/graph --work /dev/shm/damaged --copies 1000
python -m benchmarks.damaged_graphs --size-mb 100 --work runs/damaged     # a graph of that size
"""

import argparse
import os
import random
import shutil
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.big_world import make as make_world
from benchmarks.record import record
from graphwalker.errors import GraphError, UserError
from graphwalker.graphs.base import Direction, Side, Step
from graphwalker.graphs.build.build import build_graph
from graphwalker.graphs.compiled.graph import CompiledGraph
from graphwalker.graphs.compiled.properties import open_compiled
from graphwalker.graphs.format.layout import FILE_NAME

PAGE = 4096
ASKED = 400
"""Entities whose relations, neighbors and names are compared where a damaged copy opens."""

BYTES_PER_TRIPLE = 20
"""Of a big world's file, about."""

Patch = tuple[int, bytes]
"""Where, and what is written there."""


def flip_bits(data: memoryview, rng: random.Random) -> list[Patch]:
    """Flip 1 to 10 bits."""
    places = [rng.randrange(len(data)) for _ in range(rng.randint(1, 10))]
    return [(place, bytes([data[place] ^ 1 << rng.randrange(8)])) for place in set(places)]


def overwrite_bytes(data: memoryview, rng: random.Random) -> list[Patch]:
    """Write 256 random bytes in a row."""
    return [(rng.randrange(len(data) - 256), rng.randbytes(256))]


def zero_page(data: memoryview, rng: random.Random) -> list[Patch]:
    """Write a page of zeros, as a file system may leave after a crash."""
    return [(rng.randrange(len(data) // PAGE) * PAGE, bytes(PAGE))]


def move_page(data: memoryview, rng: random.Random) -> list[Patch]:
    """Write the bytes of one page into another."""
    one, other = (rng.randrange(len(data) // PAGE) * PAGE for _ in range(2))
    return [(one, bytes(data[other : other + PAGE]))]


KINDS: dict[str, Callable[[memoryview, random.Random], list[Patch]]] = {
    "bits flipped": flip_bits,
    "bytes overwritten": overwrite_bytes,
    "page zeroed": zero_page,
    "page of another place": move_page,
}
CUT, EXTENDED = "end cut off", "bytes behind the end"


class Copies:
    """One copy of a graph that is damaged and repaired, so no damage costs a copy."""

    def __init__(self, graph: Path, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.path = folder / FILE_NAME
        shutil.copyfile(graph, self.path)
        self.sound = self.path.read_bytes()

    def harm(self, kind: str, rng: random.Random) -> bool:
        """Damage the copy and return whether it differs from the sound file."""
        view = memoryview(self.sound)
        if kind == CUT:
            os.truncate(self.path, rng.randrange(len(view)))
            return True
        if kind == EXTENDED:
            self._write([(len(view), rng.randbytes(rng.randint(1, PAGE)))])
            return True
        patches = KINDS[kind](view, rng)
        self._write(patches)
        self._mended = patches
        return any(view[place : place + len(new)] != new for place, new in patches)

    def mend(self, kind: str) -> None:
        if kind == CUT:
            self.path.write_bytes(self.sound)
        elif kind == EXTENDED:
            os.truncate(self.path, len(self.sound))
        else:
            self._write([(p, self.sound[p : p + len(new)]) for p, new in self._mended])

    def _write(self, patches: list[Patch]) -> None:
        with self.path.open("rb+") as file:
            for place, new in patches:
                file.seek(place)
                file.write(new)


def answers(graph: CompiledGraph) -> list[Any]:
    """Return what an agent would see at entities spread over the graph."""
    found: list[Any] = []
    stride = max(1, graph.size // ASKED)
    for entity in map(graph.entity_at, range(0, graph.size, stride)):
        found += [entity, graph.resolve(entity.name), graph.types(entity.id)]
        for way in Direction:
            listed = graph.flat_relations_many([Side(entity.id, way)])[0]
            found += [listed, graph.step_many([Step(entity.id, r, way, 5) for r, _ in listed])]
    return found


def outcome(path: Path, sound: list[Any]) -> str:
    """Return how opening and querying a damaged copy ended."""
    try:
        graph = open_compiled(path)
    except (GraphError, UserError):
        return "refused"
    except Exception as error:
        return f"untyped error: {type(error).__name__}"
    try:
        return "same answers" if answers(graph) == sound else "wrong answers"
    except GraphError:
        return "error of the graph"
    except Exception as error:
        return f"untyped error: {type(error).__name__}"


def make_graph(size_mb: int, work: Path) -> Path:
    """Build a graph of about that size, with CVT nodes, literals and a hub."""
    place = work / f"world-{size_mb}"
    if not (place / "graph").is_dir():
        triples, names, types = make_world(size_mb * 1_000_000 // BYTES_PER_TRIPLE, place)
        build_graph([triples], place / "graph", names, types)
    return place / "graph"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--graph", type=Path)
    parser.add_argument("--size-mb", type=int, default=100, help="of a graph made without --graph")
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--copies", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, help="a folder for the record of this run")
    arguments = parser.parse_args()
    graph = open_compiled(arguments.graph or make_graph(arguments.size_mb, arguments.work))
    assert graph.path is not None
    copies, sound = Copies(graph.path, arguments.work), answers(graph)
    counts: Counter[tuple[str, str]] = Counter()
    started, cpu = time.perf_counter(), time.process_time()
    rng, kinds = random.Random(arguments.seed), [*KINDS, CUT, EXTENDED]
    for number in range(arguments.copies):
        kind = kinds[number % len(kinds)]
        if copies.harm(kind, rng):
            counts[kind, outcome(copies.path, sound)] += 1
        else:
            counts[kind, "unchanged by chance"] += 1
        copies.mend(kind)
    mended = answers(open_compiled(copies.path)) == sound
    for (kind, what), count in sorted(counts.items()):
        print(f"{kind:24} {what:24} {count:6,}")
    print(
        f"{len(copies.sound):,} bytes, seed {arguments.seed}, "
        f"{time.perf_counter() - started:.0f} s, {time.process_time() - cpu:.0f} CPU s, "
        f"the mended copy answers {'as before' if mended else 'WRONGLY'}"
    )
    if arguments.out:
        line = f"python -m benchmarks.damaged_graphs --size-mb {arguments.size_mb} --work FOLDER"
        figures = {f"{kind}: {what}": count for (kind, what), count in sorted(counts.items())}
        size = {"bytes": len(copies.sound), "copies": sum(counts.values())}
        record("damaged_graphs", {**size, **figures}, line, arguments.seed, arguments.out)
    good = {"refused", "same answers", "error of the graph", "unchanged by chance"}
    return 0 if mended and all(what in good for _, what in counts) else 1


if __name__ == "__main__":
    sys.exit(main())
