"""Agents of three papers from nothing: the same questions, the same budget, over seeds.

    python -m benchmarks.trained_agents [--seeds 0 1 2] [--out runs/trained-agents]

Each seed has a world, questions, weights and an order of rows of its own. In it every agent gets
its oracle's walks through the same questions, in its own tools and words, a tiny model with a
tokenizer made of them, as many optimizer steps of as many tokens, and the same test questions about
entities that no training question begins at. Beside each: itself under constrained decoding, its
oracle (what its limits let it win), the first relation that it is shown, and a model that answers
without tools. The settings are those of configs/trained-agents.yaml. A killed run resumes. Writes
benchmarks/results/trained_agents.json.
"""

import argparse
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import Any

from benchmarks.record import ROOT, record
from graphwalker.agents.environment import Environment, EnvironmentConfig
from graphwalker.agents.rollout import rollout, untimed
from graphwalker.config import Config, load_config, parse_config
from graphwalker.datasets.base import load_questions
from graphwalker.files import read_json, read_records, write_jsonl
from graphwalker.graphs.open import open_graph
from graphwalker.pipeline.stages import Stage, StageTimes
from graphwalker.policies.scripted import ScriptedPolicy
from graphwalker.protocols.base import FinalAnswer
from graphwalker.trajectory import Trajectory

Settings = dict[str, Any]
NO_TOOLS = "no tools"
RULE = "first-relation"
CONSTRAINED = "constrained"


