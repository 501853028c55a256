"""Opening a compiled graph: plain, or with what property-graph files gave it."""

from pathlib import Path

from graphwalker.graphs.compiled.graph import CompiledGraph
from graphwalker.graphs.format.layout import Layout


def open_compiled(path: Path | str) -> CompiledGraph:
    """Open what `build_graph` wrote; `path` is its folder or the file inside.

    Built from property-graph files, it is a `PropertyGraph`, too. Raises `UserError` for a file
    that is missing, foreign or of a newer format, `GraphError` for one that is damaged.
    """
    layout = Layout(path)
    if layout.has("schema"):
        from graphwalker.graphs.compiled.properties import CompiledPropertyGraph

        return CompiledPropertyGraph(layout)
    return CompiledGraph(layout)
