"""Configs: overrides merge, and a mistake is answered by the nearest key."""

from pathlib import Path

import pytest

from graphwalker.config import (
    Config,
    config_file,
    load_config,
)
from graphwalker.errors import UserError
from graphwalker.runs import stored_facts


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