class TrainedAgentsConfig(Config):
    """The settings of every stage, each checked by the stage itself."""

    entities: int = 1000
    """Named entities of a seed's fictional world."""
    questions: Settings = {}
    """Training questions (`graphwalker config questions`)."""
    test: Settings = {}
    """What is different in the test questions."""
    agents: dict[str, Settings] = {}
    """The environment of each agent by its name in the table."""
    no_tools: Settings = {}
    """The environment of the model without tools."""
    pieces: dict[str, tuple[str, ...]] = {}
    """What an agent's protocol and tools write again and again, one token for each; the tag
    protocol knows its own."""
    model: Settings = {}
    """The tiny model (`graphwalker config model`)."""
    sft: Settings = {}
    """The training, the same for all."""
    no_tools_sft: Settings = {}
    """What is different without tools."""
    eval: Settings = {}
    """The evaluation."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Train and evaluate every agent for each seed, then print and record the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--out", type=Path, default=ROOT / "runs" / "trained-agents")
    parser.add_argument("--config", type=Path, default=ROOT / "configs" / "trained-agents.yaml")
    parser.add_argument("--set", nargs="*", default=[], help="settings, such as sft.max_steps=9")
    given = parser.parse_args(arguments)
    config = load_config(TrainedAgentsConfig, given.config, given.set)
    for seed in given.seeds:
        SeedRun(given.out / f"seed-{seed}", seed, config).run()
    figures = summary(given.out, given.seeds, config)
    print(table(figures))
    command = f"python -m benchmarks.trained_agents --seeds {' '.join(map(str, given.seeds))}"
    command += f" --set {' '.join(given.set)}" if given.set else ""
    usual = given.out == ROOT / "runs" / "trained-agents"
    folder = ROOT / "benchmarks" / "results" if usual else given.out
    print(record("trained_agents", figures, command, given.seeds[0], folder))


@dataclass(frozen=True, slots=True)
class SeedRun:
    """Everything of one seed, below its folder. What is finished is left as it is."""

    out: Path
    seed: int
    config: TrainedAgentsConfig

    def run(self) -> None:
        times = StageTimes(self.out)
        for stage in self._stages():
            times.run(stage)

    def _stages(self) -> Iterator[Stage]:
        config = self.config
        yield Stage("world", lambda _: self._make_world())
        for name, number in (("train", 1), ("test", 2)):
            more = config.test if name == "test" else {}
            yield Stage(f"{name} questions", partial(self._questions, name, number, more))
        for name, environment in config.agents.items():
            yield Stage(f"{name}: demonstrations", partial(self._oracle_walks, name, environment))
            yield Stage(f"{name}: model", partial(self._make_model, name, environment))
            yield Stage(f"{name}: SFT", partial(self._train, name, {}), own_bar=True)
            for policy in (name, CONSTRAINED, "oracle", RULE):
                yield Stage(f"{name}: evaluate {policy}", partial(self._evaluate, name, policy))
        if config.no_tools:
            yield Stage(f"{NO_TOOLS}: demonstrations", lambda _: self._answers_alone())
            yield Stage(f"{NO_TOOLS}: model", partial(self._make_model, NO_TOOLS, config.no_tools))
            more = config.no_tools_sft
            yield Stage(f"{NO_TOOLS}: SFT", partial(self._train, NO_TOOLS, more), own_bar=True)
            yield Stage(f"{NO_TOOLS}: evaluate", partial(self._evaluate, NO_TOOLS, NO_TOOLS))

    @property
    def graph(self) -> Path:
        return self.out / "world" / "graph"

    def folder(self, agent: str) -> Path:
        return self.out / agent.replace(" ", "-")

    def _make_world(self) -> None:
        from graphwalker.world.generate import make_world

        if not self.graph.exists():
            make_world(self.config.entities, self.seed, self.out / "world")

    def _questions(self, name: str, number: int, more: Settings, tick: Any) -> None:
        from data_pipeline.config import SynthConfig
        from data_pipeline.synthesize import make_questions

        own = {"seed": 10 * self.seed + number, **self.config.questions, **more}
        made = parse_config(SynthConfig, own, f"{name} questions")
        make_questions(self.graph, made, self.out / name, tick)

    def _oracle_walks(self, agent: str, environment: Settings, tick: Any) -> None:
        """What `graphwalker experts policy.model=oracle environment.preset=...` makes."""
        from data_pipeline.collect import collect_experts
        from data_pipeline.config import ExpertConfig

        values = {
            "count": self.config.questions["count"],
            "mix": {},
            "policy": {"model": "oracle", "thoughts": "plain"},
            "environment": environment,
        }
        config = parse_config(ExpertConfig, values, f"demonstrations of {agent}")
        questions = self.out / "train" / "questions.jsonl"
        collect_experts(self.graph, config, questions, self.folder(agent) / "walks", tick)

    def _answers_alone(self) -> None:
        """The gold answers without a walk, as the model without tools learns them."""
        path = _walks(self.folder(NO_TOOLS))
        if path.exists():
            return
        config = EnvironmentConfig.model_validate(self.config.no_tools)
        environment = Environment(open_graph(self.graph), config)
        questions = load_questions(self.out / "train" / "questions.jsonl")
        answer = environment.protocol.render
        said = {
            q.id: [answer("", FinalAnswer(tuple(a.name for a in q.answers)))] for q in questions
        }
        played = rollout(questions, environment, ScriptedPolicy(said))
        path.parent.mkdir(parents=True, exist_ok=True)
        write_jsonl(path, (untimed(one).to_json() for one in played))

    def _make_model(self, agent: str, environment: Settings, _: Any) -> None:
        from training.config import TinyModelConfig
        from training.models.tiny import conversation_texts, make_tiny

        config = parse_config(TinyModelConfig, {"seed": self.seed, **self.config.model}, "model")
        own = EnvironmentConfig.model_validate(environment)
        walks = list(read_records(_walks(self.folder(agent)), Trajectory.from_json))
        graph = open_graph(self.graph)
        protocol: Any = Environment(graph, own).protocol
        known = protocol.pieces() if hasattr(protocol, "pieces") else ()
        listed = {h.relation for w in walks for t in w.turns for one in t.listed for h in one.hops}
        make_tiny(
            config,
            conversation_texts(walks),
            listed,
            self.folder(agent) / "model",
            (graph.entity_at(place).name for place in range(graph.size)),
            own,
            (*known, *self.config.pieces.get(agent, ())),
        )

    def _train(self, agent: str, more: Settings, _: Any) -> None:
        """What `python training/sft.py` does with these settings."""
        from training.config import SftConfig
        from training.sft import run_sft

        folder = self.folder(agent)
        own = {
            "model": str(folder / "model"),
            "output_dir": str(folder / "sft"),
            "data": [str(_walks(folder))],
            "seed": self.seed,
        }
        run_sft(parse_config(SftConfig, {**own, **self.config.sft, **more}, f"SFT of {agent}"))

    def _evaluate(self, agent: str, policy: str, tick: Any) -> None:
        """What `graphwalker eval` does: the agent's model, or a policy without one."""
        from eval.run.config import EvalConfig, run_eval

        folder, trained = self.folder(agent), policy in (agent, CONSTRAINED)
        own = {"constrained": True} if policy == CONSTRAINED else {}
        named = str(folder / "sft" / "final") if trained else policy
        values = {
            **self.config.eval,
            "graph": str(self.graph),
            "questions": str(self.out / "test" / "questions.jsonl"),
            "output_dir": str(folder / f"eval-{'trained' if policy == agent else policy}"),
            "environment": own if trained else self.config.agents[agent],
            "policy": {**(self.config.eval.get("policy", {}) if trained else {}), "model": named},
            "baselines": "never",
            "ceiling": "never",
            "seed": self.seed,
        }
        run_eval(parse_config(EvalConfig, values, f"evaluation of {agent}"), tick)


