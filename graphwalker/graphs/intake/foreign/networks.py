"""Networks in GraphML, GEXF, GML or node-link JSON, read by networkx, as records of a property
graph."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, cast

from graphwalker.errors import UserError, lacks_extra
from graphwalker.files import write_jsonl
from graphwalker.graphs.adapters.networkx import edge_relations
from graphwalker.graphs.intake.blocks import open_input
from graphwalker.graphs.intake.grbench import relationship
from graphwalker.graphs.properties import NAME_KEYS

_TYPE_KEYS = ("types", "labels", "type")
_OF_EDGES = ("relation", "label", "id", "key", "source", "target", "networkx_key")
"""Attributes of an edge that say which edge it is, and nothing of it."""


def write_records(path: Path, form: str, out: Path) -> None:
    """Write the nodes and edges, one a line. Raises `UserError` for what cannot be read, and for an
    edge without a relation."""
    try:
        import networkx
    except ImportError:
        raise lacks_extra(f"{path}: {form} needs networkx", "formats") from None
    try:
        with open_input(path) as file:
            graph = _read(networkx, form, file)
    except UserError:
        raise
    except Exception as error:  # readers raise whatever their parsers do
        raise UserError(f"{path}: {form} that cannot be read: {str(error)[:200]}") from None
    try:
        write_jsonl(out, _records(graph))
    except UserError as error:
        raise UserError(f"{path}: {error}") from None


def _read(networkx: Any, form: str, file: Any) -> Any:
    if form == "GraphML":
        return networkx.read_graphml(file)
    if form == "GEXF":
        return networkx.read_gexf(file)
    if form == "GML":
        return networkx.parse_gml(file.read().decode(), label="label")
    data = json.loads(file.read())
    return networkx.node_link_graph(data, edges="links" if "links" in data else "edges")


def _records(graph: Any) -> Iterator[dict[str, Any]]:
    name_key, type_keys = _roles(graph)
    for node, given in graph.nodes(data=True):
        # GEXF has a label for each node, for which networkx writes the id.
        data = {k: v for k, v in given.items() if (k, str(v)) != ("label", str(node))}
        types = [kind for key in type_keys if (kind := data.get(key)) not in (None, "")]
        labels: list[Any] = cast("list[Any]", types[0]) if _is_list(types) else types
        properties = {k: v for k, v in data.items() if k not in (*type_keys, name_key)}
        if name_key and data.get(name_key):
            properties["name"] = str(data[name_key])
        yield {
            "type": "node",
            "id": str(node),
            "labels": list(map(str, labels)),
            "properties": _plain(properties),
        }
    for head, relation, tail, data in edge_relations(graph):
        properties = _plain({k: v for k, v in data.items() if k not in _OF_EDGES})
        yield {**relationship(head, relation, tail), "properties": properties}


def _is_list(types: list[Any]) -> bool:
    return bool(types) and isinstance(types[0], list)


def _roles(graph: Any) -> tuple[str, tuple[str, ...]]:
    """Return the attribute that names nodes, and those that say what kind they are. `label` is a
    name where labels differ, and a kind where many nodes share one."""
    attributes = [data for _, data in graph.nodes(data=True)]
    labels = [
        str(data["label"])
        for node, data in graph.nodes(data=True)
        if data.get("label") not in (None, str(node))
    ]
    shared = 2 * len(set(labels)) <= len(labels)
    name_key = next((k for k in NAME_KEYS if any(data.get(k) for data in attributes)), "")
    if not name_key and labels and not shared:
        name_key = "label"
    return name_key, (*(("label",) if shared and labels else ()), *_TYPE_KEYS)


def _plain(properties: Mapping[str, Any]) -> dict[str, Any]:
    """Values as JSON has them; those of other classes as texts."""
    return {
        str(key): value if isinstance(value, str | int | float | bool | list | dict) else str(value)
        for key, value in properties.items()
        if value is not None
    }
