"""The shipped configs of models: every run of every file loads, and fits what it says it fits."""

from pathlib import Path

import pytest
from omegaconf import OmegaConf

from graphwalker.cli.config import _training
from support.paths import ROOT
from training.config import SftConfig
from training.estimate import GIB, estimate, peak
from training.grpo_config import GrpoConfig
from training.models.shapes import model_shape

CONFIGS = ROOT / "configs"
RUNS = [
    f"{path}#{name}"
    for path in sorted((CONFIGS / "models").glob("*.yaml"))
    for name, part in OmegaConf.load(path).items()
    if OmegaConf.is_dict(part) and name != "shared"
]


def hub_name(run: str) -> str:
    """The model that the first stage of the run's file starts from."""
    loaded = OmegaConf.load(run.partition("#")[0])
    return next(str(part.model) for name, part in loaded.items() if str(name).startswith("sft1"))


@pytest.mark.parametrize("run", RUNS, ids=lambda run: Path(run).name)
def test_every_run_loads_as_the_stage_of_its_name_and_fits_its_model_and_gpus(run):
    """8 x 80 GB with ZeRO-2, or one GPU: of 24 GB in the recipe's file, else of 80 GB."""
    model = hub_name(run)
    config = _training(run, [f"model={model}"])
    assert isinstance(config, GrpoConfig if "#grpo" in run else SftConfig)
    assert ("-lora" in run or "24gb" in run) == (config.lora is not None)
    room = 24 if "24gb" in run else 80
    parts = estimate(config, 1) if config.lora else estimate(config, 8, "zero2")
    assert peak(parts) < (room - 2) * 1e9, [(p.name, round(p.bytes / GIB, 1)) for p in parts]
    length = (
        config.max_length
        if isinstance(config, SftConfig)
        else config.max_prompt_tokens + config.max_response_tokens
    )
    assert length <= model_shape(model).max_position_embeddings
