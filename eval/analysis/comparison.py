"""Figures of several runs side by side: how right each is, what it costs, and paired tests."""

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eval.analysis.summary import add_scores, holm, paired_difference
from eval.run.records import Run, path_ends, read_usage, tool_calls
from eval.score.expected import ExpectedQuestions
from eval.score.forms import Hints
from eval.score.systems import read_system
from eval.tables import (
    Cell,
    FigureTable,
    as_terminal,
    brackets,
    count_of_questions,
    gain_cell,
    number,
)
from graphwalker.errors import UserError
from graphwalker.intervals import mean_interval
from graphwalker.oracle.baselines import BASELINES
from graphwalker.scoring import near_miss, predicted_entities
from graphwalker.trajectory import Trajectory

if TYPE_CHECKING:
    import rich.table


_log = logging.getLogger(__name__)
SHARES = ("em", "f1", "hits1", "retrieval_all", "grounded")
COSTS = ("turns", "tool_calls", "prompt_tokens", "completion_tokens", "cost", "seconds")
MOST_COLUMNS = 9
"""Of a brief table: with more, a terminal of 80 columns cuts the first one."""
LABELS = {
    "em": "EM",
    "f1": "F1",
    "hits1": "Hits@1",
    "retrieval_all": "Retrieval",
    "grounded": "Grounded",
    "turns": "Turns",
    "tool_calls": "Tool calls",
    "prompt_tokens": "Prompt tokens",
    "completion_tokens": "Completion tokens",
    "cost": "Money",
    "seconds": "Seconds",
}
_SHORT = {
    "tool_calls": "Calls",
    "prompt_tokens": "Prompt",
    "completion_tokens": "Compl.",
    "seconds": "s",
}


@dataclass(frozen=True, slots=True)
class NamedRun:
    """One run as the comparison names it."""

    name: str
    run: Run
    folder: Path
    expected: ExpectedQuestions | None = None
    """The questions that it was asked, where they were given."""

    @property
    def complaint(self) -> str:
        """Why its figures are not those of all questions asked, `""` where they are."""
        return self.expected.complaint() if self.expected else ""

    @property
    def has_walks(self) -> bool:
        """Whether its episodes are walks, and not answers alone."""
        return any(one.turns for one in self.run.trajectories)

    @property
    def scored_episodes(self) -> list[Trajectory]:
        """The episodes with their scores, infrastructure failures left out."""
        every = self.run.trajectories
        return [add_scores(one) for one in every if not one.stop.infrastructure_failure]


def read_runs(
    folders: Sequence[Path],
    names: Sequence[str] = (),
    questions: Path | None = None,
    drop: bool = False,
) -> list[NamedRun]:
    """Read runs and predictions files, each under its given name, else its agent's; where
    agents share a name, the end of its path.

    With `questions`, each of them counts in every system: without a record as 0, unless such ones
    are to `drop`. Raises `UserError` where one is no run and no predictions file.
    """
    expected = [ExpectedQuestions(questions, drop) if questions else None for _ in folders]
    runs = [read_system(*one) for one in zip(folders, expected, strict=True)]
    found = list(names) or [_name(run, folder) for run, folder in zip(runs, folders, strict=True)]
    ends = path_ends(folders)
    found = [n if found.count(n) == 1 else end for n, end in zip(found, ends, strict=True)]
    for name, known in zip(found, expected, strict=True):
        if known and (remark := known.remark()):
            _log.warning("%s: %s", name, remark)
    return [NamedRun(*one) for one in zip(found, runs, folders, expected, strict=True)]


def compare_runs(runs: Sequence[NamedRun], seed: int = 0) -> dict[str, Any]:
    """The figures of each run, and each pair's paired difference over the questions that both have.

    Raises `UserError` where no two runs share a question.
    """
    rows = [_row(run, seed) for run in runs]
    pairs = [
        {
            "a": a.name,
            "b": b.name,
            **paired_difference(a.run.trajectories, b.run.trajectories, seed=seed),
        }
        for a, b in combinations(runs, 2)
    ]
    if pairs and not any(pair["questions"] for pair in pairs):
        names = " and ".join(str(run.folder) for run in runs)
        raise UserError(f"{names} share no scored question: compare runs of one question file")
    corrected = holm([pair.get("p", 1.0) for pair in pairs])
    pairs = [{**pair, "p_holm": p} for pair, p in zip(pairs, corrected, strict=True)]
    return {"runs": rows, "pairs": pairs}


