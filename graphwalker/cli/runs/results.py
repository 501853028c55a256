"""What runs have shown: `score`, `report`, `analyse`, `compare`."""

import json
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Argument, Option

from graphwalker.cli.shared import CommandOptions, JsonFlag, Out, Seed, show, verb
from graphwalker.console import console
from graphwalker.errors import IncompleteError, UserError

if TYPE_CHECKING:
    from eval.score.expected import ExpectedQuestions

app = typer.Typer()

_COUNTS = "; figures are over the others, and --questions FILE counts these as 0"
TITLE = "GraphWalker report"
RunFolder = Annotated[Path, Argument(help="Folder of an evaluation run.")]


@verb(app, "questions", "seed", "workers", settings=False)
def score(
    given: CommandOptions,
    predictions: Annotated[
        list[Path], Option(help="JSONL, JSON, CSV or an evaluation run's folder; repeatable.")
    ],
    metrics: Annotated[
        str,
        Option(help="Names, separated by commas; module:NAME is your own. [default: all that fit]"),
    ] = "",
    as_json: JsonFlag = False,
    per_record: Annotated[Path | None, Option(help="File for each record's scores.")] = None,
    layout: Annotated[str, Option("--format", help="auto, ours, rog, tog or kg-r1.")] = "auto",
) -> None:
    """Score a predictions file by our strict metrics and by every published one.

    A record: {"id": "q1", "predictions": ["Oslo"], "answers": ["Oslo"]}. A file without gold
    answers (tog, kg-r1) needs --questions. With --questions every question counts, one
    without a record as 0. Missing, doubled and unknown ids give exit code 3.
    Several files are scored one by one; `compare` makes the paired tests.

    Example: graphwalker score --predictions preds.jsonl --metrics em,f1,rog_f1 --json
    """
    from eval.score.score import score_file, scores_table

    if per_record and len(predictions) > 1:
        raise UserError("--per-record is of one predictions file: give --predictions once")
    if per_record and per_record.is_dir():
        raise UserError(f"--per-record {per_record}: is a folder; name a file")
    scores = {
        str(path): score_file(
            path,
            [name.strip() for name in metrics.split(",") if name.strip()] or None,
            layout=layout,
            questions=given.questions if given.get("questions") else None,
            per_record=per_record,
            seed=int(given.get("seed") or 0),
            workers=int(given.get("workers") or 0) or None,
        )
        for path in predictions
    }
    for name, scored in scores.items():
        for remark in scored.remarks:
            console.note(f"{Path(name).name}: {remark}")
    records = {name: scored.to_json() for name, scored in scores.items()}
    if as_json:
        console.echo(json.dumps(records if len(scores) > 1 else next(iter(records.values()))))
    else:
        for name, scored in scores.items():
            console.out.print(scores_table(scored, name if len(scores) > 1 else ""))
    if lost := [
        f"{name}: {scored.complaint}" for name, scored in scores.items() if scored.complaint
    ]:
        raise IncompleteError("; ".join(lost))


