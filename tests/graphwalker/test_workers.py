"""One ordered pool, whatever does the work."""

import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from graphwalker.console import console
from graphwalker.errors import GraphWalkerError, UserError
from graphwalker.workers import pool as workers
from graphwalker.workers.pool import InLine, Pool, Processes, Threads, longest_wait, waiting_for
from support.paths import ROOT

pytestmark = pytest.mark.long


def square(job):
    time.sleep(0.001 * (job % 3))
    return job * job


def squares_of(power):
    return square if power == 2 else None


def fails_at_seven():
    def work(job):
        if job == 7:
            raise UserError("seven")
        return job

    return work


def dies_at_three():
    return lambda job: os._exit(9) if job == 3 else job


def identity():
    return lambda job: (os.getpid(), workers.worker_number())


UNGUARDED = """
from graphwalker.errors import GraphWalkerError
from graphwalker.workers.pool import Pool, Processes
from test_workers import identity
with Pool(Processes(identity, (), 1)) as pool:
    try:
        list(pool.results([1]))
    except GraphWalkerError as error:
        print(error)
"""
BACKENDS = {
    "in line": lambda: Pool(InLine(square)),
    "threads": lambda: Pool(Threads(square, 4), ahead=9),
    "processes": lambda: Pool(Processes(squares_of, (2,), 2), ahead=3, chunk=5),
}


@pytest.mark.parametrize("name", BACKENDS)
def test_results_come_in_the_order_of_the_jobs(name):
    with BACKENDS[name]() as pool:
        assert list(pool.results(range(53))) == [n * n for n in range(53)]


def test_what_a_worker_raises_comes_back_in_its_place():
    with Pool(Processes(fails_at_seven, (), 2), ahead=3) as pool:
        found = pool.results(range(20))
        assert [next(found) for _ in range(7)] == list(range(7))
        with pytest.raises(UserError, match="seven"):
            next(found)


def test_a_worker_that_is_killed_ends_the_run_in_one_line():
    with Pool(Processes(dies_at_three, (), 1)) as pool:
        found = pool.results([1, 2, 3])
        assert [next(found), next(found)] == [1, 2]
        with pytest.raises(GraphWalkerError, match="a worker process was killed"):
            next(found)


def test_a_script_that_its_workers_would_run_again_is_told_so(tmp_path):
    (tmp_path / "unguarded.py").write_text(UNGUARDED)
    paths = os.pathsep.join(map(str, (ROOT, ROOT / "tests", Path(__file__).parent)))
    words, env = (
        [sys.executable, str(tmp_path / "unguarded.py")],
        os.environ | {"PYTHONPATH": paths},
    )
    run = subprocess.run(words, env=env, capture_output=True, text=True, check=True)
    assert "ended before its first record" in run.stdout and "__main__" in run.stdout
    assert "bootstrapping" in run.stderr  # Python's own words


def test_no_more_jobs_are_under_way_than_ahead_allows():
    begun, lock = [], threading.Lock()

    def work(job):
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


def test_what_is_waited_for_longest_is_known():
    assert longest_wait() is None
    started = threading.Event(), threading.Event()

    def other():
        with waiting_for("the other one"):
            started[0].set()
            started[1].wait(5)

    thread = threading.Thread(target=other)
    thread.start()
    started[0].wait(5)
    with waiting_for("an answer"):
        found = longest_wait()
        assert found is not None and found[0] == "the other one"
    started[1].set()
    thread.join()
    assert longest_wait() is None


def test_a_watchdog_says_what_is_waited_for(capsys):
    with console.progress("synth", every_s=0.05) as tick, waiting_for("an answer of http://x"):
        tick(1, 10)
        time.sleep(0.3)
    told = "synth: nothing new for 0 s; waiting for an answer of http://x"
    assert told in capsys.readouterr().err


def test_lines_say_what_a_model_does(capsys):
    with console.progress("evaluate", every_s=0.05) as tick:
        tick(0, 10)
        workers.count_work(episodes=1, turns=4, written=300, cost=0.25)
        time.sleep(0.3)
        tick(2, 10, EM=0.5)
    told = capsys.readouterr().err
    assert "at work: 1 episode, 4 turns, writes" in told
    assert "2 of 10," in told and "EM 0.5, 4 turns" in told and "cost 0.25" in told
