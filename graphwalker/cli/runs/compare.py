"""`graphwalker compare`: agents on the same questions, from results that exist or run first."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer
from typer import Option

from graphwalker.cli.shared import CommandOptions, JsonFlag, show, verb
from graphwalker.console import console
from graphwalker.errors import GraphWalkerError, IncompleteError, UserError

if TYPE_CHECKING:
    from eval.analysis.comparison import NamedRun

app = typer.Typer()

PAGE = "compare.html"
QUIETLY = ("baselines", "ceiling")
"""What an evaluation measures besides its agent, which a comparison leaves out unless asked."""


class Named(NamedTuple):
    """An agent of `--agents`, its model where one was given, and its name in the comparison."""

    preset: str
    model: str
    name: str


@verb(
    app, "graph", "questions", "model", "format", "api", "max_tokens", "out", "count", "seed",
    "workers", "force_environment", "trust", words="RUN", count="limit",
)  # fmt: skip
def compare(
    given: CommandOptions,
    agents: Annotated[
        str, Option(help="Run these first, separated by commas: PRESET or PRESET=MODEL.")
    ] = "",
    base: Annotated[
        str, Option(help="Show costs relative to this agent's (default: graph-cot, if compared).")
    ] = "",
    missing: Annotated[
        str,
        Option(help="Questions without a record: `zero` counts them 0, `drop` leaves them out."),
    ] = "zero",
    most: Annotated[int, Option("--list", min=0, help="Wins and losses listed.")] = 10,
    as_json: JsonFlag = False,
) -> None:
    """Compare agents on the same questions: accuracy, costs, paired tests, and walks side by side.

    RUN names evaluation runs or predictions files of any system (ours, RoG, GNN-RAG, GCR, ToG,
    KG-R1, CSV), two or more. With --questions every question counts, one without a record as 0.
    With --agents each agent is run first, in a folder of its own under --out, and the same command
    resumes. A page with the walks is written to --out. Exit code 3 where a run is incomplete.

    Example: graphwalker compare runs/a rog.jsonl mine.csv --questions q.jsonl

    Example: graphwalker compare --agents graphwalker,search-on-graph,kg-r1 --questions q.jsonl
    --graph runs/graph --model gpt-4o --api https://api.openai.com/v1 --out runs/compared
    """
    from eval.analysis.comparison import read_runs

    words = [text for text in given.overrides if "=" not in text or Path(text).exists()]
    given = replace(given, overrides=[text for text in given.overrides if text not in words])
    seed = int(given.get("seed") or 0)
    lost: list[str] = []
    if missing not in ("zero", "drop"):
        raise UserError(f"--missing {missing}: choose zero or drop")
    if agents:
        if words:
            raise UserError(f"{words[0]}: give runs that exist, or --agents to run, not both")
        named = _find_named(agents, _model(given))
        folders, lost = _run(given, named)
        runs = read_runs(folders, [one.name for one in named if given.out / one.name in folders])
    else:
        if len(words) < 2:
            raise UserError("give two or more runs to compare, or --agents to run them first")
        questions = Path(given.get("questions")) if given.get("questions") else None
        runs = read_runs([Path(word) for word in words], (), questions, missing == "drop")
        lost = [f"{run.name}: {why}" for run in runs if (why := run.complaint)]
    _show(runs, Path(given.get("output_dir") or "") if given.get("output_dir") else None,
          base, most, as_json, seed)  # fmt: skip
    if lost:
        resumes = "; the same command resumes the runs" if agents else ""
        raise IncompleteError(f"{'; '.join(lost)}{resumes}")


def _model(given: CommandOptions) -> str:
    """Return the model that all agents share, where one was given."""
    from graphwalker.config import read_settings

    read = read_settings(given.config, given.overrides, given.values)
    policy: Any = read.get("policy")
    return str(policy.get("model") or "") if isinstance(policy, Mapping) else ""  # pyright: ignore


def _find_named(agents: str, model: str) -> list[Named]:
    """Return the named agents. Raises `UserError` for an unknown one, or one without a model."""
    from graphwalker.agents.presets import find_preset

    found: list[Named] = []
    for text in filter(None, map(str.strip, agents.split(","))):
        preset, _, own = text.partition("=")
        name = find_preset(preset).name
        if not (own or model):
            raise UserError(f"{preset} has no model: give --model M for all, or {preset}=M")
        taken = sum(one.name == name or one.name.startswith(f"{name}-") for one in found
                    if one.preset == preset)  # fmt: skip
        found.append(Named(preset, own or model, f"{name}-{taken + 1}" if taken else name))
    if not found:
        raise UserError("--agents names no agent: give presets, as `graphwalker agents` lists them")
    return found


def _run(given: CommandOptions, named: Sequence[Named]) -> tuple[list[Path], list[str]]:
    """Return the folders of the runs that have results, and what is missing. Settings are checked
    for all agents before the first one runs."""
    from data_pipeline.exemplars import make_exemplars
    from eval.run.config import EvalConfig, run_eval
    from eval.run.records import failure_reason, has_predictions

    typed = [text.partition("=")[0] for text in given.overrides]
    quiet = [f"{name}=never" for name in QUIETLY if name not in typed]
    configs = {
        one.name: replace(
            given,
            overrides=[*given.overrides, *quiet],
            values={
                **given.values,
                "environment.preset": one.preset,
                "policy.model": one.model,
                "output_dir": str(given.out / one.name),
            },
        ).settings(EvalConfig)
        for one in named
    }
    folders: list[Path] = []
    missing: list[str] = []
    for name, config in configs.items():
        folder, why = Path(config.output_dir), ""
        console.note(f"{name}: {config.policy.model}")
        try:
            with console.progress(name) as tick:
                run_eval(config, tick, make_exemplars)
        except IncompleteError as error:
            why = str(error)
        if why := why or failure_reason(folder):
            missing.append(f"{name}: {why}")
        if has_predictions(folder):
            folders.append(folder)
    if not folders:
        raise GraphWalkerError(f"no question was scored: {'; '.join(missing)}")
    return folders, missing


def _show(
    runs: "Sequence[NamedRun]", out: Path | None, base: str, most: int, as_json: bool, seed: int
) -> None:
    """Print the tables, or JSON, and write the page where a folder for it is known."""
    from eval.analysis.comparison import (
        changes,
        changes_table,
        compare_runs,
        figures_tables,
        pairs_table,
        ratios,
        ratios_table,
    )
    from eval.report.comparison import write_page
    from eval.tables import as_terminal

    if base and base not in (run.name for run in runs):
        raise UserError(f"--base {base}: compared are {', '.join(run.name for run in runs)}")
    result: dict[str, Any] = {**compare_runs(runs, seed), "ratios": ratios(runs, base)}
    if len(runs) == 2:
        first, second = runs
        pair = {**result["pairs"][0], "a": str(first.folder), "b": str(second.folder)}
        result = {**pair, **changes(first, second), **result}
    if out is not None:
        write_page(out / PAGE, runs, result)
    if as_json:
        show("", result, as_json)
        return
    for number, table in enumerate(figures_tables(result, brief=True)):
        console.out.print(as_terminal(table, "Costs" if number else "Agents"))
    if result["pairs"]:
        console.out.print(as_terminal(pairs_table(result, brief=True), "Paired tests"))
    if result["ratios"]:
        console.out.print(
            as_terminal(ratios_table(result["ratios"]), "Costs against another agent")
        )
    for title in ("wins", "losses") if most and len(runs) == 2 else ():
        table = changes_table(result[title], most)
        console.out.print(as_terminal(table, f"{title}: {len(result[title]):,}"))
    if out is not None:
        console.out.print(f"Page: {(out / PAGE).resolve()}", soft_wrap=True)
