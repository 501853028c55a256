"""What each published agent's method can win: its oracle on questions of two graphs.

    python -m benchmarks.published_agents [--out runs/published] [--questions 100] [--agents a,b]

makes the fictional world of 3,000 entities with questions of the demo's mix, takes the first
questions of webqsp_on_fb15k/test below $GRAPHWALKER_DATA where that is there, plays the oracle of
each preset, and writes benchmarks/results/published_agents.json. What is lost is the method's own
limit: relations that it cannot follow, beams too narrow, text that does not fit. Four minutes.
"""

import argparse
import json
import os
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.record import ROOT, record
from data_pipeline.config import SynthConfig
from data_pipeline.synthesize import make_questions
from graphwalker.agents.environment import Environment, EnvironmentConfig
from graphwalker.agents.rollout import rollout
from graphwalker.ceilings.ceiling import reach_of
from graphwalker.config import parse_config
from graphwalker.datasets.base import load_questions
from graphwalker.datasets.grounding import ground
from graphwalker.datasets.queries import resolve
from graphwalker.errors import UserError
from graphwalker.graphs.base import Direction, KnowledgeGraph
from graphwalker.graphs.build.build import build_graph
from graphwalker.graphs.open import open_graph
from graphwalker.policies.config import PolicyConfig
from graphwalker.policies.load import load_policy
from graphwalker.question import Question
from graphwalker.scoring import score
from graphwalker.trajectory import Trajectory
from graphwalker.world.generate import make_world

AGENTS = (
    "graphwalker", "graphwalker-wide", "graphwalker-frontier", "search-on-graph", "kg-r1",
    "ark-v1", "ark-v1-code", "graphrunner", "graph-cot", "tog", "rog", "gog", "text-rag",
    "graph-rag",
)  # fmt: skip
MIX = {"2-hop": 46, "3-hop": 28, "4-hop": 6, "5-hop": 2, "2I": 18}
CHARS_PER_TOKEN = 4
PROMPT_PRICE, COMPLETION_PRICE = 30.0, 60.0
"""Dollars a million tokens, as GraphRunner reckons its cost (section 4.1)."""
HIDDEN = {"layers": {"hidden_share": 0.2}}


def main() -> int:
    """Measure, print the table, record the figures."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--out", type=Path, default=Path("runs/published"))
    parser.add_argument("--questions", type=int, default=100)
    parser.add_argument("--agents", default=",".join(AGENTS))
    given = parser.parse_args()
    agents = [name for name in given.agents.split(",") if name]
    graph, questions = world(given.out, given.questions)
    figures: dict[str, Any] = {
        "world, share of questions with outgoing hops alone": outgoing(questions),
        "world": measured(graph, questions, agents),
    }
    if "gog" in agents:
        figures["world, 20 % of the triples hidden"] = measured(graph, questions, ["gog"], HIDDEN)
    data = Path(os.environ.get("GRAPHWALKER_DATA") or ROOT.parent / "shared" / "data")
    if (data / "fb15k").is_dir():
        graph, questions = fb15k(data, given.out, given.questions)
        figures["fb15k, share of questions with outgoing hops alone"] = outgoing(questions)
        figures["fb15k"] = measured(graph, questions, agents)
    print(json.dumps(figures, indent=1))
    print(record("published_agents", figures, "python -m benchmarks.published_agents", seed=0))
    return 0


def world(out: Path, count: int) -> tuple[KnowledgeGraph, list[Question]]:
    """The fictional world and questions of the demo's mix over it."""
    folder = out / "world"
    if not (folder / "graph").exists():
        make_world(3000, 0, folder)
    settings = {"count": count, "seed": 2, "mix": MIX, "workers": 1, "split": "test-entity"}
    where = out / f"questions-{count}"
    make_questions(folder / "graph", parse_config(SynthConfig, settings, "questions"), where)
    return open_graph(folder / "graph"), load_questions(where / "questions.jsonl", count)


