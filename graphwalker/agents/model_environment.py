"""A model's environment: what it was trained in, kept beside its weights as `graphwalker.json`."""

import logging
import shutil
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any, Protocol, Self, TypeVar, cast

from pydantic import Field

from graphwalker.agents.environment import Environment, EnvironmentConfig
from graphwalker.agents.preset import Preset
from graphwalker.agents.presets import find_preset, presets
from graphwalker.agents.prompt import is_shipped, prompt_text
from graphwalker.config import Config, parse_config
from graphwalker.errors import UserError
from graphwalker.files import read_json, write_json
from graphwalker.policies.config import REASONING_TOKENS, PolicyConfig, is_reasoning_model
from graphwalker.pretrained.adapters import MODEL_FILE
from graphwalker.ranking.load import is_folder, ranker_digest
from graphwalker.settings.named import is_own
from graphwalker.tokens.formats import FormatConfig, FormatSetting, chat_format
from graphwalker.tools.own import changed_tools, tool_digests
from graphwalker.trust import check_trust, names_in

log = logging.getLogger(__name__)

SCHEMA = 1
RANKER_FOLDER = "ranker"
"""Where a model keeps the trained ranker that it was trained with."""


class PromptRecord(Config):
    """The prompt that opened the training episodes."""

    name: str
    text: str
    digest: str


class RankerRecord(Config):
    """What chose the relations that were shown."""

    name: str = "bm25"
    """As the setting named it; a trained one lies in the model's own folder."""
    digest: str = ""
    """Of the ranker's files, where it has some."""
    trained_on: tuple[str, ...] = ()
    """Files of questions that a learned ranker has seen."""


class CompletionLimits(Config):
    """How completions were drawn."""

    max_tokens: int = Field(default=0, ge=0)
    """Completion tokens per turn. 0: none were ever drawn, as in SFT without an evaluation."""
    max_turns: int = 10
    stop: tuple[str, ...] = ()
    """Strings that end a completion."""
    longest_turn: int = 0
    """Tokens of the longest demonstrated turn: a lower `max_tokens` cuts what was taught."""


class ModelEnvironment(Config):
    """The content of `graphwalker.json`."""

    schema_version: int = SCHEMA
    preset: str
    """The preset's own name; `environment.preset` says where it is found."""
    preset_version: int
    environment: dict[str, Any]
    """Every setting of the environment, as a config writes it."""
    format: str | dict[str, Any]
    """As `FormatConfig` describes it; checked where it is used, since it may name a file."""
    prompt: PromptRecord
    ranker: RankerRecord = RankerRecord()
    limits: CompletionLimits = CompletionLimits()
    tools: dict[str, str] = {}
    """The digest of each tool of the user's own (`environment.tools`)."""
    base_weights: str = ""
    """Of an adapter: the digest of the weights that it was trained on."""


def write_environment(
    folder: Path | str,
    environment: EnvironmentConfig,
    *,
    format: FormatSetting,
    max_tokens: int = 0,
    longest_turn: int = 0,
    preset: Preset | None = None,
    ranker_trained_on: Sequence[str] = (),
    base_weights: str = "",
) -> Path:
    """Write the environment of the model that lies, or will lie, in the folder, and beside it a
    copy of its trained ranker.

    `preset` is one at hand, in place of the one that the config names.
    """
    preset = preset or find_preset(environment.preset)
    text = prompt_text(environment.prompt, preset.prompts)
    record = ModelEnvironment(
        preset=preset.name,
        preset_version=preset.version,
        environment=environment.model_dump(mode="json"),
        format=format,
        prompt=PromptRecord(name=environment.prompt, text=text, digest=_digest(text)),
        ranker=_with_its_ranker(Path(folder), environment.ranker, tuple(ranker_trained_on)),
        limits=CompletionLimits(
            max_tokens=max_tokens,
            max_turns=environment.max_turns,
            stop=preset.protocol(environment).stop,
            longest_turn=longest_turn,
        ),
        tools=tool_digests(environment.tools),
        base_weights=base_weights,
    )
    path = Path(folder) / MODEL_FILE
    path.parent.mkdir(parents=True, exist_ok=True)
    write_json(path, record.model_dump(mode="json"))
    return path


def _with_its_ranker(folder: Path, ranker: str, trained_on: tuple[str, ...]) -> RankerRecord:
    """Return the record of the ranker; a trained one is copied into the model's folder."""
    if is_folder(ranker):
        from graphwalker.ranking.learned.ranker import copy_ranker

        about = copy_ranker(ranker, folder / RANKER_FOLDER)
        trained_on = trained_on or tuple(file.file for file in about.sources)
    return RankerRecord(name=ranker, digest=ranker_digest(ranker), trained_on=trained_on)


def copy_environment(folder: Path | str, to: Path | str) -> None:
    """Carry what `write_environment` wrote, if it did, to another folder of the model."""
    if (file := Path(folder) / MODEL_FILE).is_file():
        Path(to).mkdir(parents=True, exist_ok=True)
        shutil.copy(file, to)
    if (ranker := Path(folder) / RANKER_FOLDER).is_dir():
        shutil.copytree(ranker, Path(to) / RANKER_FOLDER, dirs_exist_ok=True)


