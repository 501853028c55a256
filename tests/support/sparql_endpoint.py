"""A real SPARQL endpoint over HTTP for tests: an Oxigraph store behind the standard protocol."""

import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

from pyoxigraph import QueryResultsFormat

from graphwalker.errors import UserError
from graphwalker.graphs.ntriples import FREEBASE
from graphwalker.graphs.sparql_engine.engine import SparqlEngine
from graphwalker.graphs.sparql_engine.results import JSON, write_results


class EngineStore:
    """A compiled graph in place of a store."""

    def __init__(self, graph):
        self.engine = SparqlEngine(graph, FREEBASE)

    def query(self, text):
        try:
            self.found = self.engine.query(text)
        except UserError as error:
            raise SyntaxError(str(error)) from None
        return self

    def serialize(self, format):
        return write_results(self.found, JSON, 10**6)


@contextmanager
def serve(store):
    """The address of an endpoint that answers over `store` while the block runs."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def do_GET(self):
            self.answer(urlsplit(self.path).query)

        def do_POST(self):
            length = int(self.headers.get("Content-Length", 0))
            body = self.rfile.read(length).decode()
            kind = self.headers.get("Content-Type", "")
            if kind.startswith("application/sparql-query"):
                self.run(body)
            else:
                self.answer(body)

        def answer(self, form):
            fields = parse_qs(form)
            if "query" in fields:
                self.run(fields["query"][0])
            else:
                self.send(400, b"no query", "text/plain")

        def run(self, query):
            try:
                found = store.query(query).serialize(format=QueryResultsFormat.JSON)
            except SyntaxError as error:
                self.send(400, f"{error}\n{query}".encode(), "text/plain")
            else:
                self.send(200, found, "application/sparql-results+json")

        def send(self, status, body, kind):
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/sparql"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
