"""Questions that bring their own graph: RoG, GCR, SubgraphRAG; GNN-RAG, NSM and KG-R1."""

import json
from abc import abstractmethod
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from itertools import zip_longest
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from graphwalker.datasets import records
from graphwalker.datasets.answers import distinct
from graphwalker.datasets.files import Record, as_object
from graphwalker.errors import UserError
from graphwalker.files import json_fault
from graphwalker.graphs.base import Entity
from graphwalker.graphs.literals import is_literal
from graphwalker.graphs.names import name_of_id
from graphwalker.question import Answer, Question

OwnTriple = tuple[str, str, str]
NamesById = dict[str, str]
NAMES, LINES, INDEX, RELATIONS = (
    "entities_names.json",
    "entities_text.txt",
    "entities.txt",
    "relations.txt",
)
"""Files beside questions whose graphs are indices: ids by name, names by line, and the lists."""
_Names = Annotated[list[records.AnyText], records.null_is(list)]
_Paths = Annotated[list[records.MaybeTexts], records.null_is(list)]


class OwnGraph(records.Published):
    """A question, and the triples that it is asked of. A name is the id of its entity, too."""

    datasets = ("own-graphs", "webqsp", "cwq")
    wrappers = ("", "questions")

    id: records.Key
    question: records.Text
    paths: _Paths = records.published_as("ground_paths", "relation_paths", "paths", default=[])
    """Gold relation paths; the first is kept."""

    @classmethod
    def dataset_of(cls, head: Sequence[Record]) -> str:
        """WebQSP or CWQ, by the ids of the questions; CWQ's have a suffix."""
        ids = [str((as_object(record.value) or {}).get("id")) for record in head]
        if all(key.startswith(("WebQTrn-", "WebQTest-", "WebQSP")) for key in ids):
            return "cwq" if any("_" in key for key in ids) else "webqsp"
        return "own-graphs"

    @abstractmethod
    def topics(self, folder: Path) -> Iterable[Entity]: ...

    @abstractmethod
    def gold(self) -> Iterable[Answer]: ...

    @abstractmethod
    def own_graph(self, folder: Path) -> tuple[list[OwnTriple], NamesById]:
        """Return the triples of ids, and the names of the entities. Raises `UserError`."""

    def to_question(self, number: int, file: records.DatasetFile) -> Question:
        path = self.paths[0] if self.paths else []
        return Question(
            id=self.id,
            text=self.question,
            topic_entities=tuple(dict.fromkeys(self.topics(file.path.parent))),
            answers=distinct(self.gold()),
            structure=f"{len(path)}-hop" if path else "",
            hops=len(path),
            annotations={"relation_path": path} if path else {},
        )


class _ByName(OwnGraph):
    """`q_entity`, `answer` and `a_entity` are names, or ids of entities without one."""

    q_entity: _Names
    answer: _Names = []
    a_entity: _Names = []

    def topics(self, folder: Path) -> Iterable[Entity]:
        return (Entity(node_id(text), name_of_id(text)) for text in self.q_entity)

    def gold(self) -> Iterable[Answer]:
        ids = self.a_entity if len(self.a_entity) == len(self.answer) else self.answer
        for name, text in zip_longest(self.answer or self.a_entity, ids or self.a_entity):
            yield Answer(name_of_id(name), node_id(text))

    def own_graph(self, folder: Path) -> tuple[list[OwnTriple], NamesById]:
        triples = [(node_id(head), relation, node_id(tail)) for head, relation, tail in self.rows()]
        texts = {text for head, _, tail in self.rows() for text in (head, tail)}
        return triples, {node_id(text): name_of_id(text) for text in texts}

    @abstractmethod
    def rows(self) -> Iterable[OwnTriple]:
        """Return the triples as the record states them. Raises `UserError`."""


class RogForm(_ByName):
    """`graph` is a list of [head, relation, tail] (RoG, GCR), as `scored_triples` is, where a score
    stands behind each (SubgraphRAG's retriever)."""

    form = "RoG or GCR"

    graph: Any = records.published_as("graph", "scored_triples")

    def rows(self) -> Iterable[OwnTriple]:
        try:
            return [(str(row[0]), str(row[1]), str(row[2])) for row in self.graph]
        except (TypeError, LookupError):
            raise UserError("field 'graph' must be a list of [head, relation, tail]") from None


