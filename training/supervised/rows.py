"""Training rows: trajectories as token ids and labels, encoded once, kept in the run folder."""

import hashlib
import json
import logging
import math
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from graphwalker import __version__
from graphwalker.errors import UserError
from graphwalker.files import read_records
from graphwalker.runs import warn_if_unfinished
from graphwalker.tokens.formats import FormatSetting, chat_format
from graphwalker.tokens.segments import IGNORED, RememberingTokenizer, Row, training_rows
from graphwalker.trajectory import Trajectory
from training.config import SftConfig
from training.runs.distributed import rank

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Demonstrations:
    """Trajectory files whose rows are replayed in GRPO; `SftConfig` documents each field."""

    data: tuple[str, ...]
    format: FormatSetting
    max_length: int
    mask_injected_errors: bool = True


@dataclass(frozen=True, slots=True)
class Rows:
    """The rows that a run trains on, and counts of those that were set aside."""

    dataset: Any
    """A `datasets.Dataset` of the columns `input_ids` and `labels`, read from disk as needed."""
    lengths: list[int]
    """Tokens of each row."""
    trained_tokens: int
    longest_turn: int
    """Tokens of the longest trained turn: what the cap of a completion must leave room for."""
    long_ones: dict[str, int]
    """Tokens of the rows that were set aside as too long, by trajectory."""
    failed: int
    """Trajectories that ended with an infrastructure failure (graph, policy): never trained on."""

    @property
    def too_long(self) -> int:
        return len(self.long_ones)

    @property
    def longest(self) -> int:
        """Tokens of the longest row that was seen, set aside or not."""
        return max([*self.lengths, *self.long_ones.values()], default=0)

    def facts(self) -> dict[str, Any]:
        return {
            "rows": len(self.lengths),
            "too_long": self.too_long,
            "failed": self.failed,
            "longest": self.longest,
            "tokens": sum(self.lengths),
            "trained_tokens": self.trained_tokens,
        }

    def length_report(self, limit: int) -> dict[str, Any]:
        """Return how long the rows are, and which were longer than `limit`: a trajectory's id and
        the number of its context."""
        every = sorted([*self.lengths, *self.long_ones.values()])
        shares = (0.5, 0.9, 0.95, 0.99, 1.0)
        return {
            "max_length": limit,
            "rows": len(every),
            "too_long": self.too_long,
            "longest_turn": self.longest_turn,
            "tokens_at_share": {str(s): every[math.ceil(s * len(every)) - 1] for s in shares},
            "left_out": self.long_ones,
        }


def read_rows(config: SftConfig | Demonstrations, tokenizer: Any, cache: Path) -> Rows:
    """Encode the trajectory files, or take what `cache` has of them: each start of a run, and each
    of its processes, reads what the first one encoded. Raises `UserError` when nothing is left to
    train on."""
    for path in config.data:
        warn_if_unfinished(path)
    rows = _sort_out(_encoded(config, tokenizer, cache), config.max_length)
    if not rows.lengths:
        raise UserError(
            f"{', '.join(config.data)}: no row to train on ({rows.too_long} longer than "
            f"max_length {config.max_length}, {rows.failed} failed)"
        )
    if rows.too_long:
        log.warning(
            "%d of %d rows are longer than max_length %d (the longest has %d tokens) and set aside",
            rows.too_long,
            rows.too_long + len(rows.lengths),
            config.max_length,
            rows.longest,
        )
    return rows


def injected_errors(trajectory: Trajectory) -> set[int]:
    """Return the turns in which an expert was made to err, as its provenance lists them."""
    return {e["turn"] for e in trajectory.provenance.get("errors", ()) if e.get("slip")}


def _encoded(config: SftConfig | Demonstrations, tokenizer: Any, cache: Path) -> Any:
    """Return all rows as a `datasets.Dataset`. The first process makes it, under a lock of
    `datasets`; it appears whole or not at all."""
    from datasets import Dataset, Features, List, Value, disable_progress_bars
    from datasets.exceptions import DatasetGenerationError

    ids, number = List(Value("int32")), Value("int32")
    columns = {"id": Value("string"), "tokens": number, "trained": number, "longest_turn": number}
    key = _fingerprint(config, tokenizer)
    disable_progress_bars()
    if rank() == 0:
        _remove_others(cache, key)
    try:
        return Dataset.from_generator(
            lambda: _encode(config, tokenizer),
            features=Features({**columns, "input_ids": ids, "labels": ids}),
            cache_dir=str(cache),
            fingerprint=key,
        )
    except DatasetGenerationError as error:
        raise error.__cause__ or error from None


def _encode(config: SftConfig | Demonstrations, tokenizer: Any) -> Iterator[dict[str, Any]]:
    """Yield a line per row. One that is too long is without its ids; a failed trajectory is a line
    of 0 tokens."""
    fmt, remembering = chat_format(config.format), RememberingTokenizer(tokenizer)
    for trajectory in _trajectories(config.data):
        if trajectory.stop.infrastructure_failure:
            yield _line(trajectory.id, Row([], []), 0)
            continue
        errors = injected_errors(trajectory) if config.mask_injected_errors else set()
        for number, row in enumerate(training_rows(trajectory, fmt, remembering, errors)):
            yield _line(f"{trajectory.id}/{number}", row, config.max_length)


def _line(name: str, row: Row, limit: int) -> dict[str, Any]:
    kept = row if len(row.input_ids) <= limit else Row([], [])
    return {
        "id": name,
        "tokens": len(row.input_ids),
        "trained": sum(label != IGNORED for label in kept.labels),
        "longest_turn": kept.longest_turn,
        "input_ids": kept.input_ids,
        "labels": kept.labels,
    }


def _sort_out(dataset: Any, limit: int) -> Rows:
    """Return the lines that hold rows, and what the others say."""
    facts = ["id", "tokens", "trained", "longest_turn"]
    lines = dataset.select_columns(facts).with_format("arrow")[:].to_pydict()
    tokens: list[int] = lines["tokens"]
    kept = [place for place, count in enumerate(tokens) if 0 < count <= limit]
    return Rows(
        dataset.select_columns(["input_ids", "labels"]).select(kept),
        [tokens[place] for place in kept],
        sum(lines["trained"]),
        max(lines["longest_turn"], default=0),
        {name: n for name, n in zip(lines["id"], tokens, strict=True) if n > limit},
        tokens.count(0),
    )


def _trajectories(paths: Sequence[str]) -> Iterator[Trajectory]:
    for path in paths:
        yield from read_records(path, Trajectory.from_json)


def _fingerprint(config: SftConfig | Demonstrations, tokenizer: Any) -> str:
    """Digest what rows are made of: the files, the tokenizer, the layout, the limits, the code."""
    facts = {
        "layout": asdict(chat_format(config.format)),
        "max_length": config.max_length,
        "mask_injected_errors": config.mask_injected_errors,
        "versions": [__version__, *map(version, ("tokenizers", "transformers"))],
    }
    hasher = hashlib.sha256(json.dumps(facts, sort_keys=True, default=str).encode())
    with TemporaryDirectory() as folder:
        tokenizer.save_pretrained(folder)
        for path in (*map(Path, config.data), *sorted(Path(folder).rglob("*.*"))):
            with path.open("rb") as file:
                hasher.update(hashlib.file_digest(file, "sha256").digest())
    return hasher.hexdigest()[:32]


def _remove_others(cache: Path, key: str) -> None:
    """Remove rows of other settings, and those that a killed process left half made."""
    for made in cache.glob("generator/*"):
        if not made.name.endswith(f"={key}"):
            shutil.rmtree(made, ignore_errors=True)
