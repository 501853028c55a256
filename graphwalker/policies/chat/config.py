"""Settings of an OpenAI-compatible server: where it is, how hard to press it, what it may cost."""

import os
import re
from typing import Annotated, Any, Literal, Self
from urllib.parse import urlsplit

from pydantic import Field, field_validator, model_validator

from graphwalker.config import C, Config
from graphwalker.errors import UserError
from graphwalker.files import is_address_file, read_address
from graphwalker.http import is_this_machine
from graphwalker.trust import Address, ByHand, KeyVariable, Text

_REASONING = re.compile(r"(?:^|/)(?:o[1-9]|gpt-5)(?![0-9a-z])(?!-chat)")
"""Names of OpenAI's reasoning models, behind a provider's name or not."""


class Prices(Config):
    """Money per million tokens, in one currency of your choice, and caps. A cap holds for all that
    is paid into one store of answers (a run's folder, or a `cache_dir` that runs share), over
    processes, kills and resumes: a request that might pass it is not sent. Each of the n shards of
    a job array has an n-th of it."""

    prompt_per_million: float = Field(default=0.0, ge=0)
    """Price of a million prompt tokens."""
    completion_per_million: float = Field(default=0.0, ge=0)
    """Price of a million completion tokens."""
    max_cost: float = Field(default=0.0, ge=0)
    """Money that may be spent; what lost requests may have cost counts. 0: no cap."""
    max_total_tokens: int = Field(default=0, ge=0)
    """The same for prompt and completion tokens together. 0: no cap."""
    max_requests: int = Field(default=0, ge=0)
    """The same for requests, further attempts that may be billed among them. 0: no cap."""

    @model_validator(mode="after")
    def _a_cap_needs_prices(self) -> Self:
        if self.max_cost and not (self.prompt_per_million or self.completion_per_million):
            raise ValueError("max_cost needs prices: set prompt_per_million")
        return self


