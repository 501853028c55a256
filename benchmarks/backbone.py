"""The road of a pretrained model on a real graph: each stage trained, then evaluated.

    python -m benchmarks.backbone --model M --graph G --train TRAIN --test TEST --out runs/backbone

Rows: `baselines` (first relation, a linear ranker, the ceiling), `untrained`, `few-shot` (with
exemplars and the grammar), `sft1` (on walks like those of TRAIN), `sft2` (on expert episodes
of TRAIN), `grpo` (on TRAIN), and each of these three with the grammar (`sft1-grammar`).
Parts: `real`, questions of TEST at even distances, and `synth`, held-out questions made from G.
Every step is a command of the product with a section of `configs/smollm2.yaml`. One that is done is
left, one that was stopped resumes, so rows may be run one at a time; a row trains what it needs.
`--skip sft1` leaves a stage out: the next one starts where that one would have.
`--set sft1.lr=1e-3` changes a setting of a stage, `--set environment.max_turns=60` one of all.
Writes `benchmarks/results/backbone.json`.
"""

import argparse
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.record import ROOT, record
from eval.analysis.error_kinds import error_kind
from eval.analysis.summary import paired_difference, summarise
from eval.run.beside import FOLDER
from eval.run.evaluate import spread
from eval.run.records import PREDICTIONS, USAGE, read_run
from graphwalker.console import console
from graphwalker.datasets.base import load_questions
from graphwalker.files import read_json, read_jsonl, write_json, write_jsonl

CONFIG = ROOT / "configs" / "smollm2.yaml"
TRAINED = ("sft1", "sft2", "grpo")
GRAMMAR = "-grammar"
ROWS = ("baselines", "untrained", "few-shot", *TRAINED, *(f"{row}{GRAMMAR}" for row in TRAINED))
MAKERS = {"heldout": ("questions", "synth"), "synth": ("synth", ""), "roll": ("experts", "experts")}
"""Command and section of the config that make a folder; `like` sets what a section would."""
DEMONSTRATIONS = {"sft1": "synth/graphsynth.jsonl", "sft2": "roll/graphroll.jsonl"}
PARTS = ("real", "synth")
FIGURES = ("questions", "em", "em_interval", "f1", "hits1", "answered", "turns", "by_hops")
ADAPTER = ("lora.r=16", "batch_size=8", "gradient_accumulation=4", "epochs=1", "save_steps=20",
           "lr=8e-4", "log_steps=1")  # fmt: skip
"""Two rows a pass: eight of 1,500 tokens would take 16 GiB in float32, as do four of GRPO's."""
CURVE = ("step", "tokens", "seconds", "loss", "reward", "em", "kl", "entropy")