def read_environment(folder: Path | str) -> ModelEnvironment | None:
    """Return the environment of the model in that folder; `None` where none is written down.

    Raises `UserError` for a damaged file, or one of a later version.
    """
    path = Path(folder) / MODEL_FILE
    if not path.is_file():
        return None
    data = read_json(path, "train the model again, or remove the file and give the settings")
    version = data.get("schema_version")
    if isinstance(version, int) and version > SCHEMA:
        raise UserError(f"{path}: written by a later GraphWalker (schema {version}): update it")
    return parse_config(ModelEnvironment, data, str(path))


def environment_of(
    model: Path | str, environment: EnvironmentConfig, trust: Sequence[str] = ()
) -> EnvironmentConfig:
    """Return the environment of the model in that folder; what the user set in `environment` wins.

    Raises `UserError` where the folder says nothing of it.
    """
    own = read_environment(model)
    if own is None:
        raise UserError(
            f"{model}: holds no {MODEL_FILE}; give the settings (environment.preset=...)"
        )
    given = ("format",)  # no model speaks here
    return settings_for(model, environment, own.format, 0, given, trust=trust).environment


def refuse_other_environment(model: Path | str, environment: Environment) -> None:
    """Raise `UserError` where the model in that folder was trained in another environment, but for
    settings that the user set."""
    own, config = read_environment(model), environment.config
    if own is None:
        return
    if environment.name != own.preset:
        differences = [f"environment.preset={environment.name} (trained with {own.preset})"]
    elif config.preset in presets() or is_own(config.preset):  # else it is a preset at hand
        chosen, _ = _environment(Path(model), own, config)
        differences = _differences(*(flat(one.whole(), "environment.") for one in (chosen, config)))
    else:
        return
    if differences:
        more = ", ..." if len(differences) > 3 else ""
        raise UserError(
            f"{model} was trained in another environment: {', '.join(differences[:3])}{more}; take "
            f"graphwalker.Environment(graph, model={str(model)!r}), or "
            "load_policy(..., force_environment=True)"
        )


@dataclass(frozen=True, slots=True)
class ModelSettings:
    """What a model is run with: the user's settings, and its own where the user set nothing."""

    environment: EnvironmentConfig
    format: FormatSetting
    max_tokens: int


class ModelRun(Protocol):
    """A config that runs a model: evaluation, experts, asking and serving."""

    @property
    def policy(self) -> PolicyConfig | None: ...
    @property
    def environment(self) -> EnvironmentConfig: ...
    @property
    def max_tokens(self) -> int: ...
    @property
    def force_environment(self) -> bool: ...
    @property
    def trust(self) -> tuple[str, ...]: ...
    @property
    def model_fields_set(self) -> set[str]: ...
    def model_copy(self, *, update: Mapping[str, Any]) -> Self: ...


AnyRun = TypeVar("AnyRun", bound=ModelRun)


def with_model_settings(config: AnyRun) -> AnyRun:
    """Return the config, with the settings of its model where the user set nothing
    (`settings_for`); a model without any that reasons first gets `REASONING_TOKENS`."""
    policy = config.policy
    if policy is None:
        return config
    if policy.api is not None or read_environment(policy.model) is None:
        more = "max_tokens" not in config.model_fields_set and is_reasoning_model(policy.model)
        tokens = max(config.max_tokens, REASONING_TOKENS)
        return config.model_copy(update={"max_tokens": tokens}) if more else config
    own = settings_for(
        policy.model,
        config.environment,
        policy.format,
        config.max_tokens,
        (policy.model_fields_set & {"format"}) | (config.model_fields_set & {"max_tokens"}),
        force=config.force_environment,
        trust=config.trust,
        format_setting="policy.format",
    )
    return config.model_copy(
        update={
            "policy": policy.model_copy(update={"format": own.format}),
            "environment": own.environment,
            "max_tokens": own.max_tokens,
        }
    )


def settings_for(
    model: Path | str,
    environment: EnvironmentConfig,
    format: FormatSetting,
    max_tokens: int,
    given: Collection[str],
    *,
    force: bool = False,
    trust: Sequence[str] = (),
    format_setting: str = "format",
) -> ModelSettings:
    """Return the settings for the model in that folder.

    What the user set wins; of `format` and `max_tokens`, `given` names those that are set, and the
    environment knows by itself. One warning names whatever differs from the model's own.
    Raises `UserError` for another preset than the model's, unless `force` is set, and for a name
    that a file may not choose, unless `trust` holds the folder (`graphwalker.trust`).
    """
    own = read_environment(model)
    if own is None:
        return ModelSettings(environment, format, max_tokens)
    preset = find_preset(environment.preset)
    if "preset" not in environment.model_fields_set or preset.name == own.preset:
        environment, differences = _environment(Path(model), own, environment, trust)
    elif force:
        differences = [f"environment.preset={preset.name} (trained for {own.preset})"]
    else:
        raise UserError(
            f"{model} was trained for environment.preset={own.preset}, this run asks for "
            f"{preset.name}: leave environment.preset out, or set force_environment"
        )
    wanted: dict[str, Any] = {"format": format, "max_tokens": max_tokens}
    mine: dict[str, Any] = {"format": own.format, "max_tokens": own.limits.max_tokens}
    if "format" not in given:
        mine["format"] = format_of(own, model, trust, format_setting)
    if not own.limits.max_tokens:
        known = "max_tokens" in given
        mine["max_tokens"] = max_tokens if known else max(max_tokens, own.limits.longest_turn)
    chosen = {key: wanted[key] if key in given else value for key, value in mine.items()}
    differences += _differences(flat(mine), flat(chosen))
    if differences:
        log.warning("%s is not run as it was trained: %s", model, "; ".join(differences))
    return ModelSettings(environment, chosen["format"], chosen["max_tokens"])


