"""A real SPARQL endpoint that fails on purpose, request by request, in every way we know of."""

import socket
import struct
import time
from contextlib import contextmanager
from urllib.parse import parse_qs

from pyoxigraph import QueryResultsFormat

from support.http_server import QuietHandler, listening


class FaultyEndpoint:
    """Answers over `store`; `faults` are used up one by one, and then all goes well.

    A fault is `(status, headers, body)`, or one of: `reset`, `cut` (half of the body), `mute`
    (no answer for `slow_s`), `closed` (the answer, then the connection is gone without a word),
    `restarted` (nothing found, and then the same).
    """

    def __init__(self, store, faults=(), headers=(), slow_s=1.0):
        self.store, self.faults, self.headers = store, list(faults), dict(headers)
        self.slow_s = slow_s
        self.forms, self.proofs, self.connections = [], [], set()
        self.agents, self.sent = [], {}
        self.address = ""

    def next_fault(self):
        return self.faults.pop(0) if self.faults else None


@contextmanager
def faulty(store, faults=(), headers=(), slow_s=1.0):
    """A `FaultyEndpoint` that listens while the block runs."""
    endpoint = FaultyEndpoint(store, faults, headers, slow_s)

    class Handler(QuietHandler):
        def do_POST(self):
            form = parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
            is_proof = "urn:graphwalker:graph" in form["query"][0]
            (endpoint.proofs if is_proof else endpoint.forms).append(form)
            endpoint.connections.add(self.client_address)
            endpoint.agents.append(self.headers["User-Agent"])
            endpoint.sent = self.headers
            fault = endpoint.next_fault()
            if fault == "reset":
                linger = struct.pack("ii", 1, 0)
                self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
                self.close_connection = True
                self.connection.close()
                return
            if fault == "mute":
                time.sleep(endpoint.slow_s)
            if isinstance(fault, tuple):
                self.reply(*fault)
                return
            query = "SELECT * WHERE {}" if fault == "restarted" else form["query"][0]
            status, body = self.run(query.replace("{}", "{ FILTER(false) }"))
            headers = {"Content-Type": "application/sparql-results+json", **endpoint.headers}
            self.reply(status, headers, body, cut=fault == "cut")
            if fault in ("closed", "restarted"):
                self.close_connection = True

        def run(self, query):
            try:
                return 200, endpoint.store.query(query).serialize(format=QueryResultsFormat.JSON)
            except SyntaxError as error:
                return 400, str(error).encode()

        def reply(self, status, headers, body, cut=False):
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body[: len(body) // 2] if cut else body)
            self.close_connection = self.close_connection or cut

    with listening(Handler) as address:
        endpoint.address = f"{address}/sparql"
        yield endpoint
