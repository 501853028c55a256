"""The statistics of a corpus beside the paper's: tables, figures, a map of its questions."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate, islice
from pathlib import Path
from typing import Any

from data_pipeline.config import TABLE_6, TABLE_7
from data_pipeline.contamination.check import CloseRules, load_sets, write_check
from data_pipeline.contamination.embed import TFIDF, Embedder, open_embedder
from data_pipeline.stats.card import describe, relation_counts, table, whole
from data_pipeline.stats.figures import bars, curve, scatter
from graphwalker.errors import UserError
from graphwalker.files import read_jsonl, write_json
from graphwalker.runs import one_writer

FIGURES = {"structures": "structure", "hops": "hops", "most_used_relations": "relation"}
MAPPED = 2000
"""Questions of each file on a map: its first ones."""


@one_writer("out")
def report(
    source: Path, out: Path, against: Sequence[Path] = (), embedding: str = TFIDF
) -> dict[str, Any]:
    """Write stats.json, stats.md and the figures of a file of questions or trajectories.

    Table 6 or 7, whichever has these structures, stands beside the mix. With test files in
    `against`: Table 5, the similarities (Figure 7) and a map beside their questions (Figure 8), by
    the embedding. Raises `UserError` for a file without records, or of records that are neither.
    """
    try:
        described = describe(read_jsonl(source))
    except (KeyError, TypeError) as error:
        raise UserError(
            f"{source}: neither questions nor trajectories of our form ({error} is missing)"
        ) from None
    if not described["count"]:
        raise UserError(f"{source}: no records")
    embedder = open_embedder(embedding)
    out.mkdir(parents=True, exist_ok=True)
    stats = {"file": source.name, **described, "paper": beside(described["structures"])}
    for name in FIGURES:
        picture = bars(FIGURES[name], described[name], whole(described, name))
        (out / f"{name}.svg").write_text(picture, encoding="utf-8")
    (out / "relation_shares.svg").write_text(_relation_shares(source), encoding="utf-8")
    own = list(islice(_questions(source), MAPPED))
    _draw_map(out / "map.svg", embedder, own)
    if against:
        found = write_check(source, against, out, embedder, CloseRules())
        stats["contamination"] = {k: found[k] for k in ("embedding", "against", "thresholds")}
        sets = load_sets(against)
        others = [(q.text, name) for name, questions in sets.items() for q in questions[:MAPPED]]
        mine = [(text, source.name) for text, _ in own]
        _draw_map(out / "map_sources.svg", embedder, [*mine, *others])
    write_json(out / "stats.json", stats, ensure_ascii=False)
    (out / "stats.md").write_text(markdown(stats), encoding="utf-8")
    return stats


def beside(structures: Mapping[str, int]) -> dict[str, Any]:
    """The paper's table that has the same structures: shares here and there, and the
    largest difference in points; empty where neither has."""
    for name, weights in (("Table 6", TABLE_6), ("Table 7", TABLE_7)):
        paper = {s: count for s, count in weights.items() if count or s in structures}
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
            lines += ["", *table(name.replace("_", " "), stats[name], whole(stats, name))]
    figures = [*FIGURES, "relation_shares", "map"]
    if "contamination" in stats:
        lines += ["", "Beside test questions: [contamination.md](contamination.md) (Table 5)."]
        figures += ["contamination", "similarities", "map_sources"]
    lines += ["", *(f"![{name}]({name}.svg)" for name in figures), ""]
    return "\n".join(lines)


def _questions(source: Path) -> Iterator[tuple[str, str]]:
    """Text and structure of each question."""
    for record in read_jsonl(source):
        question = record["question"] if "turns" in record else record
        yield question.get("question", ""), question["structure"]


def _relation_shares(source: Path) -> str:
    """How much of all hops the most used relations take together: one line from 1 to all."""
    uses = sorted(relation_counts(read_jsonl(source)).values(), reverse=True)
    total = sum(uses) or 1
    shares = [count / total for count in accumulate(uses)]
    return curve("share of all hops that the most used relations take", shares, "relations")


def _draw_map(path: Path, embedder: Embedder, texts: Sequence[tuple[str, str]]) -> None:
    """Questions, coloured by group, on the two main axes of their vectors (an SVD)."""
    import numpy as np

    questions, groups = [text for text, _ in texts], [group for _, group in texts]
    embedder.fit(questions)
    rows = embedder.embed(questions)
    rows = rows - rows.mean(axis=0)
    wide = len(rows) <= rows.shape[1]
    _, axes = np.linalg.eigh(rows @ rows.T if wide else rows.T @ rows)
    flat = axes[:, -2:] if wide else rows @ axes[:, -2:]
    flat = flat if flat.shape[1] == 2 else np.zeros((len(rows), 2))
    points = [(float(x), float(y)) for x, y in flat]
    title = "questions by meaning" if embedder.semantic else "questions by shared words"
    path.write_text(scatter(title, points, groups), encoding="utf-8")
