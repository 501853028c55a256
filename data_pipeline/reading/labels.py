"""People's labels of questions, and how far a filter agrees with them."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from graphwalker.errors import UserError
from graphwalker.files import read_json

LABELS = ("natural", "stilted", "nonsense")


def read_labels(path: Path) -> dict[str, str]:
    """Labels by text, wherever in the file an object has a `question` and a `label`.

    Raises `UserError` for a file without any, or with a label that is none.
    """
    found: dict[str, str] = {}
    for row in _objects(read_json(path, "name a file of labelled texts")):
        label = str(row["label"])
        if label not in LABELS:
            raise UserError(f"{path}: label {label!r}; one of {', '.join(LABELS)} is wanted")
        found[str(row["question"])] = label
    if not found:
        raise UserError(f"{path}: no objects with a question and a label")
    return found


def agreement(kept: Mapping[str, bool], labels: Mapping[str, str]) -> dict[str, Any]:
    """How a filter and people agree: of each label, how many texts there are and the share kept."""
    found = {text: label for text, label in labels.items() if text in kept}
    by_label: dict[str, Any] = {}
    for label in sorted(set(found.values())):
        mine = [kept[text] for text, its in found.items() if its == label]
        by_label[label] = {"texts": len(mine), "share_kept": round(sum(mine) / len(mine), 4)}
    return by_label


def _objects(value: object) -> list[dict[str, Any]]:
    if isinstance(value, dict):
        if {"question", "label"} <= value.keys():
            return [value]
        value = list(value.values())
    return [row for one in value for row in _objects(one)] if isinstance(value, list) else []
