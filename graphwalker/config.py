"""Typed configs: YAML plus `a.b=c` overrides into frozen pydantic models, with errors that help."""

import logging
import subprocess
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, TypeVar, cast, get_args, get_origin

from pydantic import BaseModel, ConfigDict, Field, ValidationError, ValidationInfo, field_validator

from graphwalker.errors import UserError, nearest
from graphwalker.files import write_text
from graphwalker.settings.text import check_numbers, refuse_resolvers

_log = logging.getLogger(__name__)


class Config(BaseModel):
    """Base of every config: frozen, unknown keys refused, fields documented under the field."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", use_attribute_docstrings=True, allow_inf_nan=False
    )

    other_names: ClassVar[Mapping[str, str]] = {}
    """Names of settings in other libraries -> what to set here (`a or b`), for error messages."""
    block: ClassVar[str] = ""
    """The name under which `graphwalker config` lists these settings once, where several stages
    share them."""
    basic: ClassVar[tuple[str, ...]] = ()
    """The settings that people change, by dotted names; `graphwalker config` lists these first."""

    @field_validator("*", mode="before")
    @classmethod
    def _refuse_switches(cls, value: Any, info: ValidationInfo) -> Any:
        """`true` is no number: pydantic would read it as 1."""
        annotation = cls.model_fields[str(info.field_name)].annotation
        if _holds_switch(value) and not nested_model(annotation) and not _takes_switch(annotation):
            raise ValueError("true and false are neither a number nor a text")
        return value


def _holds_switch(value: Any) -> bool:
    if isinstance(value, dict):
        return any(map(_holds_switch, cast("dict[Any, Any]", value).values()))
    if isinstance(value, list | tuple):
        return any(map(_holds_switch, cast("list[Any]", value)))
    return isinstance(value, bool)


def _takes_switch(annotation: Any) -> bool:
    """Return whether a type has room for `true`, or refuses it by itself."""
    if annotation in (bool, Any) or isinstance(annotation, bool):
        return True
    parts = get_args(annotation)
    if get_origin(annotation) is Literal and all(isinstance(text, str) for text in parts):
        return True  # its own refusal lists the texts
    return any(map(_takes_switch, parts))


C = TypeVar("C", bound=Config)

RunSeed = Annotated[int, Field(ge=0, lt=2**32)]
"""NumPy takes no other seeds."""

SHARED = "shared"
"""The section whose settings every other section of its file has, too."""
OWN = "questions"
COMMAND_LINE = "command line"
"""What an error calls the place where a setting stands that was typed."""


def load_config(model: type[C], path: Path | str | None, overrides: Sequence[str] = ()) -> C:
    """Read YAML at `path` (none: defaults), merge `a.b=c` overrides, validate.

    `FILE#SECTION` reads one section of a file that holds several configs, over its section
    `shared`. Raises `UserError` naming the file (or the command line, where the mistake was typed
    there), the key and the nearest known key.
    """
    typed = [item.partition("=")[0] for item in overrides]
    data = read_settings(path, overrides, tables=default_tables(model))
    return parse_config(model, data, str(path or COMMAND_LINE), typed)


def default_tables(model: type[Config]) -> dict[str, Any]:
    """Return the settings of a model that are tables by default, such as `mix`."""
    defaults = {name: field.default for name, field in model.model_fields.items()}
    return {name: table for name, table in defaults.items() if table and isinstance(table, dict)}


def read_settings(
    path: Path | str | None,
    overrides: Sequence[str] = (),
    values: Mapping[str, Any] | None = None,
    tables: Mapping[str, Any] | None = None,
) -> Any:
    """Plain data: what the file says, then `a.b=c` overrides, then `values` by their full names.

    Of a setting that is one of `tables`, `mix.2-hop=5` changes one entry of the file's table, or
    of this one where the file has none; `mix={...}` replaces the whole.
    """
    from omegaconf import OmegaConf
    from omegaconf.errors import OmegaConfBaseException
    from yaml import YAMLError

    for item in overrides:
        if "=" not in item.lstrip("="):
            is_file = Path(item).is_file()
            move = (
                "give a file by its option (--help)" if is_file else "quote a text of several words"
            )
            raise UserError(f"{item!r} is not a setting of the form a.b=c; {move}")
    source = COMMAND_LINE
    try:
        for item in overrides:
            check_numbers(item.partition("=")[2])
        typed = OmegaConf.from_dotlist(list(overrides))
        for key, value in (values or {}).items():
            OmegaConf.update(typed, key, value)
        source = str(path or COMMAND_LINE)
        base = _read(source) if path else OmegaConf.create()
        for name, table in (tables or {}).items():
            if any(item.startswith(f"{name}=") for item in overrides):
                base.pop(name, None)
            elif name in typed and name not in base:
                base[name] = table
        merged = OmegaConf.merge(base, typed)
        refuse_resolvers(merged)
        return _with_own_graphs(OmegaConf.to_container(merged, resolve=True))
    except UserError:
        raise
    except RecursionError:
        raise UserError(f"{source}: not a valid config: nested too deeply") from None
    except (OmegaConfBaseException, YAMLError, UnicodeDecodeError, ValueError, TypeError) as error:
        raise UserError(f"{source}: not a valid config: {_first_line(error)}") from None


def _with_own_graphs(data: Any) -> Any:
    """`graph=questions` is the files of the questions, which bring their own graphs."""
    if not isinstance(data, dict) or data.get("graph") != OWN or Path(OWN).exists():  # pyright: ignore[reportUnknownMemberType]
        return cast("Any", data)
    settings = cast("dict[str, Any]", data)
    dev: Any = settings.get("evaluation") or {}
    files = [*_several(settings.get(OWN)), *_several(dev.get(OWN))]
    return {**settings, "graph": ",".join(dict.fromkeys(files))} if files else settings


def _several(given: Any) -> list[str]:
    return [str(one) for one in (given if isinstance(given, list) else [given]) if one]  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]


def config_file(path: Path | str, *, tell: bool = True) -> Path:
    """Return the file of that name; where the working directory has no `configs/...`, the one that
    came with this package, and `tell` says so. Raises `UserError`."""
    path, here = Path(path), Path(__file__).parent
    places = (path, here / path, here.parent / path) if path.parts[:1] == ("configs",) else (path,)
    for place in places:
        if place.is_file():
            if place != path and tell:
                _note(f"{path} is not in this folder: {place} is read")
            return place
    raise UserError(f"{path}: no such config file")


@cache
def _note(text: str) -> None:
    """Say it once."""
    _log.warning(text)


def keys_of(path: Path | str) -> set[str]:
    """Return the settings that a file, or a section of one, gives at its top level."""
    return set(read_settings(path))


def parse_config(
    model: type[C],
    data: Any,
    source: str,
    typed: Iterable[str] = (),
    options: Mapping[str, str] | None = None,
) -> C:
    """Validate plain data; settings of the names `typed` come from the command line, and `options`
    are the short ones by their settings.

    Raises `UserError` with one line for the first problem.
    """
    if not isinstance(data, dict):
        raise UserError(f"{source}: a config must be a mapping of keys to values")
    try:
        return model.model_validate(data)
    except ValidationError as error:
        if sections := _sections_for(model, cast("dict[str, Any]", data), source):
            raise UserError(f"{source} holds several configs: give {sections}") from None
        key, text = _explain(model, error, options)
        mistyped = any(f"{key}.".startswith(f"{t}.") or t.startswith(f"{key}.") for t in typed)
        raise UserError(f"{COMMAND_LINE if mistyped else source}: {text}") from None


def _sections_for(model: type[Config], data: Mapping[str, Any], source: str) -> str:
    """Return the sections of a whole file that would do where its section was not named."""
    known = {*model.model_fields, *PLACES_OF_COMMANDS}
    parts = {
        name: cast("dict[str, Any]", part)
        for name, part in data.items()
        if isinstance(part, dict) and name not in model.model_fields
    }
    first, *more = [name for name, part in parts.items() if part and set(part) <= known] or [""]
    others = f" (or {', '.join(f'#{name}' for name in more)})" if more else ""
    return f"{source}#{first}{others}" if first and "#" not in source else ""


PLACES_OF_COMMANDS = "graph", "questions", "output_dir"
"""Settings of the commands themselves, which a section may have though its config has not."""


def write_config(config: Config, folder: Path, name: str = "config.yaml") -> Path:
    """Write the resolved config (and the git commit, where there is one) into a run folder."""
    path = folder / name
    commit = git_commit()
    write_text(path, f"# resolved config; git commit {commit or 'unknown'}\n{as_yaml(config)}")
    return path


def as_yaml(config: Config) -> str:
    """Return every setting of the config, as a file that loads to it."""
    from omegaconf import OmegaConf

    return OmegaConf.to_yaml(OmegaConf.create(config.model_dump(mode="json")))


def git_commit() -> str:
    """Return the commit of the source tree, `""` where there is none."""
    try:
        result = subprocess.run(
            ["git", "rev-parse", "HEAD"],
            cwd=Path(__file__).parent,
            capture_output=True,
            text=True,
            timeout=10,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return result.stdout.strip() if result.returncode == 0 else ""


def setting_names(model: type[Config], prefix: str = "") -> Iterator[str]:
    """Yield the dotted name of every setting."""
    for name, field in model.model_fields.items():
        nested = nested_model(field.annotation)
        if nested is None:
            yield f"{prefix}{name}"
        else:
            yield from setting_names(nested, f"{prefix}{name}.")


def nested_model(annotation: Any) -> type[Config] | None:
    """Return the config that a field of this type holds, or `None`."""
    for candidate in (annotation, *get_args(annotation)):
        if isinstance(candidate, type) and issubclass(candidate, Config):
            return candidate
    return None


def _read(path: str) -> Any:
    from omegaconf import OmegaConf

    file, _, section = path.partition("#")
    try:
        place = config_file(file)
        check_numbers(place.read_text(encoding="utf-8"))
        loaded: Any = OmegaConf.load(place)
    except (OSError, AssertionError) as error:  # what OmegaConf says of a number, and of a text
        if isinstance(error, OSError) and error.errno is not None:
            raise
        raise UserError(f"{path}: a config must be a mapping of keys to values") from None
    refuse_resolvers(loaded)
    if not section:
        return loaded
    OmegaConf.resolve(loaded)
    known = [str(n) for n, part in loaded.items() if n != SHARED and not isinstance(part, str)]
    if section not in known:
        raise UserError(f"{path}: no section {section!r}; it has {', '.join(known)}")
    return OmegaConf.merge(loaded.get(SHARED) or {}, loaded[section] or {})


def _explain(
    model: type[Config], error: ValidationError, options: Mapping[str, str] | None = None
) -> tuple[str, str]:
    """Return the setting that is wrong, and what to say. A name that does not exist comes first: it
    is often why another one is missing."""
    problems = error.errors()
    problem = next((p for p in problems if p["type"] == "extra_forbidden"), problems[0])
    key = ".".join(str(part) for part in problem["loc"])
    if problem["type"] == "extra_forbidden":
        if other := _other_name(model, key):
            return key, f"{key} is not a setting here: set {other}"
        known = list(setting_names(model))
        return key, f"{key} is not a setting{_nearest(key, known)}"
    if problem["type"] == "missing":
        brought = "; graph=questions where they bring their own" if key == "graph" else ""
        for setting, option in (options or {}).items():
            if f"{setting}.".startswith(f"{key}."):
                return key, f"{setting} is required: give {option}, or {setting}=VALUE{brought}"
        return key, f"{key} is required: set it in the file or as {key}=VALUE{brought}"
    if problem["type"] == "tuple_type" and isinstance(problem["input"], str):
        return key, f"{key} is a list: {key}=[{problem['input']}]?"
    if problem["type"] == "model_type" and problem["input"] is not None:
        own = next((name for name in setting_names(model) if name.startswith(f"{key}.")), "")
        value = "..." if isinstance(problem["input"], bool) else problem["input"]
        return key, f"{key} is a section of settings: {own}={value}?"
    text = problem["msg"].removeprefix("Value error, ")
    if isinstance(problem["input"], dict):  # a whole section: the text names what is wrong in it
        return key, f"{key}: {text}" if key else text
    move = "; put a text in quotes" if problem["type"] == "string_type" else ""
    if problem["input"] is None and ":" in key:
        move = "; write a blank behind each colon, as in {2-hop: 1}"
    return key, f"{key}: {text} (got {problem['input']!r}){move}" if key else text


def _other_name(model: type[Config], key: str) -> str:
    """Return the config's own name for a setting of another library."""
    parts = [part for part in model.other_names.get(key, "").split(" or ") if part]
    own = [part for part in parts if part.partition(".")[0] in model.model_fields]
    return " or ".join(own or parts)


