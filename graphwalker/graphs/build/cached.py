"""Files that are graphs at once: compiled when they are opened, into a folder of the cache."""

import hashlib
import json
import logging
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from urllib.parse import unquote

from graphwalker.counts import number_of
from graphwalker.errors import UserError
from graphwalker.files import cache_folder
from graphwalker.graphs.base import Direction, KnowledgeGraph
from graphwalker.graphs.format.header import FORMAT_VERSION, MAGIC
from graphwalker.graphs.intake.columns import TableForm

log = logging.getLogger(__name__)

FACTS_SHOWN = 3
_OPTIONS = ("names", "types", "columns", "header", "split", "refers", "names_from_ids")
_NAMED = re.compile(r"--(columns) ([^\s;)]+,[^\s;)]+|table\b)|--(refers|split) '?([^\s';)]+)")
_YES = {"yes": True, "no": False}


def input_files(spec: str) -> tuple[list[Path], dict[str, list[str]]] | None:
    """Return the files that a text names, and what it says of them; `None` where it names no files,
    or one that is compiled already.

    Files are separated by commas, and options follow: `facts.csv?names=names.tsv&columns=s,p,o`.
    Raises `UserError` for an unknown option.
    """
    listed, _, query = (spec, "", "") if Path(spec).exists() else spec.partition("?")
    parts = [listed] if Path(listed).exists() else listed.split(",")
    files = [Path(part.strip()) for part in parts]
    missing = [file for file in files if not file.is_file()]
    if 0 < len(missing) < len(files):
        raise UserError(f"{missing[0]}: no such file")
    if missing or (not query and _is_compiled(files[0])):
        return None
    options: dict[str, list[str]] = {}
    for item in query.split("&") if query else ():
        key, _, value = item.partition("=")
        if key not in _OPTIONS:
            raise UserError(f"{spec}: no option {key}; there are {', '.join(_OPTIONS)}")
        options.setdefault(key, []).append(unquote(value))
    return files, options


def compile_files(files: list[Path], options: Mapping[str, list[str]]) -> Path:
    """Return the folder of the compiled graph of files, made once and named by their digest.
    Raises `UserError`."""
    names, types = (list(map(Path, options.get(key, ()))) for key in ("names", "types"))
    digest = hashlib.sha256(json.dumps({**options}, sort_keys=True).encode())
    for path in (*files, *names, *types):
        if not path.is_file():
            raise UserError(f"{path}: no such file")
        with path.open("rb") as file:
            digest.update(hashlib.file_digest(file, "sha256").digest())
    shown = re.sub(r"[^\w.-]", "_", files[0].name[:60])
    name = f"{shown}-{digest.hexdigest()[:16]}-{FORMAT_VERSION}"
    out = cache_folder() / "graphs" / name
    if not out.exists():
        out.parent.mkdir(parents=True, exist_ok=True)
        _compile(files, out, names, types, options)
    return out


def _compile(
    files: list[Path],
    out: Path,
    names: list[Path],
    types: list[Path],
    options: Mapping[str, list[str]],
) -> None:
    from graphwalker.graphs.build.build import build_graph
    from graphwalker.graphs.compiled.properties import open_compiled

    last = {key: values[-1] for key, values in options.items()}
    form = TableForm.read(
        last.get("columns", ""), _flag(last, "header"), last.get("split"), options.get("refers", ())
    )
    from_ids = bool(_flag(last, "names_from_ids"))
    listed = ",".join(map(str, files))
    try:
        built = build_graph(
            files,
            out,
            names or None,
            types or None,
            progress=log.debug,
            names_from_ids=from_ids,
            form=form,
        )
    except UserError as error:
        raise UserError(f"{error}{_as_graph(listed, options, str(error))}") from None
    kinds = (("entity", "entities"), ("relation", "relations"), ("triple", "triples"))
    counts = ", ".join(number_of(built[many], one, many) for one, many in kinds)
    several = built.get("fields of several values", 0)
    log.warning(
        "read %s: %s%s", listed, counts,
        f"; {number_of(several, 'field')} of several values" if several else "",
    )  # fmt: skip
    for fact in sample_facts(open_compiled(out)):
        log.warning("fact: %s", fact)
    for line in built.get("read", ()):
        log.warning("read: %s", line)
    for warning in built.get("warnings", ()):
        log.warning("warning: %s%s", warning, _as_graph(listed, options, str(warning)))


def _as_graph(listed: str, options: Mapping[str, list[str]], why: str) -> str:
    """Return the texts that name the graph with the options that an error names: one for each
    answer to a question, and all answers of `refers` in each, which ask about several columns."""
    fixed = {key: list(values) for key, values in options.items()}
    answers: list[tuple[str, str]] = []
    for key, value in _find_options(why):
        if key != "refers":
            answers.append((key, value))
        # Of several answers to one question the first.
        elif not any(value.startswith(one.partition("=")[0]) for one in fixed.get(key, ())):
            fixed.setdefault(key, []).append(value)
    if not answers and fixed == options:
        return ""
    given = [{**fixed, key: [value]} for key, value in answers] or [fixed]
    queries = ["&".join(f"{k}={v}" for k, values in one.items() for v in values) for one in given]
    texts = " or ".join(f"'{listed}?{query}'" for query in queries)
    return f" (as a graph: {texts})"


def _find_options(why: str) -> Iterator[tuple[str, str]]:
    """Yield each option that an error names, with its value."""
    for found in dict.fromkeys(_NAMED.findall(why)):
        key, value = filter(None, found)
        yield key, value.rstrip(",")


def _flag(options: Mapping[str, str], key: str) -> bool | None:
    """Return what an option says, `None` where it is not given. Raises `UserError`."""
    if (value := options.get(key)) is None:
        return None
    if value not in _YES:
        raise UserError(f"{key}={value}: give {' or '.join(_YES)}")
    return _YES[value]


def _is_compiled(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(len(MAGIC)) == MAGIC or path.suffix == ".gwk"


def sample_facts(graph: KnowledgeGraph) -> Iterator[str]:
    """Yield three facts, from which a person sees whether the input was read as it was meant."""
    shown: set[tuple[str, str, str]] = set()
    spread = [graph.size * part // FACTS_SHOWN for part in range(FACTS_SHOWN if graph.size else 0)]
    # In a small graph, several of these may have the same fact alone: the first entities follow.
    for entity in map(graph.entity_at, (*spread, *range(min(graph.size, 20)))):
        sides = [(r, d) for d in Direction for r, _ in graph.relations(entity.id, d)]
        for relation, direction in sides:
            fact = graph.triples(entity.id, [relation], direction, 1)[0]
            texts = (fact.head.name or fact.head.id, relation, fact.tail.name or fact.tail.id)
            if texts not in shown and len(shown) < FACTS_SHOWN:
                shown.add(texts)
                yield " | ".join(text[:80] for text in texts)
                break
