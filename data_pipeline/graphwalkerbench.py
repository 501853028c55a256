"""GraphWalkerBench: certified test questions of seen and unseen structures, for any graph."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from data_pipeline.config import BenchConfig
from data_pipeline.jobs.ledger import JobProgress
from data_pipeline.stats.card import write_card
from data_pipeline.synthesize import QUESTIONS, RECIPES, WALKS, Recipe, make
from data_pipeline.walks.sampler import Walk
from graphwalker.errors import UserError
from graphwalker.files import digest, read_jsonl, write_json
from graphwalker.graphs.open import open_graph
from graphwalker.query.query import stored_query

GWBENCH = "GWBench.json"
BENCH = Recipe("bench", RECIPES["questions"].build, (WALKS, QUESTIONS))


def make_bench(
    graph: Path | str,
    config: BenchConfig,
    against: Sequence[Path],
    out: Path,
    progress: JobProgress | None = None,
) -> dict[str, Any]:
    """Make the benchmark of GraphWalker Table 7 on any graph; returns its data card.

    Writes GWBench.json (the published form), questions.jsonl (ours, with queries and answers by
    id), walks.jsonl, dropped.jsonl and the card. No question, query or topic entity of a corpus in
    `against` (JSONL of our questions or trajectories) is taken. Raises `UserError` where such a
    corpus holds one of `config.unseen`, or the graph has too few questions.
    """
    trained = Trained(against)
    for name in config.unseen:
        if count := trained.structures[name]:
            raise UserError(
                f"{', '.join(map(str, against))}: {count:,} of its questions are {name}, which is "
                "to be unseen: train without it, or name other structures (unseen=[...])"
            )
    make(graph, config, out, progress, recipe=BENCH, exclude=trained)
    write_json(out / GWBENCH, list(_publish(out)), ensure_ascii=False)
    about = {"checksum": open_graph(graph).checksum}
    more = trained.compare(read_jsonl(out / QUESTIONS), config)
    return write_card(out, BENCH.name, config, about, QUESTIONS, more)


class Trained:
    """What training corpora hold: texts, queries, topic entities, relation paths, structures."""

    stage = "certificate"

    def __init__(self, files: Sequence[Path]) -> None:
        """Raise `UserError` for a file that holds neither questions nor trajectories of ours."""
        self.structures: Counter[str] = Counter()
        self._texts: set[str] = set()
        self._queries: set[str] = set()
        self._topics: set[str] = set()
        self._paths: set[tuple[str, ...]] = set()
        self.facts = {"against": {path.name: digest(path) for path in files}}
        for path in files:
            for number, record in enumerate(read_jsonl(path), start=1):
                try:
                    self._add(record["question"] if "turns" in record else record)
                except (KeyError, TypeError) as error:
                    raise UserError(
                        f"{path}: record {number} is neither a question nor a trajectory "
                        f"of our form ({error} is missing)"
                    ) from None

    def holds(self, record: Mapping[str, Any]) -> tuple[str, str]:
        return self._shared(record), ""

    def _shared(self, record: Mapping[str, Any]) -> str:
        if record["question"].casefold() in self._texts:
            return "question_in_training"
        found = stored_query(record)
        if found and found[0].key in self._queries:
            return "query_in_training"
        if any(topic["id"] in self._topics for topic in record["topic_entities"]):
            return "topic_in_training"
        return ""

    def compare(
        self, questions: Iterator[Mapping[str, Any]], config: BenchConfig
    ) -> dict[str, Any]:
        """Tell what the finished benchmark shares with the corpora, counted again from its file."""
        records = list(questions)
        shared = Counter(self._shared(record) for record in records)
        known = sum(
            (found := stored_query(r)) is not None and found[1] in self._paths for r in records
        )
        structures = {str(record["structure"]) for record in records}
        return {
            **self.facts,
            "seen_structures": sorted(structures - set(config.unseen)),
            "unseen_structures": sorted(structures & set(config.unseen)),
            "shared_with_training": {
                **{name: shared[f"{name}_in_training"] for name in ("question", "query", "topic")},
                "relation_path": known,
            },
        }

    def _add(self, question: Mapping[str, Any]) -> None:
        self._texts.add(question["question"].casefold())
        self.structures[question["structure"]] += 1
        self._topics.update(topic["id"] for topic in question["topic_entities"])
        found = stored_query(question)
        if found:
            self._queries.add(found[0].key)
            self._paths.add(found[1])


def _publish(out: Path) -> Iterator[dict[str, Any]]:
    """Yield the records of GWBench.json, with the names of one walk on each path."""
    questions = {record["unit"]: record for record in read_jsonl(out / QUESTIONS)}
    walks = {r["id"]: r for r in read_jsonl(out / WALKS) if r["id"] in questions}
    for index, (unit, question) in enumerate(questions.items()):
        paths = _name_paths(Walk.from_json(walks[unit]))
        keys = (
            ["name_path"] if len(paths) == 1 else [f"name_path{k + 1}" for k in range(len(paths))]
        )
        yield {
            "index": index,
            "type": question["structure"].lower(),
            **dict(zip(keys, paths, strict=True)),
            "question": question["question"],
            "topic_entities": {e["id"]: e["name"] for e in question["topic_entities"]},
            "answers": {answer["id"]: answer["name"] for answer in question["answers"]},
        }


def _name_paths(walk: Walk) -> list[str]:
    """`Name -> relation -> Name ...` of each branch, the shared tail at the end of both; `~` marks
    a relation that is walked backwards."""
    query, visited = walk.query, walk.visited
    found: list[str] = []
    for branch, stands in zip(query.branches, visited, strict=False):
        names = [entity.name for entity in stands]
        if query.tail:
            names += [entity.name for entity in visited[len(query.branches)][1:]]
        hops = map(str, (*branch.hops, *query.tail))
        steps = (part for pair in zip(hops, names[1:], strict=True) for part in pair)
        found.append(" -> ".join([names[0], *steps]))
    return found
