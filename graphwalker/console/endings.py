"""The end of a command: the file that it made, two examples of what is in it, the next command."""

import shlex
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from graphwalker.console import console
from graphwalker.files import read_jsonl

SHOWN = 2
"""Examples that are shown of a file."""
NAMES = 3
"""Answers that are named of an example."""


def show_ending(made: Path, *following: Sequence[str | Path], examples: bool = True) -> None:
    """Say where the result lies, show two of its records, and name the commands that may follow.

    made: a JSONL file of walks, questions or trajectories; without `examples`, any file or folder.
    following: commands as words, without `graphwalker` but for those that begin with `accelerate`.
    """
    console.echo(f"made: {made}")
    for record in islice(read_jsonl(made), SHOWN) if examples else ():
        for line in example_lines(record):
            console.echo(f"  {line}")
    for words in following:
        line = shlex.join(map(str, words))
        console.hint(f"next: {line if words[0] == 'accelerate' else f'graphwalker {line}'}")


def example_lines(record: Mapping[str, Any]) -> Iterator[str]:
    """Yield the question of a record, its walk and its answers, for a person to read."""
    is_trajectory = isinstance(record.get("question"), dict)
    question: Mapping[str, Any] = record["question"] if is_trajectory else record
    if text := question.get("question"):
        yield str(text)
    query: dict[str, Any] = question.get("query") or {}
    walks: list[str] = [
        " -> ".join([branch["topic"]["name"], *branch["hops"]])
        for branch in query.get("branches", [])
    ]
    names: list[str] = [answer["name"] or answer["id"] for answer in question.get("answers", [])]
    found = ", ".join(names[:NAMES]) + (f" (+{len(names) - NAMES})" if len(names) > NAMES else "")
    tail = [" and ".join(walks), *query.get("tail", []), found]
    yield " -> ".join(filter(None, tail))


def describe_shortage(card: Mapping[str, Any]) -> str:
    """Return how many of the questions asked for a run made, `""` where it made all of them. Of
    `experts` the yield is what they earn, and says nothing of the graph."""
    settings: Mapping[str, Any] = card.get("config") or {}
    wanted = int(settings.get("count", 0))
    if not card.get("too_few") or card["count"] >= wanted or card["stage"] == "experts":
        return ""
    return (
        f"{card['count']:,} of {wanted:,} made: the graph has no more (dropped.jsonl has the "
        "reasons); take them, or another mix or a larger graph"
    )


def show_shortage(card: Mapping[str, Any]) -> None:
    """Warn of the structures of a data card of which there are fewer than were asked for."""
    what = "the file has" if card["stage"] == "experts" else "there are"
    for name, found in card.get("too_few", {}).items():
        console.note(
            f"warning: {name}: {found['made']} of {found['asked']} made, {what} no more; "
            "other structures take the place where they can"
        )
