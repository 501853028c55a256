"""`graphwalker config`: few settings first, blocks once, other libraries' names answered."""

import json

import pytest
from typer.testing import CliRunner

from graphwalker.cli.app import app
from graphwalker.config import parse_config
from graphwalker.console.settings import describe, describe_basic
from graphwalker.demo.models import config_models
from graphwalker.errors import UserError
from training.config import SftConfig
from training.grpo_config import GrpoConfig

STAGES = ("synth", "experts", "sft", "grpo", "eval")


def test_a_stage_shows_about_twenty_settings_first():
    for stage in STAGES:
        assert 10 <= len(describe_basic(config_models()[stage])) <= 25, stage


def test_a_stage_has_few_settings():
    for stage in STAGES:
        assert len(list(describe(config_models()[stage], whole=False))) <= 71, stage


def test_a_shared_block_is_one_entry_that_names_where_its_settings_are():
    rows = {row.key: row for row in describe(GrpoConfig, whole=False)}
    assert rows["environment"].block == "environment" and "environment.preset" not in rows
    blocks = {
        row.block for stage in STAGES for row in describe(config_models()[stage], whole=False)
    }
    assert blocks - {""} <= set(config_models())


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
def test_a_name_of_trl_is_answered_with_ours(theirs: str, ours: str):
    data = {"model": "m", "output_dir": "o", "questions": "q", "graph": "g", theirs: 1}
    with pytest.raises(UserError, match=f"{theirs} is not a setting here: set {ours}$"):
        parse_config(GrpoConfig, data, "F")


def test_settings_of_an_optional_section_are_required_with_it_alone():
    rows = {row.key: row.default for row in describe(SftConfig)}
    assert rows["evaluation.graph"] == "(required where evaluation is set)"
    assert rows["data"] == "(required)"
