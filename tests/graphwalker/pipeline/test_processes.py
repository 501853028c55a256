"""Processes that the demo works with: what they return, how they fail, how they are stopped."""

import os
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pytest

from graphwalker.cli import console
from graphwalker.errors import GraphError, GraphWalkerError, IncompleteError, UserError
from graphwalker.files import read_json
from graphwalker.pipeline.processes import ProcessError, SideProcess, one_thread
from graphwalker.pipeline.stages import Stage, StageTimes
from support.paths import ROOT

pytestmark = pytest.mark.long


def say(text: str) -> dict[str, str]:
    return {"said": text, "threads": os.environ["OMP_NUM_THREADS"], "own": os.environ["OWN"]}


def fail(error: Exception) -> None:
    raise error


class Stopped(GraphWalkerError):
    """One that is not made from its message alone."""

    def __init__(self, number: int, step: int) -> None:
        self.exit_code = 128 + number
        super().__init__(f"{signal.Signals(number).name}: stopped after step {step}")


def stop() -> None:
    raise Stopped(signal.SIGTERM, 4)


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def write(path: Path, text: str, tick: console.ProgressTick) -> None:
    tick(1, 1)
    path.write_text(text)


def wait(path: Path, _: console.ProgressTick) -> None:
    path.write_text(str(os.getpid()))
    time.sleep(600)


def nap(path: Path, _: console.ProgressTick) -> None:
    time.sleep(2.0)
    path.write_text("slept")


def wait_for(path: Path, _: console.ProgressTick) -> None:
    while not path.exists():
        time.sleep(0.02)


def refuse(_: console.ProgressTick) -> None:
    raise UserError("experts.count: more than there are")


def ended(pid: int) -> bool:
    for _ in range(200):
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.05)
    return False


def test_a_process_returns_what_its_work_returns(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    process = SideProcess(partial(say, "hello"), "one", {"OWN": "of it"})
    assert os.environ["OMP_NUM_THREADS"] == "2" and "OWN" not in os.environ
    assert process.result() == {"said": "hello", "threads": "1", "own": "of it"}
    process.kill()


def test_a_failure_is_told_as_that_of_one_process():
    mistake = SideProcess(partial(fail, UserError("no-such.jsonl: no such file")), "one")
    with pytest.raises(UserError, match=r"^no-such\.jsonl: no such file$"):
        mistake.result()
    down = SideProcess(partial(fail, GraphError("the graph is down")), "two")
    with pytest.raises(GraphError, match=r"^the graph is down$"):
        down.result()
    full = SideProcess(partial(fail, OSError(28, "No space left on device", "runs/demo")), "full")
    with pytest.raises(OSError, match="No space left on device") as error:
        full.result()
    assert error.value.filename == "runs/demo"
    missing = SideProcess(partial(fail, IncompleteError("3 of 5 are missing")), "missing")
    with pytest.raises(IncompleteError, match=r"^3 of 5 are missing$"):
        missing.result()
    stopped = SideProcess(stop, "stopped")
    with pytest.raises(ProcessError, match=r"^SIGTERM: stopped after step 4$") as failure:
        stopped.result()
    assert failure.value.exit_code == 128 + signal.SIGTERM
    wrong = SideProcess(partial(fail, ZeroDivisionError()), "wrong")
    with pytest.raises(ProcessError, match=r"^wrong ended with code 1 \(its error stands above\)$"):
        wrong.result()
    killed = SideProcess(die, "three")
    with pytest.raises(ProcessError, match="three ended with code -9"):
        killed.result()


@pytest.mark.parametrize("before", ["4", None])
def test_threads_are_given_back(monkeypatch, before):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    if before:
        monkeypatch.setenv("OMP_NUM_THREADS", before)
    with one_thread():
        assert os.environ["OMP_NUM_THREADS"] == "1"
    assert os.environ.get("OMP_NUM_THREADS") == before


def test_stages_beside_a_block_are_done_where_it_ends(tmp_path):
    times = StageTimes(tmp_path)
    stages = [
        Stage(name, partial(write, tmp_path / name, f"text of {name}"))
        for name in ("first", "second")
    ]
    with times.beside(stages):
        pass
    assert (tmp_path / "first").read_text() == "text of first"
    assert (tmp_path / "second").read_text() == "text of second"
    assert set(read_json(tmp_path / "seconds.json")) == {"first", "second"}
    assert set(read_json(tmp_path / "cpu_seconds.json")) == {"first", "second"}


def test_what_went_on_beside_a_stage_is_no_time_of_its_own(tmp_path):
    times, slept = StageTimes(tmp_path), tmp_path / "slept"
    with times.beside([Stage("beside", partial(nap, slept))]):
        times.run(Stage("long", partial(wait_for, slept)))
    assert times.seconds["beside"] >= 2 and times.seconds["long"] >= 2
    assert times.elapsed < sum(times.seconds.values())
    assert StageTimes(tmp_path).elapsed == times.elapsed


def test_what_a_stage_beside_raises_is_raised_where_the_block_ends(tmp_path):
    reached = False
    with (
        pytest.raises(UserError, match=r"^experts\.count: more than there are$"),
        StageTimes(tmp_path).beside([Stage("GraphRoll", refuse)]),
    ):
        reached = True
    assert reached


def test_a_block_that_fails_ends_what_was_beside_it(tmp_path):
    with (
        pytest.raises(GraphError),
        StageTimes(tmp_path).beside([Stage("long", partial(wait, tmp_path / "pid"))]),
    ):
        while not (tmp_path / "pid").exists() or not (tmp_path / "pid").read_text():
            time.sleep(0.02)
        raise GraphError("down")
    assert ended(int((tmp_path / "pid").read_text()))


def test_a_process_ends_with_the_one_that_started_it(tmp_path):
    script = (
        "import sys, time\n"
        "from functools import partial\n"
        "from pathlib import Path\n"
        "from graphwalker.pipeline.processes import SideProcess\n"
        "from test_processes import wait\n"
        "if __name__ == '__main__':\n"
        "    SideProcess(partial(wait, Path(sys.argv[1]), None), 'long')\n"
        "    time.sleep(600)\n"
    )
    (tmp_path / "main.py").write_text(script)
    paths = os.pathsep.join(map(str, (ROOT, ROOT / "tests", Path(__file__).parent)))
    run = subprocess.Popen(
        [sys.executable, str(tmp_path / "main.py"), str(tmp_path / "pid")],
        env={**os.environ, "PYTHONPATH": paths},
    )
    while not (tmp_path / "pid").exists() or not (tmp_path / "pid").read_text():
        assert run.poll() is None
        time.sleep(0.02)
    run.kill()
    run.wait()
    assert ended(int((tmp_path / "pid").read_text()))
