"""WebQSP's questions that a slice of Freebase answers, and the slice as a graph.

    python -m benchmarks.webqsp_slice --webqsp WebQSP.zip --out runs/webqsp \
        --triples FB15k/train.txt FB15k/valid.txt FB15k/test.txt \
        --names FB15k_mid2name.txt --reverse reverse_properties.tsv

Nothing is downloaded: `--sources` lists the public files, their licences and their digests. Writes
`train.jsonl`, `test.jsonl`, `graph/`, and `sources.json` (what each file was, and what was left
out). `--triples` takes FB15k's text, TSV, or the N-Triples of a dump; `--graph G` a compiled graph.

A parse of a question is kept where the patterns of its SPARQL find a gold answer in the slice. Two
patterns through a variable are one relation `a..b` of FB15k, too, and a relation may stand there as
its reverse. Conditions that no slice can check (dates, sorting, the notable type) are left out.
`level` compares what is found with all gold answers: `exact`, `subset`, or `superset`.
"""

import argparse
import gzip
import hashlib
import re
import sys
import zipfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any

from graphwalker.datasets.base import Reading, load_dataset
from graphwalker.datasets.queries import stated_sparql
from graphwalker.errors import UserError
from graphwalker.files import open_text, write_json, write_jsonl
from graphwalker.graphs.base import FLATTENED, Direction, KnowledgeGraph
from graphwalker.graphs.build.build import build_graph
from graphwalker.graphs.open import open_graph
from graphwalker.query.stated import StatedPattern, stated_patterns
from graphwalker.question import Answer, Question

UNKNOWN = "unknown"
SOURCES = {
    "WebQSP.zip": (
        "https://www.microsoft.com/en-us/download/details.aspx?id=52763",
        "stated in the archive",
        "sha256 95cb9cd2f6b4e1116ba4bec348f08a7f5ca2a5df4f223ea5af3f9b25a971b0ee",
    ),
    "FB15k train.txt (freebase_mtr100_mte100-train.txt)": (
        "https://everest.hds.utc.fr/doku.php?id=en:transe",
        "CC BY 2.5",
        "md5 5a87195e68d7797af00e137a7f6929f2",
    ),
    "FB15k valid.txt": ("as train.txt", "CC BY 2.5", "md5 275835062bb86a86477a3c402d20b814"),
    "FB15k test.txt": ("as train.txt", "CC BY 2.5", "md5 71098693b0efcfb8ac6cd61cf3a3b505"),
    "FB15k_mid2name.txt": ("https://github.com/yao8839836/kg-bert", "Apache-2.0", UNKNOWN),
    "reverse_properties": ("https://github.com/XuShuwenn/GraphWalker", "MIT", UNKNOWN),
    "freebase-rdf-latest.gz": ("https://developers.google.com/freebase", "CC BY", UNKNOWN),
}
"""Public name: address, licence, digest. Digests are those that other projects state for the file;
none of the files was downloaded to write this list."""
MEASURED = "084dba56d95173fba0010b875c78692e50e7360a05ede4605dcdb57373a1831a"
"""SHA-256 of the sorted lines of the slice that the README's rows were measured on: 357,924 of the
592,213 triples of FB15k, gathered from public copies. It answers 904 and 522 questions."""
TRIPLES = "triples.tsv.gz"
NAMES = re.compile("name|label|alias", re.IGNORECASE)
INNER = 4
"""Variables of a query that may be CVT nodes; every choice of them is tried."""
LEFT_OUT = ("common.topic.notable_types",)