@verb(app, "api!", "model!", "questions", api="base_url", model="model")
def judge(
    given: CommandOptions,
    predictions: Annotated[Path, Argument(help="JSONL or JSON, or an evaluation run's folder.")],
    out: Annotated[
        Path | None, Option(help="File for the records with verdicts. [default: beside them]")
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Let a chat model judge whether each answer is right: yes or no.

    Every verdict is paid for once and kept; prices.max_cost=2 caps the cost.
    `score --predictions OUT` then has the metric graphrunner_judge.

    Example: graphwalker judge runs/eval --api https://api.openai.com/v1 --model gpt-4.1-mini
    prices.prompt_per_million=0.4 prices.completion_per_million=1.6 prices.max_cost=2
    """
    from eval.run.records import JUDGED
    from eval.score.judge import AnswerJudgeConfig, judge_file

    config = given.settings(AnswerJudgeConfig)
    inside = predictions / JUDGED
    place = out or (
        inside
        if predictions.is_dir()
        else predictions.with_name(f"{predictions.stem}.judged.jsonl")
    )
    if place.resolve() == predictions.resolve():
        raise UserError(f"{place}: is the predictions file; give --out another name")
    questions = Path(given.get("questions")) if given.get("questions") else None
    with console.progress("judge") as tick:
        judged = judge_file(predictions, place, config, questions, tick)
    show(str(place), judged.to_json(), as_json)
    if judged.unreadable:
        answers = judged.answers - judged.no_answer
        raise IncompleteError(
            f"{len(judged.unreadable):,} of {answers:,} answers have no verdict, first "
            f"{judged.unreadable[0]}: the judge wrote no plain yes or no; raise max_tokens "
            f"(now {config.max_tokens:,}) or take another --model"
        )


CountedQuestions = Annotated[
    Path | None,
    Option(help="Question file: each of its questions counts, one without a record as 0."),
]
Missing = Annotated[
    str, Option(help="Questions without a record: `zero` counts them 0, `drop` leaves them out.")
]


def _expected(questions: Path | None, missing: str) -> Callable[[], "ExpectedQuestions"] | None:
    """Return what makes the questions that a run is counted over, anew for each run."""
    from eval.score.expected import ExpectedQuestions

    if missing not in ("zero", "drop"):
        raise UserError(f"--missing {missing}: choose zero or drop")
    if missing == "drop" and questions is None:
        raise UserError("--missing drop: give the question file as --questions")
    return partial(ExpectedQuestions, questions, missing == "drop") if questions else None


@app.command()
def report(
    runs: Annotated[
        list[Path],
        Argument(help="Evaluation runs and other systems' predictions files, or training runs."),
    ],
    out: Out,
    questions: CountedQuestions = None,
    missing: Missing = "zero",
    title: Annotated[str, Option(help="Heading of the page.")] = TITLE,
    seed: Seed = 0,
    published: Annotated[
        list[str] | None, Option(help="A paper's table beside the runs; repeatable.")
    ] = None,
) -> None:
    """Make tables and one self-contained HTML page from evaluation runs, or from training runs.

    Predictions files of other systems may stand among evaluation runs. With --questions each of
    them counts. Exit code 3 where a run has not scored all questions.

    Example: graphwalker report runs/a runs/b --out runs/report --published graphwalker-table2
    """
    from eval.report.training import is_training_run
    from eval.tables import missing_named

    training = [run for run in runs if is_training_run(run)]
    if training and len(training) < len(runs):
        raise UserError(f"{training[0]}: a training run among evaluation runs: report them apart")
    if training:
        write_training_report(training, out, title)
        return
    expected = _expected(questions, missing)
    made = write_report(runs, out, title, seed, published or (), expected)
    if lost := [f"{s['name']}: {note}" for s in made["stages"] if (note := missing_named(s))]:
        raise IncompleteError("; ".join(lost) + (_COUNTS if expected is None else ""))


def write_training_report(runs: Sequence[Path], out: Path, title: str = TITLE) -> None:
    """Write the page of training runs, and print its table."""
    from eval.report import training
    from eval.tables import as_terminal
    from graphwalker.runs import lock_folder

    with lock_folder(out):
        table = training.write_training_report(runs, out, title)
    console.out.print(as_terminal(table, title))
    console.out.print(f"Report: {(out / 'training.html').resolve()}", soft_wrap=True)


def write_report(
    runs: Sequence[Path],
    out: Path,
    title: str = TITLE,
    seed: int = 0,
    published: Sequence[str] = (),
    expected: Callable[[], "ExpectedQuestions"] | None = None,
    metrics: Sequence[str] = (),
) -> dict[str, Any]:
    """Return the report of runs, and its table in the terminal; returns what report.json holds."""
    from eval.report import report
    from graphwalker.runs import lock_folder

    with lock_folder(out):
        stages = report.stages_of(runs)
        made = report.write_report(
            out, stages, None, seed, title, published=published, expected=expected, metrics=metrics
        )
    console.out.print(report.console_table(made))
    console.out.print(f"Report: {(out / 'report.html').resolve()}", soft_wrap=True)
    return made


@app.command()
def analyse(
    run: RunFolder,
    questions: CountedQuestions = None,
    missing: Missing = "zero",
    as_json: JsonFlag = False,
    seed: Seed = 0,
) -> None:
    """Show figures by structure, hops, type, number of answers and kind of error; Pass@k and costs.

    GraphRunner's error classes are shares of all episodes. After `judge` its verdicts say what is
    wrong, otherwise EM does.

    With --questions each of them counts. Exit code 3 where the run has not scored all questions.

    Example: graphwalker analyse runs/demo/eval/grpo
    """
    from eval.analysis.analysis import analyse as figures_of
    from eval.analysis.analysis import analysis_tables
    from eval.tables import missing_named

    expected = _expected(questions, missing)
    result = figures_of(run, seed, expected() if expected else None)
    if as_json:
        show("", result, as_json)
    for table in () if as_json else analysis_tables(result):
        console.out.print(table)
    if lost := missing_named(result):
        raise IncompleteError(f"{run}: {lost}{_COUNTS if expected is None else ''}")
