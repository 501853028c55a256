"""A batch: branches of one UNION, so that any number of look-ups is one round trip."""

import re
from collections.abc import Iterator

from graphwalker.graphs.sparql.answers import ResultRow
from graphwalker.graphs.sparql.client import SparqlClient

BRANCHES = 40
"""Per request: engines refuse texts of hundreds of branches."""

_PLACE = re.compile(r"\{(\w+)\}")


class BranchBatch:
    """Collects branches, then asks for all of them; terms of the user become parameters."""

    def __init__(self, client: SparqlClient) -> None:
        self._client = client
        self._branches: list[str] = []
        self._terms: dict[str, str] = {}

    def term(self, term: str) -> str:
        """A place for the term in branches. Equal terms get places of their own, so that batches
        of one shape are one text, which Virtuoso plans once."""
        name = f"v{len(self._terms)}"
        self._terms[name] = term
        return f"{{{name}}}"

    def add(self, branch: str) -> int:
        """A sub-select; returns where its rows will be in the result of `run`."""
        self._branches.append(branch)
        return len(self._branches) - 1

    def run(self) -> list[list[ResultRow]]:
        """The rows of each branch, in as few requests as they fit in. Raises `GraphError`."""
        found: list[list[ResultRow]] = [[] for _ in self._branches]
        for first in range(0, len(self._branches), BRANCHES):
            union = " UNION ".join(self._tagged(first))
            used = {name: self._terms[name] for name in _PLACE.findall(union)}
            for row in self._client.rows(f"SELECT * WHERE {{ {union} }}", used):
                found[int(row["k"]["value"])].append(row)
        return found

    def _tagged(self, first: int) -> Iterator[str]:
        for place, branch in enumerate(self._branches[first : first + BRANCHES], start=first):
            yield "{ " + branch.replace("SELECT ", f"SELECT ({place} AS ?k) ", 1) + " }"
