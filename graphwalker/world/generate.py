"""The fictional world: a Freebase-shaped graph of any size, made entity by entity from a seed.

An entity is a function of (seed, index): nothing is kept between entities, so a world of ten
million needs no more memory than one of a thousand, and entity 4,711 is the same on any machine.
"""

import gzip
import time
from collections.abc import Callable
from contextlib import ExitStack
from io import TextIOWrapper
from pathlib import Path
from typing import Any

from graphwalker.errors import UserError
from graphwalker.graphs.ntriples import FREEBASE
from graphwalker.runs import one_writer
from graphwalker.world.facts import entity_triples
from graphwalker.world.kinds import KINDS, World

_BATCH = 20_000


class _Lines:
    """A gzip file written in batches of lines; it appears under its name when it is whole.

    No time stamp goes into it: the same world is the same bytes.
    """

    def __init__(self, path: Path, stack: ExitStack) -> None:
        self.path = path
        self._partial = path.with_name(path.name + ".partial")
        raw = stack.enter_context(self._partial.open("wb"))
        packed = gzip.GzipFile(filename="", mode="wb", compresslevel=1, fileobj=raw, mtime=0)
        self._out = TextIOWrapper(stack.enter_context(packed), encoding="utf-8", newline="\n")
        stack.callback(self._out.flush)
        self._lines: list[str] = []

    def add(self, line: str) -> None:
        self._lines.append(line)
        if len(self._lines) >= _BATCH:
            self.flush()

    def flush(self) -> None:
        self._out.write("".join(self._lines))
        self._out.flush()
        self._lines.clear()

    def publish(self) -> None:
        self._partial.replace(self.path)


class WorldFiles:
    """Writes triples.tsv.gz, names.tsv.gz, types.tsv.gz and triples.nt.gz into one folder."""

    def __init__(self, out: Path) -> None:
        out.mkdir(parents=True, exist_ok=True)
        self._stack = ExitStack()
        files = ("triples.tsv.gz", "names.tsv.gz", "types.tsv.gz", "triples.nt.gz")
        self._files = [_Lines(out / name, self._stack) for name in files]
        self._triples, self._names, self._types, self._ntriples = self._files
        self.triples, self.names, self.types, self.ntriples = (f.path for f in self._files)

    def add_entity(self, entity_id: str, name: str, types: tuple[str, ...]) -> None:
        self._names.add(f"{entity_id}\t{name}\n")
        subject = f"<{FREEBASE}{entity_id}>"
        self._ntriples.add(f'{subject} <{FREEBASE}type.object.name> "{name}"@en .\n')
        for kind in types:
            self._types.add(f"{entity_id}\t{kind}\n")
            self._ntriples.add(f"{subject} <{FREEBASE}type.object.type> <{FREEBASE}{kind}> .\n")

    def add_triple(self, head: str, relation: str, tail: str) -> None:
        self._triples.add(f"{head}\t{relation}\t{tail}\n")
        end = tail if tail.startswith('"') else f"<{FREEBASE}{tail}>"
        self._ntriples.add(f"<{FREEBASE}{head}> <{FREEBASE}{relation}> {end} .\n")

    def __enter__(self) -> "WorldFiles":
        return self

    def __exit__(self, failed: object, *_: object) -> None:
        with self._stack:
            if not failed:
                for file in self._files:
                    file.flush()
        if not failed:
            for file in self._files:
                file.publish()


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
    info.pop("warnings", None)  # its nodes without names are meant
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
