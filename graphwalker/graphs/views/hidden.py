"""An incomplete graph: one that hides a seeded share of its triples, or a list of crucial ones."""

from collections.abc import Iterable, Mapping
from hashlib import blake2b
from pathlib import Path
from types import MappingProxyType

from graphwalker.errors import UserError
from graphwalker.files import read_columns
from graphwalker.graphs.base import Direction, KnowledgeGraph
from graphwalker.graphs.views.filtered import FilteredGraph

_NO_INVERSES: Mapping[str, str] = MappingProxyType({})
IdTriple = tuple[str, str, str]


class HiddenGraph(FilteredGraph):
    """`graph` as if some facts had never been entered (the setting of Generate-on-Graph).

    `share` (0 to 1) of the triples are hidden, drawn for each triple from `seed` and its three
    ids: the same on every backend, from either end, in any order. `triples` are hidden besides.
    With `inverses` (relation -> its inverse) a fact and its inverse are hidden together.
    """

    def __init__(
        self,
        graph: KnowledgeGraph,
        share: float = 0.0,
        seed: int = 0,
        triples: Iterable[IdTriple] = (),
        inverses: Mapping[str, str] = _NO_INVERSES,
    ) -> None:
        if not 0 <= share <= 1:
            raise UserError(f"the share of hidden triples must be between 0 and 1, not {share}")
        super().__init__(graph)
        self._below = round(share * 2**64)
        self._salt = seed.to_bytes(8, "big", signed=True)
        self._inverses = inverses
        self._hidden = {self._canonical(*triple) for triple in triples}
        self._relations = {relation for _, relation, _ in self._hidden}

    def sifts(self, relation: str, direction: Direction) -> bool:
        return self._below > 0 or bool(self._relations & {relation, self._inverses.get(relation)})

    def keeps(self, head_id: str, relation: str, tail_id: str) -> bool:
        fact = self._canonical(head_id, relation, tail_id)
        return fact not in self._hidden and (not self._below or self._draw(fact) >= self._below)

    def _canonical(self, head: str, relation: str, tail: str) -> IdTriple:
        """Return one form for a fact and its inverse."""
        inverse = self._inverses.get(relation)
        return (
            (head, relation, tail)
            if inverse is None
            else min((head, relation, tail), (tail, inverse, head))
        )

    def _draw(self, fact: IdTriple) -> int:
        text = "\t".join(fact).encode("utf-8", "surrogatepass")
        return int.from_bytes(blake2b(text, digest_size=8, salt=self._salt).digest(), "big")


def read_facts(path: Path | str) -> list[IdTriple]:
    """Triples of ids, one `head<TAB>relation<TAB>tail` on each line. Raises `UserError`."""
    return [(h, r, t) for h, r, t in read_columns(path, "head", "relation", "tail")]
