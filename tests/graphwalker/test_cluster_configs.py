"""The shipped configs: each stage of a chain is accepted by its command, each baseline loads."""

import pytest

from eval.run.config import EvalConfig
from graphwalker.config import load_config, read_settings
from graphwalker.demo.check import parse_section
from graphwalker.demo.toy import toy_overrides
from graphwalker.jobs.road import road_stages
from graphwalker.jobs.sections import read_sections
from support.paths import ROOT

PAPERS = sorted((ROOT / "configs" / "paper").glob("*.yaml"))
FILES = [ROOT / "configs" / "cluster.yaml", *PAPERS]
BASE = ROOT / "configs" / "paper" / "graphwalker-table2.yaml"


def sections_of(path, overrides=()):
    return read_sections(read_settings(path, overrides), str(path))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_stage_is_accepted_by_its_command(path):
    for section in sections_of(path):
        parse_section(section)
    assert road_stages(path)


@pytest.mark.parametrize("path", PAPERS, ids=lambda path: path.stem)
def test_a_toy_run_has_the_same_stages_in_its_own_folder(path):
    toy = sections_of(path, toy_overrides(path))
    for section in toy:
        parse_section(section)
        assert section.out.startswith("runs/toy/")
    whole = [section.name for section in sections_of(path)]
    assert [name for name in whole if not name.startswith("make-")] == [
        section.name for section in toy if section.kind != "make"
    ]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_each_stage_reads_what_an_earlier_stage_or_the_first_run_makes(path):
    made = {section.out for section in sections_of(BASE)} if path != BASE else set()
    for section in sections_of(path):
        model = section.settings.get("model") or (section.settings.get("policy") or {}).get("model")
        read = [str(model), *section.settings.get("data", [])]
        inside = [text for text in read if text.startswith("runs/")]
        assert all(any(text.startswith(f"{out}/") for out in made) for text in inside), section.name
        made.add(section.out)


CONFIGS = sorted((ROOT / "configs/baselines").glob("*.yaml"))


PATHS = ("graph=g", "questions=q", "output_dir=o")


PRESETS = {"io": "io-prompt", "agent": "graphwalker", "chain": "chain-of-thought", "kg": "kg-r1"}


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.stem)
def test_a_baseline_loads_and_is_the_agent_of_its_name(path):
    config = load_config(EvalConfig, path, PATHS)
    kind = path.stem.partition("-")[0]
    assert config.environment.preset == PRESETS.get(kind, kind)
    assert (config.policy.api is None) == ("qwen" in path.stem or "llama" in path.stem)
    if config.policy.api is not None:
        assert config.policy.api.prices.max_total_tokens > 0 and config.policy.api.is_private
