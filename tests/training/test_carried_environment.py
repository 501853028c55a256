"""A model carries its environment through SFT, GRPO and merging; episodes walk any graph."""

import json
import logging
import shutil
from pathlib import Path

import pytest

from graphwalker.agents.environment import Environment, EnvironmentConfig
from graphwalker.agents.model_environment import read_environment, write_environment
from graphwalker.errors import UserError
from graphwalker.files import read_jsonl, read_records, write_jsonl
from graphwalker.trajectory import Trajectory
from support.backends import compiled, write
from support.grpo_batches import environment_of
from support.grpo_toy import SMALL, played
from support.run_toys import curve, grpo_config, lines, make_grpo_world, sft_config
from support.toy import TOY_NAMES, TOY_TRIPLES, TOY_TYPES, toy_graph
from training.dry_run import dry_run
from training.grpo import run_grpo
from training.runs.environment import in_its_environment, in_their_environment
from training.sft import run_sft

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def world(tmp_path_factory) -> Path:
    world = make_grpo_world(tmp_path_factory.mktemp("carried"))
    walks = [t.to_json() for t in played(environment_of(world), "Verria")]
    write_jsonl(world / "data" / "walks.jsonl", walks)
    write_jsonl(world / "bare" / "walks.jsonl", walks)
    settings = {"environment": SMALL.model_dump(mode="json"), "count": 8}
    (world / "data" / "config.yaml").write_text(json.dumps(settings), encoding="utf-8")
    return world


def demonstrations(world: Path, out: Path, **values):
    data = {"data": (str(world / "data" / "walks.jsonl"),), "max_steps": 4, "save_steps": 2}
    return sft_config(world, out, **(data | values))


def evaluation(world: Path, cap: int = 60) -> dict:
    paths = {"questions": str(world / "questions.jsonl"), "graph": str(world / "graph")}
    return paths | {"every_steps": 2, "limit": 4, "max_turn_tokens": cap, "max_context": 600}


@pytest.fixture(scope="module")
def trained(world) -> Path:
    config = demonstrations(world, world / "sft", evaluation=evaluation(world))
    run_sft(config)
    return world / "sft"


def test_every_folder_that_sft_saves_holds_the_environment_of_its_data(trained):
    folders = [*trained.glob("checkpoint-*"), *trained.glob("best-*"), trained / "final"]
    assert len(folders) >= 4
    for folder in folders:
        carried = read_environment(folder)
        assert carried is not None and carried.format == "inline"
        assert EnvironmentConfig(**carried.environment) == SMALL
        assert carried.limits.max_tokens == 60 >= carried.limits.longest_turn > 10


def test_without_a_config_beside_the_data_its_trajectories_say_where_they_were_made(world):
    bare = world / "bare" / "walks.jsonl"
    config = demonstrations(world, world / "x", data=(str(bare),))
    assert in_their_environment(config).environment == SMALL
    there = EnvironmentConfig(preset="search-on-graph", options={"exemplars": 1})
    about = Environment(toy_graph(), there).provenance
    out = world / "wide" / "walks.jsonl"
    write_jsonl(out, [{**walk, "provenance": about} for walk in read_jsonl(bare)])
    found = in_their_environment(demonstrations(world, world / "x", data=(str(out),))).environment
    assert found.options == there.options


def test_grpo_lives_in_its_models_environment_and_passes_it_on(world, trained, tmp_path):
    config = grpo_config(world, tmp_path / "run", model=str(trained / "final"), steps=1)
    bare = config.model_dump(exclude={"environment", "format", "max_turn_tokens"})
    config = type(config)(**bare | {"save_steps": 1})
    assert config.environment.prompt == "graphwalker" and config.format == "auto"
    run_grpo(config)
    for name in ("checkpoint-1", "final"):
        carried = read_environment(tmp_path / "run" / name)
        assert carried == read_environment(trained / "final")


