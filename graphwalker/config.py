"""Typed configs: YAML plus `a.b=c` overrides into frozen pydantic models, with errors that help."""

import difflib
import logging
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, TypeVar, cast, get_args

from pydantic import BaseModel, ConfigDict, ValidationError, model_validator

from graphwalker.errors import UserError

_log = logging.getLogger(__name__)


class Config(BaseModel):
    """Base of every config: frozen, unknown keys refused, fields documented under the field."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    renamed: ClassVar[Mapping[str, str]] = {}
    """Settings that had another name: old -> new. Old files and run folders stay readable."""

    @model_validator(mode="before")
    @classmethod
    def _read_old_names(cls, data: Any) -> Any:
        old = [key for key in cls.renamed if isinstance(data, dict) and key in data]
        if not old:
            return data
        values = dict(cast("dict[str, Any]", data))
        for key in old:
            new = cls.renamed[key]
            if new in values:
                raise ValueError(f"{key} is the old name of {new}: set {new} alone")
            values[new] = values.pop(key)
            _log.warning("the setting %s is called %s now; the old name is read", key, new)
        return values


C = TypeVar("C", bound=Config)

SHARED = "shared"
"""The section whose settings every other section of its file has, too."""


def load_config(model: type[C], path: Path | str | None, overrides: Sequence[str] = ()) -> C:
    """Read YAML at `path` (none: defaults), merge `a.b=c` overrides, validate.

    `FILE#SECTION` reads one section of a file that holds several configs, over its section
    `shared`. Raises `UserError` naming the file, the key and the nearest known key.
    """
    source = str(path) if path else "command line"
    return parse_config(model, _loaded(str(path or ""), overrides), source)


def _loaded(path: str, overrides: Sequence[str]) -> Any:
    from omegaconf import OmegaConf
    from omegaconf.errors import OmegaConfBaseException
    from yaml import YAMLError

    for item in overrides:
        if "=" not in item.lstrip("="):
            raise UserError(f"override {item!r} is not of the form a.b=c")
    try:
        base = _read(path) if path else OmegaConf.create({})
        merged = OmegaConf.merge(base, OmegaConf.from_dotlist(list(overrides)))
        return OmegaConf.to_container(merged, resolve=True)
    except (OmegaConfBaseException, YAMLError, UnicodeDecodeError, ValueError, TypeError) as error:
        source = path or "command line"
        raise UserError(f"{source}: not a valid config: {_first_line(error)}") from None


def keys_of(path: Path | str) -> set[str]:
    """The settings that a file, or a section of one, gives at its top level."""
    return set(_loaded(str(path), ()))


def parse_config(model: type[C], data: Any, source: str) -> C:
    """Validate plain data. Raises `UserError` with one line for the first problem."""
    if not isinstance(data, dict):
        raise UserError(f"{source}: a config must be a mapping of keys to values")
    try:
        return model.model_validate(data)
    except ValidationError as error:
        raise UserError(f"{source}: {_explain(model, error)}") from None


def write_config(config: Config, folder: Path, name: str = "config.yaml") -> Path:
    """Write the resolved config (and the git commit, where there is one) into a run folder."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    commit = git_commit()
    path.write_text(
        f"# resolved config; git commit {commit or 'unknown'}\n{as_yaml(config)}", encoding="utf-8"
    )
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


def describe(model: type[Config], prefix: str = "") -> Iterator[tuple[str, str, str, str]]:
    """(key, type, default, meaning) of every field, nested ones with dotted keys."""
    for name, field in model.model_fields.items():
        nested = _nested_model(field.annotation)
        if nested is not None:
            yield from describe(nested, f"{prefix}{name}.")
            continue
        default = (
            "(required)"
            if field.is_required()
            else repr(field.get_default(call_default_factory=True))
        )
        kind = getattr(field.annotation, "__name__", None) or str(field.annotation)
        if get_args(field.annotation):
            kind = str(field.annotation).replace("typing.", "")
        yield f"{prefix}{name}", kind, default, " ".join((field.description or "").split())


def _nested_model(annotation: Any) -> type[Config] | None:
    for candidate in (annotation, *get_args(annotation)):
        if isinstance(candidate, type) and issubclass(candidate, Config):
            return candidate
    return None


def _read(path: str) -> Any:
    from omegaconf import OmegaConf

    file, _, section = path.partition("#")
    loaded: Any = OmegaConf.load(_existing(file))
    if not section:
        return loaded
    OmegaConf.resolve(loaded)
    known = [str(n) for n, part in loaded.items() if n != SHARED and not isinstance(part, str)]
    if section not in known:
        raise UserError(f"no section {section!r}; it has {', '.join(known)}")
    return OmegaConf.merge(loaded.get(SHARED) or {}, loaded[section] or {})


def _existing(path: Path | str) -> Path:
    path = Path(path)
    if not path.is_file():
        raise UserError(f"{path}: no such config file")
    return path


def _explain(model: type[Config], error: ValidationError) -> str:
    problem = error.errors()[0]
    key = ".".join(str(part) for part in problem["loc"])
    if problem["type"] == "extra_forbidden":
        known = [name for name, *_ in describe(model)]
        parent, _, last = key.rpartition(".")
        siblings = [k for k in known if k.startswith(f"{parent}." if parent else "")] or known
        near = difflib.get_close_matches(key, siblings, n=1, cutoff=0.5)
        hint = f"; did you mean {near[0]}?" if near else f"; known: {', '.join(known[:12])}"
        return f"{key} is not a setting ({last!r} unknown){hint}"
    if problem["type"] == "missing":
        return f"{key} is required: set it in the file or as {key}=VALUE"
    return f"{key}: {problem['msg']} (got {problem['input']!r})"


def _first_line(error: Exception) -> str:
    return str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