def _nearest(key: str, known: list[str]) -> str:
    """`did you mean`: a setting of the same section, a section, or one by its last name alone."""
    if not known:  # such as the options of a preset that has none
        return ": there is none here"
    parent, _, last = key.rpartition(".")
    section = f"{parent}." if parent else ""
    siblings = [name.removeprefix(section) for name in known if name.startswith(section)]
    if not siblings:  # the section does not exist
        section, siblings = "", known
    own = dict.fromkeys(form for name in siblings for form in (name, name.partition(".")[0]))
    # Of settings with one last name the outermost counts.
    paths = sorted((name.split(".") for name in reversed(known)), key=len, reverse=True)
    elsewhere = {path[i]: ".".join(path[: i + 1]) for path in paths for i in range(len(path))}
    if near := nearest(key.removeprefix(section), own):
        return f"; did you mean {section}{near}?"
    if near := elsewhere.get(nearest(last, elsewhere, 0.85)):
        return f"; did you mean {near}?"
    first = list(dict.fromkeys(name.split(".")[0] for name in siblings))
    return f"; known: {', '.join(first[:SHOWN])}" + ", ..." * (len(first) > SHOWN)


SHOWN = 24
"""Names that a message lists."""


def _first_line(error: Exception) -> str:
    from yaml import MarkedYAMLError

    if isinstance(error, MarkedYAMLError) and error.problem and error.problem_mark:
        return f"{error.problem} (line {error.problem_mark.line + 1})"
    return str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