class SubgraphRagForm(_ByName):
    """Heads, relations and tails as indices into the record's own lists."""

    form = "SubgraphRAG"

    text_entity_list: _Names
    non_text_entity_list: _Names
    relation_list: _Names
    h_id_list: list[int]
    r_id_list: list[int]
    t_id_list: list[int]

    def rows(self) -> Iterable[OwnTriple]:
        entities, relations = (
            [*self.text_entity_list, *self.non_text_entity_list],
            self.relation_list,
        )
        columns = zip(self.h_id_list, self.r_id_list, self.t_id_list, strict=True)
        try:
            return [(entities[h], relations[r], entities[t]) for h, r, t in columns]
        except (ValueError, IndexError) as error:
            raise UserError(f"field 'h_id_list' does not fit the lists ({error})") from None


class _Given(records.Nested):
    kb_id: records.MaybeText = ""
    text: records.MaybeText = ""


class _Subgraph(records.Nested):
    tuples: Any = Field(default=[])


class GnnRagForm(OwnGraph):
    """`subgraph.tuples` and `entities` are indices into entities.txt and relations.txt beside the
    file; names come from `entities_names.json` or `entities_text.txt` there."""

    form = "GNN-RAG or KG-R1"

    entities: list[int | str]
    answers: list[_Given]
    subgraph: _Subgraph

    def topics(self, folder: Path) -> Iterable[Entity]:
        for index in self.entities:
            key = _index(folder / INDEX)(index)
            yield Entity(key, _names(folder).get(key, name_of_id(key)))

    def gold(self) -> Iterable[Answer]:
        for given in self.answers:
            name = given.text or name_of_id(given.kb_id)
            yield Answer(name, node_id(given.kb_id or given.text))

    def own_graph(self, folder: Path) -> tuple[list[OwnTriple], NamesById]:
        entity, relation = _index(folder / INDEX), _index(folder / RELATIONS)
        try:
            found = [(entity(h), relation(r), entity(t)) for h, r, t in self.subgraph.tuples]
        except UserError:
            raise
        except (TypeError, ValueError):
            raise UserError(
                "field 'subgraph.tuples' must be a list of [head, relation, tail]"
            ) from None
        known = _names(folder) | {node_id(a.kb_id): a.text for a in self.answers if a.text}
        nodes = {node for head, _, tail in found for node in (head, tail)}
        return found, {node: known.get(node, name_of_id(node)) for node in nodes}


OWN_GRAPHS: tuple[type[OwnGraph], ...] = (RogForm, SubgraphRagForm, GnnRagForm)


def node_id(text: str) -> str:
    """Return the id of a named node; one in quotation marks must not read as a literal."""
    return f"'{text}" if is_literal(text) else text


def companions_of(folder: Path) -> list[Path]:
    """Return the files that a graph of indices is read with."""
    return [path for name in (NAMES, LINES, INDEX, RELATIONS) if (path := folder / name).is_file()]


@lru_cache(4)
def _index(path: Path) -> Callable[[int | str], str]:
    """Return the id of each line; an id stands for itself."""
    lines = path.read_text(encoding="utf-8").split("\n") if path.is_file() else []

    def find(given: int | str) -> str:
        if not isinstance(given, int):
            return node_id(given)
        if not 0 <= given < len(lines):
            raise UserError(f"entry {given} is not in {path}: put that list beside the questions")
        return node_id(lines[given].strip())

    return find


@lru_cache(1)
def _names(folder: Path) -> NamesById:
    """NamesById by id, empty where no file beside the questions says them."""
    if (path := folder / NAMES).is_file():
        try:
            given: dict[str, str] = json.loads(path.read_text(encoding="utf-8"))
            return {str(key): name_of_id(str(name)) for key, name in given.items()}
        except (ValueError, RecursionError, AttributeError) as error:
            fault = json_fault(error) if isinstance(error, ValueError) else str(error)
            raise UserError(f"{path}: not a JSON object of names by id ({fault})") from None
    if (path := folder / LINES).is_file() and (ids := folder / INDEX).is_file():
        texts = (file.read_text(encoding="utf-8").split("\n") for file in (ids, path))
        return {key.strip(): name_of_id(name.strip()) for key, name in zip(*texts, strict=False)}
    return {}
