"""What one agent costs against another on the same questions: money, time and tokens, as ratios.

GraphRunner (section 4) reports its costs so, against Graph-CoT, by domain and by level.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from eval.analysis.comparison import LABELS, NamedRun, episode_costs
from eval.analysis.summary import natural
from eval.tables import Cell, FigureTable, number
from graphwalker.question import Question

BASE = "graph-cot"
"""The agent that others are set against where it is among them and no other is named."""
RATIOS = ("cost", "seconds", "prompt_tokens", "completion_tokens", "turns")
FACETS = ("domain", "level")


def ratios(runs: Sequence[NamedRun], base: str = "") -> list[dict[str, Any]]:
    """For each other run and each group of the questions that both have: the base's total of a cost
    by the run's own. Above 1 the run is the cheaper one; `None` where it costs nothing.

    Without `base` it is `graph-cot`, where that is among the runs; empty where it is not.
    """
    against = next((run for run in runs if run.name == (base or BASE)), None)
    if against is None:
        return []
    theirs = _by_question(against)
    rows: list[dict[str, Any]] = []
    for run in runs:
        own = {} if run is against else _by_question(run)
        common = {key: one.question for key, one in _questions(run).items() if key in theirs}
        for group, ids in _groups(common) if own else ():
            rows.append(
                {
                    "name": run.name,
                    "base": against.name,
                    "group": group,
                    "questions": len(ids),
                    **{key: _ratio(ids, theirs, own, key) for key in RATIOS},
                }
            )
    return rows


def ratios_table(rows: Sequence[Mapping[str, Any]]) -> FigureTable:
    """One row for each agent and group of questions."""
    shown = [key for key in RATIOS if any(row[key] is not None for row in rows)]
    body = [
        (
            Cell(f"{row['name']}, {row['group']}", f"{row['questions']:,} questions"),
            *(Cell("–" if row[key] is None else f"{number(row[key], 2)} ×") for key in shown),
        )
        for row in rows
    ]
    base = rows[0]["base"] if rows else BASE
    note = f"What {base} costs, by what the agent costs, on the questions that both have scored."
    head = (Cell(f"Cheaper than {base}"), *(Cell(LABELS[key]) for key in shown))
    return FigureTable(head, tuple(body), note)


def _questions(run: NamedRun) -> dict[str, Any]:
    return {one.id: one for one in run.scored_episodes}


def _by_question(run: NamedRun) -> dict[str, dict[str, float]]:
    """The costs of each scored episode by its id."""
    kept = run.scored_episodes
    costs = episode_costs(run, kept)
    return {one.id: {key: values[k] for key, values in costs.items()} for k, one in enumerate(kept)}


def _groups(questions: Mapping[str, Question]) -> Iterator[tuple[str, list[str]]]:
    """All questions, then those of each domain and each level."""
    if questions:
        yield "all", list(questions)
    for facet in FACETS:
        found: dict[str, list[str]] = {}
        for key, question in questions.items():
            if value := question.facets.get(facet):
                found.setdefault(value, []).append(key)
        yield from ((f"{facet} {value}", found[value]) for value in sorted(found, key=natural))


def _ratio(
    ids: Sequence[str],
    theirs: Mapping[str, Mapping[str, float]],
    own: Mapping[str, Mapping[str, float]],
    key: str,
) -> float | None:
    total = sum(own[one].get(key, 0.0) for one in ids)
    other = sum(theirs[one].get(key, 0.0) for one in ids)
    return other / total if total and other else None
