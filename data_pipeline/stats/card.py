"""Statistics of a data set: structures, hops, turns, relations and drops, as tables and a card."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from data_pipeline.config import SamplingConfig
from data_pipeline.jobs.distinct import TextSet
from data_pipeline.jobs.ledger import DROPPED, IRRELEVANT, count_reasons
from data_pipeline.teacher.thoughts import compares
from graphwalker.config import Config
from graphwalker.counts import number_of
from graphwalker.files import digest, read_jsonl, write_json, write_text
from graphwalker.hub.cards import CARD, data_facts, with_front_matter
from graphwalker.query.query import Query, parse_hop
from graphwalker.question import Question
from graphwalker.settings.named import QUESTION_FILES
from graphwalker.trajectory import Trajectory

TOP_RELATIONS = 30
NONE = "(none)"
"""What a card calls the structure and the split of questions that have none."""
LICENCE = (
    "The facts and names are the graph's: its source's licence holds. The wording of GraphWalker's "
    "templates is under Apache-2.0; of a chat model's, its provider's terms hold."
)


def describe(records: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Distributions over questions or trajectories (as their JSON records)."""
    counts: dict[str, Counter[Any]] = {
        name: Counter() for name in ("structures", "hops", "splits", "answers", "turns")
    }
    hops = Counter[str]()
    paths, topics = TextSet(), TextSet()
    total = 0
    for record in records:
        total += 1
        question = record["question"] if "turns" in record else record
        counts["structures"][question["structure"] or NONE] += 1
        counts["hops"][str(question["hops"])] += 1
        counts["splits"][question["split"] or NONE] += 1
        counts["answers"][str(len(question["answers"]))] += 1
        if "turns" in record:
            counts["turns"][str(len(record["turns"]))] += 1
        query = question.get("query") or {}
        if not (branches := query.get("branches")):
            for topic in question["topic_entities"]:
                topics.add(topic["id"])
            continue
        # Read as they lie there: a `Query` of each record takes as long as all the rest.
        for branch in branches:
            topics.add(branch["topic"]["id"])
            hops.update(branch["hops"])
        hops.update(query.get("tail", ()))
        paths.add("\n".join(query.get("path") or Query.from_json(query).path))
    relations = Counter[str]()
    for hop, uses in hops.items():
        relations[parse_hop(hop).relation] += uses
    return {
        "count": total,
        **{name: dict(sorted(c.items(), key=_number)) for name, c in counts.items() if c},
        "distinct_relation_paths": len(paths),
        "distinct_topic_entities": len(topics),
        "distinct_relations": len(relations),
        "relation_uses": relations.total(),
        "most_used_relations": dict(
            sorted(relations.items(), key=lambda item: (-item[1], item[0]))[:TOP_RELATIONS]
        ),
    }


def _number(item: tuple[str, int]) -> tuple[int, str]:
    """Return numbers by their value, whatever else by its letters."""
    return (int(item[0]) if item[0].isdecimal() else 0, item[0])


def write_card(
    out: Path,
    stage: str,
    config: Config,
    graph: Mapping[str, Any],
    made: str,
    more: Mapping[str, Any] = {},
) -> dict[str, Any]:
    """Write datacard.json and README.md, the Hub's card; returns what they hold."""
    dropped = count_reasons(read_jsonl(out / DROPPED))
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
        "digests": {file.name: digest(file) for file in sorted(out.glob("*.jsonl"))},
        "licence": LICENCE,
        "config": config.model_dump(mode="json", exclude=set(IRRELEVANT)),
    }
    files = [name for name in dict.fromkeys((made, QUESTION_FILES[0])) if (out / name).is_file()]
    facts = data_facts(files, described["count"])
    write_text(out / CARD, with_front_matter(facts, markdown(card)))
    write_json(out / "datacard.json", card, ensure_ascii=False)
    return card