def main() -> int:
    """Read the files, write the slice, print what was kept."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--webqsp", nargs="+", type=Path, help="WebQSP.zip, or its .json files")
    parser.add_argument("--triples", nargs="+", type=Path, help="FB15k's files, TSV or N-Triples")
    parser.add_argument("--graph", help="a compiled graph or an endpoint instead of --triples")
    parser.add_argument("--names", type=Path, help="TSV: id, name; with a header also aliases")
    parser.add_argument("--types", type=Path, help="TSV: id, type")
    parser.add_argument("--reverse", type=Path, help="TSV: relation, its reverse")
    parser.add_argument("--out", type=Path, default=Path("runs/webqsp"))
    parser.add_argument("--sources", action="store_true", help="list the public files and stop")
    given = parser.parse_args()
    if given.sources:
        print("\n".join(f"{name}: {'; '.join(facts)}" for name, facts in SOURCES.items()))
        print("None of these was downloaded; a digest is what other projects state for the file.")
        return 0
    try:
        for line in make(given):
            print(line)
    except UserError as error:
        sys.stderr.write(f"benchmarks.webqsp_slice: {error}\n")
        return 2
    return 0


def make(given: argparse.Namespace) -> Iterator[str]:
    """Write the slice and yield what is worth printing. Raises `UserError`."""
    if not given.webqsp or bool(given.triples) == bool(given.graph):
        raise UserError("give --webqsp, and either --triples or --graph; --sources lists the files")
    given.out.mkdir(parents=True, exist_ok=True)
    names = read_names(given.names) if given.names else {}
    graph = open_graph(given.graph or _build(given, names))
    cut = Slice(graph, read_reverses(given.reverse) if given.reverse else {})
    kept, read = Counter[str](), Counter[str]()
    records: dict[str, list[dict[str, Any]]] = {"train": [], "test": []}
    for question in load_webqsp(given.webqsp, given.out):
        split = question.split if question.split in records else "test"
        read[split] += 1
        if record := slice_record(question, cut, names):
            records[split].append(record)
            kept[f"{split} {record['level']}"] += 1
    for split, rows in records.items():
        if read[split]:
            write_jsonl(given.out / f"{split}.jsonl", rows)
            levels = ", ".join(
                f"{kept[f'{split} {level}']} {level}" for level in ("exact", "subset", "superset")
            )
            yield f"{split}: {len(rows)} of {read[split]} questions ({levels})"
    inputs = [*given.webqsp, *(given.triples or ()), given.names, given.types, given.reverse]
    known = list(map(_source, filter(None, inputs)))
    write_json(given.out / "sources.json", {"files": known, "kept": dict(kept), "read": dict(read)})
    yield from (f"{one['file']}: {one['digest']}, {one['known as']}" for one in known)
    if given.triples:
        yield _compare_slice(given.out / TRIPLES)


@dataclass(slots=True)
class Slice:
    """A graph that may hold a relation as its reverse, and paths through a CVT node as one."""

    graph: KnowledgeGraph
    reverses: Mapping[str, str]
    _known: dict[tuple[str, str, Direction], set[str]] = field(default_factory=dict, init=False)  # pyright: ignore

    def ends(self, node: str, relation: str, direction: Direction) -> set[str]:
        """Return the ids at the other end of a relation of a node, or of its reverse."""
        key = (node, relation, direction)
        if key not in self._known:
            found = self.graph.step(node, relation, direction)
            if back := self.reverse(relation):
                found = [*found, *self.graph.step(node, back, direction.reverse)]
            self._known[key] = {end.id for end in found}
        return self._known[key]

    def reverse(self, relation: str) -> str:
        """Return the relation that says the same from the other end, `""` where none is known."""
        parts = [self.reverses.get(part, "") for part in reversed(relation.split(FLATTENED))]
        return FLATTENED.join(parts) if all(parts) else ""

    def spelling(self, start: str, relation: str, end: str) -> str:
        """Return the relation as the graph holds it between two nodes."""
        there = {one.id for one in self.graph.step(start, relation, Direction.OUT)}
        return relation if end in there else self.reverse(relation)


def slice_record(
    question: Question, cut: Slice, names: Mapping[str, list[str]]
) -> dict[str, Any] | None:
    """Return the question as the slice answers it, from the first parse that finds gold answers."""
    gold = {answer.id: answer for answer in question.answers if answer.id}
    parses: list[dict[str, Any]] = question.annotations["parses"]
    for parse, text in zip(parses, stated_sparql(question), strict=False):
        answer, patterns = stated_patterns(text)
        topics = {t.id: t.name for t in question.topic_entities if t.id in _constants(patterns)}
        right = {key: gold[key] for key in parse["answers"] if key in gold}
        for edges in readings(answerable(patterns, answer), answer, cut):
            found = {b[answer]: b for b in bindings(edges, {}, cut) if answer in b}
            found = {end: b for end, b in found.items() if end not in topics}
            if topics and (kept := sorted(found.keys() & right)):
                path = [_spelled(edge, found[kept[0]], cut) for edge in edges]
                return _record(question, topics, [right[k] for k in kept], names) | {
                    "relation_path": path,
                    "level": "superset" if found.keys() - right
                    else "exact" if len(kept) == len(right) else "subset",
                }  # fmt: skip
    return None


def _record(
    question: Question,
    topics: dict[str, str],
    answers: Sequence[Answer],
    names: Mapping[str, list[str]],
) -> dict[str, Any]:
    ids = [answer.id for answer in answers]
    return {
        "id": question.id,
        "dataset": "webqsp",
        "split": question.split,
        "question": question.text,
        "topic_entities": topics,
        "answers": [answer.name for answer in answers],
        "answer_mids": ids,
        "answer_aliases": {
            answer.id: sorted(set(names.get(answer.id, ())) - {answer.name}) for answer in answers
        },
    }


def answerable(patterns: Iterable[StatedPattern], answer: str) -> list[StatedPattern]:
    """Return the patterns without those that a slice cannot check.

    A value that only a filter or the sorting uses stands in one pattern.
    """
    left = [pattern for pattern in patterns if pattern[1] not in LEFT_OUT]
    uses = Counter(node for start, _, end in left for node in {start, end})
    return [(s, p, o) for s, p, o in left if o == answer or not o.startswith("?") or uses[o] > 1]


def readings(
    patterns: Sequence[StatedPattern], answer: str, cut: Slice
) -> Iterator[list[StatedPattern]]:
    """Yield the patterns as edges, each inner variable as an entity or as a CVT node left out."""
    nodes = dict.fromkeys(node for start, _, end in patterns for node in (start, end))
    inner = [node for node in nodes if node.startswith("?") and node != answer]
    for left_out in product((False, True), repeat=min(len(inner), INNER)):
        edges: list[StatedPattern] | None = list(patterns)
        for node in (n for n, out in zip(inner, left_out, strict=False) if out):
            edges = edges and _without(node, edges, answer, cut)
        if edges:
            yield edges


def _without(
    node: str, edges: Sequence[StatedPattern], answer: str, cut: Slice
) -> list[StatedPattern] | None:
    """Return the edges with those at a CVT node joined, `None` where one cannot be named."""
    arms = [(s, p, cut.reverse(p)) for s, p, o in edges if o == node]
    arms += [(o, cut.reverse(p), p) for s, p, o in edges if s == node]
    if len(arms) < 2 or any(FLATTENED in toward + away for _, toward, away in arms):
        return None
    hub = next((arm for arm in arms if arm[0] == answer), arms[0])
    joined = [_through(hub, arm) for arm in arms if arm is not hub]
    left = [edge for edge in edges if node not in (edge[0], edge[2])]
    return None if None in joined else [*filter(None, joined), *left]


def _through(one: StatedPattern, other: StatedPattern) -> StatedPattern | None:
    """Return the edge between two neighbours of a CVT node, in the direction that has a name.

    Each comes with its relation toward the node, and the one that leads from the node to it.
    """
    for (start, toward, _), (end, _, away) in ((other, one), (one, other)):
        if toward and away:
            return start, toward + FLATTENED + away, end
    return None


def bindings(
    edges: Sequence[StatedPattern], bound: dict[str, str], cut: Slice
) -> Iterator[dict[str, str]]:
    """Yield every choice of entities for the variables that the slice has all edges of."""
    if not edges:
        yield bound
        return
    ready = next((e for e in edges if _value(e[0], bound) or _value(e[2], bound)), None)
    if ready is None:
        return
    rest = [edge for edge in edges if edge is not ready]
    start, relation, end = ready
    direction = Direction.OUT
    if not _value(start, bound):
        start, end, direction = end, start, Direction.IN
    known = _value(end, bound)
    for node in sorted(cut.ends(_value(start, bound), relation, direction)):
        if node == known or not known:
            yield from bindings(rest, bound if known else {**bound, end: node}, cut)


def _value(node: str, bound: Mapping[str, str]) -> str:
    return bound.get(node, "") if node.startswith("?") else node


def _spelled(edge: StatedPattern, bound: Mapping[str, str], cut: Slice) -> str:
    start, relation, end = edge
    return cut.spelling(_value(start, bound), relation, _value(end, bound))


def _constants(patterns: Iterable[StatedPattern]) -> set[str]:
    return {node for start, _, end in patterns for node in (start, end)}


def load_webqsp(files: Sequence[Path], work: Path) -> list[Question]:
    """Return the questions of WebQSP.zip, or of the files in it, that have answers."""
    found: list[Question] = []
    for path in files:
        parts = _unpack(path, work / "webqsp") if zipfile.is_zipfile(path) else [path]
        for part in parts:
            found += load_dataset(part, Reading("webqsp", unanswered="drop")).questions
    return found


def _unpack(archive: Path, folder: Path) -> list[Path]:
    folder.mkdir(parents=True, exist_ok=True)
    wanted = {"WebQSP.train.json", "WebQSP.test.json"}
    with zipfile.ZipFile(archive) as packed:
        members = [name for name in packed.namelist() if Path(name).name in wanted]
        if not members:
            raise UserError(f"{archive}: holds no WebQSP.train.json; give Microsoft's WebQSP.zip")
        for name in members:
            (folder / Path(name).name).write_bytes(packed.read(name))
    return [folder / Path(name).name for name in sorted(members, reverse=True)]


def _build(given: argparse.Namespace, names: Mapping[str, list[str]]) -> Path:
    """Compile the triples into `graph`, from one table of ids in Freebase's own spelling."""
    files: list[Path] = given.triples
    if not any(map(_is_ntriples, files)):
        lines = sorted({line for path in files for line in fb15k_lines(path)})
        files = [_write_lines(given.out / TRIPLES, lines)]
    table = [f"{key}\t{texts[0]}" for key, texts in sorted(names.items())]
    called = _write_lines(given.out / "names.tsv.gz", table) if table else None
    folder: Path = given.out / "graph"
    build_graph(files, folder, names=called, types=given.types)
    return folder


