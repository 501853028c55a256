"""The page of training runs: panels and tables of what they logged."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from eval.report.plots import plain
from eval.report.training import PANELS, evaluation_table, read_training
from graphwalker.cli.app import app
from graphwalker.errors import UserError
from graphwalker.files import write_jsonl

HOSTILE = "<script>alert(1)</script>"


@pytest.fixture
def run(tmp_path: Path) -> Path:
    folder = tmp_path / HOSTILE.replace("/", "")
    folder.mkdir()
    (folder / "config.yaml").write_text("lr: 1\n")
    steps = [
        {
            "step": step, "reward": 0.1 * step, "em": 0.1 * step, "entropy": 0.5, "kl": None,
            "informative_groups": 3.0, "always_right": 0.2, "always_wrong": 0.1, "unwinnable": 0.0,
            "tokens_right": 20.0, "tokens_wrong": None, "ungrounded": 0.1, "cut_turns": 0.0,
            "grad_norm": "nan",
        }
        for step in (1, 2, 2, 3, 4)
    ]  # fmt: skip
    write_jsonl(folder / "metrics.jsonl", steps)
    found = [
        {"step": step, "em": em, "em_low": em - 0.1, "em_high": em + 0.1, "em_by_question": {}}
        for step, em in ((0, 0.5), (2, 0.7), (4, 0.6))
    ]
    found[1] |= {"gain": 0.2, "gain_low": 0.1, "gain_high": 0.3}
    write_jsonl(folder / "evaluations.jsonl", found)
    (folder / "best.json").write_text('{"step": 2, "em": 0.7}')
    return folder


@pytest.mark.long
def test_the_report_of_a_training_run_has_its_evaluations_and_panels(run, tmp_path) -> None:
    out = tmp_path / "page"
    done = CliRunner().invoke(app, ["report", str(run), "--out", str(out)])
    assert done.exit_code == 0, done.output
    page = (out / "training.html").read_text()
    for words in ("Dev questions", "Tokens an episode", "always wrong"):
        assert words in page
    assert "<script" not in page and "Gradient norm" not in page
    record = json.loads((out / "training.json").read_text())["runs"][0]
    assert [line["step"] for line in record["evaluations"]] == [0, 2, 4]
    assert [line["step"] for line in record["steps"]] == [1, 2, 3, 4]


def test_the_best_evaluation_is_marked_and_gains_have_intervals(run) -> None:
    table = evaluation_table([read_training(run)])
    first, second, _ = table.rows
    assert second[0].small == "best" and first[0].small == ""
    assert (second[2].text, second[2].small) == ("+0.200", "[+0.100, +0.300]")


def test_runs_of_two_kinds_and_runs_without_a_step_are_refused(run, tmp_path) -> None:
    (tmp_path / "other").mkdir()
    both = [str(run), str(tmp_path / "other"), "--out", str(tmp_path / "page")]
    done = CliRunner().invoke(app, ["report", *both])
    assert "a training run among evaluation runs" in str(done.exception or done.output)
    (run / "metrics.jsonl").write_text("")
    with pytest.raises(UserError, match="no step was logged yet"):
        read_training(run)


def test_the_title_of_every_panel_fits() -> None:
    assert [plain(title) for title, *_ in PANELS] == [title for title, *_ in PANELS]
