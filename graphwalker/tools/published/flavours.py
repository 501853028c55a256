"""Flavours: how ids and relations of a graph are written where an agent speaks in ids."""

import re
from dataclasses import dataclass
from typing import Literal

from graphwalker.graphs.base import Direction, KnowledgeGraph, Side

FlavourName = Literal["freebase", "wikidata"]
_QID = re.compile(r"[QPL][1-9][0-9]*")
_PROPERTY = re.compile(r"(wdt|p|ps|pq)\.(P[1-9][0-9]*)(?:\.(\w*))?")


@dataclass(frozen=True, slots=True)
class Flavour:
    """`freebase` shows the graph's own ids (`m.07_m2`, or whatever they are); `wikidata` puts the
    usual prefixes before those of the Wikidata layer.

    >>> wikidata = Flavour("wikidata")
    >>> wikidata.shown("Q42"), wikidata.entity_id("wd:Q42")
    ('wd:Q42', 'Q42')
    >>> wikidata.relation("wdt.P19.place_of_birth")
    ('wdt:P19', 'place of birth')
    """

    kind: FlavourName

    def shown(self, entity_id: str) -> str:
        """The id as tables and calls write it."""
        item = self.kind == "wikidata" and _QID.fullmatch(entity_id)
        return f"wd:{entity_id}" if item else entity_id

    def entity_id(self, shown: str) -> str:
        """The graph's id of one that is written with its prefix or without."""
        return shown.removeprefix("wd:") if self.kind == "wikidata" else shown

    def relation(self, relation: str) -> tuple[str, str]:
        """A relation as tables and filters write it, and the label that its id holds, if it does.
        The parts of a flattened one are written one by one."""
        if self.kind == "wikidata":
            found = [_PROPERTY.fullmatch(part) for part in relation.split("..")]
            if all(found):
                parts = [f"{match[1]}:{match[2]}" for match in found if match]
                labels = [(match[3] or "").replace("_", " ") for match in found if match]
                return "..".join(parts), ", ".join(filter(None, labels))
        return relation, ""


def flavour_of(kind: Literal["auto", "freebase", "wikidata"], wikidata: bool) -> Flavour:
    """The flavour of a setting; `auto` is that of the layers (`wikidata`: whether they show it)."""
    if kind == "auto":
        return Flavour("wikidata" if wikidata else "freebase")
    return Flavour(kind)


def exists(graph: KnowledgeGraph, entity_id: str) -> bool:
    """Whether the graph has a node of that id that is named or stands in a triple."""
    if graph.name(entity_id):
        return True
    return any(graph.relations_many([Side(entity_id, side) for side in Direction]))
