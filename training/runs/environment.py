"""The environment of a model: read from its demonstrations or parent, saved with its weights."""

import logging
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

from graphwalker.agents.environment import EnvironmentConfig, read_recorded, settings_named
from graphwalker.agents.model_environment import read_environment, settings_for, write_environment
from graphwalker.agents.presets import find_preset, presets
from graphwalker.config import parse_config
from graphwalker.errors import UserError
from graphwalker.files import read_jsonl
from graphwalker.pretrained.adapters import base_of, weights_digest
from graphwalker.pretrained.folders import find_folder
from graphwalker.settings.named import DEMONSTRATION_FILES, QUESTION_FILES, local_path
from graphwalker.tokens.auto import resolve_format
from graphwalker.tools.own import changed_tools, tool_digests
from graphwalker.trust import check_trust
from training.config import SftConfig, TrainingConfig
from training.grpo_config import GrpoConfig

log = logging.getLogger(__name__)

T = TypeVar("T", bound=TrainingConfig)
DECODING = "constrained"
"""A setting of how a model is decoded: demonstrations are the same with it and without."""


def with_local_files(config: T) -> T:
    """Return the config, with the Hub's data sets as local files. Raises `UserError`."""
    update: dict[str, Any] = {}
    if isinstance(config, SftConfig):
        update["data"] = tuple(str(local_path(one, DEMONSTRATION_FILES)) for one in config.data)
    if isinstance(config, GrpoConfig):
        update["questions"] = str(local_path(config.questions, QUESTION_FILES))
    if isinstance(config, SftConfig | GrpoConfig) and (dev := config.evaluation):
        questions = str(local_path(dev.questions, QUESTION_FILES))
        update["evaluation"] = dev.model_copy(update={"questions": questions})
    if isinstance(config, GrpoConfig) and (replay := config.replay):
        files = tuple(str(local_path(one, DEMONSTRATION_FILES)) for one in replay.data)
        update["replay"] = replay.model_copy(update={"data": files})
    return config.model_copy(update={k: v for k, v in update.items() if v != getattr(config, k)})


def demonstrated_environment(config: SftConfig) -> EnvironmentConfig:
    """Return the environment of the trajectories, with what the user set.

    Raises `UserError` for trajectories of several presets, or of another than the config's, unless
    `force_environment` is set.
    """
    found = {path: _read_recorded(Path(path), config) for path in config.data}
    known = {path: settings for path, settings in found.items() if settings is not None}
    wanted = config.environment
    named = {path: find_preset(settings.preset).name for path, settings in known.items()}
    if "preset" in wanted.model_fields_set:
        named["environment.preset"] = find_preset(wanted.preset).name
    if len(set(named.values())) > 1 and not config.force_environment:
        pairs = ", ".join(f"{name} in {path}" for path, name in named.items())
        raise UserError(f"data: trajectories of several presets ({pairs}); set force_environment")
    base = next(iter(known.values()), None)
    if base is None:
        return wanted
    for path, settings in known.items():
        _warn_of_differences(base, settings, f"{path}: ")
    return merge_environments(base, wanted, "environment")


def in_their_environment(config: SftConfig) -> SftConfig:
    """Return the config, in the environment of its demonstrations; its evaluation, too."""
    environment, evaluation = demonstrated_environment(config), config.evaluation
    if evaluation is not None:
        own = merge_environments(environment, evaluation.environment, "evaluation.environment")
        evaluation = evaluation.model_copy(update={"environment": own})
    return config.model_copy(update={"environment": environment, "evaluation": evaluation})


def merge_environments(
    base: EnvironmentConfig, wanted: EnvironmentConfig, name: str
) -> EnvironmentConfig:
    """`base` with what is set in `wanted`; a warning names what differs."""
    from omegaconf import OmegaConf

    parts = [base.model_dump(mode="json"), wanted.explicit()]
    values = OmegaConf.to_container(OmegaConf.merge(*map(OmegaConf.create, parts)))
    chosen = parse_config(EnvironmentConfig, values, name)
    _warn_of_differences(base, chosen, f"{name}: ")
    return chosen


