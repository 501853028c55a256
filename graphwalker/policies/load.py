"""Policies from settings: which model, from where, how large its batches are."""

import hashlib
from pathlib import Path
from typing import Any, Self

from pydantic import Field, model_validator

from graphwalker.config import Config
from graphwalker.errors import UserError
from graphwalker.policies.base import Policy
from graphwalker.policies.chat_api_config import ChatApiConfig
from graphwalker.policies.chat_api_ledger import Spent
from graphwalker.policies.vllm_config import Engine, VllmConfig
from graphwalker.tokens_formats import FormatSetting


class PolicyConfig(Config):
    """The model: a local one, its KV cache kept across turns, or one behind an API (`api`)."""

    model: str
    """A local model folder (or a Hub name that is already on this machine), or the API's name."""
    api: ChatApiConfig | None = None
    """An OpenAI-compatible server that has the model; `api.base_url=...` is enough. None: local."""
    format: FormatSetting = "chatml"
    """Layout of messages: `chatml`, `qwen2.5`, `qwen3`, `llama3`, `llama3.1`, `inline` (tiny
    models), or a layout of your own (see `FormatConfig` in `graphwalker/tokens_formats.py`)."""
    batch_size: int = Field(default=256, ge=1)
    """Episodes decoded at once. Greedy answers do not depend on it."""
    max_context: int = Field(default=0, ge=0)
    """Tokens of a whole episode. 0: what the model allows."""
    device: str = "auto"
    """`cpu`, `cuda`, ...; `auto` takes a GPU where there is one."""
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


def load_policy(config: PolicyConfig, spent: Spent | None = None, *, worker: int = 0) -> Policy:
    """The policy, ready. `spent` is what earlier parts of the run cost (for caps of an API);
    `worker` numbers the processes that share a machine's GPUs.

    Raises `UserError` for a folder that holds no model.
    """
    if config.api is not None:
        from graphwalker.policies.chat_api import ChatPolicy

        return ChatPolicy(config.model, config.api, spent)
    if config.engine != "transformers":
        from graphwalker.policies.vllm_load import load_vllm

        return load_vllm(config, policy_name(config))
    import torch

    from graphwalker.policies.transformers_model import TransformersPolicy
    from graphwalker.tokens import chat_format

    device = config.device
    if device == "auto":
        device = "cuda" if torch.cuda.is_available() else "cpu"
    if device == "cuda":
        device = f"cuda:{worker % torch.cuda.device_count()}"
    dtype = torch.bfloat16 if device.startswith("cuda") else torch.float32
    try:
        tokenizer, model = _load(config.model, dtype)
    except (OSError, ValueError) as error:
        line = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise UserError(f"{config.model}: no model could be loaded from here ({line})") from None
    return TransformersPolicy(
        model.to(device).eval(),
        tokenizer,
        chat_format(config.format),
        batch_size=config.batch_size,
        max_context=config.max_context or None,
        name=policy_name(config),
    )


def policy_name(config: PolicyConfig) -> str:
    """What records call the policy."""
    return config.model if config.api is not None else Path(config.model).name


def policy_identity(config: PolicyConfig) -> dict[str, Any]:
    """What must be the same for a run to be resumed: the weights and how they are spoken to, but
    not where they run or how many at once."""
    if config.api is None:
        engine = {} if config.engine == "transformers" else {"engine": config.engine}
        return {
            "weights": weights_checksum(config.model),
            "format": config.format,
            "max_context": config.max_context,
        } | engine
    return {
        "api": config.api.base_url,
        "api_body": config.api.body,
        "api_send_stop": config.api.send_stop,
    }


def _load(name: str, dtype: Any) -> tuple[Any, Any]:
    import transformers

    library: Any = transformers  # its loaders are not typed
    tokenizer = library.AutoTokenizer.from_pretrained(name)
    return tokenizer, library.AutoModelForCausalLM.from_pretrained(name, dtype=dtype)


def weights_checksum(folder: Path | str) -> str:
    """Short digest of a local folder's weights, `""` for a Hub name: tells runs apart on resume."""
    digest = hashlib.sha256()
    files = sorted(Path(folder).glob("*.safetensors"))
    for path in files:
        with path.open("rb") as file:
            while block := file.read(1 << 20):
                digest.update(block)
    return digest.hexdigest()[:16] if files else ""
