"""A ranker's folder: a header as JSON, weights as npz, both checked when it is read."""

import io
import shutil
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np

from graphwalker.config import parse_config
from graphwalker.errors import UserError
from graphwalker.files import digest, read_json, whole_bytes, write_json
from graphwalker.ranking.learned.features import DENSE
from graphwalker.ranking.learned.known import KnownQuestions
from graphwalker.ranking.learned.ranker import About, LearnedRanker
from graphwalker.ranking.learned.weights import BITS, Weights

HEADER, ARRAYS = "ranker.json", "ranker.npz"
FORMAT = 2
_REMEDY = "train it again with `graphwalker ranker train`, or copy the whole folder again"


def is_ranker(path: Path | str) -> bool:
    """Whether the path is the folder of a trained ranker."""
    return (Path(path) / HEADER).is_file()


def folder_digest(folder: Path | str) -> str:
    """16 characters that tell this ranker from any other."""
    return digest(Path(folder) / HEADER, Path(folder) / ARRAYS)


def write_ranker(ranker: LearnedRanker, folder: Path | str) -> LearnedRanker:
    """Write the ranker; returned with the digest of its folder."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    arrays = {
        "words": ranker.weights.words.astype(np.float16),
        "dense": ranker.weights.dense,
        "keys": ranker.known.keys,
        "folds": ranker.known.folds,
    }
    with whole_bytes(folder / ARRAYS) as out:
        _write_arrays(out, arrays)
    about = ranker.about.model_copy(update={"weights": digest(folder / ARRAYS)})
    write_json(folder / HEADER, about.model_dump(mode="json"))
    return replace(ranker, about=about, digest=folder_digest(folder))


def _write_arrays(out: object, arrays: dict[str, np.ndarray]) -> None:
    """As `numpy.savez_compressed`, but the same bytes for the same arrays: no time of day."""
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:  # pyright: ignore
        for name, array in arrays.items():
            data = io.BytesIO()
            np.lib.format.write_array(data, np.ascontiguousarray(array), allow_pickle=False)
            archive.writestr(zipfile.ZipInfo(f"{name}.npy"), data.getvalue(), zipfile.ZIP_DEFLATED)


def read_about(folder: Path | str) -> About:
    """The header. Raises `UserError` for a folder without one, or one of another version."""
    path = Path(folder) / HEADER
    if not path.is_file():
        raise UserError(f"{folder}: no trained ranker (no {HEADER}); {_REMEDY}")
    data = read_json(path, _REMEDY)
    version = data.get("format_version")
    if version != FORMAT:
        raise UserError(f"{path}: format {version!r}, this version reads {FORMAT}: {_REMEDY}")
    about = parse_config(About, data, str(path))
    if about.features != DENSE or about.bits != BITS:
        raise UserError(f"{path}: its features are not those of this version: {_REMEDY}")
    return about


def read_ranker(folder: Path | str) -> LearnedRanker:
    """The ranker of that folder. Raises `UserError` for a damaged or foreign one."""
    about, path = read_about(folder), Path(folder) / ARRAYS
    if not path.is_file():
        raise UserError(f"{path}: missing: {_REMEDY}")
    if digest(path) != about.weights:
        raise UserError(f"{path}: damaged (not the file that {HEADER} names): {_REMEDY}")
    try:
        with np.load(path, allow_pickle=False) as arrays:
            weights = Weights(arrays["words"].astype(np.float32), arrays["dense"])
            known = KnownQuestions(arrays["keys"], arrays["folds"])
    except (OSError, ValueError, KeyError, zipfile.BadZipFile) as error:
        raise UserError(f"{path}: damaged ({error}): {_REMEDY}") from None
    if weights.words.shape != (1 << BITS, about.folds + 1):
        raise UserError(f"{path}: damaged (shape {weights.words.shape}): {_REMEDY}")
    return LearnedRanker(about, weights, known, folder_digest(folder))


def copy_ranker(folder: Path | str, to: Path | str) -> About:
    """Copy the ranker's two files. Raises `UserError` as `read_about` does."""
    about = read_about(folder)
    to = Path(to)
    if to.resolve() != Path(folder).resolve():
        to.mkdir(parents=True, exist_ok=True)
        for name in (ARRAYS, HEADER):
            shutil.copyfile(Path(folder) / name, to / name)
    return about
