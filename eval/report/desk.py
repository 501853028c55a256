"""The first screen of a report: what was run, how right it was, and what went wrong most."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlencode

from eval.run.records import PREDICTIONS, Run, read_usage, usage_figures
from eval.tables import baseline_rows, brackets, count_of_questions, number

StageFigures = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ScaleRow:
    """A share as a bar: its name, how long, its interval, what stands beside it, where it leads."""

    name: str
    share: float
    text: str
    small: str = ""
    interval: Sequence[float] | None = None
    look: str = ""
    link: str = ""


def run_facts(run: Run) -> dict[str, Any]:
    """What a run was: its model, agent, graph, questions, date and costs, as far as it says so."""
    config, first = run.config, next(iter(run.trajectories), None)
    path = run.folder / PREDICTIONS if run.folder.is_dir() else run.folder
    preset = config.get("environment") or (first.agent if first else "")
    version = config.get("environment_version")
    costs = usage_figures(read_usage(run.folder)) if run.folder.is_dir() else {}
    return {
        "model": config.get("policy") or (first.policy if first else ""),
        "preset": f"{preset} (version {version})" if version else preset,
        "graph": str(config.get("graph", ""))[:8],
        "question_file": str(config.get("questions_checksum", ""))[:8],
        "date": datetime.fromtimestamp(path.stat().st_mtime, UTC).date().isoformat(),
        **{f"total_{key}": costs[key]["total"] for key in _COSTS if key in costs},
    }


_COSTS = {
    "prompt_tokens": "{:,.0f} prompt tokens",
    "completion_tokens": "{:,.0f} completion tokens",
    "cost": "money {:,.2f}",
}


def ran_rows(report: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The facts of all runs, each value once."""
    stages = report["stages"]
    runs = [stage.get("run", {}) for stage in stages]

    def each(key: str, stands_for: str = "") -> str:
        found = dict.fromkeys(str(run[key]) for run in runs if run.get(key))
        return ", ".join(found) or stands_for

    counts = dict.fromkeys(map(count_of_questions, stages))
    file = each("question_file")
    spent = [
        form.format(total)
        for key, form in _COSTS.items()
        if (total := sum(run.get(f"total_{key}", 0) for run in runs))
    ]
    graph = str(report["config"].get("graph") or "")
    rows = {
        "Model": each("model"),
        "Agent": each("preset"),
        "Graph": graph or each("graph"),
        "Questions": "; ".join(counts) + (f" (file {file})" if file else ""),
        "Date": each("date"),
        "Spent": ", ".join(spent),
    }
    return [(label, value) for label, value in rows.items() if value]


def main_stage(stages: Sequence[StageFigures]) -> int:
    """The place of the run that the report is about: the last one that walked, else the last."""
    walked = [place for place, stage in enumerate(stages) if not stage.get("answers_alone")]
    return max(walked, default=len(stages) - 1)


def score_rows(stages: Sequence[StageFigures]) -> list[ScaleRow]:
    """Strict EM of the stages, the baselines and the ceiling, on one scale."""
    scored = [(str(s["name"]), s, "") for s in stages if s.get("em") is not None]
    scored += [
        (f"{name}, no model", row, "other")
        for name, row in baseline_rows(stages)
        if row.get("em") is not None
    ]
    same = {row["questions"] for _, row, _ in scored}
    rows: list[ScaleRow] = []
    for name, row, look in scored:
        small = brackets(row["em_interval"], 2)
        small += "" if len(same) == 1 else f", n = {row['questions']:,}"
        em = row["em"]
        rows.append(ScaleRow(name, em, number(em), small, row["em_interval"], look))
    ceiling = (stages[-1].get("ceiling") or {}).get("winnable")
    if ceiling is not None:
        rows.append(ScaleRow("ceiling of the tools", ceiling, number(ceiling), look="other"))
    return rows


def kind_rows(kinds: Mapping[str, int], run: int) -> list[ScaleRow]:
    """Wrong answers by kind, the most frequent first; each row leads to its questions."""
    wrong = sum(kinds.values())
    return [
        ScaleRow(
            kind,
            count / wrong,
            f"{count:,}",
            f"{count / wrong:.0%}",
            look="bad",
            link=urlencode({"run": run, "kind": kind}),
        )
        for kind, count in sorted(kinds.items(), key=lambda pair: -pair[1])
    ]
