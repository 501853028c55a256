"""The cache of look-ups, the recording of a run's calls, and its replay."""

import threading
from functools import partial

import pytest

from graphwalker.errors import GraphError, UserError
from graphwalker.graphs.base import Direction, Side, Step
from graphwalker.graphs.cache.calls import GraphCall
from graphwalker.graphs.cache.disk import FILE_NAME, DiskTier
from graphwalker.graphs.cache.graph import Cache, CachedGraph
from graphwalker.graphs.cache.recording import RecordedGraph, ReplayedGraph
from graphwalker.question import Question
from graphwalker.tools.base import Call
from graphwalker.tools.walker import WalkerTools
from support.counting import CountedGraph
from support.toy import toy_graph

ADA = "m.0ada"


def episode(graph):
    """What the tools say about Ada, in a fresh episode."""
    tools = WalkerTools(
        graph, Question("q", "Who is Ada's spouse?", (graph.resolve("Ada Mbeki")[0],))
    )
    listed = tools.call(Call("get_relations", {"entity": "Ada Mbeki"}))
    wanted = {"entity": "Ada Mbeki", "relations": list(listed.relations[:4])}
    return [listed, tools.call(Call("get_triples", wanted))]


def run_together(calls):
    """Run calls in threads of their own; all have to end."""
    threads = [threading.Thread(target=call, daemon=True) for call in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    assert not any(thread.is_alive() for thread in threads)


def test_a_second_episode_asks_the_graph_nothing():
    counted = CountedGraph(toy_graph())
    cached = CachedGraph(counted, "toy", Cache())
    first = episode(cached)
    trips = counted.trips
    assert episode(cached) == first and counted.trips == trips


def test_many_threads_ask_a_slow_graph_once():
    counted = CountedGraph(toy_graph(), seconds=0.05)
    cached = CachedGraph(counted, "toy", Cache())
    found = []
    run_together([lambda: found.append(cached.relations(ADA, Direction.OUT))] * 16)
    assert found == [toy_graph().relations(ADA, Direction.OUT)] * 16
    assert counted.trips == 1


def test_a_failure_reaches_all_who_wait_and_is_forgotten():
    counted = CountedGraph(toy_graph(), seconds=0.05)
    counted.broken = True
    cached = CachedGraph(counted, "toy", Cache())
    failed = []

    def ask():
        try:
            cached.name(ADA)
        except GraphError as error:
            failed.append(str(error))

    run_together([ask] * 4)
    assert failed == ["the graph is down"] * 4
    counted.broken = False
    assert cached.name(ADA) == "Ada Mbeki"


def test_two_threads_with_crossing_batches_do_not_wait_for_each_other_for_ever():
    cached = CachedGraph(CountedGraph(toy_graph(), seconds=0.02), "toy", Cache())
    batches = [ADA, "m.0tom"], ["m.0tom", ADA]
    run_together([partial(cached.names_many, ids) for ids in batches])


def test_an_interrupted_call_sets_the_others_free():
    cache = Cache()

    def interrupted(keys):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        cache.get_many(["a"], interrupted)
    assert cache.get_many(["a"], lambda keys: [1]) == [1]


def test_the_cache_keeps_within_its_bytes_and_drops_the_least_used():
    cache = Cache(max_bytes=2000)
    for key in "abcdefgh":
        cache.get_many(["a", key], lambda keys: ["x" * 200 for _ in keys])
    assert cache.bytes <= 2000
    again = [cache.get_many([key], lambda keys: ["again"]) for key in "ab"]
    assert again == [["x" * 200], ["again"]]


def every_kind_of_call(graph):
    return [
        graph.resolve("Springfield"),
        graph.name(ADA),
        graph.types(ADA),
        graph.count(ADA, "people.person.children", Direction.OUT),
        graph.relations_many([Side(ADA, Direction.OUT), Side(ADA, Direction.IN)]),
        graph.neighbors_many([Step(ADA, "people.person.children", Direction.OUT, 1)]),
        graph.triples_many([Side(ADA, Direction.IN)]),
        graph.triples(ADA, ["people.person.children"], Direction.OUT, 2),
        graph.flat_relations_many([Side(ADA, Direction.OUT)]),
        graph.step_many([Step(ADA, "people.person.date_of_birth", Direction.OUT)]),
    ]


def test_the_disk_tier_outlives_the_process(tmp_path):
    tier = DiskTier(tmp_path)
    first = every_kind_of_call(CachedGraph(toy_graph(), "toy", Cache(disk=tier)))
    tier.close()
    counted = CountedGraph(toy_graph())
    cache = Cache(disk=DiskTier(tmp_path))
    assert every_kind_of_call(CachedGraph(counted, "toy", cache)) == first
    assert counted.trips == 0


def test_the_disk_tier_keeps_within_its_bytes(tmp_path):
    tier = DiskTier(tmp_path, max_bytes=100_000)
    for i in range(200):
        tier.write({("g", GraphCall("name", (str(i),))): "x" * 2000})
    known = tier.read([("g", GraphCall("name", (str(i),))) for i in range(200)])
    assert 5 < len(known) < 60 and ("g", GraphCall("name", ("199",))) in known


def test_a_file_that_is_no_cache_is_refused_by_name(tmp_path):
    (tmp_path / FILE_NAME).write_text("hello, this is a text and not a database at all", "utf-8")
    with pytest.raises(UserError, match=FILE_NAME):
        DiskTier(tmp_path)


def test_a_replay_shows_what_the_recorded_run_showed(tmp_path):
    path = tmp_path / "calls.jsonl"
    recorded = RecordedGraph(toy_graph(), path)
    first = [episode(recorded), every_kind_of_call(recorded)]
    recorded.close()
    replayed = ReplayedGraph(path)
    assert [episode(replayed), every_kind_of_call(replayed)] == first


def test_a_call_that_was_not_recorded_is_a_failure_and_not_an_empty_result(tmp_path):
    path = tmp_path / "calls.jsonl"
    RecordedGraph(toy_graph(), path).name(ADA)
    with pytest.raises(GraphError, match="was not recorded"):
        ReplayedGraph(path).name("m.0tom")


def test_a_line_that_is_no_recorded_call_is_named(tmp_path):
    path = tmp_path / "calls.jsonl"
    path.write_text('{"method":"name","arguments":["a"],"result":"A"}\n{"method":"name"}\n')
    with pytest.raises(UserError, match="record 2"):
        ReplayedGraph(path)


def test_a_recorded_failure_is_a_failure_again(tmp_path):
    counted = CountedGraph(toy_graph())
    recorded = RecordedGraph(counted, tmp_path / "calls.jsonl")
    counted.broken = True
    with pytest.raises(GraphError):
        recorded.name(ADA)
    with pytest.raises(GraphError, match="the graph is down"):
        ReplayedGraph(tmp_path / "calls.jsonl").name(ADA)
