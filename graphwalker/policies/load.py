"""Policies from settings: the model loaded, or its server found."""

from typing import Any

from graphwalker.errors import UserError
from graphwalker.policies.base import Policy
from graphwalker.policies.chat.budget import Spent
from graphwalker.policies.config import PolicyConfig, policy_name


def load_policy(config: PolicyConfig, spent: Spent | None = None, *, worker: int = 0) -> Policy:
    """The policy, ready. `spent` is what earlier parts of the run cost (for caps of an API);
    `worker` numbers the processes that share a machine's GPUs.

    Raises `UserError` for a folder that holds no model.
    """
    if config.api is not None:
        from graphwalker.policies.chat.policy import ChatPolicy

        return ChatPolicy(config.model, config.api, spent)
    if config.engine != "transformers":
        from graphwalker.policies.vllm.load import load_vllm

        return load_vllm(config, policy_name(config))
    import torch

    from graphwalker.policies.local.policy import TransformersPolicy
    from graphwalker.tokens.segments import chat_format

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


def _load(name: str, dtype: Any) -> tuple[Any, Any]:
    import transformers

    library: Any = transformers  # its loaders are not typed
    tokenizer = library.AutoTokenizer.from_pretrained(name)
    return tokenizer, library.AutoModelForCausalLM.from_pretrained(name, dtype=dtype)
