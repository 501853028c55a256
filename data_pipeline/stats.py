"""Statistics of a data set: structures, hops, turns, relations and drops, as tables and a card."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from data_pipeline.ledger import IRRELEVANT, count_reasons
from graphwalker.config import Config
from graphwalker.jsonl import read_jsonl

TOP_RELATIONS = 30
LICENCE = (
    "The facts and names are the graph's: its source's licence holds. The wording of GraphWalker's "
    "templates is under Apache-2.0; of a chat model's, its provider's terms hold."
)


def describe(records: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Distributions over questions or trajectories (as their JSON records)."""
    counts: dict[str, Counter[Any]] = {
        name: Counter()
        for name in ("structures", "hops", "splits", "answers", "turns", "relations")
    }
    paths: set[tuple[str, ...]] = set()
    topics: set[str] = set()
    total = 0
    for record in records:
        total += 1
        question = record["question"] if "turns" in record else record
        counts["structures"][question["structure"]] += 1
        counts["hops"][str(question["hops"])] += 1
        counts["splits"][question["split"]] += 1
        counts["answers"][str(len(question["answers"]))] += 1
        if "turns" in record:
            counts["turns"][str(len(record["turns"]))] += 1
        query = question["query"]
        if "branches" not in query:  # a benchmark's question, whose walk is not ours to tell
            topics.update(topic["id"] for topic in question["topic_entities"])
            continue
        topics.update(branch["topic"]["id"] for branch in query["branches"])
        paths.add(tuple(query["path"]))
        hops = [hop for branch in query["branches"] for hop in branch["hops"]] + query["tail"]
        counts["relations"].update(hop.removeprefix("~") for hop in hops)
    relations = counts.pop("relations")
    return {
        "count": total,
        **{name: dict(sorted(counter.items())) for name, counter in counts.items() if counter},
        "distinct_relation_paths": len(paths),
        "distinct_topic_entities": len(topics),
        "distinct_relations": len(relations),
        "most_used_relations": dict(
            sorted(relations.items(), key=lambda item: (-item[1], item[0]))[:TOP_RELATIONS]
        ),
    }


def write_card(
    out: Path,
    stage: str,
    config: Config,
    graph: Mapping[str, Any],
    made: str,
    more: Mapping[str, Any] = {},
) -> dict[str, Any]:
    """Write datacard.json and datacard.md beside the data; returns what they say."""
    dropped = count_reasons(read_jsonl(out / "dropped.jsonl"))
    described = describe(read_jsonl(out / made))
    attempts = described["count"] + sum(dropped.values())
    card = {
        "stage": stage,
        "file": made,
        "graph": dict(graph),
        "attempts": attempts,
        "yield": round(described["count"] / attempts, 4) if attempts else 0.0,
        **described,
        **more,
        "dropped": dropped,
        "licence": LICENCE,
        "config": config.model_dump(mode="json", exclude=set(IRRELEVANT)),
    }
    (out / "datacard.json").write_text(
        json.dumps(card, indent=1, ensure_ascii=False) + "\n", encoding="utf-8"
    )
    (out / "datacard.md").write_text(markdown(card), encoding="utf-8")
    return card


def markdown(card: Mapping[str, Any]) -> str:
    """The data card for a reader."""
    lines = [
        f"# Data card: {card['file']}",
        "",
        f"{card['count']} records, made by the stage `{card['stage']}` from {card['attempts']} "
        f"attempts (yield {card['yield']:.1%}).",
        f"Seed {card['config'].get('seed')}; graph checksum `{card['graph'].get('checksum', '')}`.",
        f"{card['distinct_topic_entities']} topic entities, {card['distinct_relations']} "
        f"relations, {card['distinct_relation_paths']} relation paths.",
    ]
    titles = {
        "structures": "structure",
        "hops": "hops",
        "splits": "split",
        "answers": "answers",
        "turns": "turns",
        "errors": "error",
        "most_used_relations": "relation",
        "dropped": "dropped at",
    }
    for name, title in titles.items():
        if card.get(name):
            lines += ["", *table(title, card[name])]
    if "licence" in card:
        lines += ["", "## Licence", "", card["licence"]]
    lines += ["", "## Settings", "", "```json", json.dumps(card["config"], indent=1), "```", ""]
    return "\n".join(lines)


def table(title: str, counts: Mapping[str, int]) -> list[str]:
    """A Markdown table of counts and shares."""
    total = sum(counts.values())
    rows = [f"| {name} | {count} | {count / total:.1%} |" for name, count in counts.items()]
    return [f"| {title} | count | share |", "| --- | ---: | ---: |", *rows]
