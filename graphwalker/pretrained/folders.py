"""Model folders: where one lies, and what it may hold. It is data: nothing of it is run."""

import json
import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, cast

from graphwalker.errors import UserError
from graphwalker.files import json_fault

ADAPTER = "adapter_config.json"
WEIGHTS, INDEX = "model.safetensors", "model.safetensors.index.json"
ADAPTER_WEIGHTS = "adapter_model.safetensors"
PICKLES = ("*.bin", "*.pt", "*.pth", "*.ckpt")
NO_WEIGHTS = ("training_args.bin", "optimizer.bin", "optimizer.pt", "scheduler.pt", "scaler.pt")
CODE = ("auto_map", "custom_generate", "trust_remote_code")
"""Keys under which a config names code, at any depth."""
KERNELS = ("attn_implementation", "_attn_implementation", "experts_implementation")
"""Keys whose value may be a repository of kernels, which are code."""
LARGEST_CONFIG = 64 << 20
MOST_LAYERS = 4096


def find_folder(model: str | Path, fetch: bool = False) -> Path:
    """Return the folder of a model: a path, or what this machine has of a Hub name; with `fetch` it
    is downloaded, without code and pickles. Raises `UserError` where there is none."""
    path = Path(model).expanduser()
    if path.is_dir():
        return path
    if path.is_file():
        is_gguf = path.suffix == ".gguf"
        raise _gguf(path) if is_gguf else UserError(f"{path}: a file; give a model's folder")
    import huggingface_hub
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError, OfflineModeIsEnabled

    library: Any = huggingface_hub
    name, data = str(model), ["*.json", "*.safetensors", "*.txt", "*.model", "*.jinja"]
    here = {"local_files_only": not fetch, "allow_patterns": data}
    try:
        return Path(library.snapshot_download(name, **here))
    except (OSError, HFValidationError, HfHubHTTPError, OfflineModeIsEnabled):
        fetched = f"hf download {name} fetches one" if "/" in name else "most are called owner/name"
        raise UserError(
            f"{name}: no such model folder, and no Hub model of that name on this machine "
            f"({fetched}); the model of a server needs --api URL"
        ) from None


def refuse_code(folder: Path) -> None:
    """Raise `UserError` for a folder whose configs name code to run, or are no JSON."""
    generate = folder / "custom_generate" / "generate.py"
    if generate.is_file():
        raise UserError(f"{generate}: code of a model folder is never run; remove custom_generate/")
    for file in sorted((*folder.glob("*config*.json"), *folder.glob("*/*config*.json"))):
        for key, value in _items(read_config_file(file)):
            names = list(_names(value)) if key in CODE else []
            names += [value] if key in KERNELS and isinstance(value, str) and "/" in value else []
            if key == "megatron_core" and value not in (None, "megatron.core"):
                names = [str(value)]
            if names:
                raise UserError(
                    f"{file}: names code to run ({key}: {names[0]}), and code of a model folder is "
                    f"never run; where transformers knows this model by itself, take {key} out of "
                    "that file"
                )


def refuse_foreign_modules(folder: Path) -> None:
    """Raise `UserError` where `modules.json` of a sentence encoder names a class of its own."""
    file = folder / "modules.json"
    for key, value in _items(_read(file)) if file.is_file() else ():
        if key == "type" and not str(value).startswith("sentence_transformers."):
            raise UserError(f"{file}: names code to run (type: {value}), which is never run")


def check_config(folder: Path, where: str) -> None:
    """Raise `UserError` for a folder without the config of a model, and for one beyond reason."""
    file = folder / "config.json"
    if not file.is_file():
        if any(folder.glob("*.gguf")):
            raise _gguf(next(folder.glob("*.gguf")))
        configs = (*folder.glob("*/config.json"), *folder.glob("*/final/config.json"))
        inner = [file.parent for file in sorted(configs, key=_finality)]
        models = [place for place in inner if any(place.glob("*.safetensors"))]
        hint = f"; did you mean {models[-1]}?" if models else ""
        raise UserError(f"{where}: no model here, as it has no config.json{hint}")
    for key, value in _items(read_config_file(file)):
        if key.endswith(("layers", "n_layer")) and isinstance(value, int) and value > MOST_LAYERS:
            raise UserError(f"{file}: {key} {value:,}: more than {MOST_LAYERS:,} layers")


