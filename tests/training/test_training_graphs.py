"""Training walks any graph that can be named: the episodes of GRPO and of SFT's evaluation."""

from pathlib import Path

import pytest

from graphwalker.files import read_jsonl, write_jsonl
from graphwalker.trajectory import Trajectory
from support.backends import compiled, write
from support.grpo_batches import environment_of
from support.grpo_toy import played
from support.run_toys import curve, grpo_config, lines, make_grpo_world, sft_config
from support.toy import TOY_NAMES, TOY_TRIPLES, TOY_TYPES
from training.dry_run import dry_run
from training.grpo import run_grpo
from training.sft import run_sft

MODULE = """
from graphwalker.graphs.memory import MemoryGraph
from support.toy import TOY_NAMES, TOY_TRIPLES, TOY_TYPES

def make():
    return MemoryGraph(TOY_TRIPLES, TOY_NAMES, TOY_TYPES)
"""


@pytest.fixture(scope="module")
def world(tmp_path_factory) -> Path:
    """The toy world, and its graph once more, compiled from N-Triples."""
    world = make_grpo_world(tmp_path_factory.mktemp("graphs"))
    compiled(write(world / "nt", TOY_TRIPLES, TOY_NAMES, TOY_TYPES))
    walks = played(environment_of(world), "Verria")
    write_jsonl(world / "walks.jsonl", [t.to_json() for t in walks])
    return world


@pytest.fixture(scope="module")
def other(world, tmp_path_factory):
    """The same graph, named in another way."""
    folder = tmp_path_factory.mktemp("module")
    (folder / "toy_factory.py").write_text(MODULE, encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        yield "toy_factory:make"


def episodes(run: Path) -> list[dict]:
    """Everything that was written and shown, without clocks."""
    trajectories = [Trajectory.from_json(t) for t in read_jsonl(run / "trajectories.jsonl")]
    return [
        {
            "question": t.question.id,
            "scores": t.scores,
            "turns": [(turn.completion, turn.observation, turn.token_ids) for turn in t.turns],
        }
        for t in trajectories
    ]


@pytest.mark.long
def test_grpo_runs_the_episodes_of_the_compiled_graph(world, other, tmp_path):
    graphs = {"compiled": str(world / "nt" / "graph"), "other": other}
    for name, graph in graphs.items():
        settings = {"graph": graph, "steps": 2, "samples": 8, "trajectories_per_step": 32}
        run_grpo(grpo_config(world, tmp_path / name, **settings))
    ours, theirs = (episodes(tmp_path / name) for name in graphs)
    assert len(ours) == 64 and ours == theirs
    keys = ("em", "turns", "valid_actions", "entropy", "failed")
    assert curve(tmp_path / "compiled", *keys) == curve(tmp_path / "other", *keys)
    assert lines(tmp_path / "other")[0]["em"] > 0
    assert dry_run(grpo_config(world, tmp_path / "dry", graph=other))["questions"] == 8


@pytest.mark.long
def test_sft_evaluates_on_it(world, other, tmp_path):
    figures = []
    for name, graph in {"compiled": str(world / "nt" / "graph"), "other": other}.items():
        evaluation = {"questions": str(world / "questions.jsonl"), "graph": graph, "limit": 8,
                      "max_turn_tokens": 60, "max_context": 600, "every_steps": 2}  # fmt: skip
        run_sft(sft_config(world, tmp_path / name, max_steps=4, evaluation=evaluation))
        figures.append([(line["eval_em"], line["eval_f1"], line["eval_failed"])
                        for line in lines(tmp_path / name) if "eval_em" in line])  # fmt: skip
    assert figures[0] == figures[1] and figures[0][0][0] > 0
