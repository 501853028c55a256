"""The evaluation run: its files, its order, and what a killed job leaves."""

import json
from pathlib import Path
from typing import Any

import pytest

from eval.run.evaluate import evaluate, evaluate_with
from eval.run.records import PREDICTIONS, SAMPLES, USAGE, read_run, read_usage, usage_figures
from eval.run.workers import ThisProcess, WorkerProcesses
from graphwalker.errors import PolicyError, UserError
from graphwalker.policies.base import Completion
from graphwalker.policies.scripted import ScriptedPolicy
from graphwalker.runs import lock_folder
from support.eval_toy import toy_environment, toy_questions, trained_script


class DyingPolicy(ScriptedPolicy):
    """Ends the process, as far as a test can, after some completions."""

    def __init__(self, completions: int) -> None:
        super().__init__(trained_script())
        self.left = completions

    def collect(self) -> list[tuple[str, Completion | PolicyError]]:
        self.left -= 1
        if self.left < 0:
            raise KeyboardInterrupt
        return super().collect()


def run(out: Path, policy: ScriptedPolicy | None = None, **options: object) -> Path:
    policy = policy or ScriptedPolicy(trained_script())
    return evaluate(toy_questions(), toy_environment(), policy, out, **options)  # type: ignore[arg-type]


def ids(path: Path) -> list[str]:
    return [json.loads(line)["id"] for line in path.read_text(encoding="utf-8").splitlines()]


def test_the_files_are_the_same_bytes_whatever_the_order_of_completions(tmp_path: Path) -> None:
    a = run(tmp_path / "a", samples=2, concurrency=1)
    b = run(tmp_path / "b", ScriptedPolicy(trained_script(), latest_first=True), samples=2)
    for name in (PREDICTIONS, SAMPLES):
        assert (a / name).read_bytes() == (b / name).read_bytes()


@pytest.mark.parametrize("completions", [2, 7, 13, 30])
def test_a_killed_run_goes_on_and_ends_as_an_undisturbed_one(tmp_path, completions):
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path / "a", DyingPolicy(completions), samples=3, concurrency=2)
    kept = tmp_path / "a" / PREDICTIONS
    kept.write_bytes(kept.read_bytes() + b'{"id":"q0')  # the record that was being written
    run(tmp_path / "a", samples=3, concurrency=2)
    run(tmp_path / "b", samples=3)
    for name in (PREDICTIONS, SAMPLES):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()


class Witness(ScriptedPolicy):
    """Notes the most episodes that were given a completion together."""

    most = 0

    def collect(self) -> list[tuple[str, Completion | PolicyError]]:
        completions = super().collect()
        self.most = max(self.most, len(completions))
        return completions


def test_what_a_killed_run_lacks_here_and_there_is_played_together(tmp_path: Path) -> None:
    samples = run(tmp_path / "run", samples=3) / SAMPLES
    lines = samples.read_text(encoding="utf-8").splitlines(keepends=True)
    samples.write_text("".join(lines[::2]), encoding="utf-8")
    run(tmp_path / "run", witness := Witness(trained_script()), samples=3)
    assert samples.read_text(encoding="utf-8") == "".join(lines) and witness.most == 12


def test_infrastructure_failures_stand_apart_and_are_tried_again_in_place(tmp_path: Path) -> None:
    script = {**trained_script(), "q03": [PolicyError("the server is down")]}
    found = read_run(run(tmp_path / "run", ScriptedPolicy(script)))
    assert [t.question.id for t in found.failures] == ["q03"]
    assert len(found.trajectories) == 7
    found = read_run(run(tmp_path / "run"))
    assert found.failures == []
    assert [t.question.id for t in found.trajectories] == [q.id for q in toy_questions()]


def test_another_runs_folder_is_refused_by_the_key_that_differs(tmp_path: Path) -> None:
    out = run(tmp_path / "run", identity={"weights": "a"})
    same: dict[str, Any] = {"identity": {"weights": "a"}}
    for key, value in {"seed": 1, "max_tokens": 9, "identity": {"weights": "b"}}.items():
        named = "weights" if key == "identity" else key
        with pytest.raises(UserError, match=rf"run: {named} was"):
            run(out, **same | {key: value})
    with pytest.raises(UserError, match="questions"):
        evaluate(toy_questions()[:3], toy_environment(), ScriptedPolicy({}), out, **same)
    policy = ScriptedPolicy({})
    run(out, policy, **same)
    assert policy.released == []  # a finished run asks nothing
    with lock_folder(tmp_path / "other"), pytest.raises(UserError, match="is writing here"):
        run(tmp_path / "other")


