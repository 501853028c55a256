"""How `graphwalker eval` ends over an API or an endpoint, and resumes."""

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from eval.run.config import EvalConfig, run_eval
from eval.run.evaluate import evaluate
from eval.run.records import PREDICTIONS, read_run
from graphwalker.config import load_config
from graphwalker.errors import IncompleteError, PolicyError
from graphwalker.files import read_jsonl, write_jsonl
from graphwalker.policies.scripted import ScriptedPolicy
from support.backends import write
from support.chat_server import Act
from support.commands import code
from support.eval_toy import toy_environment, toy_questions, trained_script
from support.faulty_endpoint import FaultyEndpoint, faulty
from support.oxigraph import load_store
from support.teacher_server import AgentServer, teach
from support.toy import TOY_NAMES, TOY_TRIPLES, TOY_TYPES


def error(status: int, message: str) -> Act:
    return Act(status=status, body={"error": {"message": message}})


def two_are_declined(turn: int, name: str) -> Act | None:
    return error(400, "content filter") if name in ("q03", "q05") else None


def no_money_is_left(turn: int, name: str) -> Act | None:
    return None if name < "q05" else error(402, "Insufficient Balance")


def upstream_fails_inside_a_200(turn: int, name: str) -> Act | None:
    told = {"error": {"code": 502, "message": "upstream"}}
    return Act("", finish="error", extra=told) if name in ("q03", "q05") else None


def all_tokens_go_to_reasoning(turn: int, name: str) -> Act | None:
    if turn:
        return Act('<answer> ["Nobody"] </answer>')
    return Act("", finish="length", extra={"reasoning_content": "Let me think"})


@dataclass
class Ended:
    code: int
    out: str
    err: str


Eval = Callable[..., Ended]


def files(toy: Path, out: Path) -> list[str]:
    paths = {"graph": toy / "graph", "questions": toy / "q.jsonl", "output_dir": out / "run"}
    return [*(f"{key}={path}" for key, path in paths.items()), "policy.model=tiny"]


