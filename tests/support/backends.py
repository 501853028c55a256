"""One graph on every backend: the same N-Triples, read by each in its own way."""

from graphwalker.graphs.build.build import build_graph
from graphwalker.graphs.compiled.properties import open_compiled
from graphwalker.graphs.literals import is_literal, literal_id
from graphwalker.graphs.memory import MemoryGraph
from graphwalker.graphs.ntriples import FREEBASE


def to_ntriples(facts, names, types, more_names=()):
    """The graph as lines; `more_names` are (id, name, language) besides the English ones."""
    rows = list(facts)
    rows += [(i, "type.object.name", literal_id(name, "@en")) for i, name in names.items() if name]
    rows += [(i, "type.object.name", literal_id(name, f"@{tag}")) for i, name, tag in more_names]
    rows += [(i, "type.object.type", kind) for i in types for kind in types[i]]
    return "".join(f"<{FREEBASE}{h}> <{FREEBASE}{r}> {_term(t)} .\n" for h, r, t in rows)


def compiled(path):
    """The compiled graph of an N-Triples file."""
    build_graph([path], path.parent / "graph")
    return open_compiled(path.parent / "graph")


def compiled_tsv(folder, facts, names, types=None):
    """The compiled graph of files of triples, names and types."""
    rows = {"t": facts, "n": names.items(), "y": [(i, t) for i in types or {} for t in types[i]]}
    for name, lines in rows.items():
        text = "".join("\t".join(row) + "\n" for row in lines)
        (folder / f"{name}.tsv").write_text(text, encoding="utf-8")
    named, typed = folder / "n.tsv", folder / "y.tsv" if types else None
    build_graph([folder / "t.tsv"], folder / "graph", named, typed)
    return open_compiled(folder / "graph")


def write(folder, facts, names, types, more_names=()):
    """An N-Triples file of the graph, in a folder of its own."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "graph.nt"
    path.write_text(to_ntriples(facts, names, types, more_names), encoding="utf-8")
    return path


def in_memory(facts, names, types, more_names=()):
    """The reference."""
    del more_names
    return MemoryGraph(facts, names, types)


def _term(node):
    return node if is_literal(node) else f"<{FREEBASE}{node}>"
