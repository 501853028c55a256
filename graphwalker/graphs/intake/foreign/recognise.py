"""What kind of file an input is, by its first bytes, and the file that the readers take for it."""

import codecs
import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from graphwalker.errors import UserError
from graphwalker.files import write_jsonl
from graphwalker.graphs.intake.blocks import is_csv, open_input, peek, plain_name
from graphwalker.graphs.intake.property_files import is_property_header
from graphwalker.graphs.intake.rows import WANTED_JSON, Source
from graphwalker.graphs.ntriples import parse_line

SNIFFED = 1 << 16
_SHEETS = "save each of its sheets as CSV, and give all of them"
_TABLES_OF_SQL = "export each of its tables as CSV with a header, and give all of them"
_EXPORT = "in Neo4j, CALL apoc.export.json.all('kg.json', {}) writes a file that is read, kg.json"
_BEFORE_SQL, _BEFORE_CYPHER = rb"(?i)(\s|--.*\n|/\*[^*]*\*/)*", rb"(?i)(\s|//.*\n|:\w+\s)*"
_REFUSED = (
    (rb"(?s)PK\x03\x04.{,400}?(\[Content_Types\]|opendocument)", "a spreadsheet", _SHEETS),
    (rb"PK\x03\x04", "a zip archive", "unpack it (unzip)"),
    (rb"\xd0\xcf\x11\xe0", "a spreadsheet", _SHEETS),
    (rb"\$HDT", "HDT", "write it as N-Triples (hdt2rdf)"),
    (rb"SQLite format 3", "an SQLite database", _TABLES_OF_SQL),
    (_BEFORE_SQL + rb"(create table|insert into \S+ |drop table)", "an SQL script", _TABLES_OF_SQL),
    (
        _BEFORE_CYPHER + rb"((create|merge|match) \(|create (constraint|index)|unwind \[)",
        "a Cypher script",
        f"run it, and export the graph: {_EXPORT}",
    ),
)
_ADDRESS = re.compile(r"(bolt|neo4j|https?)(\+\w+)?:/{1,2}(.*)")
_XML = {"rdf:RDF": "RDF/XML", "RDF": "RDF/XML", "graphml": "GraphML", "gexf": "GEXF"}
_ELEMENT = re.compile(rb"<([A-Za-z][\w.:-]*)")
_TURTLE = re.compile(rb"@prefix\s|@base\s|prefix\s+[\w.-]*:\s*<|base\s*<", re.IGNORECASE)
_COMMENTS = re.compile(rb"(\s*#[^\n]*\n)+\s*")
_KQA_PRO = re.compile(rb'\{\s*"(?:concepts|entities)"\s*:\s*\{\s*"[^"]*"\s*:\s*\{')
_GML = re.compile(rb"(?:^|\n)\s*graph\s*\[")
_MULTIBYTE = re.compile(rb"[\xc2-\xf4][\x80-\xbf]")
_ODD_LINES = 3
"""Lines of a code page that make it likely; fewer are skipped and counted."""
_SUFFIXES = {
    ".ttl": "Turtle", ".trig": "Turtle", ".n3": "Turtle", ".nq": "N-Quads", ".rdf": "RDF/XML",
    ".owl": "RDF/XML", ".jsonld": "JSON-LD", ".gml": "GML", ".graphml": "GraphML", ".gexf": "GEXF",
}  # fmt: skip
RDF = ("Turtle", "N-Quads", "RDF/XML", "JSON-LD")
TABLES = ("Parquet", "Arrow")
UTF16 = "UTF-16"
KQA_PRO = "KQA Pro"
NETWORKS = ("GraphML", "GEXF", "GML", "node-link JSON")