def format_of(
    own: ModelEnvironment, model: Path | str, trust: Sequence[str], setting: str
) -> FormatSetting:
    """Return the format of the model in that folder, which is `setting` in a config. Raises
    `UserError` for one that is none, or that names a file, unless `trust` holds the folder."""
    file = Path(model) / MODEL_FILE
    if isinstance(own.format, dict):
        check_trust(FormatConfig, own.format, file, trust=trust, prefix=f"{setting}.")
    try:
        if own.format != "auto":
            chat_format(own.format)
    except UserError as error:
        raise UserError(f"{file}: {error}") from None
    return own.format


def _environment(
    model: Path, own: ModelEnvironment, given: EnvironmentConfig, trust: Sequence[str] = ()
) -> tuple[EnvironmentConfig, list[str]]:
    """Get the model's environment with what the user set, and what differs from the model's own."""
    explicit, file = given.explicit(), model / MODEL_FILE
    # The same preset may stand in another module today than when the model was trained.
    found = {**own.environment, "preset": explicit.pop("preset", own.environment["preset"])}
    carried: dict[str, Any] = {}
    if is_folder(own.ranker.name):
        carried["ranker"] = str(model / RANKER_FOLDER)
    if not is_shipped(str(found.get("prompt", own.prompt.name))):
        carried["prompt"] = str(file)
    found = {key: value for key, value in found.items() if key not in carried}
    names = names_in(EnvironmentConfig, found)
    named = {".".join(("environment", *name.path)): name.value for name in names}
    found = check_trust(
        EnvironmentConfig, found, file, given=explicit, trust=trust, prefix="environment."
    )
    trained = parse_config(EnvironmentConfig, found | carried, str(file))
    chosen = parse_config(EnvironmentConfig, _merge(found | carried, explicit), "environment")
    before, after = (flat(one.whole(), "environment.") for one in (trained, chosen))
    different = _differences(before | named, after)
    preset = find_preset(chosen.preset)
    if preset.version != own.preset_version:
        different.append(f"preset version {preset.version} (trained with {own.preset_version})")
    same_prompt = _digest_of_prompt(chosen) == own.prompt.digest
    by_content = ("environment.ranker=", *(["environment.prompt="] if same_prompt else []))
    different = [text for text in different if not text.startswith(by_content)]
    own_ranker = carried.get("ranker", own.ranker.name)
    different += _ranker_differences(own.ranker, own_ranker, chosen.ranker)
    different += changed_tools(own.tools, tool_digests(chosen.tools))
    if "prompt" not in explicit and not same_prompt:
        log.warning("%s: its prompt %s has changed; its own text is used", model, own.prompt.name)
        chosen = chosen.model_copy(update={"prompt": str(model / MODEL_FILE)})
    return chosen, different


def _ranker_differences(own: RankerRecord, trained: str, chosen: str) -> list[str]:
    """Compare the rankers: a trained one is the same wherever it lies."""
    now = ranker_digest(chosen)
    if is_folder(chosen) and now == own.digest:
        return []
    if chosen == trained:
        return [f"the file of the ranker {chosen} has changed"] if now != own.digest else []
    return [f"environment.ranker={chosen} (trained with {own.name})"]


def _differences(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    return [
        f"{key}={after.get(key)} (trained with {before.get(key)})"
        for key in sorted({*before, *after})
        if before.get(key) != after.get(key)
    ]


def _merge(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    merged: dict[str, Any] = dict(base)
    for key, value in over.items():
        both = (merged.get(key), value)
        merged[key] = _merge(*both) if all(isinstance(one, dict) for one in both) else value  # pyright: ignore[reportArgumentType]
    return merged


def flat(settings: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Return nested settings by their full names, `a.b`."""
    found: dict[str, Any] = {}
    for key, value in settings.items():
        if isinstance(value, dict) and value:
            found.update(flat(cast("dict[str, Any]", value), f"{prefix}{key}."))
        else:
            found[prefix + key] = value
    return found


def _digest(text: str) -> str:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def _digest_of_prompt(environment: EnvironmentConfig) -> str:
    try:
        return _digest(prompt_text(environment.prompt, find_preset(environment.preset).prompts))
    except UserError:
        return ""  # the file is gone
