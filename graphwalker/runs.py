"""Run folders: one writer at a time, and one set of settings from the first command to the last."""

import functools
import inspect
import json
import logging
import os
import socket
import time
from collections.abc import Callable, Collection, Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, ParamSpec, TypeVar, cast

from pydantic import ValidationError

from graphwalker.config import Config, write_config
from graphwalker.errors import UserError
from graphwalker.files import is_same_file, read_json, write_json
from graphwalker.trust import runs_more

log = logging.getLogger(__name__)

LOCK = ".lock"
UNRESOLVED = "unresolved.jsonl"
"""Written into a run's folder before the run begins: questions that the graph does not settle."""
ATTEMPTS, CARD = "attempts.jsonl", "datacard.json"
"""What a run of the data pipeline appends to, and what it writes last."""
_REMEDY = "choose another output folder, or remove this one to start again"
GRACE_S = 5.0
"""How long a new command waits for the children of a killed one, which hold its lock a moment."""

Facts = Mapping[str, Any]
"""JSON values, or configs."""
P = ParamSpec("P")
R = TypeVar("R")


def claim(
    folder: Path,
    facts: Facts | Config,
    name: str = "run.json",
    *,
    free: Collection[str] = (),
    places: Collection[str] = (),
    foreign: str = "*.jsonl",
) -> bool:
    """Write what a run is made from into its folder, or check that it was begun with the same.

    Returns whether the folder is new. A config among the facts is compared setting by setting: one
    that was not written down has its default. `free` names settings that may change between a run
    and its resumption; a config that is the claim itself (`config.yaml`) is written whole, they are
    left out elsewhere.
    `places` names settings (`a.b`) that say where a file is, whose content the caller compares: a
    run resumes after its files have moved, and its config then has their new places. Of files
    with their digests under such a name, the digests are compared.
    Raises `UserError` naming the field that differs, or for a folder without `name` that holds
    files that match `foreign`.
    """
    path = folder / name
    if not path.is_file():
        if any(
            file.suffix != ".partial" and file.name not in (LOCK, UNRESOLVED)
            for file in folder.glob(foreign)
        ):
            raise UserError(f"{folder}: contains files of another run; choose another folder")
        if isinstance(facts, Config):
            write_config(facts, folder, name)
        else:
            write_json(path, _plain(facts, free))
        return True
    stored = stored_facts(path)
    found, now = ({"": stored}, {"": facts}) if isinstance(facts, Config) else (stored, facts)
    found = {key: _complete(value, now.get(key), free) for key, value in found.items()}
    difference = _difference(found, _plain(now, free), places)
    if difference:
        raise UserError(f"{folder}: {difference}; {_REMEDY}")
    if isinstance(facts, Config):
        mend_config(facts, folder, name, free)
    return False


def mend_config(
    config: Config, folder: Path, name: str = "config.yaml", free: Collection[str] = ()
) -> None:
    """Write the config into its folder where it is not there or was cut off; settings in `free` may
    differ."""
    try:
        stored = stored_facts(folder / name)
    except UserError:
        stored = dict[str, Any]()
    if {key: value for key, value in stored.items() if key not in free} != _dump(config, free):
        write_config(config, folder, name)


def warn_if_unfinished(path: Path | str) -> None:
    """Warn that a file is published by a run of the data pipeline that is not finished."""
    folder = Path(path).parent
    if (folder / ATTEMPTS).is_file() and not (folder / CARD).is_file():
        log.warning(
            "%s: its run is not finished, so records are missing; the same command goes on", path
        )


@contextmanager
def lock_folder(folder: Path) -> Generator[None, None, None]:
    """Be the one process that writes the folder. Raises `UserError` naming the one that does.

    The kernel frees the lock of a process that has ended, however it ended.
    """
    made = not folder.exists()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except FileExistsError:
        raise UserError(f"{folder}: is a file; choose a folder") from None
    except FileNotFoundError:  # of a file system that holds no files of ours, such as /proc
        raise UserError(f"{folder}: no folder can be made there; give another path") from None
    try:
        with _hold(folder / LOCK, folder):
            yield
    finally:
        # A command that fails before it writes anything leaves no folder behind.
        if made and folder.is_dir() and not any(folder.iterdir()):
            folder.rmdir()


@contextmanager
def locked_file(path: Path) -> Generator[None, None, None]:
    """Be the one process that writes a file, or a folder that only appears when it is whole: the
    lock stands beside it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with _hold(path.with_name(f".{path.name}{LOCK}"), path):
        yield


def refuse_own_input(out: Path, *inputs: Path) -> None:
    """Raise `UserError` where a result would be written over the file that it is made from."""
    if any(path.resolve() == out.resolve() for path in inputs):
        raise UserError(f"{out}: is the file that is read; choose another --out")


def one_writer(argument: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Decorate a function that writes a folder: `lock_folder` holds as long as it runs.

    `argument` is the parameter that names the folder, or `parameter.field`. Of the processes of one
    training run (`RANK`) the first takes the lock for all.
    """
    name, _, field = argument.partition(".")

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        signature = inspect.signature(function)

        @functools.wraps(function)
        def alone(*args: P.args, **kwargs: P.kwargs) -> R:
            if os.environ.get("RANK", "0") != "0":
                return function(*args, **kwargs)
            value: Any = signature.bind(*args, **kwargs).arguments[name]
            with lock_folder(Path(getattr(value, field) if field else value)):
                return function(*args, **kwargs)

        return alone

    return decorate