def terminal_tables(result: dict[str, Any]) -> list[FigureTable]:
    """The brief table, in two where a terminal of 80 columns would cut the agents' names."""
    whole = figures_table(result, brief=True)
    if len(whole.head) <= MOST_COLUMNS:
        return [whole]
    accuracy, costs = (figures_table(result, brief=True, keys=keys) for keys in (SHARES, COSTS))
    return [replace(accuracy, note=""), costs]


def figures_table(
    result: dict[str, Any], *, brief: bool = False, keys: Sequence[str] = (*SHARES, *COSTS)
) -> FigureTable:
    """One row for each run: accuracy with intervals, then what an episode costs on average.
    `brief`: short heads, and EM's interval alone, as a terminal has room for."""
    rows = result["runs"]
    labels = LABELS | _SHORT if brief else LABELS
    every = [key for key in keys if not (brief and key == "retrieval_all")]
    shown = [key for key in every if any(row.get(key) is not None for row in rows)]
    body = [
        (
            Cell(row["name"], "" if brief else f"{row['policy']}, {count_of_questions(row)}"),
            *(_figure(row, key, brief) for key in shown),
            Cell(f"{row['failures']:,}"),
        )
        for row in rows
    ]
    lost = "Failed" if brief else "Infrastructure failures"
    head = (Cell("Agent"), *(Cell(labels[key]) for key in shown), Cell(lost))
    notes = ["In brackets the 95 % interval; costs are means of an episode."]
    notes += [f"{row['name']}: {row['complaint']}." for row in rows if row["complaint"]]
    notes += [f"{row['name']}: {row['remark']}." for row in rows if row["remark"]]
    note = " ".join(notes)
    return FigureTable(head, tuple(body), note)


def pairs_table(result: dict[str, Any], *, brief: bool = False) -> FigureTable:
    """The paired tests: the second agent of a pair minus the first, on the same questions. `brief`:
    EM alone."""
    more = () if brief else ("f1", "hits1")
    body = [
        (
            Cell(f"{pair['b']} - {pair['a']}", f"{pair['questions']:,} questions"),
            gain_cell({**pair, "p": pair.get("p_holm")}),
            *(_difference(pair, key) for key in more),
            Cell(f"{pair.get('won', 0):,} : {pair.get('lost', 0):,}"),
        )
        for pair in result["pairs"]
    ]
    head = tuple(map(Cell, ("Difference", "EM", *(LABELS[key] for key in more), "Right alone")))
    corrected = " with Holm's correction for all pairs" if len(body) > 1 else ""
    note = f"Intervals of paired differences; McNemar's exact p{corrected}."
    return FigureTable(head, tuple(body), note)


def _row(one: NamedRun, seed: int) -> dict[str, Any]:
    run, kept = one.run, one.scored_episodes
    failures = sum(t.stop.infrastructure_failure for t in (*run.trajectories, *run.failures))
    row: dict[str, Any] = {
        "name": one.name,
        "folder": str(one.folder),
        "agent": next((t.agent for t in run.trajectories), ""),
        "policy": next((t.policy for t in run.trajectories), "no episode"),
        "questions": len(kept),
        **run.missing(),
        "failures": failures,
        **_near_misses(kept),
        "complaint": one.complaint,
        **(one.expected.to_json() if one.expected else {}),
        **({"missing_count": one.expected.missing_count} if one.expected else {}),
    }
    if not kept:
        return row
    questions = [t.question.id for t in kept]
    for key in SHARES if one.has_walks else ("em", "f1", "hits1"):
        values = [t.scores[key] for t in kept]
        row[key], row[f"{key}_interval"] = mean_interval(values, seed, True, questions)
    costs = episode_costs(one, kept)
    for key, values in costs.items():
        row[key], row[f"{key}_interval"] = mean_interval(values, seed, False, questions)
        row[f"{key}_total"] = sum(values)
    return row