def test_questions_with_one_id_no_questions_and_no_run_are_refused(tmp_path: Path) -> None:
    for asked, message in (([*toy_questions(), toy_questions()[0]], "q01"), ([], "no questions")):
        with pytest.raises(UserError, match=message):
            evaluate(asked, toy_environment(), ScriptedPolicy({}), tmp_path / "run")
    with pytest.raises(UserError, match="not an evaluation run"):
        read_run(tmp_path)


@pytest.mark.parametrize("name", [PREDICTIONS, SAMPLES])
def test_a_record_that_stands_twice_is_refused_and_its_file_left_as_it_is(name, tmp_path) -> None:
    out = run(tmp_path / "run", samples=1)
    last, *others = reversed((out / name).read_text(encoding="utf-8").splitlines(keepends=True))
    (out / name).write_text("".join([last, *others, last]), encoding="utf-8")
    before = (out / name).read_bytes()
    for read in (lambda: run(out, samples=1), lambda: read_run(out)):
        with pytest.raises(UserError, match=rf"{name}: record \d+: \S+ stands twice"):
            read()
    assert (out / name).read_bytes() == before


def test_progress_counts_what_was_there_already(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path / "run", DyingPolicy(8), samples=1, concurrency=1)
    kept = len(ids(tmp_path / "run" / PREDICTIONS))
    seen: list[tuple[int, int]] = []
    run(tmp_path / "run", samples=1, progress=lambda done, total, **_: seen.append((done, total)))
    assert kept > 0 and seen[0] == (kept, 16) and seen[-1] == (16, 16)


def test_samples_are_small_unless_whole_ones_are_asked_for(tmp_path: Path) -> None:
    small = run(tmp_path / "small", samples=1) / SAMPLES
    whole = run(tmp_path / "whole", samples=1, whole_samples=True) / SAMPLES
    assert small.stat().st_size * 5 < whole.stat().st_size
    assert read_run(small.parent).samples == read_run(whole.parent).samples


def scripted_worker(fail: str) -> ThisProcess:
    """What a worker process makes; `fail` names what goes wrong there."""
    if fail == "build":
        raise UserError("no such model")
    return ThisProcess(toy_environment(), ScriptedPolicy(trained_script()), concurrency=2)


def run_by_processes(out: Path, fail: str = "", workers: int = 3) -> Path:
    with WorkerProcesses(
        scripted_worker, fail, workers, toy_environment(), "scripted", chunk=4
    ) as processes:
        return evaluate_with(processes, toy_questions(), out, samples=2)


@pytest.mark.long
def test_worker_processes_write_the_same_bytes_and_say_what_is_wrong(tmp_path: Path) -> None:
    a, b = run(tmp_path / "a", samples=2), run_by_processes(tmp_path / "b")
    for name in (PREDICTIONS, SAMPLES, "config.json"):
        assert (a / name).read_bytes() == (b / name).read_bytes()
    with pytest.raises(UserError, match=r"no such model"):
        run_by_processes(tmp_path / "run", "build", workers=2)


def test_every_episode_leaves_what_it_cost(tmp_path: Path) -> None:
    folder = run(tmp_path / "run", samples=1)
    lines = (folder / USAGE).read_text(encoding="utf-8")  # one that was written twice counts once
    (folder / USAGE).write_text(lines + lines.splitlines(keepends=True)[0], encoding="utf-8")
    records = read_usage(folder)
    records = sorted(records, key=lambda record: record["id"])
    assert [record["id"] for record in records][:2] == ["q01#0", "q01#1"] and len(records) == 16
    assert records[0]["turns"] == 3 and records[0]["graph_calls"] > 0
    assert records[0]["seconds"] >= records[0]["graph_seconds"] >= 0
    figures = usage_figures(records)
    assert figures["episodes"] == 16 and figures["turns"]["total"] == sum(
        record["turns"] for record in records
    )
