"""The vLLM policies from settings: their tokenizer, their ends of turns, their limits."""

from typing import TYPE_CHECKING, Any

from graphwalker.errors import UserError, first_line
from graphwalker.policies.base import Policy
from graphwalker.policies.token_record import Transcripts, TurnEnds
from graphwalker.policies.vllm.config import VllmConfig
from graphwalker.policies.vllm.server import VllmServerPolicy, served_model
from graphwalker.tokens.auto import resolve_format
from graphwalker.tokens.formats import ChatFormat, chat_format

if TYPE_CHECKING:
    from graphwalker.policies.config import PolicyConfig


def load_vllm(config: "PolicyConfig", name: str) -> Policy:
    """The policy of `engine: vllm` or `vllm-server`. `config.model` gives the tokenizer to both.

    Raises `UserError` where vLLM, the server or the model is not there.
    """
    if config.engine == "vllm-server":
        served_model(config.vllm)  # that the server is there is said before the model is read
        tokenizer, generation = _tokenizer(config.model)
        parts = tokenizer, generation, _format(config, tokenizer)
        return server_policy(config.vllm, *parts, config.max_context, config.batch_size, name)
    from graphwalker.policies.vllm.engine import VllmPolicy, load_engine, lora_settings

    llm = load_engine(
        config.model,
        max_model_len=config.max_context or None,
        max_num_seqs=config.batch_size,
        tensor_parallel_size=config.vllm.tensor_parallel,
        gpu_memory_utilization=config.vllm.gpu_memory or 0.9,
        enforce_eager=config.vllm.enforce_eager,
        dtype=config.vllm.dtype,
        enable_prefix_caching=config.vllm.prefix_caching,
        **(lora_settings(config.vllm.lora) if config.vllm.lora else {}),
    )
    tokenizer, generation = _tokenizer(config.model)
    fmt = _format(config, tokenizer)
    ends = TurnEnds.of(tokenizer, fmt, generation)
    book = Transcripts(tokenizer, fmt, ends, int(llm.llm_engine.model_config.max_model_len))
    seeded, lora = config.vllm.seeded, config.vllm.lora
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
    """A policy over the running server; its context is the smaller of `max_context` and its own."""
    served = served_model(config)
    context = min(max_context or served.max_context, served.max_context)
    book = Transcripts(tokenizer, fmt, TurnEnds.of(tokenizer, fmt, generation_config), context)
    return VllmServerPolicy(config, served.name, book, concurrency=concurrency, name=name)


def _tokenizer(model: str) -> tuple[Any, Any]:
    """(tokenizer, generation config or None) of a model folder."""
    import transformers

    library: Any = transformers  # its loaders are not typed
    try:
        tokenizer = library.AutoTokenizer.from_pretrained(model)
    except (OSError, ValueError) as error:
        line = first_line(error)
        raise UserError(f"{model}: no tokenizer could be loaded from here ({line})") from None
    try:
        return tokenizer, library.GenerationConfig.from_pretrained(model)
    except OSError:
        return tokenizer, None
