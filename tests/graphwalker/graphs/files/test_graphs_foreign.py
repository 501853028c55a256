"""Input that is neither TSV nor N-Triples is refused by its name, with the way on."""

import bz2
import gzip
import lzma

import pytest

from graphwalker.errors import UserError
from graphwalker.graphs.build.build import build_graph

TSV = "m.1\ta.b.c\tm.2\n"
QUAD = b"<http://a/s> <http://a/p> <http://a/o> <http://g> .\n"
FOREIGN = {
    "excel.tsv": (TSV.encode("utf-16"), "UTF-16 text is not read; save it as UTF-8"),
    "bare.tsv": (TSV.encode("utf-16-le"), r"bare\.tsv:1: a NUL character"),
    "nul.tsv": ((TSV + "m.3\ta.b.c\tm\0.2\n").encode(), r"nul\.tsv:2: a NUL character"),
    "facts.ttl": (b"@prefix a: <http://a/> .\na:x a:y a:z .\n", "Turtle is not read; convert it"),
    "facts.nt": (b"\n@base <http://a/> .\n", "Turtle is not read"),
    "facts.trig": (b"<http://g> { }", "TriG is not read"),
    "facts.rdf": (b'<?xml version="1.0"?><rdf:RDF/>', "RDF/XML is not read"),
    "facts.nq": (QUAD, "N-Quads is not read"),
    "facts.nq.gz": (gzip.compress(QUAD), "N-Quads is not read"),
    "facts.jsonld": (b'{"@context": {}, "@graph": []}', "JSON-LD is not read"),
    "facts.hdt": (b"$HDT\x01", "HDT is not read; write it as N-Triples"),
    "facts.parquet": (b"PAR1....PAR1", "Parquet is not read; write it as TSV"),
    "facts.nt.zst": (b"\x28\xb5\x2f\xfd....", r"Zstandard is not read; unpack it \(zstd -d\)"),
    "facts.tsv.bz2": (bz2.compress(TSV.encode()), "bzip2 is not read"),
    "facts.tsv.xz": (lzma.compress(TSV.encode()), "xz is not read"),
    "facts.zip": (b"PK\x03\x04....", "a zip archive is not read"),
}


@pytest.mark.parametrize("name", FOREIGN)
def test_a_foreign_file_is_named_with_what_to_do(tmp_path, name):
    content, told = FOREIGN[name]
    (tmp_path / name).write_bytes(content)
    with pytest.raises(UserError, match=told):
        build_graph([tmp_path / name], tmp_path / "graph")
    assert not (tmp_path / "graph").exists()


def test_what_is_read_is_still_read(tmp_path):
    (tmp_path / "a.tsv").write_bytes(b"\xef\xbb\xbf" + TSV.encode())
    (tmp_path / "b.nt.gz").write_bytes(gzip.compress(b"<http://a/s> <http://a/p> <http://a/o> .\n"))
    built = build_graph([tmp_path / "a.tsv", tmp_path / "b.nt.gz"], tmp_path / "graph")
    assert built["triples"] == 2
