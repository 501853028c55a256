"""How `graphwalker eval` ends: what was scored, what is missing, and what no request can mend."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from eval.run.evaluate import evaluate
from eval.run.records import PREDICTIONS, read_run
from graphwalker.cli import app as cli
from graphwalker.errors import IncompleteError, PolicyError
from graphwalker.files import read_jsonl
from graphwalker.policies.scripted import ScriptedPolicy
from support.chat_server import Act
from support.eval_toy import toy_environment, toy_questions, trained_script
from support.teacher_server import AgentServer, teach


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


@pytest.fixture
def run_eval(source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Eval:
    def run(url: str, *more: str) -> Ended:
        settings = [
            f"graph={source / 'graph'}",
            f"questions={source / 'q.jsonl'}",
            f"output_dir={tmp_path / 'run'}",
            "policy.model=tiny",
            f"policy.api.base_url={url}",
            "policy.api.concurrency=1",
            "policy.api.api_key_env=",
            "policy.api.backoff_s=0.01",
            *more,
        ]
        code = cli.run(lambda: cli.app(["eval", *settings], standalone_mode=False))
        return Ended(code, *capsys.readouterr())

    return run


def test_a_wrong_key_ends_the_run_at_once_with_one_line_and_exit_code_1(
    run_eval: Eval, tmp_path: Path
) -> None:
    with teach(lambda turn, name: error(401, "Incorrect API key"), AgentServer) as server:
        ended = run_eval(server.url)
        assert server.asked.total() == 1
    assert ended.code == 1
    assert len(ended.err.splitlines()) == 1 and "Incorrect API key" in ended.err
    assert not (tmp_path / "run/report.json").exists()


def test_a_server_that_is_down_ends_the_run_with_exit_code_1(
    run_eval: Eval, caplog: pytest.LogCaptureFixture
) -> None:
    ended = run_eval("http://127.0.0.1:9/v1", "policy.api.retries=0", "failures_in_a_row=3")
    assert ended.code == 1 and "3 failures in a row" in ended.err
    assert len(ended.err.splitlines()) == 1
    assert len(caplog.messages) == 1  # the first retry stands for all


@pytest.mark.long
def test_missing_questions_exit_3_and_stand_in_every_output(run_eval: Eval, tmp_path: Path) -> None:
    with teach(two_are_declined, AgentServer) as server:
        ended = run_eval(server.url, "samples=1", "retries=0")
        first = [(tmp_path / "run" / n).read_text() for n in ("report.md", "report.html")]
        server.mended = True
        whole = run_eval(server.url, "samples=1", "retries=0")
    assert whole.code == 0 and "questions missing" not in whole.out + whole.err
    assert ended.code == 3
    assert "2 of 8 questions missing, 2 sampled episodes missing" in ended.err
    assert "content filter" in ended.err and "resumes" in ended.err
    assert "missing" in ended.out
    assert all("6 of 8 questions (2 missing)" in page for page in first)
    assert "missing" not in (tmp_path / "run/report.md").read_text()


@pytest.mark.long
def test_a_run_without_money_keeps_what_it_has_and_resumes(run_eval: Eval, tmp_path: Path) -> None:
    with teach(no_money_is_left, AgentServer) as server:
        ended = run_eval(server.url, "concurrency=1")
        server.mended = True
        assert run_eval(server.url, "concurrency=1").code == 0
    assert ended.code == 3 and "4 of 8 questions missing" in ended.err
    assert "Insufficient Balance" in ended.err
    ids = [record["id"] for record in read_jsonl(tmp_path / "run" / PREDICTIONS)]
    assert ids == [f"q0{number}#0" for number in range(1, 9)]


def test_failures_in_a_row_end_a_run_that_resumes(tmp_path: Path, capsys: Any) -> None:
    down: dict[str, Any] = {
        question.id: [PolicyError("down")] * 2 for question in toy_questions()[2:]
    }
    policy = ScriptedPolicy({**trained_script(), **down})
    with pytest.raises(IncompleteError, match="3 failures in a row, the last: down"):
        questions, environment = toy_questions(), toy_environment()
        evaluate(questions, environment, policy, tmp_path, failures_in_a_row=3, concurrency=1)
    assert [len(read_run(tmp_path).trajectories), len(read_run(tmp_path).failures)] == [2, 3]
    assert read_run(tmp_path).missing() == {
        "questions_total": 8,
        "missing": 6,
        "missing_samples": 0,
        "missing_ids": ["q03", "q04", "q05"],
    }
    for command in (["report", str(tmp_path), "--out", str(tmp_path / "page")],
                    ["analyse", str(tmp_path), "--json"]):  # fmt: skip
        code = cli.run(lambda words=command: cli.app(words, standalone_mode=False))
        error = capsys.readouterr().err
        assert code == 3 and "6 of 8 questions missing (q03, q04, q05)" in error
    scattered: dict[str, Any] = {name: [PolicyError("down")] * 2 for name in ("q03", "q05", "q07")}
    policy = ScriptedPolicy({**trained_script(), **scattered})
    evaluate(toy_questions(), toy_environment(), policy, tmp_path, failures_in_a_row=2)
    assert read_run(tmp_path).missing()["missing"] == 3


def test_a_failure_inside_a_200_is_missing_and_never_wrong(run_eval: Eval, tmp_path: Path) -> None:
    with teach(upstream_fails_inside_a_200, AgentServer) as server:
        ended = run_eval(server.url, "retries=0", "policy.api.retries=1")
    assert ended.code == 3 and "2 of 8 questions missing" in ended.err
    assert not {"q03#0", "q05#0"} & {r["id"] for r in read_jsonl(tmp_path / "run" / PREDICTIONS)}


def test_empty_turns_are_scored_and_counted_in_the_report(run_eval: Eval, tmp_path: Path) -> None:
    with teach(all_tokens_go_to_reasoning, AgentServer) as server:
        ended = run_eval(server.url)
    assert ended.code == 0, ended.err
    report = (tmp_path / "run" / "report.md").read_text()
    assert "8 of 16 turns were empty: raise max_tokens" in report
