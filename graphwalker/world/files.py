"""The files of a world: triples, names and types as TSV, and everything again as N-Triples."""

import gzip
from contextlib import ExitStack
from io import TextIOWrapper
from pathlib import Path

from graphwalker.graphs.ntriples import FREEBASE

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