@pytest.fixture
def end(source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Eval:
    def run(url: str, *more: str) -> Ended:
        api = (f"policy.api.base_url={url}", "policy.api.concurrency=1", "policy.api.api_key_env=")
        settings = (*files(source, tmp_path), *api, "policy.api.backoff_s=0.01", *more)
        return Ended(code("eval", *settings), *capsys.readouterr())

    return run


def test_a_wrong_key_ends_the_run_at_once_with_one_line_and_exit_code_1(end, tmp_path):
    with teach(lambda turn, name: error(401, "Incorrect API key"), AgentServer) as server:
        ended = end(server.url)
        assert server.asked.total() == 1
    assert ended.code == 1
    assert len(ended.err.splitlines()) == 1 and "Incorrect API key" in ended.err
    assert not (tmp_path / "run/report.json").exists()


def test_a_server_that_is_down_ends_the_run_with_exit_code_1(end, caplog):
    ended = end("http://127.0.0.1:9/v1", "policy.api.retries=0", "failures_in_a_row=3")
    assert ended.code == 1 and "3 failures in a row" in ended.err
    assert len(ended.err.splitlines()) == 1
    assert len(caplog.messages) == 1  # the first retry stands for all


@pytest.mark.long
def test_missing_questions_exit_3_and_stand_in_every_output(end: Eval, tmp_path: Path) -> None:
    with teach(two_are_declined, AgentServer) as server:
        ended = end(server.url, "samples=1", "retries=0")
        first = [(tmp_path / "run" / n).read_text() for n in ("report.md", "report.html")]
        server.mended = True
        whole = end(server.url, "samples=1", "retries=0")
    assert whole.code == 0 and "questions missing" not in whole.out + whole.err
    assert ended.code == 3
    assert "2 of 8 questions missing, 2 sampled episodes missing" in ended.err
    assert "content filter" in ended.err and "resumes" in ended.err
    assert "missing" in ended.out
    assert all("6 of 8 questions (2 missing)" in page for page in first)
    assert "missing" not in (tmp_path / "run/report.md").read_text()


@pytest.mark.long
def test_a_run_without_money_keeps_what_it_has_and_resumes(end: Eval, tmp_path: Path) -> None:
    with teach(no_money_is_left, AgentServer) as server:
        ended = end(server.url, "concurrency=1")
        server.mended = True
        assert end(server.url, "concurrency=1").code == 0
    assert ended.code == 3 and "4 of 8 questions missing" in ended.err
    assert "Insufficient Balance" in ended.err
    ids = [record["id"] for record in read_jsonl(tmp_path / "run" / PREDICTIONS)]
    assert ids == [f"q0{number}#0" for number in range(1, 9)]


def test_failures_in_a_row_end_a_run_that_resumes(tmp_path: Path, capsys: Any) -> None:
    def play(lost: Iterable[str], most: int) -> None:
        script = {**trained_script(), **dict.fromkeys(lost, [PolicyError("down")] * 2)}
        settings = {"failures_in_a_row": most, "concurrency": 1}
        evaluate(toy_questions(), toy_environment(), ScriptedPolicy(script), tmp_path, **settings)

    with pytest.raises(IncompleteError, match="3 failures in a row, the last: down"):
        play([question.id for question in toy_questions()[2:]], 3)
    assert [len(read_run(tmp_path).trajectories), len(read_run(tmp_path).failures)] == [2, 3]
    missing = {"questions_total": 8, "missing": 6, "missing_samples": 0}
    assert read_run(tmp_path).missing() == {**missing, "missing_ids": ["q03", "q04", "q05"]}
    for words in (("report", tmp_path, "--out", tmp_path / "page"), ("analyse", tmp_path)):
        assert code(*words) == 3
        assert "6 of 8 questions missing (q03, q04, q05)" in capsys.readouterr().err
    play(("q03", "q05", "q07"), 2)
    assert read_run(tmp_path).missing()["missing"] == 3


def test_a_failure_inside_a_200_is_missing_and_never_wrong(end: Eval, tmp_path: Path) -> None:
    with teach(upstream_fails_inside_a_200, AgentServer) as server:
        ended = end(server.url, "retries=0", "policy.api.retries=1")
    assert ended.code == 3 and "2 of 8 questions missing" in ended.err
    assert not {"q03#0", "q05#0"} & {r["id"] for r in read_jsonl(tmp_path / "run" / PREDICTIONS)}


def test_empty_turns_are_scored_and_counted_in_the_report(end: Eval, tmp_path: Path) -> None:
    with teach(all_tokens_go_to_reasoning, AgentServer) as server:
        ended = end(server.url)
    assert ended.code == 0, ended.err
    report = (tmp_path / "run" / "report.md").read_text()
    assert "8 of 16 turns were empty: raise max_tokens" in report


def slowly(turn: int, name: str) -> Act:
    """So that a kill finds requests under way."""
    return Act(str(trained_script()[name][turn]), delay_s=0.05)


def evaluation(toy: Path, out: Path, url: str, *more: str) -> subprocess.Popen[bytes]:
    settings = (*files(toy, out), f"policy.api.base_url={url}", "policy.api.concurrency=2", *more)
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
def test_a_killed_evaluation_resumes_without_paying_for_an_answer_twice(source, tmp_path):
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


EMPTY = (200, {"Content-Type": "application/sparql-results+json"},
         b'{"head": {"vars": []}, "results": {"bindings": []}}')  # fmt: skip
Play = Callable[[str], bytes]


@pytest.fixture
def endpoint(tmp_path: Path) -> Iterator[FaultyEndpoint]:
    with faulty(load_store([write(tmp_path / "nt", TOY_TRIPLES, TOY_NAMES, TOY_TYPES)])) as running:
        yield running


@pytest.fixture
def play(endpoint: FaultyEndpoint, tmp_path: Path) -> Play:
    write_jsonl(tmp_path / "q.jsonl", [question.to_json() for question in toy_questions()])

    def run(name: str) -> bytes:
        paths = {"graph": endpoint.address, "questions": tmp_path / "q.jsonl"}
        settings = {**paths, "output_dir": tmp_path / name, "policy.model": "first-relation",
                    "graph_cache": tmp_path / "cache" / name, "retries": 0,
                    "failures_in_a_row": 2, "concurrency": 1}  # fmt: skip
        return (run_eval(load_config(EvalConfig, None, [f"{k}={v}" for k, v in settings.items()]))
                / PREDICTIONS).read_bytes()  # fmt: skip

    return run


def test_an_endpoint_that_is_empty_for_a_while_changes_no_answer(endpoint, play):
    expected = play("plain")
    endpoint.faults = [None] * 6 + [EMPTY] * 5
    assert play("while") == expected and not endpoint.faults


def test_one_that_stays_empty_ends_the_run_which_the_same_command_resumes(endpoint, play):
    expected = play("plain")
    endpoint.faults = [None] * 8 + [EMPTY] * 10_000
    with pytest.raises(IncompleteError, match="2 failures in a row"):
        play("stays")
    endpoint.faults = []
    assert play("stays") == expected
