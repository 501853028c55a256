"""What an endpoint shows of itself before its answers are believed: that it holds the graph.

`graphwalker virtuoso load` leaves marks in the graph: a fingerprint of the triples, their number,
and sentinels, of which every one must be found. Another store is known by a few of its own triples.
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from graphwalker.graphs.sparql.answers import Fault, ResultRow

MARKED = "urn:graphwalker:graph"
FINGERPRINT, TRIPLES, SENTINEL = (
    f"urn:graphwalker:{name}" for name in ("fingerprint", "triples", "sentinel")
)
SENTINELS = 8
_SHOW = (
    f"SELECT ?p ?o ?s ?q WHERE {{ {{ SELECT ?p ?o WHERE {{ <{MARKED}> ?p ?o }} }} UNION"
    f" {{ SELECT ?s ?q WHERE {{ ?s ?q ?v }} LIMIT {SENTINELS} }} }}"
)
_SAFE = re.compile(r'[^\x00-\x20<>"{}|^`\\]+')
Pair = tuple[str, str]
"""The subject and the predicate of a triple that must be there, as IRIs."""


@dataclass(frozen=True, slots=True)
class Proof:
    """What an endpoint showed."""

    sentinels: tuple[Pair, ...]
    fingerprint: str = ""
    triples: str = ""


def prove(
    ask: Callable[[str], list[ResultRow]], known: Proof | None, graph: str, several: bool
) -> Proof:
    """What the endpoint behind `ask` shows; it must be what is `known` from before, or from the
    first of several. Raises `Fault`."""
    where = f"graph <{graph}>" if graph else "store"
    shown = _shown(ask)
    if shown is None:
        raise Fault(
            f"its {where} holds no triples: load it, or mend the address (`#IRI` names a graph)",
            again=several,
        )
    if known is not None and known.fingerprint != shown.fingerprint:
        raise Fault(f"its {where} is not the one that was asked before", again=several)
    if known is None and not shown.fingerprint:
        return shown  # some triples of its own, which it has just shown
    expected = shown if shown.fingerprint or known is None else known
    if missing := _missing(ask, expected.sentinels):
        raise Fault(
            f"its {where} lacks triples that must be there ({missing[0]} {missing[1]} ...): "
            "load it again",
            again=several,
        )
    return shown


def marks(fingerprint: str, triples: int, sentinels: Iterable[Pair]) -> list[str]:
    """The marks as lines of N-Triples."""
    values = [(FINGERPRINT, fingerprint), (TRIPLES, str(triples))]
    values += [(SENTINEL, " ".join(pair)) for pair in sentinels]
    return [f'<{MARKED}> <{predicate}> "{value}" .' for predicate, value in values]


def _shown(ask: Callable[[str], list[ResultRow]]) -> Proof | None:
    """The marks, else some triples of a store without marks, which show themselves."""
    rows = ask(_SHOW)
    marked = [(_value(row, "p"), _value(row, "o")) for row in rows if "p" in row]
    if marked:
        found = dict(marked)
        pairs = [value.split(" ") for predicate, value in marked if predicate == SENTINEL]
        sentinels = tuple((pair[0], pair[1]) for pair in sorted(pairs) if len(pair) == 2)
        return Proof(sentinels, found.get(FINGERPRINT, ""), found.get(TRIPLES, ""))
    some = [row for row in rows if "s" in row]
    named = {(_value(r, "s"), _value(r, "q")) for r in some if r["s"]["type"] == "uri"}
    return Proof(tuple(sorted(named))) if some else None


def _missing(ask: Callable[[str], list[ResultRow]], pairs: tuple[Pair, ...]) -> Pair | None:
    safe = [pair for pair in pairs if all(map(_SAFE.fullmatch, pair))]
    branches = [
        f"{{ SELECT ({number} AS ?k) WHERE {{ <{s}> <{p}> ?v }} LIMIT 1 }}"
        for number, (s, p) in enumerate(safe)
    ]
    if not branches:
        return None
    there = {_value(row, "k") for row in ask(f"SELECT ?k WHERE {{ {' UNION '.join(branches)} }}")}
    return next((pair for number, pair in enumerate(safe) if str(number) not in there), None)


def _value(row: ResultRow, variable: str) -> str:
    return row[variable]["value"] if variable in row else ""
