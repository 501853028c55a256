"""The client of one or several endpoints: retries, failover, and proof that they hold the graph."""

import logging
import math
import re
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType

from graphwalker.errors import GraphError, UserError
from graphwalker.graphs.sparql.answers import Fault, ResultRow, read_rows
from graphwalker.graphs.sparql.request import (
    LOGIN,
    Form,
    check_installed,
    environment_headers,
    write_request,
)
from graphwalker.http import Backoff, Client, HttpReply, NoReply, TooLarge, split_address

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
    """Return what the endpoint behind `ask` shows; it must be what is `known` from before, or from
    the first of several. Raises `Fault`."""
    where = f"graph <{graph}>" if graph else "store"
    again = several or known is not None  # what was there may come back
    shown = _read_proof(ask)
    if shown is None:
        raise Fault(
            f"its {where} holds no triples: load it, or mend the address (`#IRI` names a graph)",
            again=again,
        )
    if known is not None and known.fingerprint != shown.fingerprint:
        raise Fault(f"its {where} is not the one that was asked before", again=again)
    if known is None and not shown.fingerprint:
        return shown  # some triples of its own, which it has just shown
    expected = shown if shown.fingerprint or known is None else known
    if missing := _missing(ask, expected.sentinels):
        raise Fault(
            f"its {where} lacks triples that must be there ({missing[0]} {missing[1]} ...): "
            "load it again",
            again=again,
        )
    return shown


def marks(fingerprint: str, triples: int, sentinels: Iterable[Pair]) -> list[str]:
    """Return the marks as lines of N-Triples."""
    values = [(FINGERPRINT, fingerprint), (TRIPLES, str(triples))]
    values += [(SENTINEL, " ".join(pair)) for pair in sentinels]
    return [f'<{MARKED}> <{predicate}> "{value}" .' for predicate, value in values]


def _read_proof(ask: Callable[[str], list[ResultRow]]) -> Proof | None:
    """Return the marks, else some triples of a store without marks, which show themselves."""
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


def _says_nothing(rows: list[ResultRow]) -> bool:
    """Return whether an answer has no row, or only counts of 0; `k` numbers a batch's branches."""
    return all(row[v]["value"] == "0" for row in rows for v in row if v != "k")


def _value(row: ResultRow, variable: str) -> str:
    return row[variable]["value"] if variable in row else ""


log = logging.getLogger(__name__)

_NO_VALUES: Mapping[str, str] = MappingProxyType({})
REQUEST_TIMEOUTS = 4
"""A whole request may take that many time-outs, each wait in it one."""
LONGEST_PAUSE_S = 10.0
_REST = Backoff(1.0)
RowsCheck = Callable[[list[ResultRow]], None]


class Endpoint:
    """One address: its connections, and until when it is left alone after failures."""

    def __init__(self, address: str, http: Client) -> None:
        self.address, self.http = address, http
        self.failures = 0
        self.rest_until = 0.0
        self.full_since = -math.inf
        """When it showed its graph again after it had lost it; until then, infinity."""
        self.is_virtuoso: bool | None = None
        self._proven_at = -1

    @property
    def proven(self) -> bool:
        """Whether it holds the graph that is asked: shown anew after each failure, and after it
        closed a connection, as a server that was started anew may hold another graph."""
        return self._proven_at == self.http.losses

    def note_proof(self, losses: int) -> None:
        """Note that it showed its graph, asked for when so many connections were lost."""
        self._proven_at = losses
        self.full_since = min(self.full_since, time.monotonic())
        self.note_answer()

    @property
    def ready(self) -> bool:
        return time.monotonic() >= self.rest_until

    def note_failure(self, wait_s: float = 0.0) -> None:
        """Leave it alone for about a second, twice as long each time, a minute at most, or for as
        long as it asks for."""
        self.failures, self._proven_at = self.failures + 1, -1
        self.rest_until = time.monotonic() + _REST.pause(self.failures, wait_s)

    def note_answer(self) -> None:
        self.failures, self.rest_until = 0, 0.0


