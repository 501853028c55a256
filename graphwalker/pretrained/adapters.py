"""Adapters and their bases: where a base lies, and whether it is the one that was trained on."""

import hashlib
import json
import logging
from functools import cache
from pathlib import Path
from typing import Any

from graphwalker.errors import UserError
from graphwalker.files import cache_folder, write_json
from graphwalker.pretrained.folders import (
    ADAPTER,
    find_folder,
    read_config_file,
    tensor_shapes,
    weight_files,
)

log = logging.getLogger(__name__)

MODEL_FILE = "graphwalker.json"
"""What a model keeps of its training, beside its weights."""
_BLOCK = 1 << 22


def is_adapter(folder: Path) -> bool:
    """Return whether the folder holds an adapter, which needs a base, and no whole model. Raises
    `UserError` where it holds both: transformers would add one to the other in silence."""
    found = (folder / ADAPTER).is_file()
    if found and (folder / "config.json").is_file():
        raise UserError(f"{folder}: holds a model and an adapter; take {ADAPTER} out, or the model")
    return found


def find_base(adapter: Path) -> tuple[str, Path]:
    """Return the base that an adapter names, and its folder on this machine. Raises `UserError`."""
    file = adapter / ADAPTER
    name = read_config_file(file).get("base_model_name_or_path")
    if not isinstance(name, str) or not name:
        raise UserError(f"{file}: base_model_name_or_path is missing: no adapter of a model")
    try:
        base = find_folder(name)
    except UserError:
        hub = name.count("/") == 1 and not name.startswith((".", "~"))
        fetch = f"hf download {name} fetches it, or write its folder there" if hub else ""
        raise UserError(
            f"{file}: base_model_name_or_path: {name}: no such folder"
            + (f", nor a Hub model on this machine ({fetch})" if hub else "")
        ) from None
    if is_adapter(base):
        raise UserError(f"{file}: its base {name} is an adapter, too; merge that one first")
    return name, base


def find_adapter(model: str) -> Path | None:
    """Return the folder of an adapter, given or in the Hub's cache; `None` for a whole model, and
    for one that is not on this machine."""
    try:
        folder = find_folder(model)
    except UserError:
        return None
    return folder if is_adapter(folder) else None


def base_of(model: str) -> str:
    """Return the base that an adapter names, and any other model as it is. Raises `UserError`."""
    adapter = find_adapter(model)
    return find_base(adapter)[0] if adapter else model


def check_weights(adapter: Path, base: Path, force: bool = False) -> None:
    """Raise `UserError` where the base has other weights than those that the adapter was trained
    on, unless `force` is set; warns once where the adapter does not say which those were."""
    recorded = _recorded(adapter / MODEL_FILE)
    if not recorded:
        _warn(f"{adapter} does not say which weights it was trained on: {base} is taken as it is")
        return
    found = weights_digest(base)
    if found == recorded:
        return
    if not force:
        raise UserError(
            f"{adapter}: {base} has other weights (digest {found}) than those that this adapter "
            f"was trained on ({recorded}): give it that base, or take this one all the same with "
            "--force-base (policy.force_base=true)"
        )
    _warn(f"{adapter} is run on other weights than those that it was trained on: {base}")


def _recorded(file: Path) -> str:
    found = read_config_file(file).get("base_weights") if file.is_file() else ""
    return found if isinstance(found, str) else ""


@cache
def _warn(text: str) -> None:
    """Say it once."""
    log.warning("WARNING: %s", text)


def weights_digest(folder: Path) -> str:
    """Return 16 characters that tell the weights in a folder from any others: every tensor in the
    order of its name, with type and shape. Other shards of the same weights have the same one.

    It is taken once for files of the same place, size and time.
    """
    files = [file.resolve() for file in weight_files(folder)]
    facts = [(str(file), file.stat().st_size, file.stat().st_mtime_ns) for file in files]
    key = hashlib.sha256(json.dumps(facts).encode()).hexdigest()[:32]
    kept = cache_folder() / "weights" / f"{key}.json"
    if kept.is_file():
        return str(read_config_file(kept)["digest"])
    tensor_shapes(folder)  # a damaged file is refused
    found = _digest(files)
    try:
        write_json(kept, {"digest": found, "files": facts})
    except OSError:  # a home that cannot be written to: it is taken again next time
        log.info("%s: cannot be kept", kept)
    return found


def _digest(files: list[Path]) -> str:
    hasher = hashlib.blake2b()
    places = {name: (file, *place) for file in files for name, place in _tensors(file).items()}
    for name in sorted(places):
        file, facts, start, length = places[name]
        hasher.update(f"{name}:{json.dumps(facts)}:".encode())
        with file.open("rb") as data:
            data.seek(start)
            while length:
                block = data.read(min(_BLOCK, length))
                length -= len(block)
                hasher.update(block)
    return hasher.hexdigest()[:16]


def _tensors(file: Path) -> dict[str, tuple[Any, int, int]]:
    """Return each tensor of a checked file: its type and shape, where it begins, how long it is."""
    with file.open("rb") as data:
        size = int.from_bytes(data.read(8), "little")
        header: dict[str, Any] = json.loads(data.read(size))
    header.pop("__metadata__", None)
    return {
        name: ([about["dtype"], about["shape"]], 8 + size + start, end - start)
        for name, about in header.items()
        for start, end in [about["data_offsets"]]
    }
