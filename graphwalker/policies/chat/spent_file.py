"""What a run has paid so far, in its folder: a cap on money holds over kills and resumes."""

import json
from pathlib import Path

from graphwalker.errors import UserError
from graphwalker.policies.chat.budget import Spent

SPENT = "spent.json"


def write_spent(folder: Path, spent: Spent) -> None:
    """Keep what an API was paid so far, so that a cap holds over resumes."""
    record = {
        "requests": spent.requests,
        "prompt_tokens": spent.prompt_tokens,
        "completion_tokens": spent.completion_tokens,
        "cost": spent.cost,
    }
    partial = folder / (SPENT + ".partial")
    partial.write_text(json.dumps(record) + "\n", encoding="utf-8")
    partial.replace(folder / SPENT)


def read_spent(folder: Path) -> Spent:
    """What earlier parts of this run paid. Raises `UserError` for a damaged file."""
    path = folder / SPENT
    if not path.is_file():
        return Spent()
    try:
        return Spent(**json.loads(path.read_text(encoding="utf-8")))
    except (ValueError, TypeError) as error:
        raise UserError(f"{path}: damaged ({error}); it counts what was spent: mend it") from None
