"""Several runs side by side: how right each is, what it costs, paired tests, wins and losses."""

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

from eval.analysis.summary import add_scores, costs_of, holm, paired_difference, summarise
from eval.run.records import Run, path_ends, read_usage
from eval.score.expected import ExpectedQuestions, some
from eval.score.systems import read_system
from eval.tables import (
    Cell,
    FigureTable,
    TableColumn,
    count_of_questions,
    figure,
    gain_cell,
    key_columns,
    make_table,
    natural,
)
from graphwalker.counts import number_of
from graphwalker.errors import UserError
from graphwalker.graphs.base import Entity
from graphwalker.oracle.baselines import BASELINES
from graphwalker.question import Question
from graphwalker.scoring import is_right
from graphwalker.trajectory import Trajectory

_log = logging.getLogger(__name__)
BASE = "graph-cot"
"""The agent that others' costs are set against where it is among them and no other is named."""
RATIOS = ("cost", "seconds", "prompt_tokens", "completion_tokens", "turns")
FACETS = ("domain", "level")
MOST_COLUMNS = 9
"""Of a brief table: with more, a terminal of 80 columns cuts the first one."""
SHARES = {
    "em": "EM",
    "f1": "F1",
    "hits1": "Hits@1",
    "retrieval_all": "Retrieval",
    "grounded": "Grounded",
}
COSTS = {
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
    def scored_episodes(self) -> list[Trajectory]:
        """The episodes with their scores, infrastructure failures left out."""
        every = self.run.trajectories
        return [add_scores(one) for one in every if not one.stop.infrastructure_failure]

    @property
    def usage(self) -> dict[str, dict[str, Any]]:
        """The costs of its episodes by their ids."""
        return {str(record["id"]): record for record in read_usage(self.folder)}


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
    """Return the figures of each run, and each pair's difference over their common questions.

    Raises `UserError` where no two runs share a question.
    """
    pairs = [
        {
            "a": a.name,
            "b": b.name,
            **paired_difference(a.run.trajectories, b.run.trajectories, seed=seed),
            "differing_ids": _differing(a, b),
        }
        for a, b in combinations(runs, 2)
    ]
    if pairs and not any(pair["questions"] for pair in pairs):
        names = " and ".join(str(run.folder) for run in runs)
        raise UserError(f"{names} share no scored question: compare runs of one question file")
    corrected = holm([pair.get("p", 1.0) for pair in pairs])
    pairs = [{**pair, "p_holm": p} for pair, p in zip(pairs, corrected, strict=True)]
    return {"runs": [_row(run, seed) for run in runs], "pairs": pairs}


def _differing(a: NamedRun, b: NamedRun) -> list[str]:
    """Return the questions for which two runs carry different gold answers."""
    gold = {one.question.id: one.question.answers for one in a.scored_episodes}
    theirs = {one.question.id: one.question.answers for one in b.scored_episodes}
    return [
        name
        for name, answers in theirs.items()
        if name in gold
        and answers != gold[name]
        and not is_right([Entity(one.id, one.name) for one in answers], gold[name])
    ]


def _row(one: NamedRun, seed: int) -> dict[str, Any]:
    run, expected = one.run, one.expected
    first = next(iter(run.trajectories), None)
    found = summarise(run.trajectories, failures=len(run.failures), seed=seed, usage=one.usage)
    return {
        "name": one.name,
        "folder": str(one.folder),
        "agent": first.agent if first else "",
        "policy": first.policy if first else "no episode",
        **{key: value for key, value in found.items() if not key.startswith("by_")},
        **run.missing(),
        "complaint": one.complaint,
        **({**expected.to_json(), "missing_count": expected.missing_count} if expected else {}),
    }


def figures_tables(result: Mapping[str, Any], brief: bool = False) -> list[FigureTable]:
    """Return one row for each run: accuracy with intervals, then what an episode costs on average.
    `brief`: short heads and EM's interval alone, as a terminal has room for; in two tables where it
    would cut the agents' names."""
    rows, labels = result["runs"], COSTS | (_SHORT if brief else {})
    shares = {key: SHARES[key] for key in SHARES if not (brief and key == "retrieval_all")}
    digits = -1 if brief else None
    right, costs = key_columns(rows, shares, digits), key_columns(rows, labels, digits)
    if brief:
        right[:1] = [TableColumn("EM", lambda row: figure(row, "em", 2))]
    lost = TableColumn("Failed" if brief else "Infrastructure failures", _failures)
    name = TableColumn("Agent", lambda row: Cell(row["name"], "" if brief else _policy_of(row)))
    notes = [
        "In brackets the 95 % interval; costs are means of an episode, its seconds with the wait "
        "for episodes that run at the same time."
    ]
    for key in ("complaint", "remark"):
        notes += [f"{row['name']}: {row[key]}." for row in rows if row.get(key)]
    if any(pair["only_a"] or pair["only_b"] for pair in result["pairs"]):
        counts = ", ".join(f"{row['name']} {row['questions']:,}" for row in rows)
        given = any("missing_count" in row for row in rows)
        advice = "" if given else "; --questions FILE counts the same ones for all"
        notes.append(
            f"Not all are scored on the same questions ({counts}): the figures above are each over "
            f"its own, a difference is over those of both{advice}."
        )
    if brief and len(right) + len(costs) + 2 > MOST_COLUMNS:
        accuracy = make_table(rows, [name, *right, lost])
        return [accuracy, make_table(rows, [name, *costs, lost], " ".join(notes))]
    return [make_table(rows, [name, *right, *costs, lost], " ".join(notes))]


def pairs_table(result: Mapping[str, Any], brief: bool = False) -> FigureTable:
    """Return the paired tests: the second agent of a pair minus the first, on the same questions.
    `brief`: EM alone."""
    pairs = result["pairs"]
    name = TableColumn(
        "Difference",
        lambda pair: Cell(f"{pair['b']} - {pair['a']}", number_of(pair["questions"], "question")),
    )
    gains = [
        TableColumn(
            SHARES[key], lambda pair, k=key: gain_cell({**pair, "p": pair.get("p_holm")}, k)
        )
        for key in (("em",) if brief else ("em", "f1", "hits1"))
    ]
    alone = TableColumn(
        "Right alone", lambda p: Cell(f"{p.get('won', 0):,} : {p.get('lost', 0):,}")
    )
    corrected = " with Holm's correction for all pairs" if len(pairs) > 1 else ""
    notes = [f"Intervals of paired differences; McNemar's exact p{corrected}."]
    for pair in pairs:
        if ids := pair.get("differing_ids"):
            notes.append(
                f"{pair['a']} and {pair['b']} carry different gold answers for {len(ids):,} "
                f"questions ({some(ids)}), and each is scored by its own; --questions FILE scores "
                "both by one."
            )
    return make_table(pairs, [name, *gains, alone], " ".join(notes))


def _policy_of(row: Mapping[str, Any]) -> str:
    return f"{row['policy']}, {count_of_questions(row)}"


def _failures(row: Mapping[str, Any]) -> Cell:
    return Cell(f"{row['failures']:,}")


def _name(run: Run, folder: Path) -> str:
    """Return the agent's name; that of the rule where no model chose."""
    first = next(iter(run.trajectories), None)
    if first is None:
        return folder.name
    return first.policy if first.policy in BASELINES else first.agent


def ratios(runs: Sequence[NamedRun], base: str = "") -> list[dict[str, Any]]:
    """Compare each other run in each group of the questions that both have: the base's total of a
    cost by the run's own, as GraphRunner (section 4) sets its costs against Graph-CoT's. Above 1
    the run is the cheaper one; `None` where it costs nothing.

    Without `base` it is `graph-cot`, where that is among the runs; empty where it is not.
    """
    against = next((run for run in runs if run.name == (base or BASE)), None)
    if against is None:
        return []
    costs = {run.name: _costs_by_episode(run) for run in runs}
    theirs = costs[against.name]
    rows: list[dict[str, Any]] = []
    for run in runs:
        own = {} if run is against else costs[run.name]
        questions = {
            t.id: t.question for t in run.scored_episodes if t.id in theirs and t.id in own
        }
        for group, ids in _groups(questions):
            found: dict[str, Any] = {"name": run.name, "base": against.name, "group": group}
            found["questions"] = len(ids)
            for key in RATIOS:
                ours, other = (sum(of[i].get(key, 0.0) for i in ids) for of in (own, theirs))
                found[key] = other / ours if ours and other else None
            rows.append(found)
    return rows


def ratios_table(rows: Sequence[Mapping[str, Any]]) -> FigureTable:
    """Return one row for each agent and group of questions."""
    base = rows[0]["base"] if rows else BASE
    name = TableColumn(
        f"Cheaper than {base}",
        lambda row: Cell(f"{row['name']}, {row['group']}", number_of(row["questions"], "question")),
    )
    times = [
        TableColumn(COSTS[key], lambda row, k=key: Cell(f"{row[k]:.2f} ×" if row[k] else "–"))
        for key in RATIOS
        if any(row[key] is not None for row in rows)
    ]
    note = f"What {base} costs, by what the agent costs, on the questions that both have scored."
    return make_table(rows, [name, *times], note)


def _costs_by_episode(run: NamedRun) -> dict[str, dict[str, float]]:
    kept = [one for one in run.scored_episodes if one.turns]
    return dict(zip((t.id for t in kept), costs_of(kept, run.usage), strict=True))


def _groups(questions: Mapping[str, Question]) -> Iterator[tuple[str, list[str]]]:
    """Yield all questions, then those of each domain and each level."""
    if questions:
        yield "all", list(questions)
    for facet in FACETS:
        found: dict[str, list[str]] = {}
        for key, question in questions.items():
            if value := question.facets.get(facet):
                found.setdefault(value, []).append(key)
        yield from ((f"{facet} {value}", found[value]) for value in sorted(found, key=natural))


def changes(a: NamedRun, b: NamedRun) -> dict[str, list[dict[str, Any]]]:
    """Return the questions that B has right and A wrong (`wins`), and the reverse, in order."""
    before = {one.id: one for one in a.scored_episodes}
    pairs = [(before[t.id], t) for t in b.scored_episodes if t.id in before]
    gains = [(x, y, y.scores["em"] - x.scores["em"]) for x, y in pairs]
    return {
        "wins": [_change(x, y) for x, y, gain in gains if gain > 0],
        "losses": [_change(x, y) for x, y, gain in gains if gain < 0],
    }


def changes_table(changed: Sequence[Mapping[str, Any]], most: int) -> FigureTable:
    """Return the first `most` wins or losses for a terminal."""
    question = TableColumn("question", lambda row: Cell(_short(row["question"], 44)))
    answers = [
        TableColumn(side.upper(), lambda row, k=side: Cell(
            "(no answer)" if row[k] is None else _short(", ".join(row[k]), 30)))
        for side in ("a", "b")
    ]  # fmt: skip
    return make_table(changed[:most], [question, *answers])


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


def _short(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"
