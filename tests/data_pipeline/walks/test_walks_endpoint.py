"""Walks over an endpoint: the same walks, in few requests; and the benchmark that measures them."""

import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event

import pytest

from data_pipeline.config import SynthConfig
from data_pipeline.synthesize import make_walks
from data_pipeline.walks.endpoint import EndpointGraph, open_for_walks
from graphwalker.errors import GraphError, UserError
from graphwalker.graphs.compiled.properties import open_compiled
from graphwalker.graphs.memory import MemoryGraph
from graphwalker.world.generate import make_world
from support.oxigraph import load_store
from support.sparql_endpoint import serve

FILES = ("walks.jsonl", "dropped.jsonl")


@pytest.fixture(scope="module")
def world(tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("world")
    make_world(1000, 0, out)
    graph = open_compiled(out / "graph")
    seeds = [graph.entity_at(index).id for index in range(0, graph.size, 7)]
    (out / "seeds.txt").write_text("\n".join(seeds))
    (out / "predicates.txt").write_text("\n".join(graph.relation_ids()))
    return out


def settings(world: Path, **more) -> SynthConfig:
    files = {name: str(world / f"{name.removesuffix('_file')}.txt") for name in SEED_FILES}
    return SynthConfig(count=12, mix={"2-hop": 1, "2I": 1, "date": 1}, **files, **more)


SEED_FILES = ("seeds_file", "predicates_file")


@pytest.mark.long
def test_an_endpoint_gives_the_walks_of_the_compiled_graph(world, tmp_path):
    store = load_store([world / "triples.nt.gz"])
    make_walks(world / "graph", settings(world), tmp_path / "compiled")
    with serve(store) as address:
        make_walks(address, settings(world), tmp_path / "endpoint")
    for name in FILES:
        ours, theirs = (tmp_path / place / name for place in ("compiled", "endpoint"))
        assert ours.read_bytes() == theirs.read_bytes()


def test_look_ups_of_many_threads_go_out_together():
    class Slow(MemoryGraph):
        calls = 0

        def names_many(self, entity_ids):
            self.calls += 1
            assert all_wait.wait(timeout=30)
            return super().names_many(entity_ids)

    graph, all_wait = Slow([], {f"e{n}": f"E {n}" for n in range(32)}), Event()
    gathered = EndpointGraph(graph, [])
    with ThreadPoolExecutor(32) as threads:
        names = [threads.submit(gathered.name, f"e{n}") for n in range(32)]
        time.sleep(0.5)
        all_wait.set()
        assert [name.result(timeout=30) for name in names] == [f"E {n}" for n in range(32)]
    assert graph.calls < 16


def test_a_failure_reaches_everyone_who_waited():
    class Failing(MemoryGraph):
        def names_many(self, entity_ids):
            raise GraphError("the endpoint is down")

    gathered = EndpointGraph(Failing([], {}), [])
    with ThreadPoolExecutor(8) as threads:
        for failed in [threads.submit(gathered.name, "a") for _ in range(16)]:
            with pytest.raises(GraphError, match="down"):
                failed.result(timeout=30)


def test_an_endpoint_without_seeds_is_told_what_it_needs():
    with pytest.raises(UserError, match="seeds_file=FILE and predicates_file=FILE"):
        open_for_walks("http://127.0.0.1:1/sparql", SynthConfig())
