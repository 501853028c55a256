"""WebQSP on the FB15k slice by what was seen in training: three rows of agents beside word counts.

    python -m benchmarks.webqsp_rows [--config configs/webqsp/rows.yaml] [--out runs/webqsp]

Every stage is a command of the product, shown as it runs; data are read from $GRAPHWALKER_DATA. The
same command again resumes. `split=dev` holds a fifth of WebQSP's training questions out and tests
on it: settings are chosen there. Writes benchmarks/results/webqsp_rows.json.
"""

import argparse
import json
import random
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.record import ROOT, record
from benchmarks.webqsp_config import ROWS, RowConfig, RowsConfig
from benchmarks.webqsp_demonstrations import (
    balanced,
    first_looks,
    first_relations,
    ways_back,
)
from benchmarks.webqsp_questions import Sources
from benchmarks.webqsp_results import BASELINES, results, table
from benchmarks.webqsp_types import next_anywhere, next_relations
from graphwalker.agents.environment import Environment, EnvironmentConfig
from graphwalker.cli import console
from graphwalker.config import load_config
from graphwalker.errors import UserError
from graphwalker.files import read_json, read_records, write_json
from graphwalker.graphs.open import open_graph
from graphwalker.graphs.relations import shown_relations
from graphwalker.trajectory import Trajectory
from training.models.tiny import conversation_texts, make_tiny

GRAPHROLL = "graphroll.jsonl"
SYNTHESIS = "synthesis"


