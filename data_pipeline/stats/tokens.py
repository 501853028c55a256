"""What costs the tokens of a corpus, as a model's tokenizer sees it."""

import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from graphwalker.errors import UserError
from graphwalker.trajectory import Trajectory

SHOWN = 10
"""Relation ids in the table: those that cost most."""
_RELATION = re.compile(r"[a-z_0-9]+(?:\.+[a-z_0-9]+){2,}")


def token_costs(trajectories: Iterable[Trajectory], model: str) -> dict[str, Any]:
    """Mean tokens of a trajectory by part, and the relation ids that cost most over all.

    `model` is a folder with a tokenizer. Raises `UserError` where none is there, and for a corpus
    without trajectories.
    """
    count = _counter(model)
    parts, relations, episodes = Counter[str](), Counter[str](), 0
    for episode in trajectories:
        episodes += 1
        for number, turn in enumerate(episode.turns):
            context = "\n".join(message.content for message in turn.context)
            parts["observations" if number else "prompt"] += count(context)
            parts["thoughts"] += count(turn.thought)
            parts["calls and answers"] += count(turn.completion) - count(turn.thought)
            relations.update(_RELATION.findall(f"{context if number else ''} {turn.completion}"))
    if not episodes:
        raise UserError("--tokenizer: counts the tokens of trajectories, and the file has none")
    cost = Counter({name: times * count(name) for name, times in relations.items()})
    whole = sum(parts.values())
    return {
        "tokens_of_a_trajectory": round(whole / episodes, 1),
        "by_part": {name: round(n / episodes, 1) for name, n in parts.most_common()},
        "relation_ids": {
            "share": round(sum(cost.values()) / max(1, whole), 3),
            "tokens_of_one": round(sum(cost.values()) / max(1, relations.total()), 1),
            "costliest": {
                name: f"{count(name)} tokens, {relations[name]:,} times"
                for name, _ in cost.most_common(SHOWN)
            },
        },
    }


def _counter(model: str) -> Any:
    """Return a function that counts the tokens of a text; texts are counted once."""
    from graphwalker.pretrained.load import read_tokenizer

    if not Path(model).is_dir():
        raise UserError(f"--tokenizer {model}: no such model folder")
    tokenizer = read_tokenizer(model)
    known: dict[str, int] = {}

    def count(text: str) -> int:
        if text not in known:
            known[text] = len(tokenizer.encode(text, add_special_tokens=False))
        return known[text]

    return count