def fb15k(data: Path, out: Path, count: int) -> tuple[KnowledgeGraph, list[Question]]:
    """The FB15k slice and the first WebQSP questions with a query there."""
    slice_, folder = data / "fb15k", out / "fb15k"
    if not folder.is_dir():
        names, types = slice_ / "entities.tsv.gz", slice_ / "entity_types.tsv.gz"
        build_graph([slice_ / "triples.tsv.gz"], folder, names=[names], types=[types])
    graph = open_graph(folder)
    loaded = load_questions(data / "webqsp_on_fb15k" / "test.jsonl.gz")
    found = resolve(ground(loaded, graph), graph).questions
    return graph, [question for question in found if question.query is not None][:count]


def outgoing(questions: Sequence[Question]) -> float:
    """The share that ARK-V1 can follow: it walks outgoing relations alone."""
    queries = [question.query for question in questions if question.query]
    hops = [[*(h for b in q.branches for h in b.hops), *q.tail] for q in queries]
    out = sum(all(hop.direction is Direction.OUT for hop in one) for one in hops)
    return round(out / len(questions), 4)


def measured(
    graph: KnowledgeGraph,
    questions: Sequence[Question],
    agents: Sequence[str],
    settings: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """The oracle's figures of each agent on the questions."""
    found: dict[str, Any] = {}
    for name in agents:
        started = time.perf_counter()
        config = EnvironmentConfig.model_validate({"preset": name, **(settings or {})})
        environment = Environment(graph, config)
        oracle = load_policy(PolicyConfig(model="oracle"), environment=environment)
        played = list(rollout(questions, environment, oracle))
        limits = within_limits(played, environment)
        found[name] = {
            **summary(played),
            **limits,
            "seconds": round(time.perf_counter() - started, 1),
        }
        print(name, json.dumps(found[name]), file=sys.stderr, flush=True)
    return found


def summary(played: Sequence[Trajectory]) -> dict[str, Any]:
    """Means over questions; tokens are characters by four, as no model was asked."""
    scores = [score(one) for one in played]
    read = [sum(map(prompt_tokens, contexts(one))) for one in played]
    written = [sum(len(turn.completion) for turn in one.turns) / CHARS_PER_TOKEN for one in played]
    n = len(played)
    return {
        "questions": n,
        **{name: round(sum(s[name] for s in scores) / n, 4) for name in ("em", "f1", "hits1")},
        "retrieval_all": round(sum(s["retrieval_all"] for s in scores) / n, 4),
        "completions": round(sum(len(one.turns) for one in played) / n, 2),
        "graph_calls": round(sum(one.usage["graph_calls"] for one in played) / n, 1),
        "prompt_tokens": round(sum(read) / n),
        "completion_tokens": round(sum(written) / n),
        "dollars": round((sum(read) * PROMPT_PRICE + sum(written) * COMPLETION_PRICE) / n / 1e6, 4),
    }


def within_limits(played: Sequence[Trajectory], environment: Environment) -> dict[str, Any]:
    """The shares of the questions that the preset's own limits (what a call shows, calls an episode
    has) let anyone win, by any relation and by those of the query, which the oracle follows, with
    the oracle's EM on each; nothing for methods without a ceiling of that kind."""
    try:
        reached = [reach_of(one.question, environment) for one in played]
    except UserError:
        return {}
    found: dict[str, Any] = {}
    for name in ("winnable", "all_answers_by_gold"):
        pairs = zip(played, reached, strict=True)
        won = [score(one)["em"] for one, reach in pairs if getattr(reach, name)]
        found[name] = round(len(won) / len(played), 4)
        found[f"em_of_{name}"] = round(sum(won) / len(won), 4) if won else None
    return found


def contexts(done: Trajectory) -> list[list[str]]:
    """What each completion was asked with."""
    asked: list[list[str]] = []
    said: list[str] = []
    for turn in done.turns:
        said = [*([] if turn.restart else said), *(m.content for m in turn.context)]
        asked.append(said)
        said = [*said, turn.completion]
    return asked


def prompt_tokens(messages: Sequence[str]) -> float:
    """Tokens of one request."""
    return sum(map(len, messages)) / CHARS_PER_TOKEN


if __name__ == "__main__":
    sys.exit(main())
