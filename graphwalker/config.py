"""Typed configs: YAML plus `a.b=c` overrides into frozen pydantic models, with errors that help."""

import difflib
import logging
import re
import subprocess
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, ClassVar, TypeVar, cast, get_args

from pydantic import BaseModel, ConfigDict, ValidationError

from graphwalker.errors import UserError
from graphwalker.files import write_text

_log = logging.getLogger(__name__)


class Config(BaseModel):
    """Base of every config: frozen, unknown keys refused, fields documented under the field."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    other_names: ClassVar[Mapping[str, str]] = {}
    """Names of settings in other libraries -> what to set here (`a or b`), for error messages."""
    block: ClassVar[str] = ""
    """The name under which `graphwalker config` lists these settings once, where several stages
    share them."""
    basic: ClassVar[tuple[str, ...]] = ()
    """The settings that people change, by dotted names; `graphwalker config` lists these first."""


C = TypeVar("C", bound=Config)

SHARED = "shared"
"""The section whose settings every other section of its file has, too."""
PLACES = (
    "HOME", "PROJECT", "SCRATCH", "SLURM_ARRAY_TASK_ID", "SLURM_JOB_ID", "SLURM_TMPDIR", "TMPDIR",
    "USER", "WORK",
)  # fmt: skip
"""Variables of the environment that a config may read, as `${oc.env:SCRATCH}`: they name folders
and jobs, and hold no secrets."""
_FUNCTION = re.compile(r"\$\{\s*([A-Za-z_][\w.]*)\s*:([^,}]*)")
RESOLVED_LIMIT = 1 << 20
"""Characters; ten values that each name the one before ten times would be 10^10."""
_REFERENCE = re.compile(r"\$\{([^${}:]*)\}")
_NESTED = re.compile(r"\$\{[^{}]*\$\{")
_PER_VALUE = 8
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
    """The settings of a model that are tables by default, such as `mix`."""
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
            raise UserError(f"{item!r} is not a setting of the form a.b=c")
    source = COMMAND_LINE
    try:
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
        _refuse_resolvers(merged)
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


def config_file(path: Path | str) -> Path:
    """The file of that name; where the working directory has no `configs/...`, the one that came
    with this package. Raises `UserError`."""
    path, here = Path(path), Path(__file__).parent
    places = (path, here / path, here.parent / path) if path.parts[:1] == ("configs",) else (path,)
    for place in places:
        if place.is_file():
            if place != path:
                _note(f"{path} is not in this folder: {place} is read")
            return place
    raise UserError(f"{path}: no such config file")


@cache
def _note(text: str) -> None:
    """Say it once."""
    _log.warning(text)


def keys_of(path: Path | str) -> set[str]:
    """The settings that a file, or a section of one, gives at its top level."""
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
        key, text = _explain(model, error, options)
        mistyped = any(f"{key}.".startswith(f"{t}.") or t.startswith(f"{key}.") for t in typed)
        raise UserError(f"{COMMAND_LINE if mistyped else source}: {text}") from None


def write_config(config: Config, folder: Path, name: str = "config.yaml") -> Path:
    """Write the resolved config (and the git commit, where there is one) into a run folder."""
    path = folder / name
    commit = git_commit()
    write_text(path, f"# resolved config; git commit {commit or 'unknown'}\n{as_yaml(config)}")
    return path


def as_yaml(config: Config) -> str:
    """Every setting of the config, as a file that loads to it."""
    from omegaconf import OmegaConf

    return OmegaConf.to_yaml(OmegaConf.create(config.model_dump(mode="json")))


def git_commit() -> str:
    """The commit of the source tree, `""` where there is none."""
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
        loaded: Any = OmegaConf.load(config_file(file))
    except (OSError, AssertionError) as error:  # what OmegaConf says of a number, and of a text
        if isinstance(error, OSError) and error.errno is not None:
            raise
        raise UserError(f"{path}: a config must be a mapping of keys to values") from None
    _refuse_resolvers(loaded)
    if not section:
        return loaded
    OmegaConf.resolve(loaded)
    known = [str(n) for n, part in loaded.items() if n != SHARED and not isinstance(part, str)]
    if section not in known:
        raise UserError(f"{path}: no section {section!r}; it has {', '.join(known)}")
    return OmegaConf.merge(loaded.get(SHARED) or {}, loaded[section] or {})


def _refuse_resolvers(settings: Any) -> None:
    """Raises `UserError` for `${oc.env:NAME}` of anything but a place, and for other functions: a
    config from elsewhere could send a key to an address, and it would stand in the run folder.
    Raises it as well for settings that grow without bound."""
    from omegaconf import OmegaConf

    unresolved = OmegaConf.to_container(settings, resolve=False)
    _refuse_large(unresolved)
    waiting: list[Any] = [unresolved]
    while waiting:
        one = waiting.pop()
        if isinstance(one, dict):
            waiting += cast(dict[Any, Any], one).values()
        elif isinstance(one, list):
            waiting += cast(list[Any], one)
        elif isinstance(one, str):
            for function, argument in _FUNCTION.findall(one):
                name = argument.strip().strip("'\"")
                if function != "oc.env" or name not in PLACES:
                    raise UserError(
                        f"${{{function}:{argument}}}: not resolved in a config, where it could "
                        f"show a secret; only the places {', '.join(PLACES)} are"
                    )


def _refuse_large(settings: Any) -> None:
    """Raise `UserError` for unresolved settings that grow beyond the limit. A value is measured
    once, however often it is named; OmegaConf would write it out each time."""
    known: dict[tuple[str, ...], int] = {}

    def measure(place: tuple[str, ...], value: Any) -> int:
        if place in known:
            return known[place]
        known[place] = 0  # a value that names itself, which OmegaConf refuses
        size = _PER_VALUE
        if isinstance(value, str):
            named = [_place_named(place, one) for one in _references_in(value)]
            size += len(value) + sum(measure(*_value_at(settings, one)) for one in named)
        for key, part in _parts_of(value).items():
            size += len(key) + measure((*place, key), part)
        known[place] = size
        return size

    size = measure((), settings)
    if size > RESOLVED_LIMIT:
        raise UserError(
            f"${{...}}: settings that name others become {size:,} characters, more than "
            f"{RESOLVED_LIMIT:,}; write them out"
        )


def _value_at(settings: Any, place: tuple[str, ...]) -> tuple[tuple[str, ...], Any]:
    """The value at a place; where a text stands on the way, which may name a section, that text."""
    for depth, key in enumerate(place):
        if isinstance(settings, str):
            return place[:depth], settings
        settings = _parts_of(settings).get(key)
    return place, settings


def _parts_of(value: Any) -> dict[str, Any]:
    if isinstance(value, dict):
        return {str(key): one for key, one in cast(dict[Any, Any], value).items()}
    if isinstance(value, list):
        return {str(number): one for number, one in enumerate(cast(list[Any], value))}
    return {}


def _references_in(text: str) -> list[str]:
    if _NESTED.search(text):
        raise UserError(f"{text[:80]}: ${{...}} inside of ${{...}} is not resolved; write it out")
    return _REFERENCE.findall(text)


def _place_named(place: tuple[str, ...], reference: str) -> tuple[str, ...]:
    """The place that a reference names: `${.a}` is beside its own, `${..a}` a level above."""
    name = reference.strip()
    dots = len(name) - len(name.lstrip("."))
    above = place[: max(0, len(place) - dots)] if dots else ()
    return (*above, *filter(None, re.split(r"[.\[\]]", name)))


def _explain(
    model: type[Config], error: ValidationError, options: Mapping[str, str] | None = None
) -> tuple[str, str]:
    """The setting that is wrong, and what to say. A name that does not exist comes first: it is
    often why another one is missing."""
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
    if problem["type"] == "model_type" and isinstance(problem["input"], str):
        own = next((name for name in setting_names(model) if name.startswith(f"{key}.")), "")
        return key, f"{key} is a section of settings: {own}={problem['input']}?"
    text = problem["msg"].removeprefix("Value error, ")
    if isinstance(problem["input"], dict):  # a whole section: the text names what is wrong in it
        return key, f"{key}: {text}" if key else text
    return key, f"{key}: {text} (got {problem['input']!r})" if key else text


def _other_name(model: type[Config], key: str) -> str:
    """What to set in place of a setting of another library, of the names that the config has."""
    parts = [part for part in model.other_names.get(key, "").split(" or ") if part]
    own = [part for part in parts if part.partition(".")[0] in model.model_fields]
    return " or ".join(own or parts)


def _nearest(key: str, known: list[str]) -> str:
    """`did you mean`: a setting of the same section, a section, or one by its last name alone."""
    if not known:  # such as the options of a preset that has none
        return ": there is none here"
    parent, _, last = key.rpartition(".")
    siblings = [name for name in known if name.startswith(f"{parent}." if parent else "")] or known
    forms = {form: form for name in siblings for form in (name, name.partition(".")[0])}
    forms = {name.rpartition(".")[2]: name for name in reversed(known)} | forms
    near = difflib.get_close_matches(key, forms, n=1) or difflib.get_close_matches(last, forms, n=1)
    return f"; did you mean {forms[near[0]]}?" if near else f"; known: {', '.join(siblings[:12])}"


def _first_line(error: Exception) -> str:
    from yaml import MarkedYAMLError

    if isinstance(error, MarkedYAMLError) and error.problem and error.problem_mark:
        return f"{error.problem} (line {error.problem_mark.line + 1})"
    return str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
