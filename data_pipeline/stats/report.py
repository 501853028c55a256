"""The statistics of a corpus beside the paper's, in tables, and what costs its tokens."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from data_pipeline.config import TABLE_6, TABLE_7
from data_pipeline.contamination.check import CloseRules, write_check
from data_pipeline.contamination.embed import open_embedder
from data_pipeline.stats.card import describe, table, whole
from graphwalker.counts import number_of
from graphwalker.errors import UserError
from graphwalker.files import read_jsonl, write_json
from graphwalker.runs import one_writer
from graphwalker.trajectory import Trajectory


@one_writer("out")
def report(
    source: Path, out: Path, against: Sequence[Path] = (), embedding: str = ""
) -> dict[str, Any]:
    """Write stats.json and stats.md of a file of questions or trajectories.

    Table 6 or 7, whichever has these structures, stands beside the mix. With test files in
    `against`: Table 5, by the embedding. Raises `UserError` for a file without records, or of
    records that are neither.
    """
    try:
        described = describe(read_jsonl(source))
    except (KeyError, TypeError) as error:
        raise UserError(
            f"{source}: neither questions nor trajectories of our form ({error} is missing)"
        ) from None
    if not described["count"]:
        raise UserError(f"{source}: no records")
    out.mkdir(parents=True, exist_ok=True)
    stats = {"file": source.name, **described, "paper": beside(described["structures"])}
    if against:
        found = write_check(source, against, out, open_embedder(embedding), CloseRules())
        stats["contamination"] = {k: found[k] for k in ("embedding", "against", "thresholds")}
    write_json(out / "stats.json", stats, ensure_ascii=False)
    (out / "stats.md").write_text(markdown(stats), encoding="utf-8")
    return stats


def beside(structures: Mapping[str, int]) -> dict[str, Any]:
    """Return the paper's table that has the same structures: shares here and there, and the largest
    difference in points; empty where neither has."""
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
    """Return the tables for a reader."""
    lines = [f"# Statistics of {stats['file']}", "", f"{number_of(stats['count'], 'record')}."]
    if paper := stats["paper"]:
        lines += ["", f"| structure | share, % | GraphWalker {paper['table']}, % |"]
        lines += ["| --- | ---: | ---: |"]
        lines += [f"| {s} | {ours} | {theirs} |" for s, (ours, theirs) in paper["shares"].items()]
        lines += ["", f"Largest difference: {paper['largest_difference']} points."]
    for name in ("structures", "hops", "splits", "answers", "turns", "most_used_relations"):
        if stats.get(name):
            lines += ["", *table(name.replace("_", " "), stats[name], whole(stats, name))]
    if "contamination" in stats:
        lines += ["", "Beside test questions: [contamination.md](contamination.md) (Table 5)."]
    lines.append("")
    return "\n".join(lines)


SHOWN = 10
"""Relation ids in the table: those that cost most."""
_RELATION = re.compile(r"[a-z_0-9]+(?:\.+[a-z_0-9]+){2,}")


def token_costs(trajectories: Iterable[Trajectory], model: str) -> dict[str, Any]:
    """Mean tokens of a trajectory by part, and the relation ids that cost most over all.

    `model` is a folder with a tokenizer. Raises `UserError` where none is there, and for a corpus
    without trajectories.
    """
    count = _counter(model)
    parts, relations, episodes = Counter[str](), Counter[str](), 0
    for episode in trajectories:
        episodes += 1
        for number, turn in enumerate(episode.turns):
            context = "\n".join(message.content for message in turn.context)
            parts["observations" if number else "prompt"] += count(context)
            parts["thoughts"] += count(turn.thought)
            parts["calls and answers"] += count(turn.completion) - count(turn.thought)
            relations.update(_RELATION.findall(f"{context if number else ''} {turn.completion}"))
    if not episodes:
        raise UserError("--tokenizer: counts the tokens of trajectories, and the file has none")
    cost = Counter({name: times * count(name) for name, times in relations.items()})
    whole = sum(parts.values())
    return {
        "tokens_of_a_trajectory": round(whole / episodes, 1),
        "by_part": {name: round(n / episodes, 1) for name, n in parts.most_common()},
        "relation_ids": {
            "share": round(sum(cost.values()) / max(1, whole), 3),
            "tokens_of_one": round(sum(cost.values()) / max(1, relations.total()), 1),
            "costliest": {
                name: f"{count(name)} tokens, {relations[name]:,} times"
                for name, _ in cost.most_common(SHOWN)
            },
        },
    }


def _counter(model: str) -> Any:
    """Return a function that counts the tokens of a text; texts are counted once."""
    from graphwalker.pretrained.load import read_tokenizer

    if not Path(model).is_dir():
        raise UserError(f"--tokenizer {model}: no such model folder")
    tokenizer = read_tokenizer(model)
    known: dict[str, int] = {}

    def count(text: str) -> int:
        if text not in known:
            known[text] = len(tokenizer.encode(text, add_special_tokens=False))
        return known[text]

    return count