class SparqlClient:
    """Asks the first endpoint that answers; all must hold the same graph.

    A 5xx, a reset, a time-out or a broken answer is asked again, of the next endpoint if there is
    one, else after a pause that doubles, with jitter. After `attempts` it is a `GraphError`.
    An endpoint that failed is probed before it is trusted again, and one that finds nothing shows
    a canary: an empty answer of an endpoint that lost its graph is none. Safe among threads.
    """

    def __init__(
        self,
        addresses: Sequence[str],
        default_graph: str = "",
        user: str = "",
        password: str = "",
        timeout_s: float = 30.0,
        attempts: int = 6,
        first_pause_s: float = 0.1,
        max_bytes: int = 256 << 20,
        headers: Mapping[str, str] = _NO_VALUES,
    ) -> None:
        """`headers` are sent with each request, on top of those that the environment sets."""
        if not addresses or attempts < 1:
            raise UserError("an endpoint and at least one attempt are needed")
        check_installed()
        if any("@" in split_address(address).netloc for address in addresses):
            # Where it stands, people publish it: in data cards, logs and errors.
            raise UserError(f"the address of an endpoint holds no user or password; {LOGIN}")

        def connect(address: str) -> Client:
            return Client(
                address,
                timeout_s,
                whole_s=REQUEST_TIMEOUTS * timeout_s,
                largest=max_bytes,
                idle_s=None,  # that the endpoint closed one says that it may have been replaced
                resends=True,
            )

        self._endpoints = [Endpoint(address, connect(address)) for address in addresses]
        self.default_graph = default_graph
        sent = {**environment_headers(), **{n.capitalize(): text for n, text in headers.items()}}
        self._form = Form(default_graph, user, password, tuple(sent.items()))
        self._attempts, self._backoff = attempts, Backoff(first_pause_s, LONGEST_PAUSE_S)
        self._lock = threading.Lock()
        self._proof: Proof | None = None
        self.counts: Counter[str] = Counter()
        """Since the start: `queries`, `requests`, `retries`, `probes`, `rows`, `bytes`."""

    def rows(
        self, query: str, values: Mapping[str, str] = _NO_VALUES, check: RowsCheck | None = None
    ) -> list[ResultRow]:
        """Return the solutions of a SELECT; `values` are for its `{name}`s. Raises `GraphError`.

        `check` raises `Fault` for rows that cannot be the answer.

        >>> SparqlClient(["http://localhost/sparql"]).rows("DROP GRAPH <g>")
        Traceback (most recent call last):
        graphwalker.errors.GraphError: only SELECT is ever sent: DROP GRAPH <g>
        """
        self._count(queries=1)
        reason = ""
        for attempt in range(self._attempts):
            endpoint, began = self._choose(), time.monotonic()
            self._count(retries=attempt > 0)
            try:
                answer = self._send(endpoint, query, values)
                rows = self._read(endpoint, answer)
                if check is not None:
                    check(rows)
                if not endpoint.proven:
                    self._prove(endpoint)
                elif _says_nothing(rows):
                    self._ask_canary(endpoint)
                came_back = began < endpoint.full_since or answer.losses != endpoint.http.losses
                if _says_nothing(rows) and came_back:
                    raise Fault("it answered with nothing before its graph came back", again=True)
                return rows
            except Fault as fault:
                reason = f"{endpoint.address}: {fault.reason}"
                if not fault.again:
                    raise GraphError(reason) from None
                endpoint.note_failure(fault.wait_s)
                if attempt + 1 < self._attempts:
                    self._pause(attempt + 1, fault, endpoint.address)
        raise GraphError(f"{reason} (after {self._attempts} attempts)")

    def check(self) -> dict[str, str]:
        """Return each address with `""` where it answers, else why not."""
        return {endpoint.address: self._probe(endpoint) for endpoint in self._endpoints}

    def close(self) -> None:
        """Close idle connections."""
        for endpoint in self._endpoints:
            endpoint.http.close()

    def _ask(self, endpoint: Endpoint, query: str) -> list[ResultRow]:
        return self._read(endpoint, self._send(endpoint, query, _NO_VALUES))

    def _send(self, endpoint: Endpoint, query: str, values: Mapping[str, str]) -> HttpReply:
        as_parameters = bool(endpoint.is_virtuoso)
        request = write_request(endpoint.address, self._form, query, values, as_parameters)
        self._count(requests=1)
        try:
            return endpoint.http.send("POST", endpoint.address, request.headers, request.body)
        except TooLarge as error:
            raise GraphError(
                f"{endpoint.address}: {error}; the node has too many triples for one look, or "
                "raise max_bytes"
            ) from None
        except NoReply as failure:
            raise Fault(str(failure), again=True) from None

    def _read(self, endpoint: Endpoint, answer: HttpReply) -> list[ResultRow]:
        endpoint.is_virtuoso = answer.headers.get("server", "").startswith("Virtuoso")
        rows = read_rows(answer)
        if endpoint.proven:
            endpoint.note_answer()
        self._count(rows=len(rows), bytes=len(answer.body))
        return rows

    def _choose(self) -> Endpoint:
        """Return the first trusted endpoint, else the one with the earliest retry time."""
        for endpoint in self._endpoints:
            if not endpoint.ready:
                continue
            if not endpoint.failures or len(self._endpoints) == 1:
                return endpoint
            with self._lock:
                taken, endpoint.rest_until = not endpoint.ready, time.monotonic() + 60.0
            if not taken and not self._probe(endpoint):  # the others go elsewhere meanwhile
                return endpoint
        return min(self._endpoints, key=lambda endpoint: endpoint.rest_until)

    def _prove(self, endpoint: Endpoint) -> None:
        """Let it show that it holds the graph. Raises `Fault` for one that holds nothing, or
        another graph than was asked so far: its answers would be believed, and are wrong."""
        self._count(probes=1)
        losses = endpoint.http.losses
        with self._lock:
            known = self._proof

        several = len(self._endpoints) > 1
        shown = prove(partial(self._ask, endpoint), known, self.default_graph, several)
        with self._lock:
            self._proof = self._proof or shown
        endpoint.note_proof(losses)

    def _ask_canary(self, endpoint: Endpoint) -> None:
        """Let an endpoint that found nothing show a triple that must be there. Raises `Fault`: a
        store that came back before its data answers well, and with nothing."""
        self._count(probes=1)
        shown = self._proof.sentinels if self._proof else ()
        known = tuple(pair for pair in shown if all(map(_SAFE.fullmatch, pair)))[:1]

        ask = partial(self._ask, endpoint)
        if _missing(ask, known) if known else _read_proof(ask) is None:
            endpoint.full_since = math.inf
            raise Fault("it answers with nothing, and has lost triples that it showed", again=True)
        endpoint.full_since = min(endpoint.full_since, time.monotonic())

    @property
    def proof(self) -> Proof | None:
        """What the first endpoint showed; `None` before anything was asked."""
        return self._proof

    def _probe(self, endpoint: Endpoint) -> str:
        """Let it prove itself; returns why it failed, `""` when it did."""
        try:
            self._prove(endpoint)
        except Fault as fault:
            endpoint.note_failure()
            log.warning("%s: %s", endpoint.address, fault.reason)
            return fault.reason
        return ""

    def _pause(self, failures: int, fault: Fault, address: str) -> None:
        """Wait before another attempt, unless another endpoint is ready."""
        if any(endpoint.ready for endpoint in self._endpoints):
            return
        pause = self._backoff.pause(failures, fault.wait_s)
        if 0 < pause <= fault.wait_s:
            log.warning(
                "%s: waiting %.0f s, asked by the server (%s)", address, pause, fault.reason
            )
        time.sleep(pause)

    def _count(self, **amounts: int) -> None:
        with self._lock:
            self.counts.update(amounts)