def recognise(path: Path) -> str:
    """Return the format of a file by its content: one of `RDF`, `TABLES` or `NETWORKS`, `triples in
    JSON`, `a list in JSON`, `property graph`, or `""` for what its name says (CSV, TSV, N-Triples).

    Raises `UserError` for a format that is not read: as TSV it would be a graph of nonsense.
    """
    if match := _ADDRESS.fullmatch(str(path)):
        scheme, secured, place = match.groups(default="")
        address = f"{scheme}{secured}://{place}"
        more = "" if scheme.startswith("http") else f"; {_EXPORT}"
        raise UserError(
            f"{address}: an address, not a file; --graph {address} asks the database itself{more}"
        )
    first = peek(path, SNIFFED).removeprefix(codecs.BOM_UTF8)
    for magic, name, remedy in _REFUSED:
        if re.match(magic, first):
            raise UserError(f"{path}: {name} is not read; {remedy}")
    if first.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return UTF16
    if first.startswith(b"PAR1"):
        return "Parquet"
    if first.startswith((b"ARROW1", b"\xff\xff\xff\xff")):
        return "Arrow"
    if b"\0" in first:
        line = first[: first.index(b"\0")].count(b"\n") + 1
        raise UserError(
            f"{path}:{line}: a NUL character: not text in UTF-8 (UTF-16 without its mark? "
            "iconv -f UTF-16LE -t UTF-8 OLD > NEW)"
        )
    _check_encoding(path, first)
    text = first.lstrip()
    if text.startswith((b"<?xml", b"<!")) or text[:8] in (b"<rdf:RDF", b"<graphml", b"<gexf xm"):
        return _xml_format(path, text)
    if _TURTLE.match(_COMMENTS.sub(b"", text, count=1) if text.startswith(b"#") else text):
        return "Turtle"
    if text[:1] in (b"{", b"["):
        return _json_format(path, text)
    suffix = Path(plain_name(path)).suffix.lower()
    if suffix in _SUFFIXES and text:
        return _SUFFIXES[suffix]
    if is_csv(path):
        return "property graph" if is_property_header(path) else ""
    if _GML.search(text[:2000]) and b"\t" not in text.split(b"\n", 1)[0]:
        return "GML"
    return "N-Quads" if _is_quad(text) else ""


def convert(source: Source, folder: Path) -> Source:
    """Return the source itself where the readers take it as it is, else one whose file, written
    into `folder`, states the same in a form that they take. Raises `UserError`."""
    if source.kind not in ("triples", "property"):
        return source
    found = recognise(source.path)
    if found == UTF16:
        out = folder / f"input-{source.number}-{plain_name(source.path)}"
        with open_input(source.path) as file:
            out.write_text(file.read().decode("utf-16", errors="replace"), encoding="utf-8")
        return convert(replace(source, path=out, origin=source.path), folder)
    if found == "property graph":
        return replace(source, kind="property")
    if found == "triples in JSON":
        return replace(source, is_json=True)
    if found == "a list in JSON":
        out = folder / f"input-{source.number}.jsonl"
        _write_lines(source.path, out)
        return replace(source, path=out, is_json=True, origin=source.shown)
    writers: dict[str, tuple[tuple[str, ...], str, str]] = {
        "rdf": (RDF, ".nt", "triples"),
        "columnar": (TABLES, ".csv", "triples"),
        "networks": (NETWORKS, ".jsonl", "property"),
        "kqapro": ((KQA_PRO,), ".jsonl", "property"),
    }
    for module, (formats, suffix, kind) in writers.items():
        if found in formats:
            out = folder / f"input-{source.number}{suffix}"
            if not out.is_file():
                partial = out.with_suffix(".partial")
                _writer(module)(source.path, found, partial)
                partial.replace(out)
            form = replace(source.form, header=True) if found in TABLES else source.form
            return replace(source, path=out, kind=kind, form=form, origin=source.shown)
    return source


