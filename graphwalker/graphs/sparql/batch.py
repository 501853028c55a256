"""A batch: branches of one UNION, so that any number of look-ups is one round trip."""

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache, partial

from graphwalker.graphs.sparql.answers import Fault, ResultRow, count_in
from graphwalker.graphs.sparql.client import SparqlClient

BRANCHES = 40
"""Per request: engines refuse texts of hundreds of branches."""

_PLACE = re.compile(r"\{(\w+)\}")
_HEAD = re.compile(r"SELECT (?:DISTINCT )?(.*?) WHERE")
_COUNTED = re.compile(r"\(COUNT\([^)]*\) AS \?(\w+)\)")
_MAY_BE_UNBOUND = ("xn", "q")
"""Names, which not all have, and what stands behind a CVT node, of which there may be nothing: with
a `q` among the variables an `x` may be unbound, too."""


class BranchBatch:
    """Collects branches, then asks for all of them; terms of the user become parameters."""

    def __init__(self, client: SparqlClient, together: int = BRANCHES) -> None:
        self._client, self._together = client, together
        self._branches: list[str] = []
        self._terms: dict[str, str] = {}

    def term(self, term: str) -> str:
        """Return a place for the term in branches. Equal terms get places of their own, so that
        batches of one shape are one text, which Virtuoso plans once."""
        name = f"v{len(self._terms)}"
        self._terms[name] = term
        return f"{{{name}}}"

    def add(self, branch: str) -> int:
        """Add a sub-select; return where its rows will be in the result of `run`."""
        self._branches.append(branch)
        return len(self._branches) - 1

    def run(self) -> list[list[ResultRow]]:
        """Get the rows of each branch, in as few requests as they fit in. Raises `GraphError`."""
        found: list[list[ResultRow]] = [[] for _ in self._branches]
        for first in range(0, len(self._branches), self._together):
            some = self._branches[first : first + self._together]
            union = " UNION ".join(_tag_branches(some, first))
            used = {name: self._terms[name] for name in _PLACE.findall(union)}
            check = partial(_check, some, first)
            for row in self._client.rows(f"SELECT * WHERE {{ {union} }}", used, check):
                found[count_in(row, "k")].append(row)
        return found


def _tag_branches(branches: Sequence[str], first: int) -> Iterator[str]:
    for place, branch in enumerate(branches, start=first):
        yield "{ " + branch.replace("SELECT ", f"SELECT ({place} AS ?k) ", 1) + " }"


def _check(branches: Sequence[str], first: int, rows: Sequence[ResultRow]) -> None:
    """Check that every row is of one of the branches asked and has what that one gives. Raises
    `Fault`: what is not there would be taken for what the graph does not know."""
    last = first + len(branches)
    for row in rows:
        place = count_in(row, "k")
        if not first <= place < last:
            raise Fault(f"a row of a question that was not asked ({place})", again=True)
        bound, counted = _variables(branches[place - first])
        for variable in counted:
            count_in(row, variable)
        if lacking := next((v for v in bound if v not in row), ""):
            raise Fault(f"a row without ?{lacking}", again=True)


@lru_cache(maxsize=1024)
def _variables(branch: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the variables that every row of a branch has, and its counts.

    >>> _variables("SELECT ?s (COUNT(DISTINCT ?x) AS ?n) WHERE { ?s ?p ?x } GROUP BY ?s")
    (('s',), ('n',))
    >>> _variables("SELECT ?r ?c ?q ?x ?xn WHERE { ... }")
    (('r', 'c'), ())
    """
    found = _HEAD.match(branch)
    head = found[1] if found else ""
    counted = tuple(_COUNTED.findall(head))
    names = re.findall(r"\?(\w+)", _COUNTED.sub("", head))
    optional = (*_MAY_BE_UNBOUND, *(("x",) if "q" in names else ()))
    return tuple(name for name in names if name not in optional), counted