def _finality(config: Path) -> tuple[bool, float]:
    """Return a key that puts the model of a finished run last, of several the newest."""
    return config.parent.name == "final", config.stat().st_mtime


def weight_files(folder: Path) -> list[Path]:
    """Return the files that hold the weights of a model, or of an adapter. Raises `UserError` where
    there are none, or where they are pickles, which run code when they are read."""
    one = folder / (ADAPTER_WEIGHTS if (folder / ADAPTER).is_file() else WEIGHTS)
    index = folder / INDEX
    if one.is_file():
        return [one]
    if index.is_file():
        named = read_config_file(index).get("weight_map")
        whole = isinstance(named, dict)
        names = set(cast("dict[str, Any]", named).values()) if whole else set[Any]([None])
        if not all(isinstance(name, str) and Path(name).name == name for name in names):
            raise UserError(f"{index}: weight_map must name files of this folder")
        return [_there(folder / name) for name in sorted(names)]
    found = [file for kind in PICKLES for file in folder.glob(kind) if file.name not in NO_WEIGHTS]
    if found:
        raise UserError(
            f"{found[0]}: pickled weights can run code and are not read; convert them to "
            f"{one.name} where you trust them (save_pretrained writes it)"
        )
    raise UserError(f"{folder}: no weights here (looked for {one.name})")


def _there(file: Path) -> Path:
    if not file.is_file():
        raise UserError(f"{file}: no such file, though {INDEX} names it")
    return file


def tensor_shapes(folder: Path) -> dict[str, tuple[int, ...]]:
    """Return the shape of every tensor in the weights. Raises `UserError` for a damaged file."""
    import safetensors

    library: Any = safetensors
    shapes: dict[str, tuple[int, ...]] = {}
    for file in weight_files(folder):
        try:
            with library.safe_open(file, framework="numpy") as tensors:
                for name in tensors.keys():  # noqa: SIM118  # it is no mapping
                    shapes[name] = tuple(tensors.get_slice(name).get_shape())
        except (safetensors.SafetensorError, OSError, ValueError) as error:
            raise UserError(f"{file}: damaged weights ({error}); get it again") from None
    return shapes


def count_elements(shapes: Mapping[str, tuple[int, ...]]) -> int:
    """Return how many numbers tensors of these shapes hold."""
    return sum(map(math.prod, shapes.values()))


def read_config_file(file: Path) -> dict[str, Any]:
    """Return the object of a JSON file of a model folder. Raises `UserError`."""
    record = _read(file)
    if not isinstance(record, dict):
        raise UserError(f"{file}: damaged (no JSON object); get it again")
    return cast("dict[str, Any]", record)


def _read(file: Path) -> Any:
    try:
        if file.stat().st_size > LARGEST_CONFIG:
            raise UserError(f"{file}: larger than {LARGEST_CONFIG >> 20} MiB: no config")
        return json.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise UserError(f"{file}: cannot be read ({error.strerror})") from None
    except (ValueError, RecursionError) as error:
        raise UserError(f"{file}: damaged ({json_fault(error)}); get it again") from None


def _items(record: Any) -> Iterator[tuple[str, Any]]:
    """Yield every key of a JSON value with what it holds, at any depth."""
    waiting = [record]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            yield from cast("dict[str, Any]", value).items()
            waiting += cast("dict[str, Any]", value).values()
        elif isinstance(value, list):
            waiting += cast("list[Any]", value)


def _names(value: Any) -> Iterator[Any]:
    """Yield what is named in a value: every part that is neither null nor false."""
    if isinstance(value, dict):
        value = list(cast("dict[str, Any]", value).values())
    if isinstance(value, list):
        for part in cast("list[Any]", value):
            yield from _names(part)
    elif value not in (None, False, ""):
        yield value


def _gguf(file: Path) -> UserError:
    return UserError(
        f"{file}: GGUF weights are not read here; serve them (llama-server -m {file}) and give "
        "--api http://127.0.0.1:8080/v1, or take a safetensors folder (graphwalker model get)"
    )
