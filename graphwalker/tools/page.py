"""A page of triples: written until it is full, what is hidden is counted."""

from collections.abc import Sequence

from graphwalker.graphs.base import AtLeast, Direction, Entity
from graphwalker.tools.base import ShownTriple
from graphwalker.tools.namebook import NameBook, quote

_THOUSAND = 1000


class Page:
    """Triples written out until the observation is full; what is hidden is counted."""

    def __init__(self, book: NameBook, budget: int) -> None:
        self.shown: dict[str, Entity] = {}
        self.triples: list[ShownTriple] = []
        self.hidden = 0
        self.counts: list[int] = []
        """How many triples of each `add` are shown."""
        self.text = ""
        self._book = book
        self._budget = budget
        self._written: set[str] = set()
        self._full = False

    def add(
        self,
        entity: Entity,
        relation: str,
        direction: Direction,
        ends: Sequence[Entity],
        total: int,
    ) -> None:
        left = total
        for end in ends:
            if not self._write(entity, relation, direction, end):
                break
            left -= 1
        self.counts.append(total - left)
        self.hidden += left
        self.text += more(left) if self.text else ""

    def _write(self, entity: Entity, relation: str, direction: Direction, end: Entity) -> bool:
        label = self._book.label(end)
        shown = end if label == end.name else Entity(end.id, label)
        head, tail = (shown, entity) if direction is Direction.IN else (entity, shown)
        entry = f"[{quote(head.name)}, {relation}, {quote(tail.name)}]"
        if entry in self._written:  # a relation from an entity to itself, seen from both ends
            return True
        separator = ", " if self.text else ""
        over = len(self.text) + len(separator) + len(entry) > self._budget > 0
        if self._full or (self.text and over):
            self._full = True
            return False
        self.text += separator + entry
        self._written.add(entry)
        self._book.show(end)
        self.shown.setdefault(entity.id, entity)
        self.shown.setdefault(end.id, shown)
        self.triples.append(ShownTriple(head, relation, tail))
        return True


def more(count: int) -> str:
    """The mark of entries that are not shown. A count that was not finished is said as such, past a
    thousand in thousands.

    >>> more(7), more(AtLeast(1496)), more(0)
    (' (+7 more)', ' (+1,000 or more)', '')
    """
    if isinstance(count, AtLeast):
        known = int(count) if count < _THOUSAND else count // _THOUSAND * _THOUSAND
        return f" (+{known:,} or more)" if known > 0 else " (there may be more)"
    return f" (+{count} more)" if count > 0 else ""
