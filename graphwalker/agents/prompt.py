"""A prompt: what opens an episode's conversation, with fields that are filled in."""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from operator import add
from pathlib import Path

from graphwalker.errors import UserError
from graphwalker.files import read_json
from graphwalker.pretrained.adapters import MODEL_FILE
from graphwalker.trajectory import Message

PROMPTS = Path(__file__).parent.parent / "protocols" / "prompts"
"""What a model's folder says about its environment; the text of its prompt stands in it."""
_FIELD = re.compile(r"\{([a-z_]+)\}")


@dataclass(frozen=True, slots=True)
class Prompt:
    """A prompt text. What stands above a line `---` is the system message, the rest the user's."""

    system: str
    user: str
    shown: tuple[Message, ...] = ()
    """Whole dialogues that stand before the question (`environment.exemplars`)."""

    @classmethod
    def load(cls, name: str, own: Mapping[str, str] | None = None) -> "Prompt":
        """Get one of `own` (a preset's texts by name), a shipped one, or the user's file by path.

        Raises `UserError`.
        """
        return cls.read(prompt_text(name, own), name)

    @classmethod
    def read(cls, text: str, name: str) -> "Prompt":
        """Return the prompt of that text; `name` says in errors which it is. Raises `UserError`."""
        text = text.strip()
        if "{question}" not in text:
            raise UserError(f"{name}: a prompt must hold {{question}}")
        above, line, below = text.partition("\n---\n")
        return cls(above.strip(), below.strip()) if line else cls("", text)

    def with_tools(self) -> "Prompt":
        """Return a prompt that shows the tools: this one, or with them in front."""
        if "{tools}" in f"{self.system}{self.user}":
            return self
        return Prompt(self.system, f"{{tools}}\n{self.user}", self.shown)

    def messages(self, values: Mapping[str, str]) -> tuple[Message, ...]:
        """Return the messages with `{question}`, `{entities}`, `{tools}`, `{max_turns}` filled in,
        and what else `values` hold of `{schema}`, `{time}` and `{graph}`."""
        # One pass: a question that contains "{tools}" stays as it is.
        opening = (Message("user", fill_fields(self.user, values)),)
        if self.system:
            return (Message("system", fill_fields(self.system, values)), *self.shown, *opening)
        return (*self.shown, *opening)


def fill_fields(text: str, values: Mapping[str, str]) -> str:
    """Fill in `{name}` for the names in `values`; other braces stay as they are."""
    pieces = _pieces(text)
    fields = (values.get(name, f"{{{name}}}") for name in pieces[1::2])
    return pieces[0] + "".join(map(add, fields, pieces[2::2]))


@lru_cache(64)
def _pieces(text: str) -> list[str]:
    """Return the text before the first field, then each field's name and the text behind it."""
    return _FIELD.split(text)


def read_texts(module: str) -> dict[str, str]:
    """Return an agent's own texts by name: the TOML file beside its `module` (`__file__`)."""
    texts = tomllib.loads(Path(module).with_suffix(".toml").read_text(encoding="utf-8"))
    return {name: text.strip() for name, text in texts.items()}


def is_shipped(name: str) -> bool:
    """Return whether the name is a shipped prompt's or a preset's own: it is no file's path."""
    bare = re.fullmatch(r"[\w-]+", name) is not None
    return bare and ((PROMPTS / f"{name}.md").is_file() or not Path(name).exists())


def prompt_text(name: str, own: Mapping[str, str] | None = None) -> str:
    """Get the text of a prompt, as `Prompt.load` finds it; a model's `graphwalker.json` holds one.

    Raises `UserError`.
    """
    if own and name in own:
        return own[name]
    path = PROMPTS / f"{name}.md"
    if not path.is_file():
        path = Path(name)
    if not path.is_file():
        shipped = ", ".join(sorted([*(own or ()), *(p.stem for p in PROMPTS.glob("*.md"))]))
        raise UserError(f"{name}: no such prompt; shipped: {shipped}; or give a file's path")
    if path.name == MODEL_FILE:
        return str(read_json(path)["prompt"]["text"])
    return path.read_text(encoding="utf-8")
