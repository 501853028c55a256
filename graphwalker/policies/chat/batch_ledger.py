"""Which batches are under way, and whose requests they hold: rows of the store of answers."""

import time
from collections.abc import Sequence
from dataclasses import dataclass

from graphwalker.policies.chat.store import Store

KEPT_S = 30 * 86_400.0
"""How long a batch's answers can be fetched: until then its requests count as under way."""


@dataclass(frozen=True, slots=True)
class OpenBatch:
    """A batch that is not settled: its name (ours, in its metadata) and the server's id, `""`
    where nobody knows whether the server has it."""

    name: str
    id: str


@dataclass(frozen=True, slots=True)
class Ticket:
    """A request of a batch: its reservation, the key of its answer, what it was for."""

    number: int
    key: str
    purpose: str


class BatchLedger:
    """What every process that opens the store must know to settle a batch. Thread-safe."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def begin(self, name: str, tickets: Sequence[Ticket]) -> None:
        """Before a batch is sent. Its requests outlive this process: from here on they are the
        batch's, so that no other process takes them for lost or sends them again."""
        rows = [(name, ticket.number, ticket.key, ticket.purpose) for ticket in tickets]
        owner, until = f"batch:{name} 0 0", time.time() + KEPT_S
        with self._store.change() as database:
            database.execute("INSERT INTO batches VALUES (?, '', 'open')", (name,))
            database.executemany("INSERT INTO batched VALUES (?, ?, ?, ?)", rows)
            database.executemany(
                "UPDATE sent SET owner = ?, until = ? WHERE id = ?",
                [(owner, until, ticket.number) for ticket in tickets],
            )

    def sent(self, name: str, batch_id: str) -> None:
        """The server has it, under that id."""
        with self._store.change() as database:
            database.execute("UPDATE batches SET id = ? WHERE name = ?", (batch_id, name))

    def settled(self, name: str) -> None:
        """Every request of it is settled."""
        with self._store.change() as database:
            database.execute("UPDATE batches SET state = 'settled' WHERE name = ?", (name,))
            database.execute("DELETE FROM batched WHERE batch = ?", (name,))

    def open(self) -> list[OpenBatch]:
        """The batches that are not settled, whoever sent them, in the order of their names."""
        query = "SELECT name, id FROM batches WHERE state = 'open' ORDER BY name"
        with self._store.change() as database:
            return [OpenBatch(*row) for row in database.execute(query)]

    def tickets(self, name: str) -> list[Ticket]:
        """The requests of an open batch."""
        query = "SELECT ticket, key, purpose FROM batched WHERE batch = ? ORDER BY ticket"
        with self._store.change() as database:
            return [Ticket(*row) for row in database.execute(query, (name,))]