class Rows:
    """One run folder; each stage leaves a mark when it is done."""

    def __init__(self, out: Path, config: RowsConfig) -> None:
        self.out, self.config = out, config
        self.graph = out / "graph"
        self.sources = Sources(out / "questions", config.split)
        self.commands: list[str] = []

    def run(self) -> dict[str, Any]:
        """Every stage in order, seed by seed, then the figures."""
        self._make_data()
        for seed in self.config.seeds:
            for name in self.config.rows:
                self._train(name, seed)
                self._evaluate(name, seed)
        return results(self.out, self.config.rows, self.config.seeds) | {
            "split": self.config.split,
            "seconds": {p.stem: read_json(p)["seconds"] for p in sorted(self.out.glob("*.done"))},
        }

    def questions(self, name: str) -> Path:
        """The file of a question set."""
        return self.out / "synth" / "questions.jsonl" if name == SYNTHESIS else self.sources[name]

    # --- data

    def _make_data(self) -> None:
        config, out, sources = self.config, self.out, self.sources
        files = sources.graph_files()
        self._command("graph", "graph", "build", *files, "--out", str(self.graph))
        graph = ("--graph", str(self.graph))
        self._once("questions", lambda: sources.write(open_graph(self.graph)))
        for name in sources.untyped:
            paths = ("--questions", str(sources.untyped[name]), "--out", str(sources[name]))
            self._command(f"queries-{name}", "dataset", "resolve", "--with-query", *graph, *paths)
        of = {"environment": config.environment, "seed": config.seed, **config.synth}
        of["seeds_file"] = str(sources.seeds)
        self._command("synth", "synth", *graph, "--out", str(out / "synth"), *settings_line(of))
        of |= {"split": "test-entity", "seed": config.seed + 1, **config.heldout}
        self._command("heldout", "synth", *graph, "--out", str(out / "heldout"), *settings_line(of))
        for name, row in config.rows.items():
            self._make_ranker(name, row)
            self._demonstrate(name, row)
            if row.looks:
                make = partial(self._elsewhere, first_looks, name, row.looks, self._looks(name))
                self._once(f"looks-{name}", make)
            if row.first_relations:
                count, out = row.first_relations, self._first(name)
                make = partial(self._elsewhere, first_relations, name, count, out)
                self._once(f"first-{name}", make)
            if row.next_anywhere:
                count, out = row.next_anywhere, self._anywhere(name)
                walks = partial(next_anywhere, pages=row.next_pages)
                make = partial(self._elsewhere, walks, name, count, out)
                self._once(f"anywhere-{name}", make)
            self._baselines(name)
        self._once("model", self._make_model)

    def _make_ranker(self, name: str, row: RowConfig) -> None:
        """The ranker of a row; a question that it was trained on is ranked as if it was not."""
        chosen = [
            word
            for kind, weight in row.ranker.items()
            for word in ("--questions", str(self.questions(kind)), "--weight", str(weight))
        ]
        out = ("--graph", str(self.graph), "--out", str(self._ranker(name)))
        held = ("--whole-relations", str(row.whole_relations)) if row.whole_relations else ()
        self._command(f"ranker-{name}", "ranker", "train", *out, *chosen, *held)

    def _demonstrate(self, name: str, row: RowConfig) -> None:
        for kind, count in row.demonstrations.items():
            of = {
                "count": count,
                "mix": {},
                "policy": {"model": "oracle", "thoughts": "none"},
                "environment": self._environment(name),
            }
            where = ("--graph", str(self.graph), "--questions", str(self.questions(kind)))
            every = self.out / f"walks-{name}-{kind}" / GRAPHROLL
            out = ("--out", str(every.parent))
            self._command(f"walks-{name}-{kind}", "experts", *where, *out, *settings_line(of))
            if row.chooses(kind):
                often = (row.copies, row.structure_copies)
                choice = (row.first_share, row.deepest, self.config.seed, *often)
                balance = partial(balanced, every, self._walks(name, kind), *choice)
                self._once(f"balanced-{name}-{kind}", balance)
            if row.next_relations and kind == SYNTHESIS:
                go_on = partial(self._go_on, name, every)
                self._once(f"next-{name}", go_on)

    def _go_on(self, name: str, every: Path) -> None:
        settings = EnvironmentConfig(**self._environment(name))
        next_relations(every, Environment(open_graph(self.graph), settings), self._next(name))

    def _elsewhere(self, make: Callable[..., object], name: str, count: int, out: Path) -> None:
        """Demonstrations of the row's environment at any entities of the graph."""
        settings = EnvironmentConfig(**self._environment(name))
        environment = Environment(open_graph(self.graph), settings)
        make(self.questions(SYNTHESIS), environment, count, self.config.seed, out)

    def _lead_back(self, name: str) -> None:
        """What the agent of the first round gets wrong, with the way back."""
        row = self.config.rows[name]
        for kind, count in row.mistakes.items():
            stage = f"mistakes-{name}-{kind}"
            file = self.out / "questions" / f"{stage}.jsonl"
            self._once(f"drawn-{stage}", partial(self._draw, kind, count, file))
            where = ("--graph", str(self.graph), "--questions", str(file))
            agent = {"model": str(self._agent(name, self.config.seeds[0], "-first"))}
            of = {
                "count": count,
                "mix": {},
                "way_back": True,
                "environment": self._environment(name),
                "policy": {**agent, "format": "inline", "thoughts": "none", "max_context": 1400},
                **self.config.mistakes,
            }
            every = self.out / stage / GRAPHROLL
            out = ("--out", str(every.parent))
            self._command(stage, "experts", *where, *out, *settings_line(of))
            led = partial(ways_back, every, self._led_back(name, kind))
            self._once(f"led-back-{name}-{kind}", led)

    def _draw(self, kind: str, count: int, out: Path) -> None:
        lines = self.questions(kind).read_text(encoding="utf-8").splitlines(keepends=True)
        random.Random(self.config.seed + 1).shuffle(lines)
        out.write_text("".join(lines[:count]), encoding="utf-8")

    def _baselines(self, name: str) -> None:
        """What no model is needed for, in the row's environment; the plain one is the preset's."""
        where = ("--graph", str(self.graph), "--questions", str(self.sources.test))
        for model in BASELINES:
            environment = self._environment(name)
            if model == "first-relation":
                environment = self.config.environment
            out = ("--out", str(self.out / "eval" / f"{name}-{model}"))
            of = {"environment": environment, "samples": 0}
            self._command(
                f"eval-{name}-{model}", "eval", *where, "--model", model, *out, *settings_line(of)
            )
        self._once(f"ceiling-{name}", lambda: self._ceiling(name))

    def _ceiling(self, name: str) -> None:
        where = ("--graph", str(self.graph), "--questions", str(self.sources.test), "--json")
        text = self._call(
            "ceiling", *where, *settings_line({"environment": self._environment(name)}), quiet=True
        )
        write_json(self.out / "eval" / f"{name}-ceiling.json", json.loads(text))

    def _make_model(self) -> None:
        """One tokenizer for all rows, from the texts of the first row's demonstrations and the
        names of the graph; the weights are drawn for each seed."""
        if self.config.models:
            for seed in self.config.seeds:
                made, here = Path(self.config.models) / f"model-{seed}", self.out / f"model-{seed}"
                shutil.copytree(made, here, dirs_exist_ok=True)
            return
        name, row = next(iter(self.config.rows.items()))
        walks = [w for k in row.demonstrations for w in _trajectories(self._walks(name, k))]
        graph = open_graph(self.graph)
        names = [graph.entity_at(i).name for i in range(graph.size)]
        for seed in self.config.seeds:
            texts = conversation_texts(walks[: self.config.texts])
            model = self.config.model.model_copy(update={"seed": seed})
            make_tiny(model, texts, shown_relations(graph), self.out / f"model-{seed}", names)

    # --- agents

    def _train(self, name: str, seed: int) -> None:
        row = self.config.rows[name]
        start = self._agent(row.start, seed) if row.start else self.out / f"model-{seed}"
        data = [
            self._walks(name, kind)
            for kind in row.demonstrations
            for _ in range(row.repeats.get(kind, 1))
        ]
        data += [self._looks(name)] if row.looks else []
        data += [self._first(name)] if row.first_relations else []
        data += [self._next(name)] * row.next_relations
        data += [self._anywhere(name)] if row.next_anywhere else []
        if not row.mistakes:
            self._sft(self._agent(name, seed), start, data, seed, row.sft)
            return
        first = self._agent(name, seed, "-first")
        self._sft(first, start, data, seed, row.sft)
        self._lead_back(name)
        data += [self._led_back(name, kind) for kind in row.mistakes for _ in range(2)]
        self._sft(self._agent(name, seed), first, data, seed, {**row.sft, **row.again})

    def _sft(
        self, agent: Path, start: Path, data: list[Path], seed: int, settings: dict[str, Any]
    ) -> None:
        of = {
            "model": str(start),
            "output_dir": str(agent.parent),
            "data": [str(path) for path in data],
            "format": "inline",
            "seed": seed,
            **self.config.sft,
            **settings,
        }
        self._once(agent.parent.name, lambda: self._module("training.sft", *settings_line(of)))

    def _evaluate(self, name: str, seed: int) -> None:
        for kind in ("webqsp", "heldout"):
            heldout = self.out / "heldout" / "questions.jsonl"
            questions = self.sources.test if kind == "webqsp" else heldout
            out = self.out / "eval" / f"{name}-{kind}-{seed}"
            where = ("--graph", str(self.graph), "--questions", str(questions), "--out", str(out))
            model = ("--model", str(self._agent(name, seed)), "--format", "inline")
            of = {"samples": 0, **self.config.eval}
            self._command(f"eval-{name}-{kind}-{seed}", "eval", *where, *model, *settings_line(of))

    def _agent(self, name: str, seed: int, part: str = "") -> Path:
        return self.out / f"sft-{name}-{seed}{part}" / "final"

    def _ranker(self, name: str) -> Path:
        return self.out / f"ranker-{name}"

    def _walks(self, name: str, kind: str) -> Path:
        """What is trained on."""
        chosen = self.config.rows[name].chooses(kind)
        return self.out / f"walks-{name}-{kind}" / ("balanced.jsonl" if chosen else GRAPHROLL)

    def _looks(self, name: str) -> Path:
        return self.out / f"looks-{name}.jsonl"

    def _first(self, name: str) -> Path:
        return self.out / f"first-{name}.jsonl"

    def _next(self, name: str) -> Path:
        return self.out / f"next-{name}.jsonl"

    def _anywhere(self, name: str) -> Path:
        return self.out / f"anywhere-{name}.jsonl"

    def _led_back(self, name: str, kind: str) -> Path:
        return self.out / f"mistakes-{name}-{kind}" / "led-back.jsonl"

    def _environment(self, name: str) -> dict[str, Any]:
        own = self.config.rows[name].environment
        return {**self.config.environment, **own, "ranker": str(self._ranker(name))}

    # --- how a stage is run

    def _command(self, stage: str, *words: str) -> None:
        self._once(stage, lambda: self._call(*words))

    def _call(self, *words: str, quiet: bool = False) -> str:
        return self._module("graphwalker", *words, quiet=quiet)

    def _module(self, name: str, *words: str, quiet: bool = False) -> str:
        line = shlex.join(["python", "-m", name, *words])
        console.note(line)
        self.commands.append(line)
        done = subprocess.run(
            [sys.executable, "-m", name, *words], stdout=subprocess.PIPE, text=True, cwd=ROOT
        )
        if done.returncode:
            raise UserError(f"exit code {done.returncode}: {line}")
        if not quiet:
            sys.stdout.write(done.stdout)
        return done.stdout

    def _once(self, stage: str, work: Callable[[], object]) -> None:
        mark = self.out / f"{stage}.done"
        if mark.is_file():
            return
        self.commands, started = [], time.perf_counter()
        work()
        spent = round(time.perf_counter() - started, 1)
        write_json(mark, {"seconds": spent, "commands": self.commands})


