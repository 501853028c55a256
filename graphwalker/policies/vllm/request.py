"""The request of one turn to vLLM, in this process or over HTTP."""

from typing import Any

from graphwalker.policies.base import Request
from graphwalker.policies.chat.policy import turn_seed
from graphwalker.policies.token_record import Transcripts


def sampling_settings(
    request: Request, budget: int, book: Transcripts, seeded: bool
) -> dict[str, Any]:
    """The fields of vLLM's sampling parameters, each one named: servers fill in what is missing
    from a model's `generation_config.json`."""
    sampling = request.sampling
    return {
        "temperature": sampling.temperature,
        "top_p": sampling.top_p,
        "top_k": sampling.top_k,
        "min_p": sampling.min_p,
        "repetition_penalty": 1.0,
        "presence_penalty": 0.0,
        "frequency_penalty": 0.0,
        "max_tokens": budget,
        "seed": turn_seed(request) if seeded else None,
        "stop": list(request.stop),
        "stop_token_ids": sorted(book.ends.end_ids),
        "include_stop_str_in_output": True,
        "skip_special_tokens": False,
        "spaces_between_special_tokens": False,
        "logprobs": 0,
    }
