"""One small graph in every format that people bring: the same facts; what is not read is named."""

import bz2
import gzip
import json
import lzma
import re
from pathlib import Path

import networkx as nx
import pytest

from graphwalker.errors import UserError
from graphwalker.graphs.base import Direction
from graphwalker.graphs.build.build import build_graph
from graphwalker.graphs.compiled.properties import open_compiled
from graphwalker.graphs.literals import is_literal

TSV = "m.1\ta.b.c\tm.2\n"
NT = "<http://a/s> <http://a/p> <http://a/o> .\n"
FACTS = {("Ana Ewers", "lives_in", "Kester"), ("Ben Haas", "lives_in", "Kester"),
         ("Ana Ewers", "manages", "Ben Haas"), ("Kester", "located_in", "Nord")}  # fmt: skip
NAMES = sorted({end for head, _, tail in FACTS for end in (head, tail)})
DIRECT = "http://www.wikidata.org/prop/direct/P19"
EX, LABEL = "http://ex.org/", "http://www.w3.org/2000/01/rdf-schema#label"


def iri(name):
    return f"<{EX}{name.replace(' ', '_')}>"


def rdf(graph=""):
    names = [f'{iri(name)} <{LABEL}> "{name}"@en{graph} .' for name in NAMES]
    return "\n".join([*names, *(f"{iri(h)} {iri(r)} {iri(t)}{graph} ." for h, r, t in FACTS), ""])


def turtle(start="", end=""):
    names = [f'ex:{n.replace(" ", "_")} rdfs:label "{n}"@en .' for n in NAMES]
    facts = [f"ex:{h.replace(' ', '_')} ex:{r} ex:{t.replace(' ', '_')} ." for h, r, t in FACTS]
    head = f"@prefix ex: <{EX}> .\nPREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#>\n"
    return "\n".join([head, start, *names, *facts, end])


def rdf_xml():
    parts = [f'<rdf:Description rdf:about="{iri(n)[1:-1]}"><rdfs:label xml:lang="en">{n}'
             "</rdfs:label></rdf:Description>" for n in NAMES]  # fmt: skip
    parts += [f'<rdf:Description rdf:about="{iri(h)[1:-1]}"><ex:{r} rdf:resource="{iri(t)[1:-1]}"/>'
              "</rdf:Description>" for h, r, t in FACTS]  # fmt: skip
    spaces = (f'xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:ex="{EX}" '
              'xmlns:rdfs="http://www.w3.org/2000/01/rdf-schema#"')  # fmt: skip
    top = '<?xml version="1.0"?>\n<!-- made by hand -->\n'
    return f"{top}<rdf:RDF {spaces}>{''.join(parts)}</rdf:RDF>"


def json_ld():
    nodes = [{"@id": iri(n)[1:-1], LABEL: [{"@value": n, "@language": "en"}]} for n in NAMES]
    nodes += [{"@id": iri(h)[1:-1], EX + r: [{"@id": iri(t)[1:-1]}]} for h, r, t in FACTS]
    return json.dumps(nodes, indent=1)


def network():
    graph, ids = nx.MultiDiGraph(), {name: f"n{number}" for number, name in enumerate(NAMES)}
    graph.add_nodes_from((ids[name], {"name": name}) for name in NAMES)
    graph.add_edges_from((ids[h], ids[t], {"relation": r}) for h, r, t in sorted(FACTS))
    return graph


def table(folder, name, write):
    import duckdb

    rows = ", ".join(str(fact) for fact in sorted(FACTS))
    with duckdb.connect() as database:
        facts = database.sql(f"SELECT * FROM (VALUES {rows}) facts(head, relation, tail)")
        write(facts, str(folder / name))
    return (folder / name).read_bytes()


def arrow(facts, path):
    import pyarrow as pa

    found = facts.to_arrow_table()
    with pa.ipc.new_file(path, found.schema) as out:
        out.write_table(found)


def apoc():
    rows = [f"{number},:Thing,{name},,," for number, name in enumerate(NAMES)]
    rows += [f",,,{NAMES.index(h)},{NAMES.index(t)},{r}" for h, r, t in FACTS]
    return "\n".join(["_id,_labels,name,_start,_end,_type", *rows, ""])


