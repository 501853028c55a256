"""One ordered pool, whatever does the work."""

import os
import threading
import time

import pytest

from graphwalker.errors import GraphWalkerError, UserError
from graphwalker.workers import InLine, Pool, Processes, Threads, worker_number


def square(job: int) -> int:
    time.sleep(0.001 * (job % 3))
    return job * job


def squares_of(power: int):
    return square if power == 2 else None


def failing_build():
    raise UserError("the graph is not there")


def fails_at_seven():
    def work(job: int) -> int:
        if job == 7:
            raise UserError("seven")
        return job

    return work


def dies():
    return lambda job: os._exit(9)


def identity():
    return lambda job: (os.getpid(), worker_number())


BACKENDS = {
    "in line": lambda: Pool(InLine(square)),
    "threads": lambda: Pool(Threads(square, 4), ahead=9),
    "processes": lambda: Pool(Processes(squares_of, (2,), 2), ahead=3, chunk=5),
}


@pytest.mark.parametrize("name", BACKENDS)
def test_results_come_in_the_order_of_the_jobs(name):
    with BACKENDS[name]() as pool:
        assert list(pool.results(range(53))) == [n * n for n in range(53)]


@pytest.mark.parametrize("name", BACKENDS)
def test_two_streams_share_a_pool(name):
    with BACKENDS[name]() as pool:
        one, two = pool.results(range(20)), pool.results(range(100, 120))
        assert [next(s) for _ in range(20) for s in (one, two)] == [
            n * n for k in range(20) for n in (k, 100 + k)
        ]


def test_what_a_worker_raises_comes_back_in_its_place():
    with Pool(Processes(fails_at_seven, (), 2), ahead=3) as pool:
        found = pool.results(range(20))
        assert [next(found) for _ in range(7)] == list(range(7))
        with pytest.raises(UserError, match="seven"):
            next(found)


def test_a_worker_that_cannot_be_made_says_why():
    with (
        Pool(Processes(failing_build, (), 1)) as pool,
        pytest.raises(UserError, match="the graph is not there"),
    ):
        list(pool.results([1]))


def test_a_worker_that_is_killed_ends_the_run_in_one_line():
    with (
        Pool(Processes(dies, (), 1)) as pool,
        pytest.raises(GraphWalkerError, match="a worker process was killed"),
    ):
        list(pool.results([1]))


def test_workers_have_numbers_of_their_own():
    with Pool(Processes(identity, (), 2), ahead=4) as pool:
        found = dict(pool.results(range(20)))
    assert len(set(found.values())) == len(found) and set(found.values()) <= {0, 1}


def test_no_more_jobs_are_under_way_than_ahead_allows():
    begun, lock = [], threading.Lock()

    def work(job: int) -> int:
        with lock:
            begun.append(job)
        return job

    with Pool(Threads(work, 8), ahead=3) as pool:
        found = pool.results(range(100))
        next(found)
        time.sleep(0.05)
        assert len(begun) <= 4


def test_a_frugal_pool_begins_no_job_that_may_not_be_wanted():
    begun: list[int] = []
    kept = 0
    with Pool(Threads(begun.append, 8), ahead=50, frugal=True) as pool:
        found = pool.results(range(100), lambda: 5 - kept)
        for _ in range(5):
            next(found)
            kept += 1
    assert sorted(begun) == [0, 1, 2, 3, 4]
