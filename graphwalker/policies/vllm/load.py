"""The vLLM policies from settings: their tokenizer, their ends of turns, their limits."""

from typing import TYPE_CHECKING, Any

from graphwalker.errors import UserError
from graphwalker.policies.base import Policy
from graphwalker.policies.token_record import Transcripts, TurnEnds
from graphwalker.policies.vllm.config import VllmConfig
from graphwalker.policies.vllm.server import VllmServerPolicy, served_model
from graphwalker.tokens.auto import resolve_format
from graphwalker.tokens.formats import ChatFormat, chat_format

if TYPE_CHECKING:
    from graphwalker.policies.config import PolicyConfig


def load_vllm(config: "PolicyConfig", name: str) -> Policy:
    """Return the policy of `engine: vllm` or `vllm-server`. `config.model` gives the tokenizer.

    Raises `UserError` where vLLM, the server or the model is not there.
    """
    from graphwalker.pretrained.adapters import is_adapter
    from graphwalker.pretrained.load import check_pretrained

    if config.engine == "vllm-server":
        served_model(config.vllm)  # that the server is there is said before the model is read
        tokenizer, generation = _tokenizer(config.model)
        parts = tokenizer, generation, _format(config, tokenizer)
        return server_policy(config.vllm, *parts, config.max_context, config.batch_size, name)
    from graphwalker.policies.vllm.engine import VllmPolicy, load_engine, lora_settings

    lora, more = config.vllm.lora, dict[str, Any]()
    if is_adapter(check_pretrained(config.model, force_base=config.force_base)):
        raise UserError(
            f"engine: vllm draws with a whole model, and {config.model} is an adapter: give its "
            f"base as policy.model and policy.vllm.lora={config.model}"
        )
    if lora:
        more = lora_settings(lora)
        check_pretrained(lora, base=config.model, force_base=config.force_base)
    llm = load_engine(
        config.model,
        max_model_len=config.max_context or None,
        max_num_seqs=config.batch_size,
        tensor_parallel_size=config.vllm.tensor_parallel,
        gpu_memory_utilization=config.vllm.gpu_memory or 0.9,
        enforce_eager=config.vllm.enforce_eager,
        dtype=config.vllm.dtype,
        enable_prefix_caching=config.vllm.prefix_caching,
        **more,
    )
    tokenizer, generation = _tokenizer(config.model)
    fmt = _format(config, tokenizer)
    ends = TurnEnds.of(tokenizer, fmt, generation)
    book = Transcripts(tokenizer, fmt, ends, int(llm.llm_engine.model_config.max_model_len))
    seeded = config.vllm.seeded
    return VllmPolicy(llm.llm_engine, book, seeded=seeded, name=name, lora=lora)


def _format(config: "PolicyConfig", tokenizer: Any) -> ChatFormat:
    return chat_format(resolve_format(config.format, tokenizer, config.model))


def server_policy(
    config: VllmConfig,
    tokenizer: Any,
    generation_config: Any,
    fmt: ChatFormat,
    max_context: int,
    concurrency: int,
    name: str,
) -> VllmServerPolicy:
    """Return a policy over the running server; its context is at most `max_context`."""
    served = served_model(config)
    context = min(max_context or served.max_context, served.max_context)
    book = Transcripts(tokenizer, fmt, TurnEnds.of(tokenizer, fmt, generation_config), context)
    return VllmServerPolicy(config, served.name, book, concurrency=concurrency, name=name)


def _tokenizer(model: str) -> tuple[Any, Any]:
    """(tokenizer, generation config or None) of a model folder."""
    from graphwalker.pretrained.load import read_generation, read_tokenizer

    return read_tokenizer(model), read_generation(model)
