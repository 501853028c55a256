"""83 queries that mean no good, asked of `graph serve`: each is bounded, none ends the server."""

import json
import os
import socket
import subprocess
import sys
import time

import pytest
from test_graph_serve import send, server

from graphwalker.graphs.compiled.properties import open_compiled
from graphwalker.graphs.sparql_engine.engine import QueryWorker, WorkerEndedError
from graphwalker.graphs.sparql_engine.results import JSON
from graphwalker.graphs.sparql_engine.store import find_store
from support.hostile_queries import CROSS, ELSEWHERE, NESTED, NUMBERS, PATHS, QUERIES, REGEX

SECONDS, SLACK = 1.0, 10.0
FEW = [CROSS[3], PATHS[0], REGEX[0], NESTED[2], *NUMBERS[:2], ELSEWHERE[0], ELSEWHERE[6]]


@pytest.fixture(scope="module")
def graph(toy_folder):
    return open_compiled(toy_folder)


@pytest.fixture(scope="module")
def address(graph):
    limits = ("--timeout-s", str(SECONDS), "--memory-mb", "300", "--max-rows", "5000")
    with server(graph.path, "--workers", "2", *limits) as (found, _):
        yield found


@pytest.fixture
def listener():
    """The address of a socket that nobody may speak to."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.settimeout(0.01)
        yield listening


@pytest.mark.parametrize("query", FEW, ids=[str(QUERIES.index(one)) for one in FEW])
def test_a_query_that_means_no_good_ends_in_time_with_its_reason(graph, query):
    worker = QueryWorker(find_store(graph), 300)
    request = {"query": query, "form": JSON, "graphs": [], "is_ours": False, "max_rows": 5000}
    started = time.monotonic()
    try:
        status, _, body = worker.ask({**request, "timeout_s": SECONDS})
    except WorkerEndedError as error:
        status, body = 400 if error.is_malformed else 500, str(error).encode()
    assert status == 200 or body[:6] in (b"37000:", b"42000:", b"S1T00:"), body
    assert time.monotonic() - started < SECONDS + SLACK


def test_a_worker_whose_server_is_gone_ends_in_silence(graph):
    nobody, stdout = os.pipe()
    os.close(nobody)
    module = "graphwalker.graphs.sparql_engine.worker"
    command = [sys.executable, "-P", "-m", module, str(find_store(graph)), "300"]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=stdout, stderr=subprocess.PIPE)
    os.close(stdout)
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.long
@pytest.mark.parametrize("query", QUERIES, ids=map(str, range(len(QUERIES))))
def test_each_is_bounded_and_the_next_is_answered(address, listener, query):
    place = f"http://127.0.0.1:{listener.getsockname()[1]}/"
    started = time.monotonic()
    status, text = send(address, query.replace("LISTENER", place))
    assert time.monotonic() - started < SECONDS + SLACK
    assert status == 200 or text[:5] in ("37000", "42000", "S1T00"), (status, text[:200])
    with pytest.raises(TimeoutError):
        listener.accept()
    assert json.loads(send(address, "SELECT (COUNT(*) AS ?n) { ?s ?p ?o }")[1])