def summary(out: Path, seeds: Sequence[int], config: TrainedAgentsConfig) -> dict[str, Any]:
    """Figures of each agent over the questions of all seeds, and the paired differences."""
    from eval.analysis.summary import paired

    runs = {name: pooled(out, seeds, name, "trained") for name in config.agents}
    beside = {
        f"{name}, {policy}": pooled(out, seeds, name, policy)
        for policy in (CONSTRAINED, "oracle", RULE)
        for name in config.agents
    }
    if config.no_tools:
        beside[NO_TOOLS] = pooled(out, seeds, NO_TOOLS, "trained")
    rows = {name: _row(played, seeds) for name, played in {**runs, **beside}.items()}
    for name in (*config.agents, *([NO_TOOLS] if config.no_tools else ())):
        rows[name] |= costs(out, seeds, name)
    pairs = {
        f"{b} - {a}": _pair(paired(runs[a], runs[b])) for a, b in combinations(config.agents, 2)
    }
    for name in config.agents:
        held = pooled(out, seeds, name, CONSTRAINED)
        pairs[f"{name}, {CONSTRAINED} - {name}"] = _pair(paired(runs[name], held))
    return {"agents": rows, "pairs": pairs, "config": config.model_dump(mode="json")}


def pooled(out: Path, seeds: Sequence[int], agent: str, policy: str) -> list[Trajectory]:
    """The episodes of all seeds. Their questions' ids carry the seed, as every world has a
    question 1."""
    from eval.run.records import read_run

    return [
        replace(one, question=replace(one.question, id=f"{seed}:{one.question.id}"))
        for seed in seeds
        for one in read_run(
            out / f"seed-{seed}" / agent.replace(" ", "-") / f"eval-{policy}"
        ).trajectories
    ]


def costs(out: Path, seeds: Sequence[int], agent: str) -> dict[str, Any]:
    """What training took, means over seeds: demonstrations, their tokens, rows seen, seconds."""
    found: dict[str, list[float]] = {}
    for seed in seeds:
        folder = out / f"seed-{seed}"
        facts = read_json(folder / agent.replace(" ", "-") / "sft" / "data.json")
        spent = read_json(folder / "cpu_seconds.json")
        one = {
            "demonstrations": facts["rows"],
            "tokens_of_one": facts["tokens"] / facts["rows"],
            "too_long": facts["too_long"],
            "sft_cpu_seconds": spent[f"{agent}: SFT"],
        }
        for key, value in one.items():
            found.setdefault(key, []).append(value)
    return {key: round(sum(values) / len(values), 1) for key, values in found.items()}


def table(figures: Mapping[str, Any]) -> str:
    """The two tables as Markdown."""
    lines = ["| agent | EM [95 %] | by seed | 1-hop | 2-hop | 2I | F1 | turns | calls |"]
    lines.append("|---" * 9 + "|")
    for name, row in figures["agents"].items():
        low, high = row["em_interval"]
        by = row["em_by_structure"]
        cells = [
            name,
            f"{row['em']:.3f} [{low:.3f}, {high:.3f}]",
            " / ".join(f"{value:.3f}" for value in row["em_by_seed"]),
            *(f"{by[key]:.3f}" if key in by else "" for key in ("1-hop", "2-hop", "2I")),
            f"{row['f1']:.3f}",
            f"{row['turns']:.1f}",
            f"{row['tool_calls']:.1f}",
        ]
        lines.append(f"| {' | '.join(cells)} |")
    lines += ["", "| difference | EM [95 %] | right alone | McNemar's p |", "|---|---|---|---|"]
    for name, pair in figures["pairs"].items():
        low, high = pair["em_interval"]
        gap = f"{pair['em']:+.3f} [{low:+.3f}, {high:+.3f}]"
        lines.append(f"| {name} | {gap} | {pair['won']} : {pair['lost']} | {pair['p']:.2g} |")
    return "\n".join(lines)


def _row(played: Sequence[Trajectory], seeds: Sequence[int]) -> dict[str, Any]:
    from eval.analysis.summary import summarise
    from eval.comparison.figures import tool_calls

    found = summarise(played)
    kept = ("questions", "failures", "em", "em_interval", "f1", "f1_interval", "hits1", "turns")
    row = {key: found[key] for key in kept}
    row["em_by_structure"] = {k: v["em"] for k, v in found["by_structure"].items()}
    row["em_by_seed"] = [
        summarise(t for t in played if t.question.id.startswith(f"{seed}:"))["em"] for seed in seeds
    ]
    row["tool_calls"] = sum(map(tool_calls, played)) / len(played)
    row["completion_tokens"] = found.get("tokens")
    return row


def _pair(found: Mapping[str, Any]) -> dict[str, Any]:
    kept = ("questions", "em", "em_interval", "f1", "f1_interval", "won", "lost", "p")
    return {key: found[key] for key in kept}


def _walks(folder: Path) -> Path:
    return folder / "walks" / "graphroll.jsonl"


if __name__ == "__main__":
    main()
