"""A maze agent from nothing: demonstrations by the oracle, a tiny model with tokens made for them.

    python -m benchmarks.graphwalk_maze --mazes 1600 --out runs/maze
    python -m training.sft --config runs/maze/sft.yaml
    python -m graphwalker eval --config runs/maze/eval.yaml
    python -m training.sft --config runs/maze/no-tools/sft.yaml
    python -m graphwalker eval --config runs/maze/no-tools/eval.yaml
    python -m benchmarks.graphwalk_maze --out runs/maze --figures

Writes OUT/demos.jsonl, OUT/tiny, OUT/sft.yaml, OUT/eval.yaml and OUT/test, a set of unseen mazes,
and below OUT/no-tools the same for a model that is shown the drawn maze and says the path at once.
With --figures, once both models have played, benchmarks/results/graphwalk_maze.json: the models,
the oracle, and a walk that takes any open cell.
"""

import argparse
import math
import random
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from omegaconf import OmegaConf

from benchmarks.record import record
from eval.intervals import mean_interval
from graphwalker.agents.environment import Environment, EnvironmentConfig
from graphwalker.agents.rollout import rollout, untimed
from graphwalker.answers.path import PathAnswer
from graphwalker.datasets.base import load_questions
from graphwalker.files import read_json, read_jsonl, read_records, write_jsonl, write_text
from graphwalker.graphs.open import open_graph
from graphwalker.oracle.plan import Plan, PlannedPolicy
from graphwalker.policies.config import PolicyConfig
from graphwalker.policies.load import load_policy
from graphwalker.policies.scripted import ScriptedPolicy
from graphwalker.protocols.base import FinalAnswer
from graphwalker.question import Question
from graphwalker.scoring import score
from graphwalker.synthetic.sets import QUESTIONS, make_maze_set
from graphwalker.tools.base import Call
from graphwalker.tools.maze import NEXT, PATH
from graphwalker.trajectory import Trajectory
from training.config import TinyModelConfig
from training.models.tiny import conversation_texts, make_tiny

NO_TOOLS = "no-tools"
LONGEST = 160
"""Tokens of a message: of a path through the maze, some 100."""
_CALL = '<tool_call>\n{"name": "get_possible_next_cells", "arguments": {"node_id": "'
_PATH_CALL = '<tool_call>\n{"name": "get_connected_path", "arguments": {}}\n</tool_call>'
_UNVISITED = ", marked false, mark_order -1)"
PIECES = (
    "Find the shortest path from cell ",
    " to cell ",
    f"I begin at the start.\n{_CALL}",
    '"}}\n</tool_call>',
    "<tool_response>\nOpen cells beside ",
    _UNVISITED,
    f"{_UNVISITED}, ",
    "\n</tool_response>",
    "Not visited: ",
    " and ",
    ". Next is ",
    f".\n{_CALL}",
    f", the goal.\n{_CALL}",
    "Not visited: none. I came to ",
    f", so back.\n{_CALL}",
    f"The goal. Which of these cells make the path?\n{_PATH_CALL}",
    "<tool_response>\nShortest path from cell ",
    " over visited cells: [",
    "That is the path.\n[",
    *(": ", "]"),
)
"""What the tools and the oracle write again and again: one token for each."""


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--mazes", type=int, default=1600)
    parser.add_argument("--test", type=int, default=100)
    parser.add_argument("--size", type=int, default=10)
    parser.add_argument("--out", type=Path, default=Path("runs/maze"))
    parser.add_argument("--figures", action="store_true", help="of the evaluation in OUT/eval")
    given = parser.parse_args(arguments)
    out: Path = given.out
    if given.figures:
        command = "python -m benchmarks.graphwalk_maze --figures (its head says what to run before)"
        print(record("graphwalk_maze", figures(out), command, seed=0))
        return
    make_maze_set(given.size, given.mazes, 100, out / "train")
    make_maze_set(given.size, given.test, 7, out / "test")
    write_text(out / "prompt.md", "{question}\n")
    prepare(out, out, environment(out), demonstrations(out), [*PIECES, *numbered(given.size)])
    without = out / NO_TOOLS
    write_text(without / "prompt.md", "{graph}\n---\n{question}\n")
    prepare(out, without, without_tools(out), answers_alone(out), [])


def prepare(
    out: Path,
    folder: Path,
    config: EnvironmentConfig,
    shown: Iterator[Trajectory],
    pieces: list[str],
) -> None:
    """What a model is made from, and the settings of its training and of its evaluation."""
    write_jsonl(folder / "demos.jsonl", (untimed(one).to_json() for one in shown))
    make_tiny(
        TinyModelConfig(
            vocab_size=900, layers=3, hidden=128, heads=2, intermediate=384, induction=True
        ),
        conversation_texts(read_records(folder / "demos.jsonl", Trajectory.from_json)),
        [],
        folder / "tiny",
        environment=config,
        pieces=pieces,
    )
    own = config.model_dump(include={"preset", "prompt", "options"})
    for name, values in (
        ("sft", training_settings(folder)),
        ("eval", evaluation_settings(out, folder)),
    ):
        text = OmegaConf.to_yaml(OmegaConf.create({**values, "environment": own}))
        write_text(folder / f"{name}.yaml", text)
    print(f"python -m training.sft --config {folder / 'sft.yaml'}")
    print(f"python -m graphwalker eval --config {folder / 'eval.yaml'}")


def environment(out: Path) -> EnvironmentConfig:
    """The shortest prompt, and a message that ends at its call, as the inline format needs."""
    prompt, options = str(out / "prompt.md"), {"parallel": False}
    return EnvironmentConfig(preset="graphwalk-maze", prompt=prompt, options=options)


