"""Settings of a chat model as the teacher: where it is, what it does, when to give up on it."""

from typing import Any, Literal

from pydantic import Field

from graphwalker.policies.chat.config import OptionalChatConfig
from graphwalker.trust import Address, FilePath

HOW = ("api_key_env", "base_url", "concurrency", "timeout_s", "retries", "backoff_s")
RATES = ("requests_per_minute", "tokens_per_minute", "prices", "cache_dir")
NOT_THE_MAKING = frozenset((*HOW, *RATES, "give_up_after"))
"""Settings that may change between a run and its resumption: the same answers come of them."""


class ChatWorkConfig(OptionalChatConfig):
    """What the teacher and a judge of one's own have in common."""

    base_url: Address = ""
    """Address up to and without `/chat/completions`. Empty: no such model."""
    temperature: float = Field(default=0.7, ge=0.0, le=2.0)
    """Of questions and thoughts; scores and rankings are always drawn at 0."""
    max_tokens: int = Field(default=512, ge=16)
    """Completion tokens of one question or score; models that reason before they answer need more.
    An answer with thoughts may take 160 more for each."""
    seed: int = 0
    """Sent with every request, for servers that sample repeatably."""
    format_retries: int = Field(default=1, ge=0)
    """Further requests where an answer cannot be read; they ask for JSON by a schema
    (`response_format`), where the server takes one."""
    give_up_after: int = Field(default=20, ge=1)
    """So many answers of one kind in a row that are of no use end the run: they cannot be read, or
    are questions in another language, without their topic entity, or with other faults on the
    surface. Questions that the judge refuses end it after five times as many."""
    prompts_dir: FilePath = ""
    """A folder with your own prompts, under the names of ours; what is not there is ours."""
    cache_dir: FilePath = ""
    """Where answers are kept, for several runs to share. Empty: a folder in the run's own."""


class TeacherConfig(ChatWorkConfig):
    """An OpenAI-compatible server that words, judges and thinks. Without an address: the
    programmatic teacher, which needs none."""

    block = "teacher"

    judge: bool = True
    """Three scores for every question, kept from a mean of 9; off: surface checks alone. The
    setting `judge` names another model for them."""
    thoughts: Literal["each", "together", "none"] = "together"
    """How the teacher writes the thoughts of a trajectory: one request for each step, which shows
    the steps before it (`each`, as in GraphWalker), or one for all steps, which costs about a third
    (`together`). `none`: the oracle's own thoughts."""
    english: bool = True
    """Refuse questions and thoughts that are not in English; off for prompts of your own in another
    language."""


class JudgeConfig(ChatWorkConfig):
    """Another judge than the teacher, behind `judge.base_url` and `judge.model`; a served model of
    your own, say. It needs no teacher."""

    block = "quality-judge"

    keep_from: float = Field(default=9.0, ge=0.0, le=10.0)
    """Mean of the three scores from which a question is kept (GraphWalker section 2, phase 2). A
    small model's scores lie closer together than a large one's: choose it by labels of your own."""


def settings_to_store(data: dict[str, Any], making: bool) -> dict[str, Any]:
    """Settings as they are written down: without a teacher, a judge or a policy as if there were no
    such setting; `making` keeps only what a run must have in common with the one that it resumes,
    which is not where a server is or how hard it is pressed."""
    unset = {name for name in _OPTIONAL if name in data and not _is_set(data[name])}
    data = {key: value for key, value in data.items() if key not in unset}
    return {k: _made_by(v) if k in _CHATS else v for k, v in data.items()} if making else data


_OPTIONAL = ("teacher", "judge", "policy")
_CHATS = (*_OPTIONAL, "environment")


def _is_set(chat: dict[str, Any] | None) -> bool:
    return chat is not None and bool(chat.get("base_url", True))


def _made_by(settings: dict[str, Any]) -> dict[str, Any]:
    """Leave out what does not matter to the making, in the settings of any server in there."""
    kept = {
        k: v for k, v in settings.items() if k not in NOT_THE_MAKING or "base_url" not in settings
    }
    return {
        key: _made_by(value) if key in ("api", "reranker") and value else value
        for key, value in kept.items()
    }
