"""The schema of the fictional world: real Freebase relations between its kinds of entities.

The table is `schema.toml`. No entity has everything, so what a vague phrase means is settled by
what the graph holds.
"""

import tomllib
from dataclasses import dataclass
from pathlib import Path

from pydantic import TypeAdapter


@dataclass(frozen=True, slots=True)
class Fact:
    """A plain relation. `target` is a kind, a kind with a role (`person/director`), or a literal
    (`date`, `integer`, `height`); `roles` limits who has it; `inverse` is the id of its inverse."""

    relation: str
    source: str
    target: str
    share: float = 1.0
    most: int = 1
    skew: float = 1.0
    roles: tuple[str, ...] = ()
    inverse: str = ""


@dataclass(frozen=True, slots=True)
class Slot:
    """One relation from a mediator (CVT) node to a value."""

    relation: str
    target: str
    share: float = 1.0
    skew: float = 1.0


@dataclass(frozen=True, slots=True)
class MediatorFact:
    """A relation to unnamed CVT nodes. `home` leads back from the node to its source, and `back`
    from the first slot's value to the node (Freebase stores both ways round)."""

    relation: str
    source: str
    slots: tuple[Slot, ...]
    share: float = 1.0
    most: int = 1
    roles: tuple[str, ...] = ()
    home: str = ""
    back: str = ""


_TABLE = tomllib.loads(Path(__file__).with_name("schema.toml").read_text(encoding="utf-8"))
_FACT, _MEDIATED = TypeAdapter(Fact), TypeAdapter(MediatorFact)
FACTS = tuple(map(_FACT.validate_python, _TABLE["facts"]))
MEDIATED = tuple(map(_MEDIATED.validate_python, _TABLE["mediated"]))
PARENTS = _FACT.validate_python(_TABLE["family"]["parents"])
"""Made by the family rules of the world, as are marriages: a person marries a neighbour in time."""
MARRIAGE = _MEDIATED.validate_python(_TABLE["family"]["marriage"])
SIBLINGS = _MEDIATED.validate_python(_TABLE["family"]["siblings"])


def relation_ids() -> list[str]:
    """Return every relation id that a triple of the world may carry, sorted."""
    found = {fact.relation for fact in (*FACTS, PARENTS)}
    found |= {fact.inverse for fact in (*FACTS, PARENTS) if fact.inverse}
    for row in (*MEDIATED, MARRIAGE, SIBLINGS):
        found |= {row.relation, *(slot.relation for slot in row.slots)}
        found |= {name for name in (row.home, row.back) if name}
    return sorted(found)
