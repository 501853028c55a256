"""GraphWalk's oracle over synthetic graphs and mazes: what the tools and their limits let it win.

    python -m benchmarks.graphwalk --graphs 10 --mazes 100 --out runs/graphwalk

Makes the sets of Tables 2 and 4 (100, 150, 200 and 500 nodes) and mazes of 10 x 10 and 20 x 20,
plays the oracle through the tools, and writes benchmarks/results/graphwalk.json: per template and
size accuracy, precision, recall, F1, false positives, calls, turns, characters of a conversation,
seconds, and how the answers were read.
"""

import argparse
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from benchmarks.record import record
from graphwalker.agents.environment import Environment, EnvironmentConfig
from graphwalker.agents.rollout import rollout
from graphwalker.datasets.base import load_questions
from graphwalker.graphs.open import open_graph
from graphwalker.policies.config import PolicyConfig
from graphwalker.policies.load import load_policy
from graphwalker.scoring import score
from graphwalker.synthetic.graphs import size_of
from graphwalker.synthetic.sets import QUESTIONS, make_graph_set, make_maze_set
from graphwalker.trajectory import Trajectory

SIZES = (100, 150, 200, 500)
MAZES = {10: 100, 20: 220}
"""Cells a side, and the turns that an episode may have."""
SCORES = ("em", "precision", "recall", "f1", "false_positives")


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--graphs", type=int, default=10)
    parser.add_argument("--mazes", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=Path("runs/graphwalk"))
    given = parser.parse_args(arguments)
    figures: dict[str, Any] = {}
    for nodes in SIZES:
        folder = given.out / f"nodes-{nodes}"
        make_graph_set(size_of(nodes), given.graphs, given.seed, folder)
        figures[f"{nodes}_nodes"] = templates(folder)
    for size, turns in MAZES.items():
        folder = given.out / f"maze-{size}"
        make_maze_set(size, given.mazes, given.seed, folder)
        figures[f"maze_{size}x{size}"] = mazes(folder, turns)
    command = f"python -m benchmarks.graphwalk --graphs {given.graphs} --mazes {given.mazes}"
    print(record("graphwalk", figures, command, given.seed))


def templates(folder: Path) -> dict[str, Any]:
    """Figures of all questions of a set, and by template."""
    played, seconds = _played(folder, EnvironmentConfig(preset="graphwalk"))
    groups: dict[str, list[Trajectory]] = defaultdict(list)
    for one in played:
        groups[one.question.structure].append(one)
    by_template = {name: _figures(group) for name, group in groups.items()}
    return {"all": {**_figures(played), "seconds": seconds}, "templates": by_template}


def mazes(folder: Path, turns: int) -> dict[str, Any]:
    """Figures of the mazes of a set."""
    config = EnvironmentConfig(preset="graphwalk-maze", max_turns=turns)
    played, seconds = _played(folder, config)
    ratios = [ratio for one in played if (ratio := score(one).get("path_ratio")) is not None]
    ratio = {"path_ratio": round(fmean(ratios), 3), "path_ratio_most": round(max(ratios), 3)}
    return {**_figures(played), **ratio, "max_turns": turns, "seconds": seconds}


def _played(folder: Path, config: EnvironmentConfig) -> tuple[list[Trajectory], float]:
    environment = Environment(open_graph(folder), config)
    policy = load_policy(PolicyConfig(model="oracle"), environment=environment)
    started = time.perf_counter()
    played = list(rollout(load_questions(folder / QUESTIONS), environment, policy))
    return played, round(time.perf_counter() - started, 1)


def _figures(played: Sequence[Trajectory]) -> dict[str, Any]:
    scores = [score(one) for one in played]
    means = {name: _mean(s.get(name, 0.0) for s in scores) for name in SCORES[:4]}
    read = Counter(str(one.turns[-1].action.get("read", "none")) for one in played)
    lengths = [sum(len(m.content) for m in one.conversation()) for one in played]
    return {
        "questions": len(played),
        **means,
        "false_positives": int(sum(s.get("false_positives", 0.0) for s in scores)),
        "turns": _mean(len(one.turns) for one in played),
        "turns_most": max(len(one.turns) for one in played),
        "tool_calls": sum(map(_calls, played)),
        "characters": _mean(lengths),
        "characters_most": max(lengths),
        "answers_read": dict(read),
    }


def _calls(one: Trajectory) -> int:
    return sum(turn.completion.count("<tool_call>") for turn in one.turns)


def _mean(values: Iterable[float]) -> float:
    return round(fmean(values), 4)


if __name__ == "__main__":
    main()