def divide_caps(config: C, parts: int) -> C:
    """Return the config with every cap of its chat servers divided by `parts`: the caps of one of
    the shards of a job array, each of which pays into a store of its own."""
    changed: dict[str, Any] = {}
    for name in type(config).model_fields:
        value = getattr(config, name)
        if isinstance(value, Prices):
            changed[name] = value.model_copy(
                update={
                    "max_cost": value.max_cost / parts,
                    "max_total_tokens": -(-value.max_total_tokens // parts),
                    "max_requests": value.max_requests // parts or bool(value.max_requests),
                }
            )
        elif isinstance(value, Config):
            changed[name] = divide_caps(value, parts)
    return config.model_copy(update=changed) if changed else config


def null_as_empty(value: Any) -> Any:
    """Read `policy.api.api_key_env=` of a command line, which is parsed as null."""
    return "" if value is None else value


class ChatApiConfig(Config):
    """A server with `POST {base_url}/chat/completions`: OpenAI, DeepSeek, vLLM, SGLang, ..."""

    block = "chat"

    base_url: Address = "https://api.openai.com/v1"
    """Address up to and without `/chat/completions`, or a `.address` file that holds it."""
    api_key_env: KeyVariable = "OPENAI_API_KEY"
    """Environment variable that holds the key; the key is never logged. Empty: send none."""
    concurrency: int = Field(default=16, ge=1)
    """Requests under way at once."""
    timeout_s: float = Field(default=120.0, gt=0)
    """Seconds after which an attempt is given up, whole answer included."""
    retries: int = Field(default=6, ge=0)
    """Further attempts after rate limits, server errors, timeouts and cut-off answers."""
    backoff_s: float = Field(default=1.0, ge=0)
    """The first wait is at most this, and at least half of it; it doubles with every attempt,
    up to a minute. A server may ask for two by Retry-After."""
    requests_per_minute: float = Field(default=0.0, ge=0)
    """Requests are spaced evenly to stay below this. 0: no limit."""
    tokens_per_minute: float = Field(default=0.0, ge=0)
    """The same for tokens, as estimated before each request. 0: no limit."""
    token_limit_field: Literal["auto", "max_tokens", "max_completion_tokens"] = "auto"
    """How the server calls the limit of a completion. `auto`: `max_completion_tokens` for OpenAI's
    reasoning models (o1, o3, o4-mini, gpt-5, ...), which are sent no temperature either."""
    send_stop: Literal["auto"] | bool = "auto"
    """Whether the server cuts at the end of an action. `auto`: the first reply is asked for
    without; a model that reasons in it is sent none, as it may name an action in its thoughts.
    Completions are cut here then, and what follows is paid for. False for models that refuse
    `stop`. A reply that was cut within a thought is asked for again."""
    tools: Literal["wire", "text"] = "wire"
    """How this server calls the functions of an agent that has some: `wire` (`tools` and
    `tool_calls` of the API), or `text`, for servers without them: the prompt describes the tools,
    and the model writes its calls into the message."""
    grammar: Literal["none", "gbnf", "vllm"] = "none"
    """How this server takes the grammars of `environment.constrained=true`: in the field `grammar`
    (`gbnf`: llama.cpp), or in `structured_outputs` (`vllm`). Calls are then text, as `tools=text`
    asks for them."""
    body: Annotated[dict[str, Any], ByHand("be sent")] = {}
    """Merged into every request; a field set to null is left out (`body: {seed: null}`). `top_k`,
    `min_p` and `repetition_penalty` are the server's own unless they are set, as OpenAI's API has
    none of them (`body: {top_k: 0, repetition_penalty: 1}` for vLLM and llama.cpp)."""
    prices: Prices = Prices()
    """What tokens cost and what may be spent."""

    _no_key_is_empty = field_validator("api_key_env", mode="before")(null_as_empty)

    @field_validator("base_url")
    @classmethod
    def _is_plain_http_address(cls, value: str) -> str:
        if is_address_file(value):
            return value
        return plain_http_address(value, "http://127.0.0.1:8000/v1")

    @property
    def address(self) -> str:
        """Return `base_url`, or the address with `/v1` that a server's job wrote into that file.

        Raises `UserError` where the file is missing or holds none.
        """
        if not is_address_file(self.base_url):
            return self.base_url
        found = read_address(self.base_url).rstrip("/")
        return found if found.endswith("/v1") else f"{found}/v1"

    def fields(self, model: str, max_tokens: int) -> dict[str, Any]:
        """Return the fields of a request that depend on the model; those that are None are left
        out of it."""
        reasons = self.token_limit_field == "auto" and _REASONING.search(model) is not None
        if reasons or self.token_limit_field == "max_completion_tokens":
            fixed = dict.fromkeys(("temperature", "top_p")) if reasons else {}
            return {"max_completion_tokens": max_tokens, **fixed}
        return {"max_tokens": max_tokens}

    @property
    def is_private(self) -> bool:
        """True where a key cannot be read on its way: https, or this machine."""
        parts = urlsplit(self.address)
        return parts.scheme == "https" or is_this_machine(parts)


class OptionalChatConfig(ChatApiConfig):
    """A server that may be left out; then its work is done without a chat model."""

    base_url: Address = ""
    """Address up to and without `/chat/completions`. Empty: no chat model."""
    model: Text = ""
    """The model's name on that server."""

    _nothing_is_empty = field_validator("base_url", "model", mode="before")(null_as_empty)

    @field_validator("base_url")
    @classmethod
    def _is_plain_http_address(cls, value: str) -> str:
        return ChatApiConfig(base_url=value).base_url if value else value

    @model_validator(mode="after")
    def _a_server_needs_a_model(self) -> Self:
        if bool(self.base_url) != bool(self.model):
            missing = "name the model" if self.base_url else "give its server's address"
            raise ValueError(f"a chat model needs both: base_url and model; {missing}")
        return self

    @property
    def chats(self) -> bool:
        """Whether there is a chat model at all."""
        return bool(self.base_url)


def plain_http_address(value: str, example: str) -> str:
    """Return the address without a slash at its end. Raises `ValueError` for what is none, and for
    one that holds a secret."""
    parts = urlsplit(value)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError(f"must be an http or https address such as {example}")
    if parts.username or parts.password or parts.query or parts.fragment:
        raise ValueError("must hold no password, query or fragment; keys go into api_key_env")
    return value.rstrip("/")


def api_key(config: ChatApiConfig) -> str:
    """Return the key in the environment, `""` for none. Raises `UserError` where it would travel in
    the clear, or cannot be sent in a header."""
    key = os.environ.get(config.api_key_env, "").strip() if config.api_key_env else ""
    if key and not config.is_private:
        raise UserError(
            f"{config.base_url}: the key in {config.api_key_env} would travel unencrypted; use "
            'https, or send none with api_key_env=""'
        )
    if not key.isprintable() or not key.isascii():
        raise UserError(f"the environment variable {config.api_key_env} holds no usable key")
    return key