def _check_encoding(path: Path, text: bytes) -> None:
    """Raise `UserError` for text in a code page: no character beyond ASCII in it is UTF-8."""
    lines = text.rpartition(b"\n")[0].split(b"\n") if len(text) == SNIFFED else text.split(b"\n")
    odd = [line for line in lines if not line.isascii()]
    if len(odd) >= _ODD_LINES and not any(_MULTIBYTE.search(line) for line in odd):
        raise UserError(
            f"{path}:{lines.index(odd[0]) + 1}: not UTF-8 text (Latin-1, or another code page? "
            "iconv -f CP1252 -t UTF-8 OLD > NEW)"
        )


def _write_lines(path: Path, out: Path) -> None:
    """Write the items of a list, one a line. Raises `UserError`."""
    try:
        with open_input(path) as file:
            write_jsonl(out, json.loads(file.read()))
    except (ValueError, RecursionError, AttributeError, TypeError) as error:
        raise UserError(f"{path}: not a list in JSON ({error})") from None


def _writer(module: str) -> Callable[[Path, str, Path], None]:
    if module == "rdf":
        from graphwalker.graphs.intake.foreign.rdf import write_ntriples as write
    elif module == "columnar":
        from graphwalker.graphs.intake.foreign.columnar import write_csv as write
    elif module == "kqapro":
        from graphwalker.graphs.intake.foreign.kqapro import write_records as write
    else:
        from graphwalker.graphs.intake.foreign.networks import write_records as write
    return write


def _xml_format(path: Path, text: bytes) -> str:
    """Return the format of an XML file by its first element."""
    for match in _ELEMENT.finditer(re.sub(rb"<!--.*?-->", b"", text, flags=re.DOTALL)):
        name = match[1].decode()
        if name in _XML:
            return _XML[name]
        if name.endswith(":RDF"):
            return "RDF/XML"
        break
    else:
        name = "no element"
    raise UserError(f"{path}: XML ({name[:40]}) is not read; RDF/XML, GraphML and GEXF are")


def _json_format(path: Path, text: bytes) -> str:
    """Return the format of JSON, or JSON lines, by its first records and keys."""
    keys = set(re.findall(rb'"(@?\w+)"\s*:', text))
    if keys & {b"@context", b"@graph", b"@id"}:
        return "JSON-LD"
    if _KQA_PRO.match(text) and keys & {b"instanceOf", b"subclassOf"}:
        return KQA_PRO
    if b"paper_nodes" in keys or re.match(rb'\{\s*"\w+_nodes"\s*:', text):
        raise UserError(f"{path}: a graph of GRBench; compile it with: graphwalker graph grbench")
    record = first_record(text)
    kind: Any = cast("dict[str, Any]", record).get("type") if isinstance(record, dict) else ""
    if kind in ("node", "relationship"):
        return "property graph"
    if b"nodes" in keys and (record is None or keys & {b"links", b"edges"}):
        return "node-link JSON"
    inner: list[Any] = cast("list[Any]", record) if isinstance(record, list) else []
    if record is None or (inner and isinstance(inner[0], list | dict)):
        if re.match(rb"\[\s*[\[{]", text):
            return "a list in JSON"
        if Path(plain_name(path)).suffix.lower() in (".json", ".jsonl", ".ndjson"):
            raise UserError(f"{path}:1: no JSON record; {WANTED_JSON}")
        return ""
    return "triples in JSON"


def first_record(text: bytes) -> Any:
    """Return the first JSON value on the first line, `None` for what is not JSON."""
    try:
        return json.loads(text.split(b"\n", 1)[0])
    except (ValueError, RecursionError):
        return None


def _is_quad(text: bytes) -> bool:
    """True where the first statement has a graph behind subject, predicate and object."""
    lines = (line.strip() for line in text.decode(errors="replace").split("\n"))
    line = next((line for line in lines if line and not line.startswith("#")), "")
    match = re.fullmatch(r"((?:<|_:).*\S)\s+(?:<[^<>]*>|_:\S+)\s*\.", line)
    if match is None:
        return False
    try:
        return parse_line(f"{match[1]} .") is not None
    except UserError:
        return False
