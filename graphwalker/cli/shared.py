"""What every command shares: the table of short options, and a command line as settings."""

import inspect
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, TypeVar

import typer

from graphwalker.console import console
from graphwalker.console.terminal import printable
from graphwalker.errors import UserError
from graphwalker.settings.named import QUESTION_FILES, local_path

if TYPE_CHECKING:
    from graphwalker.config import Config

C = TypeVar("C", bound="Config")

STAGES = "synth", "experts", "bench", "model", "sft", "grpo", "eval", "judge"
"""Commands whose settings are looked through for one that was typed to another."""
CHAIN = "demo"
"""The config whose sections are those of other commands."""

Out = Annotated[Path, typer.Option(help="Folder for the result.")]
Seed = Annotated[int, typer.Option(min=0, help="The same seed gives the same result.")]
JsonFlag = Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")]


class Short(NamedTuple):
    """A named option: the setting that it is a short form of, its type and its meaning."""

    setting: str
    kind: type
    help: str
    least: int | None = None


SHORT: Mapping[str, Short] = {
    "graph": Short("graph", str, "Folder, file, endpoint, recording, Hub name, or module:FACTORY."),
    "questions": Short("questions", str, "Questions: our JSONL, a published file, or a Hub name."),
    "model": Short(
        "policy.model", str, "A model's folder, smollm2-graphwalker, or the name that an API knows."
    ),
    "format": Short(
        "policy.format", str, "Chat format, such as qwen2.5. Default: the model's own."
    ),
    "api": Short("policy.api.base_url", str, "Base URL of the API that has the model."),
    "out": Short("output_dir", str, "Folder for the result."),
    "count": Short("count", int, "How many to make or to use.", 1),
    "seed": Short("seed", int, "The same seed gives the same result.", 0),
    "workers": Short("workers", int, "Processes. Any number gives the same files.", 1),
    "engine": Short("engine", str, "Where workers run: `processes` or `ray`."),
    "metrics": Short("metrics", str, "More metrics, separated by commas; module:NAME is your own."),
    "shard": Short("shard", str, "Part i of n, as 0/8, for job arrays; `merge` joins the parts."),
    "max_tokens": Short("max_tokens", int, "Completion tokens per turn.", 1),
    "trust": Short("trust", str, "A folder whose files may name code, paths and addresses."),
    "force_environment": Short(
        "force_environment", bool, "Run a model in a preset that it was not trained for."
    ),
    "force_base": Short(
        "policy.force_base", bool, "Run an adapter on other weights than it was trained on."
    ),
}
"""Every short option; `--graph G` and `graph=G` are the same in every command that has it."""


@dataclass(frozen=True)
class CommandOptions:
    """What a person gave: a config file, settings as `a.b=c`, and short options."""

    config: Path | None
    overrides: Sequence[str]
    values: Mapping[str, Any]
    """Short options by the settings that they stand for."""
    places: frozenset[str]
    """Settings of the command itself, which its config need not have."""

    @cached_property
    def _data(self) -> dict[str, Any]:
        from graphwalker.config import read_settings

        return read_settings(self.config, self.overrides, self.values)

    def settings(self, model: type[C]) -> C:
        """Return the settings of `model`, checked. Raises `UserError` for the first mistake."""
        from graphwalker.config import COMMAND_LINE, default_tables, parse_config, read_settings

        own = self.places - set(model.model_fields)
        read = read_settings(self.config, self.overrides, self.values, default_tables(model))
        data = {key: value for key, value in read.items() if key not in own}
        typed = [*self.values, *(item.partition("=")[0] for item in self.overrides)]
        options = {short.setting: f"--{name}" for name, short in SHORT.items()}
        try:
            return parse_config(model, data, str(self.config or COMMAND_LINE), typed, options)
        except UserError as error:
            raise UserError(f"{error}{self._other_command(model)}") from None

    def _other_command(self, model: type[Any]) -> str:
        """Return what is said of settings of another command, in a file or typed."""
        from graphwalker.config import read_settings
        from graphwalker.demo.models import config_models

        known = config_models()
        for key in (item.partition("=")[0].partition(".")[0] for item in self.overrides):
            if key not in model.model_fields and key not in self.places:
                owners = [name for name in STAGES if key in known[name].model_fields]
                return f" ({key} is a setting of {', '.join(owners)})" if owners else ""
        keys = set(read_settings(self.config, (), {})) if self.config else set[str]()
        if keys <= set(model.model_fields) | self.places:
            return ""
        found = next((n for n in known if keys <= set(known[n].model_fields) and n != CHAIN), "")
        return f" ({self.config} has settings of `{found}`)" if found else ""

    def get(self, setting: str) -> str:
        """Return a setting of the command itself, `""` where it was not given."""
        value = self._data.get(setting)
        return "" if value is None else str(value)

    def need(self, setting: str) -> str:
        """Return the same. Raises `UserError` where it was not given."""
        if text := self.get(setting):
            return text
        option = next(name for name, short in SHORT.items() if short.setting == setting)
        raise UserError(f"{setting} is required: give --{option}, or {setting}=VALUE")

    @property
    def graph(self) -> str:
        return self.need("graph")

    @property
    def questions(self) -> Path:
        return local_path(self.need("questions"), QUESTION_FILES)

    @property
    def out(self) -> Path:
        return Path(self.need("output_dir"))