def written(folder):
    """The contents of a file in each format, by a name for it."""
    writes = {"g.graphml": nx.write_graphml, "g.gexf": nx.write_gexf, "g.gml": nx.write_gml}
    for name, write in writes.items():
        write(network(), folder / name)
    records = [dict(zip(("subject", "predicate", "object"), f, strict=True)) for f in sorted(FACTS)]
    return {
        "a.nt": rdf(), "a.nq": rdf(" <http://ex.org/g>"), "quads.nt": rdf(" <http://ex.org/g>"),
        "a.ttl": turtle(), "turtle.txt": turtle(), "a.trig": turtle("ex:g {", "}"),
        "a.rdf": rdf_xml(), "a.xml": rdf_xml(), "a.jsonld": json_ld(),
        "ld.json": json_ld(),
        "nodes.json": json.dumps(nx.node_link_data(network(), edges="links")),
        "edges.json": json.dumps(nx.node_link_data(network(), edges="edges")),
        "lists.jsonl": "".join(json.dumps(fact) + "\n" for fact in sorted(FACTS)),
        "records.jsonl": "".join(json.dumps(record) + "\n" for record in records),
        "records.json": json.dumps(records, indent=2),
        "spo.json": json.dumps([dict(zip("pso", (r, h, t), strict=True)) for h, r, t in FACTS]),
        "apoc.csv": apoc(), "kb.txt": "".join("|".join(fact) + "\n" for fact in sorted(FACTS)),
        "commas.dat": "head,relation,tail\n" + "".join(f"{','.join(f)}\n" for f in FACTS),
        "comment.txt": f"# by hand\n#\n{turtle()}",
        "a.parquet": table(folder, "x.parquet", lambda facts, path: facts.write_parquet(path)),
        "a.arrow": table(folder, "x.arrow", arrow),
        **{name: (folder / name).read_bytes() for name in writes},
    }  # fmt: skip


def facts_of(path, out):
    build_graph([path], out, progress=lambda text: None)
    graph = open_compiled(out)
    found = set()
    for entity in map(graph.entity_at, range(graph.size)):
        for relation, _ in graph.relations(entity.id, Direction.OUT):
            for end in graph.neighbors(entity.id, relation, Direction.OUT):
                if not is_literal(end.id):
                    found.add((entity.name, relation.removeprefix(EX), end.name))
    return found, graph.checksum


def test_every_format_gives_the_same_facts_and_the_same_ids_the_same_graph(tmp_path):
    checksums = {}
    for name, content in written(tmp_path).items():
        path = tmp_path / "in" / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        found, checksums[name] = facts_of(path, tmp_path / "out" / name)
        assert found == FACTS, name
    for same in (("a.nt", "a.ttl", "a.trig", "a.nq", "a.rdf", "a.jsonld", "turtle.txt"),
                 ("g.graphml", "g.gexf", "g.gml", "nodes.json", "edges.json"),
                 ("lists.jsonl", "records.jsonl", "spo.json", "a.parquet", "a.arrow")):  # fmt: skip
        assert len({checksums[name] for name in same}) == 1, same


def test_compressed_files_are_known_by_their_bytes(tmp_path):
    import pyarrow as pa

    packers = {".gz": gzip.compress, ".xz": lzma.compress,
               ".zst": lambda data: pa.compress(data, codec="zstd", asbytes=True)}  # fmt: skip
    checksums = set()
    for suffix, pack in packers.items():
        path = tmp_path / f"a.ttl{suffix}"
        path.write_bytes(pack(turtle().encode()))
        found, checksum = facts_of(path, tmp_path / "out")
        assert found == FACTS, path
        checksums.add(checksum)
    assert len(checksums) == 1
    parquet = table(tmp_path, "x.parquet", lambda facts, path: facts.write_parquet(path))
    (tmp_path / "a.parquet.gz").write_bytes(gzip.compress(parquet))
    assert facts_of(tmp_path / "a.parquet.gz", tmp_path / "out")[0] == FACTS
    bare = tmp_path / "no-ending"
    bare.write_bytes(bz2.compress(TSV.encode()))
    assert build_graph([bare], tmp_path / "out")["triples"] == 1


def test_blank_nodes_without_a_label_are_the_same_at_each_reading(tmp_path):
    (tmp_path / "a.ttl").write_text("@prefix : <http://a/> . :x :p [ :q 1, [ :r 2 ] ] .")
    built = [build_graph([tmp_path / "a.ttl"], tmp_path / out)["checksum"] for out in ("a", "b")]
    assert built[0] == built[1]


UNREADABLE = {
    "a.ttl": ("@prefix : <http://a/> .\n:x :p :y .\n:x :p\n", r"a\.ttl:\d+: Turtle that cannot"),
    "a.graphml": ("<?xml version='1.0'?>\n<graphml><graph>", "GraphML that cannot be read"),
    "a.parquet": ("PAR1....PAR1", "Parquet that cannot be read"),
    "a.json": ('{"nodes": [{"id": 1}], "links": [{"source": 1, "target": 1}]}', "no relation"),
    "a.jsonl": ('{"x": "a", "y": "b", "z": "c"}\n', "which of x, y, z are head"),
    "a.jsonl.bz2": (bz2.compress(b'["a", "r", "b"]\n' * 99)[:-9], "damaged file"),
}


def test_a_json_record_without_its_keys_is_rejected_with_its_place(tmp_path):
    rows = '{"h": "a", "r": "knows", "t": "b"}\n{"h": "a"}\n{\n{"h": "a", "r": "is", "t": 7}'
    (tmp_path / "a.jsonl").write_text(rows)
    built = build_graph([tmp_path / "a.jsonl"], tmp_path / "graph")
    assert (built["triples"], built["malformed"], built["literals"]) == (2, 2, 1)
    rejected = (tmp_path / "graph" / "rejects.tsv").read_text().splitlines()
    assert [line.split("\t")[1] for line in rejected] == ["line", "2", "3"]


