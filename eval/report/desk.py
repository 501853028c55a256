"""The first screen of a report: what was run, how right it was, and what went wrong most."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlencode

from eval.analysis.error_kinds import KINDS
from eval.report.plots import series
from eval.report.published import RULES
from eval.run.records import PREDICTIONS, Run, read_usage, usage_figures
from eval.tables import (
    StageFigures,
    baseline_rows,
    best_baseline,
    brackets,
    common_questions,
    count_of_questions,
    empty_note,
    missing_note,
    number,
)


@dataclass(frozen=True, slots=True)
class ScaleRow:
    """A share as a bar: its name, how long, its interval, what stands beside it and under its name,
    its colour (`--series-2`), where it leads."""

    name: str
    share: float
    text: str
    small: str = ""
    interval: Sequence[float] | None = None
    colour: str = "--series-5"
    link: str = ""
    meaning: str = ""


def run_facts(run: Run) -> dict[str, Any]:
    """Return what a run was: its model, agent, graph, questions, date and costs, as far as
    known."""
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
    """Return the facts of all runs, each value once."""
    stages = report["stages"]
    runs = [stage.get("run", {}) for stage in stages]

    def each(key: str) -> str:
        return ", ".join(dict.fromkeys(str(run[key]) for run in runs if run.get(key)))

    rules = dict.fromkeys(run["model"] for run in runs if run.get("model") in RULES)
    models = dict.fromkeys(
        run["model"] for run in runs if run.get("model") not in (*rules, None, "")
    )
    file = each("question_file")
    spent = [
        form.format(total)
        for key, form in _COSTS.items()
        if (total := sum(run.get(f"total_{key}", 0) for run in runs))
    ]
    rows = {
        "Model": ", ".join(models),
        "Rule, no model": ", ".join(rules),
        "Agent": each("preset"),
        "Graph": str(report["config"].get("graph") or "") or each("graph"),
        "Questions": "; ".join(dict.fromkeys(map(count_of_questions, stages)))
        + (f" (file {file})" if file else ""),
        "Date": each("date"),
        "Spent": ", ".join(spent),
    }
    return [(label, value) for label, value in rows.items() if value]


def headline(report: Mapping[str, Any]) -> str:
    """Say in one sentence who answered what, and which differences are beyond chance."""
    stages = report["stages"]
    place = main_stage(stages)
    last = stages[place]
    if last.get("em") is None:
        return f"{last['name']} has no scored questions; {missing_note(last) or 'none was asked'}."
    rule = last.get("run", {}).get("model")
    who = f"{last['name']} ({rule}, a rule without a model)" if rule in RULES else last["name"]
    text = f"{who} answers {count_of_questions(last)}"
    best, over = best_baseline(last)
    before = stages[place - 1]["name"] if place else ""
    pairs = ((last.get("gain_over_previous"), before), (over if best != rule else None, best))
    if verdicts := [
        _judge(gain, name) for gain, name in pairs if gain and gain.get("em") is not None
    ]:
        text += f": {' and '.join(verdicts)}, by 95 % intervals of paired differences of EM"
    lost = [f"{s['name']}: {note}" for s in stages if s is not last and (note := missing_note(s))]
    text += "." + (f" Incomplete: {'; '.join(lost)}." if lost else "")
    notes = [empty_note(last), last.get("remark", "")]
    return " ".join([text, *(f"{last['name']}: {note}." for note in notes if note)])


def _judge(gain: Mapping[str, Any], other: str) -> str:
    (low, high), where = gain["em_interval"], common_questions(gain)
    if low <= 0 <= high:
        return f"about as well as {other}{where} (the difference may be chance)"
    return f"{'better' if low > 0 else 'worse'} than {other}{where}"


def main_stage(stages: Sequence[StageFigures]) -> int:
    """Return the index of the report's main run: the last one that walked, else the last."""
    walked = [place for place, stage in enumerate(stages) if not stage.get("answers_alone")]
    return max(walked, default=len(stages) - 1)


def score_rows(stages: Sequence[StageFigures]) -> list[ScaleRow]:
    """Strict EM of the stages, the baselines and the ceiling, on one scale."""
    rows = [(stage, series(place), "") for place, stage in enumerate(stages)]
    rows += [(row, "--series-5", ", no model") for row in baseline_rows(stages)]
    scored = [one for one in rows if one[0].get("em") is not None]
    same = len({row["questions"] for row, _, _ in scored}) == 1
    found = [
        ScaleRow(
            f"{row['name']}{what}",
            row["em"],
            number(row["em"]),
            brackets(row["em_interval"], 2) + ("" if same else f", n = {row['questions']:,}"),
            row["em_interval"],
            colour,
        )
        for row, colour, what in scored
    ]
    ceiling = (stages[-1].get("ceiling") or {}).get("winnable")
    if ceiling is not None:
        found.append(ScaleRow("ceiling of the tools", ceiling, number(ceiling)))
    return found


def kind_rows(kinds: Mapping[str, int], run: int) -> list[ScaleRow]:
    """Wrong answers by kind with what each means, the most frequent first; each row leads to its
    questions."""
    wrong = sum(kinds.values())
    return [
        ScaleRow(
            kind,
            count / wrong,
            f"{count:,}",
            f"{count / wrong:.0%}",
            colour="--bad",
            link=urlencode({"run": run, "kind": kind}),
            meaning=KINDS[kind],
        )
        for kind, count in sorted(kinds.items(), key=lambda pair: -pair[1])
    ]
