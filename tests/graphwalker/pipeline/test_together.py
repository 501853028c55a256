"""Processes that train together: the run of one, its mistakes, and how it is stopped."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("trl")

from graphwalker.errors import UserError  # noqa: E402
from graphwalker.files import read_json  # noqa: E402
from graphwalker.pipeline.processes import ProcessError  # noqa: E402
from graphwalker.pipeline.together import train_together  # noqa: E402
from support.paths import ROOT  # noqa: E402
from support.run_toys import (  # noqa: E402
    largest_difference,
    lines,
    make_sft_place,
    sft_config,
    write_config,
)
from training.config import SftConfig  # noqa: E402
from training.sft import run_sft  # noqa: E402


@pytest.fixture(scope="module")
def place(tmp_path_factory) -> Path:
    return make_sft_place(tmp_path_factory.mktemp("sft"))


def second_is_killed(_: SftConfig) -> None:
    """A training whose second process is killed, and whose first one waits for it for ever."""
    if os.environ["RANK"] == "1":
        os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(600)


@pytest.mark.long
def test_two_processes_train_what_one_trains(place, tmp_path):
    run_sft(sft_config(place, tmp_path / "one", max_steps=4))
    before = dict(os.environ)
    train_together(run_sft, sft_config(place, tmp_path / "two", max_steps=4), 2)
    assert dict(os.environ) == before
    assert [line["step"] for line in lines(tmp_path / "two")] == [1, 2, 3, 4]
    assert largest_difference(tmp_path / "two", tmp_path / "one") < 2e-4


def test_a_mistake_is_told_as_that_of_one_process(place, tmp_path):
    config = sft_config(place, tmp_path / "run").model_copy(update={"data": ["no-such.jsonl"]})
    with pytest.raises(UserError, match=r"^no-such\.jsonl: no such trajectory file$"):
        train_together(run_sft, config, 2)


@pytest.mark.long
def test_a_process_that_was_killed_ends_the_others(place, tmp_path):
    with pytest.raises(ProcessError, match="process 1 of the training ended with code -9"):
        train_together(second_is_killed, sft_config(place, tmp_path / "run"), 2)


@pytest.mark.slow
def test_a_signal_is_passed_on_and_what_was_trained_is_saved(place, tmp_path):
    config = sft_config(place, tmp_path / "run", max_steps=400, save_steps=400)
    script = (
        "import json, sys\n"
        "from graphwalker.pipeline.processes import ProcessError\n"
        "from graphwalker.pipeline.together import train_together\n"
        "from training.config import SftConfig\n"
        "from training.sft import run_sft\n"
        "if __name__ == '__main__':\n"
        "    config = SftConfig(**json.load(open(sys.argv[1])))\n"
        "    try:\n"
        "        train_together(run_sft, config, 2)\n"
        "    except ProcessError as error:\n"
        "        sys.exit(error.exit_code)\n"
    )
    (tmp_path / "main.py").write_text(script)
    path = write_config(config, tmp_path / "config.json")
    run = subprocess.Popen(
        [sys.executable, str(tmp_path / "main.py"), str(path)],
        cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    metrics = tmp_path / "run" / "metrics.jsonl"
    while run.poll() is None and not (metrics.exists() and metrics.read_text()):
        time.sleep(0.1)
    run.send_signal(signal.SIGTERM)
    assert run.wait(timeout=60) == 128 + signal.SIGTERM
    step = read_json(tmp_path / "run" / "stopped.json")["step"]
    assert (tmp_path / "run" / f"checkpoint-{step}").is_dir()
