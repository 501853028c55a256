"""A process of several that hangs, is killed or fails, or whose engine does: the run ends soon, and
each log says why."""

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from torch.distributed.elastic.multiprocessing.errors import ChildFailedError, ProcessFailure

from graphwalker.agents.environment import EnvironmentConfig
from support.engine_toy import Toy
from support.paths import ROOT
from support.run_toys import grpo_config, make_toy_graph, sft_config, write_config
from support.token_server import Fault, serve
from training.runs.checkpoints import last_checkpoint
from training.runs.failures import ERROR_FILE, end_logs, leave_reason, log_files

OWN = """
import os

def broken(trajectory, question, scores):
    if os.environ["RANK"] == "1":
        raise ArithmeticError("a reward that divides by nothing")
    return 1.0
"""


class Run:
    """Two processes that train, each with a log of its own."""

    def __init__(self, config: Path, folder: Path, *script: str, **environment: str) -> None:
        self.folder = folder
        layout = ["--config_file", str(ROOT / "configs/accelerate/ddp.yaml")]
        layout += ["--num_processes", "2", "--main_process_port", "0", "--tee", "3"]
        layout += ["--log_dir", str(folder / "logs"), *script]
        command = [sys.executable, "-m", "training.launch", *layout, "--config", str(config)]
        environment["PYTHONPATH"] = os.pathsep.join(map(str, (ROOT, ROOT / "tests", folder)))
        with (folder / "log").open("wb") as log:
            self.process = subprocess.Popen(
                command, cwd=ROOT, env=os.environ | environment, stdout=log, stderr=log
            )

    def wait_for(self, file: Path) -> None:
        while not (file.is_file() and file.stat().st_size):
            assert self.process.poll() is None, self.log()
            time.sleep(0.2)

    def log(self) -> str:
        return (self.folder / "log").read_text()

    def last_words(self) -> dict[int, str]:
        """The last line of each process's own log."""
        logs = (self.folder / "logs").glob("*/attempt_0/*/stderr.log")
        return {int(log.parent.name): log.read_text().strip().rpartition("\n")[2] for log in logs}

    def child(self, rank: int) -> int:
        """The process of that number; 0 where there is none."""
        for place in Path("/proc").glob("[0-9]*"):
            try:
                words = (place / "environ").read_bytes().split(b"\0")
                above = int((place / "stat").read_text().rpartition(")")[2].split()[1])
            except OSError:
                continue
            if above == self.process.pid and f"RANK={rank}".encode() in words:
                return int(place.name)
        return 0


def long_sft(place: Path, folder: Path, **more: int) -> Run:
    config = sft_config(place, folder / "two", max_steps=3000, allow_cpu=True, **more)
    path = write_config(config, folder / "c.json")
    run = Run(path, folder, "--module", "training.sft")
    run.wait_for(folder / "two" / "metrics.jsonl")
    return run


@pytest.mark.parametrize(
    ("code", "left", "said", "reason"),
    [
        (-9, "", "step 7", "process 0 was ended by SIGKILL"),
        (1, "no room", "no room", "process 0 of this node ended: no room"),
        (-15, "no room", "no room", "process 0 of this node ended: no room"),
        (1, "", "sft: waited in vain", "process 0 of this node ended: sft: waited in vain"),
    ],
)
def test_a_log_that_lacks_the_reason_gets_it(code, left, said, reason, tmp_path, monkeypatch):
    logs = [tmp_path / "run/attempt_0" / name / "stderr.log" for name in "01"]
    for log, last in zip(logs, (said, "step 7"), strict=True):
        log.parent.mkdir(parents=True)
        log.write_text(f"step 6\n{last}\n")
    monkeypatch.setenv(ERROR_FILE, str(logs[0].with_name("error.json")))
    if left:
        leave_reason(left)
    failure = ProcessFailure(0, 1, code, os.environ[ERROR_FILE])
    end_logs(ChildFailedError("sft", {0: failure}), log_files(str(tmp_path)))
    assert reason in logs[1].read_text().splitlines()[-1]
    assert reason.rpartition("ended: ")[2] in logs[0].read_text().splitlines()[-1]
    assert len(logs[0].read_text().splitlines()) == (2 if left or code > 0 else 3)


@pytest.mark.slow
def test_a_process_that_hangs_ends_the_run_with_its_reason(place, tmp_path):
    run = long_sft(place, tmp_path, ddp_timeout_s=20)
    os.kill(run.child(1), signal.SIGSTOP)
    began = time.monotonic()
    assert run.process.wait(timeout=240) and time.monotonic() - began > 15
    why = "process 0 waited for another one"
    assert [why in words for words in run.last_words().values()] == [True, True]
    assert not run.child(1) and not run.child(0)


@pytest.mark.slow
def test_a_process_that_is_killed_ends_the_run_within_a_minute(place, tmp_path):
    run = long_sft(place, tmp_path)
    os.kill(run.child(1), signal.SIGKILL)
    began = time.monotonic()
    assert run.process.wait(timeout=120) and time.monotonic() - began < 60
    why = "process 1 was ended by SIGKILL"
    assert [why in words for words in run.last_words().values()] == [True, True]
    assert why in run.log().splitlines()[-1]
    assert not run.child(0)


@pytest.mark.slow
def test_the_reason_of_a_process_that_fails_is_the_last_line_of_every_log(grpo_world, tmp_path):
    (tmp_path / "my_rewards.py").write_text(OWN, encoding="utf-8")
    more = {"rewards": {"my_rewards:broken": 1.0}, "allow_cpu": True}
    config = write_config(grpo_config(grpo_world, tmp_path / "two", **more), tmp_path / "c.json")
    run = Run(config, tmp_path, "--module", "training.grpo")
    assert run.process.wait(timeout=900), run.log()
    reason = "ArithmeticError: a reward that divides by nothing"
    words = run.last_words()
    assert reason in words[1] and f"process 1 of this node ended: {reason}" in words[0]


@pytest.mark.slow
def test_an_engine_of_two_that_fails_twice_in_a_row_ends_the_run_at_its_checkpoint(tmp_path):
    toy = Toy(tmp_path / "model")
    make_toy_graph(tmp_path)
    settings = {"format": "auto", "environment": EnvironmentConfig(prompt="compact", max_turns=2)}
    settings |= {"prompts_per_step": 2, "samples": 2, "micro_batch": 2, "save_steps": 1}
    settings |= {"max_turn_tokens": 12, "max_prompt_tokens": 1200, "max_response_tokens": 800}
    more = {"max_failed": 1.0, "limit_steps": 0, "allow_cpu": True, "force_environment": True}
    config = grpo_config(tmp_path, tmp_path / "run", model=str(toy.folder), **settings, **more)
    path = write_config(config, tmp_path / "c.json")
    with serve(toy) as well, serve(toy) as sick:
        sick.faults = [Fault(status=500)] * 100
        script = str(ROOT / "tests/support/own_server.py")
        run = Run(path, tmp_path, script, SERVERS=f"{well.url},{sick.url}")
        assert run.process.wait(timeout=900), run.log()
    why = r"step 2: the engine of process 1 failed twice in a row .*500"
    assert all(re.search(why, words) for words in run.last_words().values()), run.last_words()
    assert last_checkpoint(tmp_path / "run") == 1