def _is_ntriples(path: Path) -> bool:
    with open_text(path) as lines:
        return next(lines, "").startswith("<")


def fb15k_lines(path: Path) -> Iterator[str]:
    """Yield the facts of a file of FB15k: `/m/a`, `/b/c/d./e/f/g` become `m.a`, `b.c.d..e.f.g`."""
    for number, fields in _table(path):
        if len(fields) != 3:
            raise UserError(f"{path}:{number}: expected head<TAB>relation<TAB>tail")
        yield "\t".join(map(_freebase_id, fields))


def _freebase_id(text: str) -> str:
    return text.strip().replace("./", "..").lstrip("/").replace("/", ".")


def read_names(path: Path) -> dict[str, list[str]]:
    """Return the names of each id, its own first, then those of columns of names and aliases."""
    found: dict[str, list[str]] = {}
    columns = [1]
    for number, fields in _table(path):
        if number == 1 and not _freebase_id(fields[0]).startswith(("m.", "g.")):
            columns = [n for n, head in enumerate(fields) if n and NAMES.search(head)] or [1]
            continue
        texts = [name.strip() for n in columns if n < len(fields) for name in fields[n].split("|")]
        texts = [name.replace("_", " ") for name in texts if name]
        if texts:
            own = re.sub(r"(?<=\w)-(?:GB|US)$", "", texts[0])  # kg-bert's `Writer-GB`
            found[_freebase_id(fields[0])] = [own, *texts]
    return found


