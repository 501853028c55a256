"""A real SPARQL endpoint over HTTP for tests: an Oxigraph store behind the standard protocol."""

from contextlib import contextmanager
from urllib.parse import parse_qs

from pyoxigraph import QueryResultsFormat

from graphwalker.graphs.sparql_engine.results import JSON
from graphwalker.graphs.sparql_engine.store import find_store
from graphwalker.graphs.sparql_engine.worker import StoreReader
from support.http_server import QuietHandler, listening


class EngineStore:
    """The store of a compiled graph, asked as `graph serve` asks it."""

    def __init__(self, graph, base=""):
        self.reader = StoreReader(find_store(graph, base))

    def query(self, text):
        asked = {"query": text, "form": JSON, "graphs": [], "is_ours": True, "max_rows": 10**6}
        status, _, self.found = self.reader.answer(asked)
        if status != 200:
            raise SyntaxError(self.found.decode())
        return self

    def serialize(self, format):
        return self.found


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