@dataclass(frozen=True)
class Road:
    """The options, and where everything lies."""

    given: argparse.Namespace

    @property
    def out(self) -> Path:
        return self.given.out

    @property
    def ranker(self) -> Path:
        return self.given.ranker or self.out / "ranker"

    def environment(self) -> list[str]:
        """The settings of every stage's environment: pages, a trained ranker, a short prompt."""
        found = {"preset": "graphwalker-wide", "prompt": "compact", "top_relations": 12}
        own = [f"environment.{text}" for text in self.more("environment")]
        return [f"environment.{k}={v}" for k, v in {**found, "ranker": self.ranker}.items()] + own

    def more(self, stage: str) -> list[str]:
        """What `--set` says of a stage."""
        pairs = (text.split(".", 1) for text in self.given.set)
        return [rest for name, rest in pairs if name == stage]

    def before(self, row: str) -> str:
        """Return the row that another one is compared with; one with the grammar: itself without.

        A trained row starts where that one ends.
        """
        if row not in TRAINED:
            return row.removesuffix(GRAMMAR)
        earlier = [name for name in TRAINED[: TRAINED.index(row)] if name not in self.given.skip]
        return earlier[-1] if earlier else "untrained"

    def run(self, stage: str, module: str, section: str, *words: str) -> None:
        """Run a command in a process of its own, and add its seconds to those of the stage.

        `section` of the config, `""` for none.
        """
        config = ["--config", f"{CONFIG}#{section}"] if section else []
        command = [sys.executable, "-m", *module.split(), *config]
        started = time.monotonic()
        try:
            subprocess.run([*command, *words, *self.more(stage)], cwd=ROOT, check=True)
        finally:
            place = self.out / "seconds.json"
            seconds = read_json(place) if place.is_file() else {}
            passed = seconds.get(stage, 0.0) + time.monotonic() - started
            self.out.mkdir(parents=True, exist_ok=True)
            write_json(place, {**seconds, stage: round(passed, 1)})

    def make(self, name: str, *words: str) -> None:
        """Run a command of data whose result is the folder `name`."""
        places = (f"graph={self.given.graph}", f"output_dir={self.out / name}")
        verb, section = MAKERS[name]
        words = (*places, f"seed={self.given.seed}", *self.environment(), *words)
        self.run(name, f"graphwalker {verb}", section, *words)

    def prepare(self) -> None:
        """Make the ranker, the demonstrations and the questions of both parts."""
        given = self.given
        if not self.ranker.is_dir():
            words = ["--graph", given.graph, "--questions", given.train, "--out", self.ranker]
            command = [sys.executable, "-m", "graphwalker", "ranker", "train", *map(str, words)]
            subprocess.run(command, cwd=ROOT, check=True)
        if "synth" in given.parts:
            mix = "mix={1-hop: 6, 2-hop: 3, 2I: 1}"
            self.make("heldout", mix, f"count={given.questions}", "split=test-entity")
        trained = {row.removesuffix(GRAMMAR) for row in given.rows} & set(TRAINED)
        if trained and "sft1" not in given.skip:
            self.make("synth", f"like={given.train}", f"count={given.trajectories}", "split=train")
        if trained and "sft2" not in given.skip:
            self.make("roll", f"questions={given.train}", "mix={}")
        if "real" in given.parts and not self.questions("real").is_file():
            loaded = load_questions(given.test)
            chosen = spread(loaded, given.real_questions or len(loaded))
            self.out.mkdir(parents=True, exist_ok=True)
            write_jsonl(self.questions("real"), [question.to_json() for question in chosen])

    def questions(self, part: str) -> Path:
        return self.out / ("real.jsonl" if part == "real" else "heldout/questions.jsonl")

    def model(self, row: str) -> Path | str:
        """The whole model of a row, trained where it is not there yet."""
        row = row.removesuffix(GRAMMAR)
        if row not in TRAINED:
            return self.given.model
        whole = self.out / f"{row}-whole"
        if not whole.is_dir():
            start = self.model(self.before(row))
            self.train(row, [f"model={start}", f"output_dir={self.out / row}"])
            words = ["merge", str(self.out / row), "--out", str(whole)]
            if (self.out / row / "final" / "adapter_config.json").is_file():
                subprocess.run([sys.executable, "-m", "graphwalker", *words], cwd=ROOT, check=True)
            else:
                whole.symlink_to(Path(row, "final"))
        return whole

    def train(self, row: str, words: list[str]) -> None:
        asks = [f"graph={self.given.graph}", f"questions={self.given.train}", "max_turn_tokens=320"]
        words += [*self.environment(), f"seed={self.given.seed}", "allow_cpu=true"]
        if row in DEMONSTRATIONS:
            data = f"data=[{self.out / DEMONSTRATIONS[row]}]"
            self.run(row, "training.sft", row, data, *words, *ADAPTER)
        else:
            sizes = (f"steps={self.given.grpo_steps}", "prompts_per_step=4", "lora.r=16",
                     "lr=5e-5", "save_steps=2", "engine_batch=16", "micro_batch=1")  # fmt: skip
            self.run(row, "training.grpo", "grpo", *words, *asks, *sizes)

    def evaluate(self, row: str, part: str) -> dict[str, Any]:
        """Return the figures of a row on the questions of a part."""
        folder, model = self.out / "eval" / f"{row}-{part}", self.model(row)
        words = [f"policy.model={model}", f"graph={self.given.graph}", "samples=0",
                 f"questions={self.questions(part)}", f"output_dir={folder}", "max_tokens=320",
                 "policy.max_context=4096", "concurrency=16", *self.environment()]  # fmt: skip
        own = row == "baselines"
        words += [f"{name}={'always' if own else 'never'}" for name in ("baselines", "ceiling")]
        if own:
            words[0] = "policy.model=first-relation"
        words += ["environment.exemplars=2"] * (row == "few-shot")
        words += ["environment.constrained=true"] * (row == "few-shot" or row.endswith(GRAMMAR))
        name = f"eval-{row}-{part}"
        self.run(name, "graphwalker eval", "eval", *words, *self.more("eval"))
        episodes = read_run(folder).trajectories
        found = summarise(episodes)
        figures = {key: found[key] for key in FIGURES if key in found}
        figures["errors"] = dict(Counter(kind for kind in map(error_kind, episodes) if kind))
        if own:
            beside = read_json(folder / "beside.json")
            found = {name: summarise(read_run(folder / FOLDER / name).trajectories)
                     for name in beside["baselines"]}  # fmt: skip
            others = {name: {k: one[k] for k in FIGURES if k in one} for name, one in found.items()}
            return {**figures, "others": others, "ceiling": beside["ceiling"]}
        spent = list(read_jsonl(folder / USAGE))
        keys = ("prompt_tokens", "completion_tokens")
        tokens = {key: sum(int(one.get(key, 0)) for one in spent) for key in keys}
        return {**figures, **tokens, "seconds": read_json(self.out / "seconds.json")[name]}

    def gain(self, row: str, before: str, part: str) -> list[float] | None:
        """Return the paired gain in EM over another row, and its interval."""
        folders = [self.out / "eval" / f"{name}-{part}" for name in (before, row)]
        if not all((folder / PREDICTIONS).is_file() for folder in folders):
            return None
        found = paired_difference(*(read_run(folder).trajectories for folder in folders))
        return [round(x, 4) for x in (found["em"], *found["em_interval"])]

    def training(self, row: str) -> dict[str, Any]:
        """Return tokens, seconds and the learning curve of a trained row."""
        lines = list(read_jsonl(self.out / row / "metrics.jsonl"))
        curve = [{key: line[key] for key in CURVE if line.get(key) is not None} for line in lines]
        return {"seconds": read_json(self.out / "seconds.json").get(row), "curve": curve}

    def rows(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield the figures of each row, as soon as they are there."""
        for row in self.given.rows:
            parts = {part: self.evaluate(row, part) for part in self.given.parts}
            before = self.before(row)
            for part, figures in parts.items():
                if before != row and (gain := self.gain(row, before, part)):
                    figures["gain"] = gain
            yield row, {**parts, **({"training": self.training(row)} if row in TRAINED else {})}


def options() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--model", required=True, help="folder of the pretrained model")
    parser.add_argument("--graph", required=True, help="compiled graph")
    parser.add_argument("--train", required=True, help="training questions, ours or published")
    parser.add_argument("--test", required=True, help="test questions")
    parser.add_argument("--ranker", type=Path, help="trained ranker; default: one of --train")
    parser.add_argument("--out", type=Path, default=Path("runs/backbone"))
    parser.add_argument("--rows", nargs="+", choices=ROWS, default=list(ROWS))
    parser.add_argument("--skip", nargs="+", choices=TRAINED, default=[], help="stages left out")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--trajectories", type=int, default=1400, help="of GraphSynth, for sft1")
    parser.add_argument("--grpo-steps", type=int, default=20, help="of 32 episodes")
    parser.add_argument("--questions", type=int, default=100, help="held out, made from --graph")
    parser.add_argument("--real-questions", type=int, default=0, help="of --test; 0: all")
    parser.add_argument("--set", nargs="*", default=[], help="settings, such as sft1.lr=1e-3")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--record", default="backbone", help="name of the file of results")
    found = parser.parse_args()
    found.out = found.out.resolve()
    for name in ("graph", "train", "test", "model"):
        path = Path(getattr(found, name))
        setattr(found, name, str(path.resolve()) if path.exists() else str(path))
    return found


def main() -> int:
    """Run what is missing, print, and record."""
    given = options()
    road, place = Road(given), given.out / "rows.json"
    try:
        road.prepare()
        found: dict[str, Any] = read_json(place) if place.is_file() else {}
        for row, figures in road.rows():
            found[row] = found.get(row, {}) | figures
            write_json(place, found)
            console.facts(row, {part: figures[part].get("em") for part in given.parts})
    except subprocess.CalledProcessError as error:
        sys.stderr.write(f"backbone: stopped ({error.returncode}); the same command resumes\n")
        return 1
    counts = ("trajectories", "grpo_steps", "questions", "real_questions")
    words = " ".join(f"--{name.replace('_', '-')} {getattr(given, name)}" for name in counts)
    line = f"python -m benchmarks.backbone --model M --graph G --train TRAIN --test TEST {words}"
    line += f" --skip {' '.join(given.skip)}" if given.skip else ""
    line += f" --set {' '.join(given.set)}" if given.set else ""
    figures = {"rows": found, "seconds": read_json(given.out / "seconds.json")}
    print(record(given.record, figures, line, given.seed))
    return 0


if __name__ == "__main__":
    sys.exit(main())