def verb(
    app: typer.Typer,
    *options: str,
    name: str = "",
    settings: bool = True,
    words: str = "",
    file: str = "",
    **renamed: str,
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Register a command whose first parameter is `CommandOptions`: short options of `SHORT` (one
    followed by `!` must be given), and with `settings` also `--config F` and `a.b=c`.

    `words` says what else may be typed where settings are, such as `RUN`: the function finds it
    among the overrides. `file` says what `--out` names where it is no folder. `renamed` says which
    setting an option stands for where it is not that of `SHORT`.
    """
    required = {option.rstrip("!"): option.endswith("!") for option in options}
    short = {option: renamed.get(option, SHORT[option].setting) for option in required}

    def register(function: Callable[..., None]) -> Callable[..., None]:
        own = list(inspect.signature(function, eval_str=True).parameters.values())[1:]

        def command(**values: Any) -> None:
            config: Path | None = values.pop("config", None)
            overrides: list[str] = values.pop("overrides", None) or []
            mine = {parameter.name: values.pop(parameter.name) for parameter in own}
            typed = _merge_options(
                {key: (short[key], value) for key, value in values.items()}, overrides
            )
            function(CommandOptions(config, overrides, typed, frozenset(short.values())), **mine)

        helps = {option: SHORT[option].help for option in required} | (
            {"out": file} if file else {}
        )
        shared = [_option(option, helps[option], must) for option, must in required.items()]
        arguments = [p for p in own if isinstance(_info(p), typer.models.ArgumentInfo)]
        others = [p for p in own if p not in arguments]
        ordered = [*arguments, *shared, *others, *(_settings(words) if settings else [])]
        command.__signature__ = inspect.Signature(  # pyright: ignore[reportFunctionMemberAccess]
            [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in ordered]
        )
        command.__doc__ = function.__doc__
        app.command(name or function.__name__)(command)
        return function

    return register


def _info(parameter: inspect.Parameter) -> Any:
    return getattr(parameter.annotation, "__metadata__", (None,))[0]


def _option(name: str, about: str, required: bool) -> inspect.Parameter:
    short = SHORT[name]
    text = f"{about} Required." if required else about
    option = typer.Option(f"--{name.replace('_', '-')}", help=text, min=short.least)
    return _parameter(name, Annotated[short.kind | None, option])


def _parameter(name: str, annotation: Any) -> inspect.Parameter:
    kind = inspect.Parameter.KEYWORD_ONLY
    return inspect.Parameter(name, kind, default=None, annotation=annotation)


_FILE = typer.Option("--config", help="Settings in YAML; `graphwalker config` lists them.")


def _settings(words: str) -> list[inspect.Parameter]:
    """`--config F`, and settings, with what else may be typed among them."""
    note = "Settings; they win over the config file."
    metavar = f"{words} | A.B=C" if words else "A.B=C"
    typed = typer.Argument(metavar=metavar, help=f"{words}s, or settings." if words else note)
    return [
        _parameter("config", Annotated[Path | None, _FILE]),
        _parameter("overrides", Annotated[list[str] | None, typed]),
    ]


def _merge_options(
    options: Mapping[str, tuple[str, Any]], overrides: Sequence[str]
) -> dict[str, Any]:
    """Return values by setting. Raises `UserError` where one setting was given two values."""
    values = {name: row for name, row in options.items() if row[1] is not None}
    given = [(key, str(value), f"--{name} {value}") for name, (key, value) in values.items()]
    for text in overrides:
        key, _, value = text.partition("=")
        given.append((key, value, text))
    first: dict[str, tuple[str, str]] = {}
    for setting, value, text in given:
        known, typed = first.setdefault(setting, (value, text))
        if known != value:
            raise UserError(f"{typed} and {text} set the same setting: give one of the two")
    return dict(values.values())


def json_text(rows: Mapping[str, Any]) -> str:
    """JSON in readable letters, but with escapes for what a terminal would obey."""
    text = json.dumps(rows, ensure_ascii=False, indent=1)
    return (
        "".join(one if printable(one) == one else json.dumps(one)[1:-1] for one in text)
        if printable(text) != text
        else text
    )


def show(title: str, rows: Mapping[str, Any], as_json: bool = False) -> None:
    """Print a result as a table or as JSON."""
    if as_json:
        console.echo(json_text(rows))
    else:
        console.facts(title, rows)