def episode_costs(one: NamedRun, kept: Sequence[Trajectory]) -> dict[str, list[float]]:
    """Return what each scored episode cost; tokens and money only where the policy counts them."""
    if not one.has_walks:
        return {}
    own = {str(record["id"]): record for record in read_usage(one.folder)}
    used = [{**own.get(t.id, {}), **t.usage} for t in kept]
    costs = {
        "turns": [float(len(t.turns)) for t in kept],
        "tool_calls": [float(tool_calls(t)) for t in kept],
        **{
            key: [float(record.get(key, 0.0)) for record in used]
            for key in ("prompt_tokens", "completion_tokens", "cost", "seconds")
        },
    }
    counted = ("turns", "tool_calls")
    return {key: values for key, values in costs.items() if key in counted or any(values)}


def _figure(row: dict[str, Any], key: str, brief: bool) -> Cell:
    value = row.get(key)
    if value is None:
        return Cell("–")
    digits = {"cost": 4, "prompt_tokens": 0, "completion_tokens": 0}.get(key, 3)
    digits = 2 if key in ("turns", "tool_calls", "seconds") else digits
    small = brackets(row.get(f"{key}_interval"), 2 if brief else digits)
    if key == "cost":
        small = f"{small} all {row['cost_total']:.4f}".strip()
    return Cell(number(value, digits), "" if brief and key != "em" else small)


def _difference(pair: dict[str, Any], key: str) -> Cell:
    if pair.get(key) is None:
        return Cell("–")
    return Cell(f"{pair[key]:+.3f}", brackets(pair[f"{key}_interval"], sign=True))


def _near_misses(kept: Sequence[Trajectory]) -> dict[str, Any]:
    """Count the answers that are wrong only by the way they are typed."""
    hints = Hints()
    for one in kept:
        named = None if one.question.gold else predicted_entities(one)
        if typed := near_miss(named, one.question.answers):
            hints.add("typing", typed)
    return {"near_misses": hints.counts.get("typing", 0), "remark": "; ".join(hints.lines())}


def _name(run: Run, folder: Path) -> str:
    """Return the agent's name; that of the rule where no model chose."""
    first = next(iter(run.trajectories), None)
    if first is None:
        return folder.name
    return first.policy if first.policy in BASELINES else first.agent


def changes(a: Iterable[Trajectory], b: Iterable[Trajectory]) -> dict[str, list[dict[str, Any]]]:
    """The questions that B has right and A wrong (`wins`), and the reverse (`losses`), in order."""
    before = {t.id: t for t in a if not t.stop.infrastructure_failure}
    pairs = [(before[t.id], t) for t in b if t.id in before and not t.stop.infrastructure_failure]
    gains = [(x, y, _em(y) - _em(x)) for x, y in pairs]
    return {
        "wins": [_change(x, y) for x, y, gain in gains if gain > 0],
        "losses": [_change(x, y) for x, y, gain in gains if gain < 0],
    }


def changes_table(
    changed: Sequence[Mapping[str, Any]], title: str, most: int
) -> "rich.table.Table":
    """The first `most` wins or losses for a terminal."""
    rows = [
        (Cell(_short(row["question"], 44)), _answer_cell(row["a"]), _answer_cell(row["b"]))
        for row in changed[:most]
    ]
    head = (Cell("question"), Cell("A"), Cell("B"))
    return as_terminal(FigureTable(head, tuple(rows)), f"{title}: {len(changed):,}")


def _change(a: Trajectory, b: Trajectory) -> dict[str, Any]:
    question = a.question
    return {
        "id": a.id,
        "question": question.text,
        "structure": question.structure,
        "gold": [answer.name for answer in question.answers],
        "a": None if a.answer is None else list(a.answer),
        "b": None if b.answer is None else list(b.answer),
        "stop_a": a.stop.value,
        "stop_b": b.stop.value,
    }


def _em(trajectory: Trajectory) -> float:
    return add_scores(trajectory).scores["em"]


def _answer_cell(names: Sequence[str] | None) -> Cell:
    return Cell("(no answer)" if names is None else _short(", ".join(names), 30))


def _short(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"
