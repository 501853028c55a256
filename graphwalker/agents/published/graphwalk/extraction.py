"""The second stage of GraphWalk's extraction: a chat model that reads rows out of plain words."""

import os
from pathlib import Path

from pydantic import Field

from graphwalker.policies.chat.client import Completions
from graphwalker.policies.chat.config import OptionalChatConfig
from graphwalker.trust import Address, FilePath, Text

_ASK = """A question about a graph was answered in words. Write the rows of that answer as a JSON \
list of objects, with the columns that the question asks for. Copy what the answer says; add \
nothing and judge nothing. Where it holds no answer, write NONE.

The answer:
{text}"""


class ExtractorConfig(OptionalChatConfig):
    """An OpenAI-compatible server that reads rows out of an answer without JSON (the paper:
    gpt-4o-mini). Nothing is sent for an answer that holds JSON."""

    base_url: Address = ""
    """Address up to and without `/chat/completions`. Empty: no such reader."""
    model: Text = ""
    """The model's name on that server."""
    max_tokens: int = Field(default=2048, ge=16)
    """Completion tokens of one extraction; it is drawn at temperature 0."""
    cache_dir: FilePath = ""
    """Where extractions are kept: the same text is paid for once. Empty: `graphwalker/extractor`
    in the user's cache folder."""


class Extractor:
    """Reads rows out of words. Raises `PolicyError` where the server fails."""

    def __init__(self, config: ExtractorConfig) -> None:
        self._config = config
        caches = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
        folder = config.cache_dir or Path(caches) / "graphwalker" / "extractor"
        self._completions = Completions(config, config.model, Path(folder))

    def __call__(self, text: str) -> str:
        return self._completions.complete(
            [{"role": "user", "content": _ASK.replace("{text}", text)}],
            temperature=0.0,
            max_tokens=self._config.max_tokens,
            seed=0,
            purpose="extract",
        ).text
