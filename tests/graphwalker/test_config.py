"""Configs: overrides merge, the nearest key answers a mistake, `config` shows few settings."""

import json
from pathlib import Path
from typing import Literal

import pytest
from typer.testing import CliRunner

from graphwalker.cli.app import app
from graphwalker.config import Config, config_file, load_config, parse_config
from graphwalker.console.settings import describe, describe_basic
from graphwalker.demo.models import config_models
from graphwalker.errors import UserError
from graphwalker.runs import stored_facts
from training.config import SftConfig
from training.grpo_config import GrpoConfig


class Inner(Config):
    num_generations: int = 8
    """Rollouts per question."""


class Outer(Config):
    seed: int = 0
    """Seed of everything."""
    trainer: Inner = Inner()


def test_overrides_win_over_the_file(tmp_path):
    path = tmp_path / "c.yaml"
    path.write_text("seed: 3\ntrainer:\n  num_generations: 4\n")
    config = load_config(Outer, path, ["trainer.num_generations=16"])
    assert (config.seed, config.trainer.num_generations) == (3, 16)


def test_an_unknown_key_is_answered_by_the_nearest_one():
    with pytest.raises(UserError, match=r"did you mean trainer\.num_generations"):
        load_config(Outer, None, ["trainer.num_generation=4"])


def test_one_text_for_a_list_is_answered_by_the_list():
    with pytest.raises(UserError, match=r"data is a list: data=\[runs/walks\.jsonl\]\?"):
        load_config(SftConfig, None, ["model=m", "output_dir=x", "data=runs/walks.jsonl"])


@pytest.mark.parametrize("text", ["seed: [", "- 1\n- 2\n", "a: ${b"])
def test_a_broken_file_is_named(tmp_path, text):
    path = tmp_path / "broken.yaml"
    path.write_text(text)
    with pytest.raises(UserError, match=r"broken\.yaml"):
        load_config(Outer, path)


def test_a_missing_file_and_a_bare_override_are_refused(tmp_path):
    with pytest.raises(UserError, match="no such config file"):
        load_config(Outer, tmp_path / "none.yaml")
    with pytest.raises(UserError, match=r"a\.b=c"):
        load_config(Outer, None, ["seed"])


@pytest.mark.parametrize("text", ["5", '"true"', '"2\n"'])
def test_a_file_without_settings_is_told_in_one_line(tmp_path, text):
    (tmp_path / "c.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(UserError, match=r"c\.yaml: a config must be a mapping"):
        load_config(Outer, tmp_path / "c.yaml")
    with pytest.raises(UserError, match=r"c\.yaml: damaged"):
        stored_facts(tmp_path / "c.yaml")


def test_a_shipped_config_is_found_from_any_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert config_file("configs/grpo.yaml").is_file()
    (tmp_path / "configs").mkdir()
    (tmp_path / "configs/grpo.yaml").write_text("seed: 1\n")  # one's own comes first
    assert config_file("configs/grpo.yaml") == Path("configs/grpo.yaml")


def test_a_section_of_a_file_is_read_over_what_its_sections_share(tmp_path):
    path = tmp_path / "stages.yaml"
    path.write_text("shared: {seed: 1, trainer: {num_generations: 2}}\na: {seed: 5}\nb:\n")
    first, second = (load_config(Outer, f"{path}#{name}") for name in "ab")
    assert (first.seed, first.trainer.num_generations, second.seed) == (5, 2, 1)


@pytest.mark.parametrize("section", ["c", "shared"])
def test_a_section_that_is_not_there_is_answered_by_those_that_are(tmp_path, section):
    path = tmp_path / "stages.yaml"
    path.write_text("shared: {seed: 1}\na: {seed: 5}\nb: {}\n")
    with pytest.raises(UserError, match=f"no section '{section}'; it has a, b"):
        load_config(Outer, f"{path}#{section}")


class Kinds(Config):
    number: int = 0
    """A number."""
    share: float = 0.0
    """A share."""
    text: str = ""
    """A text."""
    mix: dict[str, float] = {}
    """Shares by name."""
    texts: tuple[str, ...] = ()
    """Texts."""
    switch: bool = False
    """A switch."""
    choice: bool | Literal["auto"] = "auto"
    """A choice."""


@pytest.mark.parametrize("key", ["number", "share", "text", "mix.a", "texts"])
@pytest.mark.parametrize("value", ["010", "12:30", "-0_17", "1:02:03.5", "true", "no"])
def test_a_value_is_never_read_as_another_one(key, value, tmp_path):
    written = {"texts": f"texts: [{value}]", "mix.a": f"mix: {{a: {value}}}"}
    (tmp_path / "c.yaml").write_text(written.get(key, f"{key}: {value}"))
    typed = f"{key}=[{value}]" if key == "texts" else f"{key}={value}"
    for given, told in (((None, [typed]), "command line: "), ((tmp_path / "c.yaml",), "c.yaml: ")):
        with pytest.raises(UserError, match=told):
            load_config(Kinds, *given)


def test_a_colon_without_a_blank_behind_it_is_told():
    with pytest.raises(UserError, match=r"mix\.2-hop:1: .*a blank behind each colon, as in"):
        load_config(Kinds, None, ["mix={2-hop:1}"])


def test_what_is_written_as_it_is_meant_is_read():
    typed = ["number=1_000", "share=1e-3", "text='010'", "texts=['12:30', a:b]", "switch=yes"]
    config = load_config(Kinds, None, [*typed, "choice=true", "mix={2-hop: 0.5}"])
    assert (config.number, config.share, config.text) == (1000, 0.001, "010")
    assert (config.texts, config.switch, config.choice) == (("12:30", "a:b"), True, True)


STAGES = ("synth", "experts", "sft", "grpo", "eval")


def test_a_stage_has_few_settings_and_shows_about_twenty_first():
    for stage in STAGES:
        assert 10 <= len(describe_basic(config_models()[stage])) <= 25, stage
        assert len(list(describe(config_models()[stage], whole=False))) <= 71, stage


def test_a_shared_block_is_one_entry_that_names_where_its_settings_are():
    rows = {row.key: row for row in describe(GrpoConfig, whole=False)}
    assert rows["environment"].block == "environment" and "environment.preset" not in rows
    shown = [row for stage in STAGES for row in describe(config_models()[stage], whole=False)]
    assert {row.block for row in shown} - {""} <= set(config_models())


def test_json_has_one_entry_a_setting():
    made = json.loads(CliRunner().invoke(app, ["config", "sft", "--json"]).stdout)
    keys = [row["key"] for row in made]
    assert len(keys) == len(set(keys)) and {"lr", "environment"} <= set(keys)
    assert {row["key"] for row in made if row["basic"]} <= {r.key for r in describe(SftConfig)}


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        ("learning_rate", "lr"),
        ("num_train_epochs", "steps"),
        ("per_device_train_batch_size", "micro_batch"),
        ("num_generations", "samples"),
        ("use_vllm", "engine"),
        ("bf16", "dtype"),
        ("deepspeed", "a layout of configs/accelerate"),
    ],
)
def test_a_name_of_trl_is_answered_with_ours(theirs, ours):
    data = {"model": "m", "output_dir": "o", "questions": "q", "graph": "g", theirs: 1}
    with pytest.raises(UserError, match=f"{theirs} is not a setting here: set {ours}$"):
        parse_config(GrpoConfig, data, "F")


def test_settings_of_an_optional_section_are_required_with_it_alone():
    rows = {row.key: row.default for row in describe(SftConfig)}
    assert rows["evaluation.graph"] == "(required where evaluation is set)"
    assert rows["data"] == "(required)"
