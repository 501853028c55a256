"""Where a trained model departs from GraphWalk's oracle: token by token, each with the oracle's own
text before it.

    python -m benchmarks.graphwalk_departures --model RUN/seed-0/sft-trained-0/final

One wrong token spoils a walk of a thousand, so accuracy says nothing until nearly all are right;
this says how far a model is, and on what it fails. Names of properties in calls are counted apart,
as constrained decoding leaves those alone that the graph has. The walks go through new graphs of
`--nodes` nodes with the sizes of configs/graphwalk-trained.yaml.
"""

import argparse
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from benchmarks.record import RESULTS, record
from graphwalker.agents.environment import Environment, EnvironmentConfig
from graphwalker.agents.published.graphwalk.steps import STEPS
from graphwalker.agents.rollout import rollout
from graphwalker.datasets.base import load_questions
from graphwalker.files import write_text
from graphwalker.graphs.open import open_graph
from graphwalker.policies.config import PolicyConfig
from graphwalker.policies.load import load_policy
from graphwalker.synthetic.graphs import size_of
from graphwalker.synthetic.sets import QUESTIONS, make_graph_set
from graphwalker.tokens.segments import chat_format, training_rows
from graphwalker.trajectory import Trajectory

CALLED_PROPERTY = '"property_name": "'
UNTRAINED = -100


@dataclass(slots=True)
class Departures:
    """Of one template."""

    walks: int = 0
    all_right: int = 0
    tokens: int = 0
    wrong: int = 0
    wrong_properties_of_calls: int = 0
    after: Counter[str] = field(default_factory=Counter[str])

    def add(self, wrong: list[str], tokens: int) -> None:
        """A walk: what stood before each wrong token."""
        called = sum(text.endswith(CALLED_PROPERTY) for text in wrong)
        self.walks += 1
        self.tokens += tokens
        self.wrong += len(wrong) - called
        self.wrong_properties_of_calls += called
        self.all_right += len(wrong) == called
        self.after.update(text for text in wrong if not text.endswith(CALLED_PROPERTY))

    def figures(self) -> dict[str, Any]:
        names = ("walks", "all_right", "tokens", "wrong", "wrong_properties_of_calls")
        most = dict(self.after.most_common(8))
        return {**{name: getattr(self, name) for name in names}, "most_often_after": most}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--nodes", type=int, default=24)
    parser.add_argument("--graphs", type=int, default=40)
    parser.add_argument("--seed", type=int, default=4242)
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder of the result")
    given = parser.parse_args()
    found: dict[str, Departures] = {}
    tokenizer: Any = AutoTokenizer.from_pretrained(given.model)
    model: Any = AutoModelForCausalLM.from_pretrained(given.model).float().eval()
    for walk in walks(given.nodes, given.graphs, given.seed):
        (row,) = training_rows(walk, chat_format("inline"), tokenizer)
        with torch.no_grad():
            said = model(torch.tensor([row.input_ids])).logits[0].argmax(-1).tolist()
        trained = [n for n, label in enumerate(row.labels) if label != UNTRAINED]
        wrong = [n for n in trained if said[n - 1] != row.input_ids[n]]
        before = [tokenizer.decode(row.input_ids[max(0, n - 2) : n]) for n in wrong]
        found.setdefault(walk.question.structure, Departures()).add(before, len(trained))
    figures = {"nodes": given.nodes, **{name: one.figures() for name, one in found.items()}}
    command = f"python -m benchmarks.graphwalk_departures --model MODEL --nodes {given.nodes}"
    path = record("graphwalk_departures", figures, command, given.seed, given.out)
    print(path.read_text(encoding="utf-8"))


def walks(nodes: int, graphs: int, seed: int) -> Iterator[Trajectory]:
    """The oracle's, through new graphs."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "set"
        size = size_of(nodes, properties=1, density=0.6, words=1000)
        make_graph_set(size, graphs, seed, place, 1)
        prompt = place / "prompt.md"
        write_text(prompt, "{schema}\n---\n{question}\n")
        options = {"parallel": False, "rows": "lines"}
        config = EnvironmentConfig(
            preset="graphwalk", prompt=str(prompt), max_turns=60, options=options
        )
        world = Environment(open_graph(place), config)
        questions = [q for q in load_questions(place / QUESTIONS) if q.structure in STEPS]
        oracle = load_policy(PolicyConfig(model="oracle"), environment=world)
        yield from rollout(questions, world, oracle)


if __name__ == "__main__":
    main()
