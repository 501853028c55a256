"""Whether an agent comes back from an error, by the errors that its training showed.

    python -m benchmarks.corpora_recovery [--seeds 0 1 2] [--out runs/corpora]

After `benchmarks.corpora`, on its models. Held-out questions begin with turns that go astray, word
for word the same for every model: an error that is injected into an expert's walk, or one that the
model of stage 1 made itself at temperature 1. From there each model plays alone, greedily. It has
recovered where its answer is exactly the gold set. Writes benchmarks/results/corpora_recovery.json.
"""

import argparse
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import Any

from benchmarks.corpora import ERRORS, WHOLE, model_of
from benchmarks.record import ROOT, record
from data_pipeline.collect import collect_experts
from data_pipeline.config import ExpertConfig
from eval.analysis.summary import paired
from eval.intervals import mean_interval
from graphwalker.agents.environment import Environment, EnvironmentConfig
from graphwalker.agents.rollout import rollout, untimed
from graphwalker.config import load_config, parse_config
from graphwalker.datasets.base import load_questions
from graphwalker.files import read_records, write_jsonl
from graphwalker.graphs.open import open_graph
from graphwalker.pipeline import Demo, DemoConfig
from graphwalker.policies.base import Completion, Policy, Request, Sampling
from graphwalker.policies.config import PolicyConfig
from graphwalker.policies.load import load_policy
from graphwalker.scoring import score
from graphwalker.trajectory import Trajectory
from training.reinforce.rewards.gold import GoldStep, GoldWalks

INJECTED, OWN = "injected errors", "errors of stage 1"
DRAWS = 4
"""Walks of the model of stage 1 on each question."""
BASELINES = ("first-relation", "random-relation")
PLAYERS = (WHOLE, *(f"stage2-{kind}" for kind in ERRORS), *BASELINES)
"""Models of `benchmarks.corpora`, and policies without a model."""
CONTROL = f"stage2-{ERRORS[0]}"
"""The model that the others are compared with: its demonstrations have no errors."""

Starts = list[dict[str, list[str]]]
"""For each draw, the completions of the first turns by question id."""


class Astray:
    """Plays given first turns word for word, then hands the episode over to a policy."""

    def __init__(self, policy: Policy, starts: Mapping[str, Sequence[str]]) -> None:
        """`starts`: the completions of the first turns, by question id."""
        self._policy, self._starts = policy, starts
        self._played: list[tuple[str, Completion]] = []
        self.name = policy.name

    def submit(self, request: Request) -> None:
        start, done = self._starts[request.question.id], len(request.turns)
        if done < len(start):
            self._played.append((request.key, Completion(start[done])))
        else:  # to a programmatic policy the episode begins here
            self._policy.submit(replace(request, turns=request.turns[len(start) :]))

    def collect(self) -> list[tuple[str, Any]]:
        if self._played:
            played, self._played = self._played, []
            return list(played)
        return self._policy.collect()

    def release(self, key: str) -> None:
        self._policy.release(key)


def injected_start(walk: Trajectory) -> list[str]:
    """The turns of an expert's walk up to its injected error; none where it has none."""
    slips = [e["turn"] for e in walk.provenance.get("errors", ()) if e["slip"]]
    return [turn.completion for turn in walk.turns[: slips[0] + 1]] if slips else []


def own_start(walk: Trajectory, steps: Sequence[GoldStep]) -> list[str]:
    """The turns of a model's walk that ended wrong, up to the first that the tools refused or whose
    triples lead along no step of the gold walk; none where there is no such turn."""
    if walk.stop.infrastructure_failure or not steps or score(walk)["em"] == 1:
        return []
    for number, turn in enumerate(walk.turns, 1):
        if "answer" in turn.action:
            break
        led = any(step.joins(triple) for triple in turn.triples for step in steps)
        if turn.error or (turn.triples and not led):
            return [one.completion for one in walk.turns[:number]]
    return []


