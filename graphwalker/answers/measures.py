"""The measures that every kind of answer has, from what was found, given and wanted."""

NAMES = ("em", "f1", "precision", "recall", "hits1", "hit_any")


def measures(found: int, given: int, wanted: int, first: bool) -> dict[str, float]:
    """Of `given` entries `found` are among the `wanted`; `first`: the first one is.

    >>> measures(1, 2, 1, True)["precision"]
    0.5
    """
    precision = found / given if given else float(wanted == 0)
    recall = found / wanted if wanted else float(given == 0)
    total = precision + recall
    return {
        "em": float(found == given == wanted),
        "f1": 2 * precision * recall / total if total else 0.0,
        "precision": precision,
        "recall": recall,
        "hits1": float(first),
        "hit_any": float(found > 0),
    }


def nothing() -> dict[str, float]:
    """The measures where no answer was given."""
    return dict.fromkeys(NAMES, 0.0)
