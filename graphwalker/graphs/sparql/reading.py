"""Reading rows: the entities, names and counts that the branches of a batch found."""

from collections.abc import Iterable
from typing import TypeVar

from graphwalker.graphs.base import Entity
from graphwalker.graphs.literals import is_literal, literal_name
from graphwalker.graphs.names import names_nothing
from graphwalker.graphs.sparql.answers import ResultRow, count_in
from graphwalker.graphs.sparql.terms import Binding, Vocabulary, name_rank

T = TypeVar("T")


class RowReader:
    """Reads rows in one vocabulary."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._vocabulary = vocabulary

    def id(self, row: ResultRow, variable: str) -> str:
        """The id of the value, `""` where it is unbound."""
        return self._vocabulary.node_id(row[variable]) if variable in row else ""

    def counts(self, rows: Iterable[ResultRow]) -> dict[str, int]:
        """Relations with their counts, names and types included."""
        return {self.id(row, "r"): count_in(row, "n") for row in rows}

    def relations(self, rows: Iterable[ResultRow]) -> list[tuple[str, int]]:
        """Relations by id, each with its count."""
        counts = self.counts(rows)
        return sorted((r, n) for r, n in counts.items() if n and not self._vocabulary.hides(r))

    def entities(self, rows: Iterable[ResultRow], variable: str = "x") -> list[Entity]:
        """The entities of a variable under their names, each once, in id order."""
        names: dict[str, list[Binding]] = {}
        for row in rows:
            found = names.setdefault(self.id(row, variable), [])
            if "xn" in row:
                found.append(row["xn"])
        return [Entity(i, display_name(i, names[i])) for i in sorted(names)]

    def by(self, rows: Iterable[ResultRow], variable: str) -> dict[str, list[ResultRow]]:
        """Rows by the id of a variable."""
        groups: dict[str, list[ResultRow]] = {}
        for row in rows:
            groups.setdefault(self.id(row, variable), []).append(row)
        return groups


def display_name(entity_id: str, names: Iterable[Binding]) -> str:
    """What an entity is shown as: a literal as its value, others under the best of their names."""
    if is_literal(entity_id):
        return literal_name(entity_id)
    texts = [name for name in names if name["value"] and _is_text(name)]
    return min(texts, key=name_rank)["value"] if texts else ""


def is_nameless(entity: Entity) -> bool:
    """True for what may be a CVT node."""
    return names_nothing(entity.name) and not is_literal(entity.id)


def _is_text(name: Binding) -> bool:
    return name["type"] in ("literal", "typed-literal") and (
        name.get("datatype", "").rpartition("#")[2] in ("", "string", "langString")
    )
