"""Questions for the rows of `benchmarks.webqsp_rows`, from $GRAPHWALKER_DATA into our form."""

import csv
import gzip
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmarks.record import ROOT
from graphwalker.errors import UserError
from graphwalker.files import read_jsonl, write_jsonl
from graphwalker.graphs.base import Direction, Entity, KnowledgeGraph, Side

POPULARITY, SEED_LINES = 0.75, 200_000
FIFTH = 5
"""Of the training questions every fifth is for choosing settings, in `split=dev`."""


class Sources:
    """Where the questions are: as they come, and typed (`dataset resolve`) by their name."""

    def __init__(self, folder: Path, split: str) -> None:
        beside = ROOT.parent / "shared" / "data"
        self.data = Path(os.environ.get("GRAPHWALKER_DATA") or beside)
        self.folder, self.split = folder, split
        names = ("webqsp", "simplequestions")
        self.untyped = {name: folder / f"{name}-untyped.jsonl" for name in names}
        self.test = folder / f"{split}.jsonl"
        self.seeds = folder / "seeds.txt"

    def __getitem__(self, name: str) -> Path:
        return self.folder / f"{name}.jsonl"

    def graph_files(self) -> tuple[str, ...]:
        """Arguments of `graph build`. Raises `UserError` where there are no data."""
        if not self.data.is_dir():
            raise UserError(f"{self.data}: no such folder; set GRAPHWALKER_DATA")
        files = {"triples": "triples", "names": "entities", "types": "entity_types"}
        folder = self.data / "fb15k"
        return tuple(w for k, v in files.items() for w in (f"--{k}", str(folder / f"{v}.tsv.gz")))

    def write(self, graph: KnowledgeGraph) -> None:
        """The question files."""
        train = list(read_jsonl(self._webqsp("train")))
        test = list(read_jsonl(self._webqsp("test")))
        if self.split == "dev":
            test = train[::FIFTH]
            train = [record for n, record in enumerate(train) if n % FIFTH]
        write_jsonl(self.untyped["webqsp"], train)
        write_jsonl(self.test, test)
        write_jsonl(self.untyped["simplequestions"], list(self._simple(graph)))
        self.seeds.write_text("".join(_seeds(graph)), encoding="utf-8")

    def _webqsp(self, split: str) -> Path:
        return self.data / "webqsp_on_fb15k" / f"{split}.jsonl.gz"

    def _simple(self, graph: KnowledgeGraph) -> Iterator[dict[str, Any]]:
        """SimpleQuestions whose subject has the relation on this graph. Its gold is one object;
        ours are all of the subject, as a question does not say which of them it means."""
        folder = self.data / "simplequestions"
        for n, (head, relation, _, text) in enumerate(_rows(folder / "valid_freebase.tsv.gz")):
            if ends := graph.step(head, relation, Direction.OUT):
                topic = Entity(head, graph.name(head))
                yield _record(f"sq-freebase-{n}", text, topic, relation, ends)
        mids = self._wikidata_ids()
        for n, (head, _, tail, text) in enumerate(_rows(folder / "train_wikidata.tsv.gz")):
            if head in mids and tail in mids:
                found = list(_links(graph, mids[head], mids[tail]))
                if len(found) == 1:  # else nothing says which of the relations is meant
                    relation, ends = found[0]
                    topic = Entity(mids[head], graph.name(mids[head]))
                    yield _record(f"sq-wikidata-{n}", text, topic, relation, ends)

    def _wikidata_ids(self) -> dict[str, str]:
        with gzip.open(self.data / "fb15k" / "entities.tsv.gz", "rt", encoding="utf-8") as lines:
            table = csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)
            return {row["wikidata_id"]: row["mid"] for row in table if row["wikidata_id"]}


def _seeds(graph: KnowledgeGraph) -> Iterator[str]:
    """Lines of entity ids for `seeds_file`: people ask about what is known, so an entity stands
    there as often as its number of facts to the power of POPULARITY says."""
    ids = [graph.entity_at(index).id for index in range(graph.size)]
    sides = [Side(entity, direction) for entity in ids for direction in Direction]
    facts = [sum(n for _, n in found) for found in graph.relations_many(sides)]
    shares = [(out + into) ** POPULARITY for out, into in zip(facts[::2], facts[1::2], strict=True)]
    total = sum(shares)
    for entity, share in zip(ids, shares, strict=True):
        yield f"{entity}\n" * max(1, round(SEED_LINES * share / total))


def _rows(path: Path) -> Iterator[list[str]]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            yield line.rstrip("\n").split("\t")


def _links(graph: KnowledgeGraph, head: str, tail: str) -> Iterator[tuple[str, list[Entity]]]:
    """The relations from one entity to the other, `~` before inverse ones, and all their ends."""
    for direction in Direction:
        mark = "~" if direction is Direction.IN else ""
        for relation, _ in graph.relations(head, direction):
            ends = graph.step(head, relation, direction)
            if any(end.id == tail for end in ends):
                yield mark + relation, ends


def _record(
    name: str, text: str, topic: Entity, relation: str, ends: Sequence[Entity]
) -> dict[str, Any]:
    return {
        "id": name,
        "dataset": "simplequestions",
        "split": "train",
        "question": text,
        "topic_entities": [{"id": topic.id, "name": topic.name}],
        "answers": [{"id": end.id, "name": end.name, "aliases": []} for end in ends],
        "structure": "1-hop",
        "hops": 1,
        "query": {"relation_path": [relation]},
    }
