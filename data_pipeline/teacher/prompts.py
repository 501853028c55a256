"""The teacher's prompts: text files with `{{slots}}`, ours or the user's own, and styles."""

import random
import re
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path

from graphwalker.errors import UserError

_SLOT = re.compile(r"\{\{(\w+)\}\}")


class Prompts:
    """Prompts by name; a file of the user's own folder wins over the shipped one.

    Raises `UserError` for a folder that is not there, for an own prompt of another name than ours
    have, and for one that lacks a slot that ours has, or has one that nobody fills.
    """

    def __init__(self, folder: str = "") -> None:
        own = Path(folder) if folder else None
        if own is not None and not own.is_dir():
            raise UserError(f"teacher.prompts_dir: {folder}: no such folder")
        folder_of_ours = files("data_pipeline.teacher").joinpath("prompts")
        shipped = sorted(folder_of_ours.iterdir(), key=lambda file: file.name)
        names = [source.name for source in shipped]
        for mine in sorted(own.glob("*.txt")) if own else ():
            if mine.name not in names:
                raise UserError(f"{mine}: no prompt has that name; they are {', '.join(names)}")
        self._texts: dict[str, str] = {}
        for source in shipped:
            text = source.read_text(encoding="utf-8")
            mine = own / source.name if own else None
            chosen = mine.read_text(encoding="utf-8") if mine and mine.is_file() else text
            if _slots(chosen) != _slots(text):
                wanted = ", ".join(sorted(_slots(text)))
                raise UserError(f"{mine}: a prompt of this name has exactly the slots {wanted}")
            self._texts[source.name.removesuffix(".txt")] = chosen.strip()

    def fill(self, name: str, values: Mapping[str, object] = {}) -> str:
        """Fill the prompt's slots; what fills a slot is never read for slots itself."""
        return _SLOT.sub(lambda slot: str(values[slot[1]]), self._texts[name])


def _slots(text: str) -> set[str]:
    return set(_SLOT.findall(text))


REGISTERS = (
    "casual, as somebody types it into a search box",
    "casual, as said to a friend",
    "plain, as in a quiz among friends",
    "plain, as asked of a librarian",
    "neutral, as in a newspaper's quiz",
    "formal, as in an examination",
)
LENGTHS = ("as short as it can be", "short", "of ordinary length", "a full, flowing sentence")
OPENINGS = (
    "open with the question word (who, what, which, where, when)",
    "open with the question word (who, what, which, where, when)",
    "open with `Which` and the kind of thing that is asked for",
    "open with the starting entity or with its condition, and ask at the end",
    "open with a preposition (`In which`, `By whom`, `From what`) where one fits, else freely",
    "open with a request in the form of a question (`Can you name`, `Do you know`)",
    "open as you like, but not with `What is the`",
)


def style(rng: random.Random) -> str:
    """Return one style as the prompt says it; the same for the same draws.

    >>> style(random.Random(0))
    'plain, as asked of a librarian; a full, flowing sentence; open with the question word \
(who, what, which, where, when)'
    """
    return "; ".join((rng.choice(REGISTERS), rng.choice(LENGTHS), rng.choice(OPENINGS)))
