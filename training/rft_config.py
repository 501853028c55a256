"""The RFT config: what SFT has, and how the model's own successes are drawn."""

from typing import Self

from pydantic import Field, model_validator

from graphwalker.policies.vllm.config import Engine, VllmConfig
from training.config import SftConfig


class RftConfig(SftConfig):
    """Rejection sampling on own successes (RFT): the model answers questions some times each, and
    is then fine-tuned on the episodes that were right. Positive only, no gradient of a failure."""

    basic = (
        "samples", "keep_per_question", "temperature", "max_turn_tokens", "grounded", "limit",
        "draw_only", "engine", "epochs", "batch_size", "lr", "lora.r", "format", "dtype",
        "seed",
    )  # fmt: skip

    data: tuple[str, ...] = ()
    """Demonstrations that are trained on beside the model's own successes, against forgetting:
    trajectory files such as those of SFT stage 2. None named: the successes alone."""
    questions: str
    """Training questions (`.jsonl`, `.jsonl.gz`)."""
    graph: str
    """Graph that the agent walks: a compiled folder, an endpoint, a recording, or
    `module:FACTORY`."""
    limit: int = Field(default=0, ge=0)
    """The first so many questions of the file. 0: all."""
    winnable: bool = False
    """Whether to leave out the questions that nobody could answer in this environment."""
    samples: int = Field(default=8, ge=1)
    """Episodes of each question."""
    temperature: float = Field(default=1.0, gt=0)
    """Of sampling."""
    max_turn_tokens: int = Field(default=512, ge=1)
    """Tokens of one completion."""
    keep_per_question: int = Field(default=4, ge=1)
    """Most successes of a question that are trained on. Of two with the same actions only the first
    counts, so easy questions do not fill the data with copies."""
    grounded: bool = True
    """Keep a right answer only where the tools showed all of it: a guess is not a success."""
    draw_only: bool = False
    """End after the episodes are drawn. Draw with one process, then train with several."""
    engine: Engine = "transformers"
    """What draws the episodes: `transformers`, `vllm`, or `vllm-server`, which has that model."""
    engine_batch: int = Field(default=256, ge=1)
    """Episodes that are decoded together; so many are drawn before they are written."""
    vllm: VllmConfig = VllmConfig()
    """Settings of the two vLLM engines."""

    @model_validator(mode="after")
    def _data_is_named(self) -> Self:
        return self  # it need not be: successes are data
