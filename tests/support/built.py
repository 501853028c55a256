"""Graphs that are built from the files of a test, and what stands in them."""

import gzip

from graphwalker.graphs.base import Direction
from graphwalker.graphs.build.build import build_graph
from graphwalker.graphs.compiled.properties import open_compiled


def put(folder, **files):
    """Write files, `a__tsv` as a.tsv, packed where the name ends in .gz; give their paths."""
    paths = [folder / name.replace("__", ".") for name in files]
    for path, text in zip(paths, files.values(), strict=True):
        data = text.encode() if isinstance(text, str) else text
        path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return paths


def built(out, *paths, **options):
    """What the build of a graph says, and the graph."""
    made = build_graph(paths, out, progress=lambda text: None, **options)
    return made, open_compiled(out)


def ends(graph, head, *relations):
    """The ends of a way along relations."""
    found = [head]
    for relation in relations:
        near = [graph.step(one, relation, Direction.OUT) for one in found]
        found = [end.id for listed in near for end in listed]
    return found


def end_names(graph, head, *relations):
    return [graph.name(end) for end in ends(graph, head, *relations)]
