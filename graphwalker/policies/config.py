"""Which model answers, from where, how large its batches are; and what names it in records."""

import hashlib
import re
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import Field, model_validator

from graphwalker.config import Config
from graphwalker.policies.chat.config import ChatApiConfig
from graphwalker.policies.vllm.config import Engine, VllmConfig
from graphwalker.pretrained.shipped import ModelFolder
from graphwalker.tokens.formats import FormatSetting
from graphwalker.trust import Text

REASONING_TOKENS = 4096
"""Completion tokens of a turn of a model that reasons first, where nobody says how many."""
_REASONS = re.compile(
    r"(?:^|[_-])(?:o[1-9]|gpt-(?:5|oss)|r1|qwq|qwen3(?!.*(?:instruct|coder|embed|rerank))|magistral"
    r"|gemini-(?:2\.5|[3-9])(?:\.\d)?(?!-flash-lite)|grok-(?:3-mini|[4-9])"
    r"|exaone-deep|smollm3|reason(?:er|ing)|think(?:er|ing)?)(?![0-9a-z])(?!-chat)",
    re.IGNORECASE,
)


class PolicyConfig(Config):
    """The model: a local one, its KV cache kept across turns, or one behind an API (`api`)."""

    block = "policy"

    model: ModelFolder
    """A local model folder (or a Hub name that is already on this machine), or the API's name;
    `smollm2-graphwalker` is a trained agent that comes with this package. Without a model, `oracle`
    plays the query of each question, `first-relation` and `random-relation` take a listed relation
    by rule and answer with all that it shows."""
    api: ChatApiConfig | None = None
    """An OpenAI-compatible server that has the model; `api.base_url=...` is enough. None: local."""
    thoughts: Literal["varied", "plain", "none"] = "varied"
    """How the policy `oracle` words its thoughts: `plain` has one form of every kind, which is less
    for a tiny model to learn; `none` are actions alone. For another policy: whether the oracle's
    way back (`experts way_back=true`) has thoughts."""
    format: FormatSetting = "auto"
    """Layout of messages. `auto`: that of the chat template of the model's tokenizer. Else
    `chatml`, `qwen2.5`, `qwen3`, `llama3`, `llama3.1`, `inline` (tiny models), or a layout of your
    own (see `FormatConfig` in `graphwalker/tokens/formats.py`)."""
    batch_size: int = Field(default=256, ge=1)
    """Episodes decoded at once. Greedy answers do not depend on it."""
    max_context: int = Field(default=0, ge=0)
    """Tokens of a whole episode. 0: what the model allows."""
    device: Text = "auto"
    """`cpu`, `cuda`, ...; `auto` takes a GPU where there is one."""
    force_base: bool = False
    """Run an adapter on another base than the one that it was trained on."""
    engine: Engine = "transformers"
    """What runs a local model: `transformers`, `vllm`, or `vllm-server`, which has the model of
    that folder and is asked in token ids."""
    vllm: VllmConfig = VllmConfig()
    """Settings of the two vLLM engines."""

    @model_validator(mode="after")
    def _one_source(self) -> Self:
        if self.api is not None and self.engine != "transformers":
            raise ValueError("api asks a server in messages, engine runs a local model: set one")
        return self


_ANYONES = re.compile(r"final|model|best|checkpoint-\d+")
"""Names of folders that tell no model from another."""


def policy_name(config: PolicyConfig) -> str:
    """Return what records call the policy: the folder's name, with its parent's where that says
    more.

    >>> policy_name(PolicyConfig(model="runs/demo/grpo/final"))
    'grpo/final'
    """
    parts = Path(config.model).parts
    if config.api is not None or not parts:
        return config.model
    return "/".join(parts[-2:] if _ANYONES.fullmatch(parts[-1]) else parts[-1:])


def is_reasoning_model(model: str) -> bool:
    """Return whether the name is of a family that reasons before it writes.

    >>> [is_reasoning_model(name) for name in ("o3-mini", "deepseek-ai/DeepSeek-R1", "gpt-4o")]
    [True, True, False]
    >>> [is_reasoning_model(name) for name in ("gemini-2.5-pro", "grok-4", "gemini-2.0-flash")]
    [True, True, False]
    """
    return _REASONS.search(model.rstrip("/").rpartition("/")[2]) is not None


def policy_identity(config: PolicyConfig) -> dict[str, Any]:
    """Return what must be the same for a run to be resumed: the weights and how they are spoken to,
    but not where they run or how many at once."""
    if config.api is None:
        engine = {} if config.engine == "transformers" else {"engine": config.engine}
        if config.engine == "vllm" and config.vllm.lora:
            engine |= {"lora": weights_checksum(config.vllm.lora)}
        return {
            "weights": weights_checksum(config.model),
            "format": config.format,
            "max_context": config.max_context,
        } | engine
    return {
        "api": config.api.base_url,
        "api_body": config.api.body,
        "api_send_stop": config.api.send_stop,
    } | ({} if config.api.tools == "wire" else {"api_tools": config.api.tools})


def weights_checksum(folder: Path | str) -> str:
    """Short digest of a local folder's weights, `""` for a Hub name: tells runs apart on resume."""
    digest = hashlib.sha256()
    files = sorted(Path(folder).glob("*.safetensors"))
    for path in files:
        with path.open("rb") as file:
            while block := file.read(1 << 20):
                digest.update(block)
    return digest.hexdigest()[:16] if files else ""