def without_tools(out: Path) -> EnvironmentConfig:
    """The drawn maze above the question, and one answer."""
    prompt, options = str(out / NO_TOOLS / "prompt.md"), {"tools": False}
    return EnvironmentConfig(preset="graphwalk-maze", prompt=prompt, options=options)


def demonstrations(out: Path) -> Iterator[Trajectory]:
    """The oracle's runs through the mazes of OUT/train."""
    world = Environment(open_graph(out / "train"), environment(out))
    policy = load_policy(PolicyConfig(model="oracle"), environment=world)
    yield from rollout(load_questions(out / "train" / QUESTIONS), world, policy)


def answers_alone(out: Path) -> Iterator[Trajectory]:
    """The drawn mazes of OUT/train, and a shortest path of each at once."""
    world = Environment(open_graph(out / "train"), without_tools(out))
    questions = load_questions(out / "train" / QUESTIONS)
    said = {
        q.id: [world.protocol.render("", FinalAnswer(q.gold.nodes, "path"))]
        for q in questions
        if isinstance(q.gold, PathAnswer)
    }
    yield from rollout(questions, world, ScriptedPolicy(said))


def numbered(size: int) -> list[str]:
    """What is written with a number in it. A cell has a token of its own where its parent follows,
    and where a path continues with it: what followed it there is then found by one look."""
    cells = range(size**2)
    distances = {str(round(math.hypot(a, b), 2)) for a in range(size) for b in range(size)}
    marked = [f", marked true, mark_order {order})" for order in cells]
    return [
        *map(str, cells),
        *(f"{cell} from " for cell in cells),
        *(f", {cell}" for cell in cells),
        *(f" (euclidean_distance {distance}" for distance in sorted(distances)),
        *marked,
        *(f"{mark}, " for mark in marked),
    ]


def training_settings(folder: Path) -> dict[str, Any]:
    """Some four minutes of a core of one's own."""
    return {
        "model": str(folder / "tiny"),
        "output_dir": str(folder / "sft"),
        "data": [str(folder / "demos.jsonl")],
        "format": "inline",
        "optimizer": "muon",
        "tokens_per_step": 2048,
        "max_length": 1600,
        "max_steps": 900,
        "lr": 8.0e-3,
        "muon_lr": 0.01,
        "epsilon": 1.0e-5,
        "schedule": "linear",
    }


def evaluation_settings(out: Path, folder: Path) -> dict[str, Any]:
    """Greedy, on the unseen mazes."""
    return {
        "graph": str(out / "test"),
        "questions": str(out / "test" / QUESTIONS),
        "output_dir": str(folder / "eval"),
        "max_tokens": LONGEST,
        "policy": {"model": str(folder / "sft" / "final"), "format": "inline"},
    }


class AnyCell(PlannedPolicy):
    """Takes any open cell that was shown, drawn by the maze's id, until it stands at the goal."""

    name = "any-cell"

    def plan(self, key: str, question: Question) -> Plan:
        rng = random.Random(key)
        here, goal = (topic.name for topic in question.topic_entities[:2])
        turn = yield "", Call(NEXT, {"node_id": here})
        while here != goal:
            here = rng.choice([cell.name for cell in turn.shown if cell.name != here])
            turn = yield "", Call(NEXT, {"node_id": here})
        turn = yield "", Call(PATH)
        yield "", FinalAnswer(tuple(re.findall(r"\d+", turn.observation.partition("[")[2])), "path")


def figures(out: Path) -> dict[str, Any]:
    """The model's on the unseen mazes of OUT/test, its oracle's there, and those of any cell."""
    questions = load_questions(out / "test" / QUESTIONS)
    seen = {str(q.annotations["maze"]) for q in load_questions(out / "train" / QUESTIONS)}
    assert not seen.intersection(str(q.annotations["maze"]) for q in questions)
    world = Environment(open_graph(out / "test"), environment(out))
    oracle = load_policy(PolicyConfig(model="oracle"), environment=world)
    walk = AnyCell(world.graph, world.protocol)
    played = {
        "trained": predictions(out),
        "trained without tools": predictions(out / NO_TOOLS),
        "oracle": list(rollout(questions, world, oracle)),
        "any open cell": list(rollout(questions, world, walk)),
    }
    return {
        "training": trained(out),
        "training without tools": trained(out / NO_TOOLS),
        **{name: _summary(done) for name, done in played.items()},
    }


def predictions(folder: Path) -> list[Trajectory]:
    return list(read_records(folder / "eval" / "predictions.jsonl", Trajectory.from_json))


def trained(folder: Path) -> dict[str, Any]:
    """What the training took."""
    *_, last = read_jsonl(folder / "sft" / "metrics.jsonl")
    return {**read_json(folder / "sft" / "data.json"), **last}


def _summary(played: Sequence[Trajectory]) -> dict[str, Any]:
    scores = [score(one) for one in played]
    solved, interval = mean_interval([one["em"] for one in scores], 0)
    ratios = [ratio for one in scores if (ratio := one.get("path_ratio")) is not None]
    return {
        "mazes": len(played),
        "solved": solved,
        "solved_interval": interval,
        "path_ratio": round(fmean(ratios), 4) if ratios else None,
        "messages": fmean(len(one.turns) for one in played),
        "messages_most": max(len(one.turns) for one in played),
        "ends": dict(Counter(one.stop.value for one in played)),
    }


if __name__ == "__main__":
    main()