def markdown(card: Mapping[str, Any]) -> str:
    """Return the data card for a reader."""
    lines = [
        f"# Data card: {card['file']}",
        "",
        f"{number_of(card['count'], 'record')}, made by the stage `{card['stage']}` from "
        f"{number_of(card['attempts'], 'attempt')} (yield {card['yield']:.1%}).",
        f"Seed {card['config'].get('seed')}; graph checksum `{card['graph'].get('checksum', '')}`.",
        f"{number_of(card['distinct_topic_entities'], 'topic entity', 'topic entities')}, "
        f"{number_of(card['distinct_relations'], 'relation')}, "
        f"{number_of(card['distinct_relation_paths'], 'relation path')}.",
    ]
    if like := card.get("like"):
        lines.append(
            f"Like the questions of {like['file']}: at most "
            f"{number_of(like['max_answers'], 'answer')} and "
            f"{number_of(like['max_frontier'], 'entity', 'entities')} on the way, as "
            f"{like['share_within_bounds']:.0%} of them have, unless these were set."
        )
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
            lines += ["", *table(title, card[name], whole(card, name))]
    if "licence" in card:
        lines += ["", "## Licence", "", card["licence"]]
    lines += ["", "## Settings", "", "```json", json.dumps(card["config"], indent=1), "```", ""]
    return "\n".join(lines)


def whole(described: Mapping[str, Any], name: str) -> int:
    """Return what shares are shares of: the most used relations are not all of them."""
    if name == "most_used_relations":
        return described["relation_uses"]
    return sum(described[name].values())


def table(title: str, counts: Mapping[str, int], total: int) -> list[str]:
    """Return a Markdown table of counts and of their shares of a total."""
    rows = [f"| {name} | {count} | {count / total:.1%} |" for name, count in counts.items()]
    return [f"| {title} | count | share |", "| --- | ---: | ---: |", *rows]


def teacher_counts(records: Iterable[Mapping[str, Any]], config: SamplingConfig) -> dict[str, Any]:
    """Counts over the questions or trajectories (as their JSON records) of a chat teacher.

    `ambiguity`: of all hops, those of which the text also fits other relations of the entity (all
    of them were executed, and gave the same answers or none), and those that are said in words
    which no known phrase has: a judge has read each of these again, where there is one.
    """
    if not config.teacher.chats:
        return {}
    thoughts, ambiguity = Counter[str](), Counter[str]()
    for record in records:
        if "turns" in record:
            _count_thoughts(Trajectory.from_json(dict(record)), thoughts)
        question = record["question"] if "turns" in record else record
        _count_readings(Question.from_json(dict(question)), ambiguity)
    names = ("hops", "with_other_readings_executed", "in_words_of_its_own")
    doubts: dict[str, Any] = {name: ambiguity[name] for name in names}
    doubts["own_words_read_again"] = "by the judge" if config.is_judged else "by nobody"
    counted = {"thoughts": dict(thoughts)} if thoughts else {}
    return {"teacher": {"model": config.teacher.model, **counted, "ambiguity": doubts}}


def _count_thoughts(trajectory: Trajectory, counts: Counter[str]) -> None:
    own = trajectory.provenance.get("programmatic_thoughts", [])
    choices = [
        found
        for before, turn in zip(trajectory.turns, trajectory.turns[1:], strict=False)
        if (found := compares(turn, before)) is not None
    ]
    counts["turns"] += len(trajectory.turns)
    counts["programmatic"] += len(own)
    counts["records_with_programmatic"] += bool(own)
    counts["choices_of_a_relation"] += len(choices)
    counts["choices_that_name_another"] += sum(choices)


def _count_readings(question: Question, counts: Counter[str]) -> None:
    if question.wording is None:
        return
    readings = [hop for branch in question.wording.readings for hop in branch]
    readings += question.wording.tail_readings
    counts["hops"] += len(readings)
    counts["with_other_readings_executed"] += sum(len(hop) > 1 for hop in readings)
    counts["in_words_of_its_own"] += len(question.wording.own_words)