def read_reverses(path: Path) -> dict[str, str]:
    """Return the reverse of each relation, both ways."""
    rows = (list(map(_freebase_id, fields)) for _, fields in _table(path) if len(fields) > 1)
    pairs = {row[0]: row[1] for row in rows}
    return {back: there for there, back in pairs.items()} | pairs


def _table(path: Path) -> Iterator[tuple[int, list[str]]]:
    with open_text(path) as lines:
        for number, line in enumerate(lines, start=1):
            if line.strip():
                yield number, line.rstrip("\r\n").split("\t")


def _write_lines(path: Path, lines: Iterable[str]) -> Path:
    with gzip.GzipFile(path, "wb", mtime=0) as file:
        file.writelines(f"{line}\n".encode() for line in lines)
    return path


def _source(path: Path) -> dict[str, str]:
    """Return the digest of a file, and the public file that states it."""
    with path.open("rb") as file:
        found = f"sha256 {hashlib.file_digest(file, 'sha256').hexdigest()}"
        file.seek(0)
        md5 = f"md5 {hashlib.file_digest(file, 'md5').hexdigest()}"
    known = (name for name, (_, _, digest) in SOURCES.items() if digest in (found, md5))
    return {"file": path.name, "digest": found, "known as": next(known, "no digest is known")}


def _compare_slice(triples: Path) -> str:
    """Return whether the triples are those of the README's rows."""
    if not triples.is_file():
        return "the graph: not compared with the README's slice"
    with gzip.open(triples) as file:
        same = hashlib.file_digest(file, "sha256").hexdigest() == MEASURED  # pyright: ignore
    if same:
        return "the graph: the slice of the README's rows"
    return "the graph: another slice than that of the README's rows; figures differ"


if __name__ == "__main__":
    sys.exit(main())
