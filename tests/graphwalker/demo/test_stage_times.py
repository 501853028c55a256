"""What a stage costs is written down while it runs: a killed one counts, too."""

import os
import signal
import subprocess
import sys
import time

from graphwalker.files import read_json
from graphwalker.jobs.times import Stage, StageTimes

BUSY = """
import subprocess, sys
from pathlib import Path
from graphwalker.jobs import times as stages
stages.EVERY_S = 0.2
work = lambda tick: subprocess.run([sys.executable, "-c", "while True: pass"])
stages.StageTimes(Path(sys.argv[1])).run(stages.Stage("busy", work, own_bar=True))
"""


def test_a_killed_stage_counts_its_seconds_and_those_of_its_workers(tmp_path):
    words = [sys.executable, "-c", BUSY, str(tmp_path)]
    running, until = subprocess.Popen(words, start_new_session=True), time.monotonic() + 120
    cost = tmp_path / "cpu_seconds.json"
    while time.monotonic() < until and not (cost.is_file() and read_json(cost)["busy"] > 0.5):
        time.sleep(0.1)
    os.killpg(running.pid, signal.SIGKILL)
    running.wait()
    assert read_json(cost)["busy"] > 0.5 and read_json(tmp_path / "seconds.json")["busy"] > 0.5


def test_a_stage_that_is_run_again_adds_to_what_it_cost(tmp_path):
    for _ in range(2):
        StageTimes(tmp_path).run(Stage("a", lambda tick: time.sleep(0.3), own_bar=True))
    assert StageTimes(tmp_path).elapsed_s >= 0.5