def test_a_column_of_lists_is_refused_by_its_name(tmp_path):
    import duckdb

    rows = duckdb.sql("SELECT 'a' AS head, 'r' AS relation, ['b', 'c'] AS tail")
    rows.write_parquet(str(tmp_path / "a.parquet"))
    with pytest.raises(UserError, match=r"column tail has values of type VARCHAR\[\]"):
        build_graph([tmp_path / "a.parquet"], tmp_path / "graph")


FOREIGN = {
    "latin.tsv": (("Zoë\tknows\tBen\n" * 3).encode("latin-1"), r"latin\.tsv:1: not UTF-8 text"),
    "bare.tsv": (TSV.encode("utf-16-le"), r"bare\.tsv:1: a NUL character"),
    "nul.tsv": (TSV + "m.3\ta.b.c\tm\0.2\n", r"nul\.tsv:2: a NUL character"),
    "facts.hdt": ("$HDT\x01", "HDT is not read; write it as N-Triples"),
    "facts.zip": ("PK\x03\x04....", "a zip archive is not read"),
    "a.cypher": (
        '// people\nCREATE (:Person {name: "Ana"});\n',
        "Cypher script is not read; run it",
    ),
    "a.xlsx": (
        "PK\x03\x04\x14\0\x06\0[Content_Types].xml",
        "spreadsheet is not read; save each of",
    ),
    "a.ods": ("PK\x03\x04mimetypeapplication/vnd.oasis.opendocument", "a spreadsheet is not read"),
    "a.xls": (b"\xd0\xcf\x11\xe0\xa1\xb1", "a spreadsheet is not read"),
    "a.sql": ("-- dump\nCREATE TABLE t (id int);\n", "an SQL script is not read; export each"),
    "a.db": ("SQLite format 3\0", "an SQLite database is not read; export each of its tables"),
    "owl.xml": ('<?xml version="1.0"?>\n<Ontology/>', r"XML \(Ontology\) is not read; RDF/XML"),
    "near.jsonl": ("{'head': 'Ana', 'tail': 'Ben'}\n", r"near\.jsonl:1: no JSON record; a fact a"),
    "one.json": (
        '{"triples": [["a", "r", "b"]]}',
        r"one\.json:1: a record of triples; a fact a line",
    ),
    "graph.json": ('{"paper_nodes": {}}', "graphwalker graph grbench"),
}


@pytest.mark.parametrize("name", UNREADABLE | FOREIGN)
def test_a_file_that_is_not_read_is_named_with_what_to_do(tmp_path, name):
    content, told = (UNREADABLE | FOREIGN)[name]
    (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(UserError, match=told):
        build_graph([tmp_path / name], tmp_path / "graph")
    assert not (tmp_path / "graph").exists()


@pytest.mark.parametrize("address", ["bolt://host:7687", "neo4j+s://host", "http://host/sparql"])
def test_an_address_is_no_file_and_is_told_where_it_goes(tmp_path, address):
    with pytest.raises(UserError, match=f"{re.escape(address)}: an address, .*--graph"):
        build_graph([Path(address)], tmp_path / "graph")


def test_what_is_read_is_still_read(tmp_path):
    (tmp_path / "a.tsv").write_bytes(b"\xef\xbb\xbf" + TSV.encode())
    (tmp_path / "b.nt.gz").write_bytes(gzip.compress(NT.encode()))
    (tmp_path / "excel.txt").write_bytes("Zoë\tknows\tBen\n".encode("utf-16"))
    files = [tmp_path / name for name in ("a.tsv", "b.nt.gz", "excel.txt")]
    assert build_graph(files, tmp_path / "graph")["triples"] == 3
    assert open_compiled(tmp_path / "graph").resolve("Zoë")


def test_a_build_says_what_may_not_be_meant_with_its_share(tmp_path):
    wide = "".join(f"Ana\te{number}\tknows\n" for number in range(60))
    said = {
        "ids.tsv": ("Ana\t7\tBen\nAna\tis\tBen\n", "1 of 2 (50 %) relations look like ids"),
        "long.tsv": (f'Ana\tsays\t"{"x" * 2001}"\n', "1 of 1 (100 %) literals have more than"),
        "twice.tsv": ("Ana\tknows\tBen\n" * 4, "3 of 4 (75 %) facts are stated again"),
        "m.nt": (f'{NT}<http://a/s> <{LABEL}> "S" .', "1 of 2 (50 %) nodes have no name"),
        "order.tsv": (wide, "60 relations in 60"),
        "wiki.tsv": (f"Q1\t{DIRECT}\tQ2\n", "layers.wikidata=true reads them"),
    }
    for name, (text, told) in said.items():
        (tmp_path / name).write_text(text)
        warnings = build_graph([tmp_path / name], tmp_path / "graph")["warnings"]
        assert any(told in warning for warning in warnings), (name, warnings)
