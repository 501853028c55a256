"""An evaluation of a model behind an API, killed and resumed, over real HTTP."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from graphwalker.files import read_jsonl
from support.chat_server import Act
from support.eval_toy import trained_script
from support.teacher_server import AgentServer, teach


def slowly(turn: int, name: str) -> Act:
    """So that a kill finds requests under way."""
    return Act(str(trained_script()[name][turn]), delay_s=0.05)


def evaluation(toy: Path, out: Path, url: str, *more: str) -> subprocess.Popen[bytes]:
    settings = [
        f"graph={toy / 'graph'}",
        f"questions={toy / 'q.jsonl'}",
        f"output_dir={out / 'run'}",
        "policy.model=tiny",
        f"policy.api.base_url={url}",
        "policy.api.concurrency=2",
        *more,
    ]
    return subprocess.Popen([sys.executable, "-m", "graphwalker", "eval", *settings])


@pytest.mark.long
def test_the_shards_of_a_stage_never_pass_its_cap_together(source: Path, tmp_path: Path) -> None:
    cap = "policy.api.prices.max_requests=8"
    with teach(slowly, AgentServer) as server:
        shards = [evaluation(source, tmp_path, server.url, cap, f"shard={k}/2") for k in range(2)]
        codes = [process.wait() for process in shards]
        requests = server.asked.total()
    assert requests == 8 and 0 not in codes  # four each, and the questions need more


@pytest.mark.long
def test_a_killed_evaluation_resumes_without_paying_for_an_answer_twice(
    source: Path, tmp_path: Path
) -> None:
    with teach(slowly, AgentServer) as server:
        process = evaluation(source, tmp_path, server.url)
        deadline = time.monotonic() + 300
        while server.answered.total() < 5 and time.monotonic() < deadline:
            time.sleep(0.005)
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert evaluation(source, tmp_path, server.url).wait() == 0
        twice = server.asked.total() - len(server.asked)
    spent = json.loads((tmp_path / "run/spent.json").read_text())
    assert twice <= spent["lost"] <= 2  # what was under way at the kill, and no more
    assert spent["answers"] == {"turn": len(server.asked)}
    predictions = list(read_jsonl(tmp_path / "run/predictions.jsonl"))
    assert sorted(row["scores"]["em"] for row in predictions) == [0.0] * 2 + [1.0] * 6
