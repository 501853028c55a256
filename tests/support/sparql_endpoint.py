"""A real SPARQL endpoint over HTTP for tests: an Oxigraph store behind the standard protocol."""

from contextlib import contextmanager
from urllib.parse import parse_qs

from pyoxigraph import QueryResultsFormat

from graphwalker.errors import UserError
from graphwalker.graphs.ntriples import FREEBASE
from graphwalker.graphs.sparql_engine.engine import SparqlEngine
from graphwalker.graphs.sparql_engine.results import JSON, write_results
from support.http_server import QuietHandler, listening


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

    class Handler(QuietHandler):
        def do_POST(self):
            form = parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
            try:
                found = store.query(form["query"][0]).serialize(format=QueryResultsFormat.JSON)
            except SyntaxError as error:
                self.send(400, f"{error}\n{form['query'][0]}".encode(), "text/plain")
            else:
                self.send(200, found, "application/sparql-results+json")

    with listening(Handler) as address:
        yield f"{address}/sparql"