@contextmanager
def _hold(path: Path, result: Path) -> Generator[None, None, None]:
    try:
        file = _take(path, result)
    except FileNotFoundError:
        raise UserError(f"{result}: nothing can be written there; give another path") from None
    try:
        file.truncate(0)
        file.write(_owner())
        file.flush()
        yield
    finally:
        path.unlink(missing_ok=True)
        file.close()


def _take(path: Path, result: Path) -> IO[str]:
    import fcntl

    deadline = time.monotonic() + GRACE_S
    while True:
        file = path.open("a+", encoding="utf-8")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            owner = _read_owner(file)
            if not _is_dead(owner) or time.monotonic() > deadline:
                raise _refusal(result, owner) from None
            time.sleep(0.1)
            continue
        except OSError as error:
            # Without locks the owner's name in the file is all there is.
            owner = _read_owner(file)
            if owner and not _is_dead(owner):
                raise _refusal(result, f"{owner} (or, if it is gone, remove {path})") from None
            log.warning("%s: no locks on this file system (%s)", path.parent, error.strerror)
            return path.open("a+", encoding="utf-8")
        if is_same_file(file, path):
            return file
        file.close()


def _read_owner(file: IO[str]) -> str:
    """Return the owner that the lock's file names; the file is closed."""
    with file:
        file.seek(0)
        return file.read().strip()


def _refusal(result: Path, owner: str) -> UserError:
    return UserError(
        f"{result}: {owner or 'another process'} is writing here: wait for it, or choose "
        "another folder"
    )


def _owner() -> str:
    job = os.environ.get("SLURM_JOB_ID", "")
    return f"{socket.gethostname()} process {os.getpid()}" + (f" job {job}" if job else "")


def _is_dead(owner: str) -> bool:
    host, _, rest = owner.partition(" process ")
    number = rest.split(" ")[0]
    if host != socket.gethostname() or not number.isdigit():
        return False
    try:
        os.kill(int(number), 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        return False
    return False


def stored_facts(path: Path) -> dict[str, Any]:
    """Return what a run was begun with, from its file. Raises `UserError` for one damaged."""
    if path.suffix == ".json":
        return read_json(path, _REMEDY)
    from omegaconf import OmegaConf
    from yaml import YAMLError

    try:
        loaded: Any = OmegaConf.to_container(OmegaConf.load(path))
    except (OSError, ValueError, YAMLError, AssertionError) as error:
        why = str(error).partition("\n")[0] or "no settings"
        raise UserError(f"{path}: damaged ({why}): {_REMEDY}") from None
    if not isinstance(loaded, dict) or not loaded:
        raise UserError(f"{path}: damaged (no settings): {_REMEDY}")
    return cast(dict[str, Any], loaded)


def _plain(facts: Facts, free: Collection[str]) -> dict[str, Any]:
    """Return the facts as they come back from a JSON file."""
    dumped = {
        key: _dump(value, free) if isinstance(value, Config) else value
        for key, value in facts.items()
    }
    return json.loads(json.dumps(dumped))


def _dump(config: Config, free: Collection[str]) -> dict[str, Any]:
    return config.model_dump(mode="json", exclude=set(free) or None)


def _complete(found: Any, now: Any, free: Collection[str]) -> Any:
    """Return a stored config with the defaults of what was not written down."""
    if not isinstance(now, Config) or not isinstance(found, dict):
        return found
    stored = cast("dict[str, Any]", found)
    try:
        # Validation runs the code of a preset of one's own: only one that is typed now may run.
        if not runs_more(type(now), stored, now.model_dump(mode="json")):
            return _dump(type(now).model_validate(stored), free)
    except ValidationError:  # a setting that is gone: the comparison names it
        pass
    return {key: value for key, value in stored.items() if key not in free}


def _difference(found: Any, now: Any, places: Collection[str], key: str = "") -> str:
    """Return the first field under which two trees differ, with both values; `""` when equal."""
    if key in places and found is not None and now is not None:
        if not isinstance(found, dict) or not isinstance(now, dict):
            return ""
        # By the names that the files have now.
        theirs, ours = cast("dict[str, Any]", found), cast("dict[str, Any]", now)
        if len(theirs) == len(ours):
            found = dict(zip(ours, theirs.values(), strict=True))
    if isinstance(found, dict) and isinstance(now, dict):
        theirs, ours = cast("dict[str, Any]", found), cast("dict[str, Any]", now)
        for name in dict.fromkeys((*ours, *theirs)):
            part = ".".join(filter(None, (key, name)))
            if inner := _difference(theirs.get(name), ours.get(name), places, part):
                return inner
        return ""
    return "" if found == now else f"{key.removeprefix('config.')} was {found!r} and is now {now!r}"
