"""Files that are no TSV and no N-Triples: named by what they are, with the way on."""

import codecs
import gzip
import zlib
from pathlib import Path

from graphwalker.errors import UserError

SNIFFED = 1 << 16
_TO_NTRIPLES = "convert it to N-Triples (riot of Apache Jena, rapper, pyoxigraph)"
_MAGIC = (
    (codecs.BOM_UTF16_LE, "UTF-16 text", "save it as UTF-8 (iconv -f UTF-16 -t UTF-8 OLD > NEW)"),
    (codecs.BOM_UTF16_BE, "UTF-16 text", "save it as UTF-8 (iconv -f UTF-16 -t UTF-8 OLD > NEW)"),
    (b"\x28\xb5\x2f\xfd", "Zstandard", "unpack it (zstd -d), or pack it with gzip"),
    (b"BZh", "bzip2", "unpack it (bunzip2), or pack it with gzip"),
    (b"\xfd7zXZ\x00", "xz", "unpack it (unxz), or pack it with gzip"),
    (b"PK\x03\x04", "a zip archive", "unpack it (unzip)"),
    (b"$HDT", "HDT", "write it as N-Triples (hdt2rdf)"),
    (b"PAR1", "Parquet", "write it as TSV (DuckDB: COPY ... TO 'x.tsv' (DELIMITER '\\t'))"),
    (b"<?xml", "RDF/XML", _TO_NTRIPLES),
    (b"<rdf:RDF", "RDF/XML", _TO_NTRIPLES),
    (b"@prefix", "Turtle", _TO_NTRIPLES),
    (b"@base", "Turtle", _TO_NTRIPLES),
    (b"PREFIX ", "Turtle", _TO_NTRIPLES),
)
_SUFFIXES = {
    ".ttl": "Turtle", ".trig": "TriG", ".nq": "N-Quads", ".rdf": "RDF/XML", ".owl": "RDF/XML",
    ".jsonld": "JSON-LD", ".n3": "Notation 3",
}  # fmt: skip


def refuse_foreign(path: Path) -> None:
    """Raises `UserError` for a file whose first bytes, or whose name, say that it is not read.

    Without this such a file is so many malformed lines, or, as UTF-16, a graph of nonsense.
    """
    first = _first_bytes(path)
    for magic, name, remedy in _MAGIC:
        if first.startswith(magic) or first.lstrip(b"\xef\xbb\xbf \r\n\t").startswith(magic):
            raise UserError(f"{path}: {name} is not read; {remedy}")
    if b"\0" in first:
        line = first[: first.index(b"\0")].count(b"\n") + 1
        raise UserError(
            f"{path}:{line}: a NUL character: not text in UTF-8 (UTF-16 without its mark? "
            "iconv -f UTF-16LE -t UTF-8 OLD > NEW)"
        )
    if first.lstrip()[:1] in (b"{", b"[") and b'"@context"' in first:
        raise UserError(f"{path}: JSON-LD is not read; {_TO_NTRIPLES}")
    name = _SUFFIXES.get(Path(path.name.removesuffix(".gz")).suffix)
    if name and first:
        raise UserError(f"{path}: {name} is not read; {_TO_NTRIPLES}")


def _first_bytes(path: Path) -> bytes:
    """The beginning, unpacked; `b""` of what cannot be opened, which is told by who reads it."""
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
            return file.read(SNIFFED)
    except (OSError, EOFError, zlib.error):
        return b""
