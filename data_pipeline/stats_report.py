"""The statistics of a corpus beside the paper's: tables, figures, a map of its questions."""

import json
from collections.abc import Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from data_pipeline.config import TABLE_6, TABLE_7
from data_pipeline.contamination_embed import TFIDF, open_embedder
from data_pipeline.stats import describe, table
from data_pipeline.stats_figures import bars, scatter
from graphwalker.errors import UserError
from graphwalker.jsonl import read_jsonl

FIGURES = {"structures": "structure", "hops": "hops", "most_used_relations": "relation"}
MAPPED = 2000
"""Questions on the map: the first ones of the file."""


def report(source: Path, out: Path) -> dict[str, Any]:
    """Write stats.json, stats.md and the figures of a file of questions or trajectories.

    Table 6 or 7, whichever has these structures, stands beside the mix. Raises `UserError` for a
    file without records, or of records that are neither.
    """
    try:
        described = describe(read_jsonl(source))
    except (KeyError, TypeError) as error:
        raise UserError(
            f"{source}: neither questions nor trajectories of ours ({error} is missing)"
        ) from None
    if not described["count"]:
        raise UserError(f"{source}: no records")
    out.mkdir(parents=True, exist_ok=True)
    stats = {"file": source.name, **described, "paper": beside(described["structures"])}
    (out / "stats.json").write_text(
        json.dumps(stats, indent=1, ensure_ascii=False) + "\n", encoding="utf-8"
    )
    (out / "stats.md").write_text(markdown(stats), encoding="utf-8")
    for name in FIGURES:
        (out / f"{name}.svg").write_text(bars(FIGURES[name], described[name]), encoding="utf-8")
    (out / "map.svg").write_text(question_map(source), encoding="utf-8")
    return stats


def beside(structures: Mapping[str, int]) -> dict[str, Any]:
    """The paper's table that has the same structures: shares, ours and theirs, and the largest
    difference in points; empty where neither has."""
    for name, paper in (("Table 6", TABLE_6), ("Table 7", TABLE_7)):
        if set(structures) == set(paper):
            ours = {s: 100 * structures[s] / sum(structures.values()) for s in paper}
            theirs = {s: 100 * count / sum(paper.values()) for s, count in paper.items()}
            most = max(abs(ours[s] - theirs[s]) for s in paper)
            rows = {s: [round(ours[s], 2), round(theirs[s], 2)] for s in paper}
            return {"table": name, "shares": rows, "largest_difference": round(most, 2)}
    return {}


def markdown(stats: Mapping[str, Any]) -> str:
    """The tables for a reader."""
    lines = [f"# Statistics of {stats['file']}", "", f"{stats['count']:,} records."]
    if paper := stats["paper"]:
        lines += ["", f"| structure | share, % | GraphWalker {paper['table']}, % |"]
        lines += ["| --- | ---: | ---: |"]
        lines += [f"| {s} | {ours} | {theirs} |" for s, (ours, theirs) in paper["shares"].items()]
        lines += ["", f"Largest difference: {paper['largest_difference']} points."]
    for name in ("structures", "hops", "splits", "answers", "turns", "most_used_relations"):
        if stats.get(name):
            lines += ["", *table(name.replace("_", " "), stats[name])]
    figures = (*FIGURES, "map")
    lines += ["", *(f"![{name}]({name}.svg)" for name in figures), ""]
    return "\n".join(lines)


def question_map(source: Path) -> str:
    """Questions on the two main axes of their hashed TF-IDF vectors: near means shared words."""
    import numpy as np

    found = [r["question"] if "turns" in r else r for r in islice(read_jsonl(source), MAPPED)]
    texts, groups = [r["question"] for r in found], [r["structure"] for r in found]
    embedder = open_embedder(TFIDF)
    embedder.fit(texts)
    rows = embedder.embed(texts)
    rows = rows - rows.mean(axis=0)
    _, axes = np.linalg.eigh(rows.T @ rows if len(rows) > rows.shape[1] else rows @ rows.T)
    flat = rows @ axes[:, -2:] if len(rows) > rows.shape[1] else axes[:, -2:]
    flat = flat if flat.shape[1] == 2 else np.zeros((len(rows), 2))
    points = [(float(x), float(y)) for x, y in flat]
    return scatter("questions by shared words", points, groups)
