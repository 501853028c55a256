"""The trained ranker: what was learned from questions orders the relations of an entity. Its folder
holds a header as JSON and weights as npz, both checked when they are read."""

import io
import shutil
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from graphwalker.config import Config, parse_config
from graphwalker.errors import UserError
from graphwalker.files import digest, read_json, whole_bytes, write_json
from graphwalker.ranking.bm25 import words
from graphwalker.ranking.learned.model import BITS, DENSE, Weights, hash_text


def question_key(question: str, entity: str = "") -> int:
    """64 bits that tell the question, whatever its case and punctuation, seen from that entity."""
    return hash_text(f"{' '.join(words(question))}\t{' '.join(words(entity))}")


@dataclass(frozen=True, slots=True)
class KnownQuestions:
    """Digests in order, each with its fold."""

    keys: NDArray[np.uint64]
    folds: NDArray[np.uint8]

    @classmethod
    def of(cls, folds: dict[int, int]) -> "KnownQuestions":
        keys = sorted(folds)
        return cls(np.array(keys, np.uint64), np.array([folds[k] for k in keys], np.uint8))

    def fold(self, question: str, entity: str) -> int | None:
        """Return the fold that holds out the question at that entity; at an entity where it was not
        trained, that of its first hop; `None` for a question that is new."""
        for key in (question_key(question, entity), question_key(question)):
            place = int(np.searchsorted(self.keys, np.uint64(key)))
            if place < len(self.keys) and int(self.keys[place]) == key:
                return int(self.folds[place])
        return None


class TrainingFile(Config):
    """A file of questions that a ranker was trained on."""

    file: str
    digest: str
    weight: float
    """Of each of its examples."""
    questions: int
    """Questions that say which relations lead to their answers."""
    examples: int
    """Hops of these questions that the environment lists."""
    unlisted: int
    """Hops that no listing shows: nothing can be learned from them."""


class About(Config):
    """What a ranker is and how it was made; the header of its folder."""

    format_version: int = 2
    features: tuple[str, ...]
    """The numbers of each relation, besides pairs of words."""
    bits: int
    """The table of pairs has 2 ** bits weights."""
    folds: int
    whole_relations: float = 0.0
    """Share of the relations that a fold holds out with all their phrases."""
    seed: int
    epochs: int
    graph: str
    """Checksum of the graph whose listings were seen."""
    sources: tuple[TrainingFile, ...]
    weights: str = ""
    """Digest of the file of weights."""


@dataclass(frozen=True)
class LearnedRanker:
    """A `Ranker`. A question that it was trained on is ranked by the model that did not see it, so
    that listings of training questions are as hard as those of any other."""

    about: About
    weights: Weights
    known: KnownQuestions
    digest: str = ""
    """Of its folder; `""` before it is written."""

    def __call__(self, question: str, entity: str, relations: tuple[str, ...]) -> Sequence[str]:
        ordered = tuple(sorted(set(relations)))
        if len(ordered) < 2:
            return ordered
        fold = self.known.fold(question, entity)
        scores = self.weights.scores(question, entity, ordered, 0 if fold is None else fold + 1)
        order = sorted(range(len(ordered)), key=lambda i: (-scores[i], ordered[i]))
        return tuple(ordered[i] for i in order)

    @property
    def trained_on(self) -> tuple[str, ...]:
        """The files of its questions."""
        return tuple(source.file for source in self.about.sources)


HEADER, ARRAYS = "ranker.json", "ranker.npz"
FORMAT = 2
_REMEDY = "train it again with `graphwalker ranker train`, or copy the whole folder again"


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
    """Write arrays as `numpy.savez_compressed` does, but without a time of day in the bytes."""
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:  # pyright: ignore
        for name, array in arrays.items():
            data = io.BytesIO()
            np.lib.format.write_array(data, np.ascontiguousarray(array), allow_pickle=False)
            archive.writestr(zipfile.ZipInfo(f"{name}.npy"), data.getvalue(), zipfile.ZIP_DEFLATED)


def read_about(folder: Path | str) -> About:
    """Return the header. Raises `UserError` for a folder without one, or one of another version."""
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
    """Return the ranker of that folder. Raises `UserError` for a damaged or foreign one."""
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
