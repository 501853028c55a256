"""Settings of a chat model as the teacher: where it is, what it does, when to give up on it."""

from typing import Any

from pydantic import Field

from graphwalker.policies.chat.config import OptionalChatConfig

HOW = ("api_key_env", "base_url", "concurrency", "timeout_s", "retries", "backoff_s")
RATES = ("max_backoff_s", "requests_per_minute", "tokens_per_minute", "prices", "cache_dir")
PATIENCE = ("give_up_after",)
NOT_THE_MAKING = frozenset((*HOW, *RATES, *PATIENCE))
"""Settings that may change between a run and its resumption: the same answers come of them."""


class TeacherConfig(OptionalChatConfig):
    """An OpenAI-compatible server that words, judges and thinks. Without an address: the
    programmatic teacher, which needs none."""

    base_url: str = ""
    """Address up to and without `/chat/completions`. Empty: the programmatic teacher."""
    temperature: float = Field(default=0.7, ge=0.0, le=2.0)
    """Of questions and thoughts; scores and rankings are always drawn at 0."""
    max_tokens: int = Field(default=512, ge=16)
    """Completion tokens of one answer; models that reason before they answer need more."""
    seed: int = 0
    """Sent with every request, for servers that sample repeatably."""
    judge: bool = True
    """Three scores for every question, kept from a mean of 9; off: surface checks alone."""
    thoughts: bool = True
    """A thought of the teacher's for every step; off: the oracle's own."""
    format_retries: int = Field(default=2, ge=0)
    """Further requests where an answer cannot be read."""
    give_up_after: int = Field(default=20, ge=1)
    """So many prompts of one kind in a row without a usable answer end the run."""
    prompts_dir: str = ""
    """A folder with your own prompts, under the names of ours; what is not there is ours."""
    cache_dir: str = ""
    """Where answers are kept, for several runs to share. Empty: `teacher/` in the run's folder."""


def written(data: dict[str, Any], making: bool) -> dict[str, Any]:
    """Settings as they are written down: without a teacher or a policy as if there were no such
    setting; `making` keeps only what a run must have in common with the one that it resumes,
    which is not where a server is or how hard it is pressed."""
    unset = {name for name in ("teacher", "policy") if name in data and not _is_set(data[name])}
    data = {key: value for key, value in data.items() if key not in unset}
    return {k: _made_by(v) if k in _CHATS else v for k, v in data.items()} if making else data


_CHATS = ("teacher", "policy", "environment")


def _is_set(chat: dict[str, Any] | None) -> bool:
    return chat is not None and bool(chat.get("base_url", True))


def _made_by(settings: dict[str, Any]) -> dict[str, Any]:
    """Without what does not matter to the making, in the settings of any server in there."""
    kept = {
        k: v for k, v in settings.items() if k not in NOT_THE_MAKING or "base_url" not in settings
    }
    return {
        key: _made_by(value) if key in ("api", "reranker") and value else value
        for key, value in kept.items()
    }