def test_a_setting_that_differs_is_said_and_another_preset_refused(world, trained, caplog):
    config = grpo_config(world, world / "none", model=str(trained / "final"))
    fewer = config.model_copy(update={"environment": EnvironmentConfig(max_turns=5)})
    with caplog.at_level(logging.WARNING):
        assert in_its_environment(fewer).environment == SMALL.model_copy(update={"max_turns": 5})
    assert "environment.max_turns=5 (trained with 3)" in caplog.text
    io_prompt = {"environment": EnvironmentConfig(preset="io-prompt")}
    with pytest.raises(UserError, match="force_environment"):
        run_grpo(config.model_copy(update=io_prompt))
    forced = config.model_copy(update={**io_prompt, "force_environment": True})
    assert in_its_environment(forced).environment.preset == "io-prompt"
    other = demonstrations(world, world / "y", environment={"preset": "io-prompt"})
    with pytest.raises(UserError, match=r"several presets .* set force_environment"):
        in_their_environment(other)


def test_an_evaluation_that_would_cut_a_demonstrated_turn_is_refused(world, tmp_path):
    config = demonstrations(world, tmp_path / "run", evaluation=evaluation(world, cap=8))
    for start in (run_sft, dry_run):
        with pytest.raises(UserError, match=r"max_turn_tokens = 8 is below the longest .* \(\d+"):
            start(config)


def test_grpo_below_the_longest_demonstrated_turn_is_refused(world, tmp_path):
    model = Path(shutil.copytree(world / "model", tmp_path / "model"))
    write_environment(model, SMALL, format="inline", max_tokens=99, longest_turn=85)
    for cap in ("max_turn_tokens", "max_episode_tokens"):
        caps = {"max_turn_tokens": 99, "max_episode_tokens": 99, cap: 64}
        config = grpo_config(world, tmp_path / "run", model=str(model), **caps)
        for start in (run_grpo, dry_run):
            with pytest.raises(UserError, match=rf"{cap} = 64 is below .* \(85 tokens\)"):
                start(config)
        assert not (tmp_path / "run" / "config.yaml").exists()


@pytest.fixture(scope="module")
def graphs(world) -> dict[str, str]:
    """The toy graph by two names: compiled from N-Triples, and a function of a module."""
    compiled(write(world / "nt", TOY_TRIPLES, TOY_NAMES, TOY_TYPES))
    return {"compiled": str(world / "nt" / "graph"), "other": "support.toy:toy_graph"}


def episodes(run: Path) -> list[tuple]:
    found = read_records(run / "trajectories.jsonl", Trajectory.from_json)
    return [
        (t.id, t.scores, [(turn.completion, turn.observation, turn.token_ids) for turn in t.turns])
        for t in found
    ]


def test_grpo_runs_the_same_episodes_on_any_graph_that_can_be_named(world, graphs, tmp_path):
    for name, graph in graphs.items():
        settings = {"graph": graph, "steps": 2, "samples": 8, "trajectories_per_step": 32}
        run_grpo(grpo_config(world, tmp_path / name, **settings))
    ours, theirs = (episodes(tmp_path / name) for name in graphs)
    assert len(ours) == 64 and ours == theirs
    keys = ("em", "turns", "valid_actions", "entropy", "failed")
    assert curve(tmp_path / "compiled", *keys) == curve(tmp_path / "other", *keys)
    assert lines(tmp_path / "other")[0]["em"] > 0
    assert dry_run(grpo_config(world, tmp_path / "dry", graph=graphs["other"]))["questions"] == 8


def test_sft_evaluates_on_any_graph_that_can_be_named(world, graphs, tmp_path):
    figures = []
    for name, graph in graphs.items():
        asked = evaluation(world) | {"graph": graph, "limit": 8}
        data = (str(world / "bare/walks.jsonl"),)
        run_sft(sft_config(world, tmp_path / name, data=data, max_steps=4, evaluation=asked))
        figures.append([(line["eval_em"], line["eval_f1"], line["eval_failed"])
                        for line in lines(tmp_path / name) if "eval_em" in line])  # fmt: skip
    assert figures[0] == figures[1] and figures[0][0][0] > 0
