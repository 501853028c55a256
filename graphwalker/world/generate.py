"""The fictional world: a Freebase-shaped graph of any size, made entity by entity from a seed.

An entity is a function of (seed, index): nothing is kept between entities, so a world of ten
million needs no more memory than one of a thousand, and entity 4,711 is the same on any machine.
"""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from graphwalker.errors import UserError
from graphwalker.runs import one_writer
from graphwalker.world.facts import entity_triples
from graphwalker.world.files import WorldFiles
from graphwalker.world.kinds import KINDS
from graphwalker.world.layout import World

SMALLEST, LARGEST = 1_000, 10_000_000


@one_writer("out")
def make_world(
    entities: int, seed: int, out: Path, progress: Callable[[str], None] | None = None
) -> dict[str, Any]:
    """Write the world's triples (TSV and N-Triples), names and types, and compile OUT/graph.

    Returns counts and seconds. Raises `UserError` for a size out of range.
    """
    from graphwalker.graphs.build.build import build_graph

    if not SMALLEST <= entities <= LARGEST:
        raise UserError(f"--entities {entities}: give a number from {SMALLEST} to {LARGEST}")
    if seed < 0:
        raise UserError(f"--seed {seed}: give a number from 0 on")
    started, out = time.perf_counter(), Path(out)
    if out.exists() and not out.is_dir():
        raise UserError(f"{out}: is a file; give a folder for the world")
    world = World(entities, seed)
    with WorldFiles(out) as files:
        count = _write(world, files, progress)
    info = build_graph(
        [files.triples], out / "graph", names=files.names, types=files.types, progress=progress
    )
    seconds = round(time.perf_counter() - started, 3)
    return {"entities": entities, "seed": seed, "triples": count, "graph": info, "seconds": seconds}


def _write(world: World, files: WorldFiles, progress: Callable[[str], None] | None) -> int:
    count = done = 0
    for kind, span in world.spans.items():
        types = KINDS[kind].types
        for offset in range(span.count):
            files.add_entity(world.entity_id(kind, offset), world.name(kind, offset), types)
            for triple in entity_triples(world, kind, offset):
                files.add_triple(*triple)
                count += 1
            done += 1
            if progress and done % 50_000 == 0:
                progress(f"world: {done:,} of {world.entities:,} entities, {count:,} triples")
    return count
