"""The section `trainer:`: any field of TRL's trainer configs, checked, but those that we decide."""

import pytest
from trl.trainer.grpo_config import GRPOConfig

from graphwalker.config import load_config
from graphwalker.errors import UserError
from support.run_toys import curve, grpo_config, make_sft_place, sft_config
from training.grpo_config import GrpoConfig
from training.reinforce.arguments import trl_arguments
from training.runs.arguments import INTERNAL
from training.sft import run_sft
from training.supervised.trainer import trainer_arguments
from training.trl_names import TRL_NAMES

PATHS = ["model=m", "questions=q", "graph=g", "output_dir=o"]


def test_a_field_of_trl_is_set_from_the_command_line_with_its_type() -> None:
    given = ["trainer.entropy_coef=1e-3", "trainer.lr_scheduler_kwargs={min_lr_rate: 0.1}"]
    config = load_config(GrpoConfig, None, [*PATHS, *given])
    arguments = trl_arguments(config)
    assert arguments.entropy_coef == 1e-3
    assert arguments.lr_scheduler_kwargs == {"min_lr_rate": 0.1}


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"torch_compil": True}, r"trainer\.torch_compil is not a field .* mean torch_compile\?"),
        ({"torch_compile": "often"}, r"trainer\.torch_compile: .*valid boolean"),
        ({"learning_rate": 1.0}, r"trainer\.learning_rate: set lr instead"),
        ({"per_device_train_batch_size": 4}, r"set micro_batch instead"),
        ({"remove_unused_columns": True, "use_vllm": True}, r"trainer\.use_vllm cannot be set"),
        ({"vllm_mode": "server"}, r"trainer\.vllm_mode cannot be set"),
        ({"trust_remote_code": True}, r"trainer\.trust_remote_code cannot be set"),
    ],
)
def test_a_field_that_does_not_fit_is_refused_by_name(tmp_path, fields, message) -> None:
    with pytest.raises(UserError, match=message):
        trl_arguments(grpo_config(tmp_path, tmp_path / "run", trainer=fields))


def test_the_fields_that_are_refused_are_fields_of_trl() -> None:
    from trl.trainer.sft_config import SFTConfig

    known = set(GRPOConfig.__dataclass_fields__) | set(SFTConfig.__dataclass_fields__)
    assert set(TRL_NAMES) | INTERNAL <= known


@pytest.mark.long
def test_a_schedule_of_transformers_takes_the_place_of_ours(tmp_path) -> None:
    place = make_sft_place(tmp_path)
    kind = {"lr_scheduler_type": "cosine_with_min_lr"}
    fields = {**kind, "lr_scheduler_kwargs": {"min_lr_rate": 0.5}}
    run_sft(sft_config(place, place / "run", trainer=fields, max_steps=6, warmup_ratio=0.0))
    rates = [rate for *_, rate in curve(place / "run", "lr")]
    assert rates[0] > rates[-1] >= 3e-3 * 0.5
    with pytest.raises(UserError, match="max_seconds"):
        trainer_arguments(sft_config(place, place / "run", trainer=fields, max_seconds=9), 6)
