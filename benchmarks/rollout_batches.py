"""Drawn tokens a CPU second of our engine, in GRPO's batches and in an evaluation.

    python -m benchmarks.rollout_batches --demo runs/demo [--against REPO]

The agent after stage 2 of a finished demo plays GRPO's questions: 4 batches of 32 questions, 4
samples each at GRPO's temperature, and 510 questions greedily, 64 at once. `--against` plays the
same with the code of another checkout, in turns. Writes benchmarks/results/rollout-batches.json.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
BATCHES, QUESTIONS, SAMPLES = 4, 32, 4
GREEDY, AT_ONCE = 510, 64
TURNS = 5
"""Times that each side plays, in turns; the median counts."""


def main() -> None:
    """Measure and write the record; with `--play`, play once and print the figures."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--demo", type=Path, default=Path("runs/demo"), help="a finished demo")
    parser.add_argument("--against", type=Path, help="another checkout, measured in turns")
    parser.add_argument("--play", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.play:
        print(json.dumps(play(given.demo)))
        return
    from benchmarks.record import record
    from benchmarks.walks import commit_of, loop_s

    sides = {"here": ROOT} | ({"against": given.against.resolve()} if given.against else {})
    runs: dict[str, list[dict[str, Any]]] = {side: [] for side in sides}
    for _ in range(TURNS):
        for side, repo in sides.items():
            runs[side].append(_played(repo, given.demo.resolve()))
    rates = {
        side: {part: _median([run[part]["tokens_per_cpu_s"] for run in of]) for part in of[0]}
        for side, of in runs.items()
    }
    figures: dict[str, Any] = {"runs": runs, "tokens_per_cpu_s": rates, "loop_s": loop_s()}
    if given.against:
        figures["against_commit"] = commit_of(given.against)
        here, other = rates["here"], rates["against"]
        figures["times_faster"] = {part: round(here[part] / other[part], 2) for part in here}
    print(json.dumps({k: v for k, v in figures.items() if k != "runs"}, indent=2))
    command = "python -m benchmarks.rollout_batches" + (" --against REPO" if given.against else "")
    print(record("rollout-batches", figures, command, 0))


def _played(repo: Path, demo: Path) -> dict[str, Any]:
    """The figures of one run with the code of that checkout."""
    # -P: beside this file lies a `training.py`.
    command = [sys.executable, "-P", str(Path(__file__).resolve()), "--play", "--demo", str(demo)]
    environment = {**os.environ, "PYTHONPATH": str(repo), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, cwd=ROOT, env=environment, check=True, stdout=subprocess.PIPE)
    return json.loads(done.stdout.splitlines()[-1])


def play(demo: Path) -> dict[str, Any]:
    """Tokens, CPU seconds and tokens a CPU second: in batches of GRPO, and greedily."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    from graphwalker.agents.environment import Environment
    from graphwalker.config import load_config
    from graphwalker.datasets.base import load_questions
    from graphwalker.graphs.open import open_graph
    from graphwalker.policies.base import Sampling
    from graphwalker.policies.local.policy import TransformersPolicy
    from graphwalker.tokens.segments import chat_format
    from training.grpo_config import GrpoConfig
    from training.reinforce.engines import BudgetPolicy

    torch.set_num_threads(1)
    config = load_config(GrpoConfig, demo / "grpo" / "config.yaml")
    model = AutoModelForCausalLM.from_pretrained(config.model, dtype=torch.float32).eval()
    environment = Environment(open_graph(str(config.graph)), config.environment)
    questions = load_questions(Path(str(config.questions)))
    engine = TransformersPolicy(
        model,
        AutoTokenizer.from_pretrained(config.model),
        chat_format(config.format),
        max_context=config.max_prompt_tokens + config.max_response_tokens,
    )
    policy = BudgetPolicy(engine, config.max_episode_tokens)
    most = config.max_turn_tokens
    batches = [
        (
            questions[QUESTIONS * n :][:QUESTIONS],
            Sampling(config.temperature, max_tokens=most, seed=n),
        )
        for n in range(BATCHES)
    ]
    _clocked(engine, policy, environment, batches[:1], SAMPLES, 256)  # what is read once is read
    return {
        "grpo": _clocked(engine, policy, environment, batches, SAMPLES, 256),
        "greedy": _clocked(
            engine,
            policy,
            environment,
            [(questions[:GREEDY], Sampling(max_tokens=most))],
            1,
            AT_ONCE,
        ),
    }


def _clocked(
    engine: Any, policy: Any, environment: Any, batches: list[Any], samples: int, at_once: int
) -> dict[str, Any]:
    from graphwalker.agents.rollout import rollout

    before, started, answered = engine.generated_tokens, time.process_time(), 0
    for questions, sampling in batches:
        for one in rollout(
            questions, environment, policy, sampling, samples=samples, concurrency=at_once
        ):
            answered += one.answer is not None
        engine.free()
    spent, tokens = time.process_time() - started, engine.generated_tokens - before
    return {
        "tokens": tokens,
        "answered": answered,
        "cpu_s": round(spent, 2),
        "tokens_per_cpu_s": round(tokens / spent, 1),
    }


def _median(values: list[float]) -> float:
    return sorted(values)[len(values) // 2]


if __name__ == "__main__":
    main()