class Recovery:
    """The starts of one seed, and what each model makes of them."""

    def __init__(self, demo: Demo) -> None:
        self.demo, self.out = demo, demo.out / "recovery"
        settings = parse_config(EnvironmentConfig, demo.config.environment, "environment")
        self.environment = Environment(open_graph(demo.graph), settings)
        self.questions = load_questions(demo.test_file)

    def walks(self, kind: str) -> list[Trajectory]:
        """The walks that go astray."""
        if kind == INJECTED:
            folder, demo = self.out / "experts", self.demo
            own = {"error_rate": 1.0, "mix": {}, "count": len(self.questions), "workers": 1}
            values = {**demo.config.experts, **own, "seed": demo.config.seed}
            values["environment"] = demo.config.environment
            collect_experts(
                demo.graph,
                parse_config(ExpertConfig, values, INJECTED),
                demo.test_file,
                folder,
                lambda *_, **__: None,
            )
            return list(read_records(folder / "graphroll.jsonl", Trajectory.from_json))

        def drawn() -> Iterator[Trajectory]:
            how = Sampling(temperature=1.0, max_tokens=self._most, seed=self.demo.config.seed)
            policy = self._policy(WHOLE)
            yield from rollout(self.questions, self.environment, policy, how, samples=DRAWS)

        return self._kept("drawn", drawn())

    def starts(self, kind: str) -> Starts:
        """Where the walks of a kind went astray."""
        gold = GoldWalks(self.environment.graph)
        found: Starts = [{} for _ in range(1 if kind == INJECTED else DRAWS)]
        for walk in self.walks(kind):
            question = walk.question
            own = () if kind == INJECTED else gold.steps(question)
            if start := injected_start(walk) if kind == INJECTED else own_start(walk, own):
                found[walk.sample][question.id] = start
        return found

    def play(self, kind: str, starts: Starts, model: str) -> list[Trajectory]:
        """What the model makes of all starts of a kind."""

        def played() -> Iterator[Trajectory]:
            policy, greedy = self._policy(model), Sampling(max_tokens=self._most)
            for number, drawn in enumerate(starts):
                asked = [question for question in self.questions if question.id in drawn]
                led = Astray(policy, drawn)
                yield from rollout(asked, self.environment, led, greedy, first_sample=number)

        return self._kept(f"{kind}/{model}", played())

    def _kept(self, name: str, played: Iterator[Trajectory]) -> list[Trajectory]:
        """Played now, or what an earlier run has kept."""
        path = self.out / name / "predictions.jsonl"
        if not path.is_file():
            path.parent.mkdir(parents=True, exist_ok=True)
            write_jsonl(path, (untimed(one).to_json() for one in played))
        return list(read_records(path, Trajectory.from_json))

    def _policy(self, model: str) -> Policy:
        if model in BASELINES:
            return load_policy(PolicyConfig(model=model), environment=self.environment)
        values = {**self.demo.config.eval["policy"], "model": str(model_of(self.demo, model))}
        return load_policy(parse_config(PolicyConfig, values, model))

    @property
    def _most(self) -> int:
        return self.demo.config.eval["max_tokens"]


def main() -> None:
    """Play every kind of start with every model, then print and record the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--out", type=Path, default=ROOT / "runs" / "corpora")
    parser.add_argument("--config", type=Path, default=ROOT / "configs" / "corpora.yaml")
    options = parser.parse_args()
    for seed in options.seeds:
        if not (options.out / f"seed-{seed}" / "models").is_dir():
            parser.error(f"no models of seed {seed}: python -m benchmarks.corpora --seeds {seed}")
    played: dict[str, dict[str, list[Trajectory]]] = defaultdict(lambda: defaultdict(list))
    for seed in options.seeds:
        config = load_config(DemoConfig, options.config, [f"seed={seed}"])
        recovery = Recovery(Demo(options.out / f"seed-{seed}", config))
        for kind in (INJECTED, OWN):
            starts = recovery.starts(kind)
            for model in PLAYERS:
                played[kind][model] += _of_seed(recovery.play(kind, starts, model), seed)
    figures = {kind: summary(models) for kind, models in played.items()}
    print(table(figures))
    command = f"python -m benchmarks.corpora_recovery --seeds {' '.join(map(str, options.seeds))}"
    usual = options.out == ROOT / "runs" / "corpora"
    folder = ROOT / "benchmarks" / "results" if usual else options.out
    print(record("corpora_recovery", figures, command, options.seeds[0], folder))


def _of_seed(walks: Sequence[Trajectory], seed: int) -> Iterator[Trajectory]:
    """The ids carry the seed, as every world has a question 1."""
    for walk in walks:
        yield replace(walk, question=replace(walk.question, id=f"{seed}:{walk.question.id}"))


def summary(models: Mapping[str, Sequence[Trajectory]]) -> dict[str, Any]:
    """What share of the episodes each model recovered, and the paired difference to the one whose
    demonstrations have no errors."""
    found: dict[str, Any] = {}
    for name, walks in models.items():
        asked = [walk.question.id for walk in walks]
        right = [score(walk)["em"] for walk in walks]
        share, interval = mean_interval(right, 0, clusters=asked)
        found[name] = {"episodes": len(walks), "questions": len(set(asked))}
        found[name] |= {"recovered": share, "interval": interval}
        found[name]["turns"] = fmean(len(walk.turns) for walk in walks)
        if name != CONTROL:
            gap = paired(models[CONTROL], walks)
            found[name]["minus_no_errors"] = [gap["em"], *gap["em_interval"]]
    return found


def table(figures: Mapping[str, Mapping[str, Any]]) -> str:
    """A row for each kind of start and model."""
    lines = ["| start | model | recovered [95 %] | minus no errors | of |", "|" + " --- |" * 5]
    for kind, models in figures.items():
        for name, row in models.items():
            share, (low, high) = row["recovered"], row["interval"]
            gap = row.get("minus_no_errors")
            shown = "{:+.3f} [{:+.3f}, {:+.3f}]".format(*gap) if gap else ""
            cells = [kind, name, f"{share:.3f} [{low:.3f}, {high:.3f}]", shown]
            lines.append(f"| {' | '.join(cells)} | {row['episodes']} |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
