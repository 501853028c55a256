"""Demonstrations that point at results: no name of what was found stands in them."""

from pathlib import Path

import pytest

from data_pipeline.collect import collect_experts
from data_pipeline.config import ExpertConfig, SynthConfig
from data_pipeline.synthesize import make_questions, synthesize
from graphwalker.config import parse_config
from graphwalker.files import read_records
from graphwalker.trajectory import Trajectory
from graphwalker.world.generate import make_world

POINTING = {"preset": "graphwalker-frontier", "options": {"pointing": True}}
MIX = {"1-hop": 1, "2-hop": 2, "3-hop": 1, "2I": 1}


@pytest.fixture(scope="module")
def world(tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("world")
    make_world(1000, 0, out)
    make_questions(out / "graph", SynthConfig(count=60, seed=1, mix=MIX), out / "questions")
    return out


def names_written(trajectory: Trajectory) -> set[str]:
    """Names of entities in the agent's own words."""
    shown = {entity.name for turn in trajectory.turns for entity in turn.shown}
    text = " ".join(turn.completion for turn in trajectory.turns)
    # A name that is a word of a relation's id or of a phrase says nothing.
    return {name for name in shown if " " in name and name in text}


@pytest.mark.long
def test_graphsynth(world, tmp_path):
    values = {"count": 40, "seed": 2, "mix": MIX, "environment": POINTING}
    synthesize(world / "graph", parse_config(SynthConfig, values, "t"), tmp_path / "synth")
    made = list(read_records(tmp_path / "synth" / "graphsynth.jsonl", Trajectory.from_json))
    assert len(made) == 40 and all(t.scores["em"] == 1.0 for t in made)
    assert not set[str]().union(*map(names_written, made))
    assert any('get_relations("#1")' in t.turns[2].completion for t in made if len(t.turns) > 3)


@pytest.mark.parametrize("pointing", [True, False])
def test_experts_that_err_start_at_results_too(world, tmp_path, pointing):
    environment = {**POINTING, "options": {"pointing": pointing}}
    values = {"count": 50, "mix": {}, "environment": environment, "error_rate": 0.6}
    config = parse_config(ExpertConfig, values, "t")
    collect_experts(
        world / "graph", config, world / "questions" / "questions.jsonl", tmp_path / "roll"
    )
    made = list(read_records(tmp_path / "roll" / "graphroll.jsonl", Trajectory.from_json))
    assert len(made) >= 45 and all(t.scores["em"] == 1.0 for t in made)
    calls = [str(turn.action) for t in made for turn in t.turns]
    assert any("'entity': '#" in call for call in calls)
    errors = [error for t in made for error in t.provenance["errors"]]
    assert len(errors) > 10 and all(error["recovered"] for error in errors)
    if pointing:
        assert not set[str]().union(*map(names_written, made))