def settings_line(values: dict[str, Any]) -> Iterator[str]:
    """`KEY=VALUE` words for a command line."""
    for key, value in values.items():
        yield f"{key}={value if isinstance(value, str) else json.dumps(value)}"


def _trajectories(path: Path) -> Iterator[Trajectory]:
    yield from read_records(path, Trajectory.from_json)


def main() -> int:
    """Run every stage that is not finished, print the table, record the figures."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--config", type=Path, default=ROWS)
    parser.add_argument("--out", type=Path, default=ROOT / "runs" / "webqsp")
    parser.add_argument("--rows", nargs="*", help="these alone (default: all)")
    parser.add_argument("--name", default="webqsp_rows", help="of the record")
    parser.add_argument("overrides", nargs="*", help="settings as KEY=VALUE")
    given = parser.parse_args()
    try:
        config = load_config(RowsConfig, given.config, given.overrides)
        wanted = given.rows or list(config.rows)
        if unknown := set(wanted) - set(config.rows):
            raise UserError(f"--rows: no such row: {', '.join(sorted(unknown))}")
        rows = {name: row for name, row in config.rows.items() if name in wanted}
        config = config.model_copy(update={"rows": rows})
        given.out.mkdir(parents=True, exist_ok=True)
        figures = Rows(given.out.resolve(), config).run()
    except UserError as error:
        sys.stderr.write(f"benchmarks.webqsp_rows: {error}\n")
        return 2
    print(table(figures))
    if config.split == "test":
        print(record(given.name, figures, _command_line(given), config.seed))
    return 0


def _command_line(given: argparse.Namespace) -> str:
    """The command that makes the same figures."""
    chosen = ["--rows", *given.rows] if given.rows else []
    if (path := given.config.resolve()) != ROWS:
        chosen += ["--config", str(path.relative_to(ROOT) if ROOT in path.parents else path.name)]
    chosen += ["--name", given.name] if given.name != "webqsp_rows" else []
    # Of the folder its last part alone: the same stages again, elsewhere, are the same figures.
    chosen += ["--out", f"runs/{given.out.name}"] if given.out.name != "webqsp" else []
    return shlex.join(["python", "-m", "benchmarks.webqsp_rows", *chosen, *given.overrides])


if __name__ == "__main__":
    sys.exit(main())