def in_its_environment(config: GrpoConfig) -> GrpoConfig:
    """Return the config, with its model's `graphwalker.json` where the user set nothing.

    Raises `UserError` for another preset than the model's, unless `force_environment` is set.
    """
    given = config.model_fields_set & {"format"}
    if "max_turn_tokens" in config.model_fields_set:
        given = given | {"max_tokens"}
    own = settings_for(
        config.model,
        config.environment,
        config.format,
        config.max_turn_tokens,
        given,
        force=config.force_environment,
        trust=config.trust,
    )
    update = {
        "environment": own.environment,
        "format": own.format,
        "max_turn_tokens": own.max_tokens,
    }
    return config.model_copy(update=update)


def with_format(config: T, tokenizer: Any) -> T:
    """Return the config with the format that `auto` stands for, read off the tokenizer."""
    fmt = resolve_format(config.format, tokenizer, config.model)
    return config.model_copy(update={"format": fmt})


def longest_turn(model: str) -> int:
    """Tokens of the longest turn that the model was shown, as its folder says; 0: unknown."""
    own = read_environment(model)
    return own.limits.longest_turn if own else 0


def _check_cap(setting: str, cap: int, longest: int) -> None:
    if cap < longest:
        raise UserError(
            f"{setting} = {cap} is below the longest demonstrated turn ({longest} tokens): what "
            f"the model was taught would be cut off; raise it to {longest} or more"
        )


def check_caps(config: GrpoConfig) -> None:
    """Raise `UserError` where GRPO would cut a turn as long as those that the model was shown."""
    longest = longest_turn(config.model)
    _check_cap("max_turn_tokens", config.max_turn_tokens, longest)
    _check_cap("max_episode_tokens", config.max_episode_tokens or longest, longest)  # 0: no limit


def check_evaluation(config: SftConfig, longest: int) -> None:
    """Raise `UserError` where the evaluation would cut a turn as long as those that are shown."""
    if config.evaluation is not None:
        _check_cap("evaluation.max_turn_tokens", config.evaluation.max_turn_tokens, longest)


def write_run_environment(config: SftConfig | GrpoConfig, longest: int = 0) -> None:
    """Write the environment into the run folder; every saved folder gets a copy. `longest`: tokens
    of the longest turn that this run shows the model."""
    longest = max(longest, longest_turn(config.model))
    if isinstance(config, GrpoConfig):
        most = config.max_turn_tokens
    else:
        most = max(config.evaluation.max_turn_tokens, longest) if config.evaluation else 0
    write_environment(
        config.output_dir,
        config.environment,
        format=config.format,
        max_tokens=most,
        longest_turn=longest,
        base_weights=weights_digest(find_folder(base_of(config.model))) if config.lora else "",
    )


def _read_recorded(path: Path, config: SftConfig) -> EnvironmentConfig | None:
    """Return the environment of a trajectory file: from the config of the run that wrote it, beside
    it, else from what its first trajectory says. `None` where neither says anything. Names that a
    file may not choose (`graphwalker.trust`) are as the user gave them."""
    from omegaconf import OmegaConf

    named_by = beside = path.parent / "config.yaml"
    loaded: Any = OmegaConf.to_container(OmegaConf.load(beside)) if beside.is_file() else {}
    values = loaded.get("environment") if isinstance(loaded, dict) else None
    about = next((record.get("provenance", {}) for record in _first(path)), {})
    if not isinstance(values, dict):
        if about.get("environment") not in presets():
            return None
        named_by, values = path, settings_named(about)
    given = config.environment.explicit()
    safe = check_trust(
        EnvironmentConfig, values, named_by, given=given, trust=config.trust, prefix="environment."
    )
    found = parse_config(EnvironmentConfig, safe, str(named_by))
    for line in changed_tools(read_recorded(about, "tools"), tool_digests(found.tools)):
        log.warning("%s: %s since it was made", path, line)
    return found


def _first(path: Path) -> Iterator[dict[str, Any]]:
    return islice(read_jsonl(path), 1)


def _warn_of_differences(base: EnvironmentConfig, other: EnvironmentConfig, where: str) -> None:
    before, after = base.whole(), other.whole()
    different = [
        f"{key} = {after.get(key)!r}, in the demonstrations {before.get(key)!r}"
        for key in before | after
        if key != DECODING and before.get(key) != after.get(key)
    ]
    if different:
        log.warning("%s%s", where, "; ".join(different))
