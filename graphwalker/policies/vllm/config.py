"""Settings of vLLM as a rollout engine: in this process (`vllm`) or as a server (`vllm-server`)."""

from typing import Literal

from pydantic import Field, field_validator

from graphwalker.config import Config
from graphwalker.policies.chat.config import plain_http_address
from graphwalker.trust import Address, Addresses, FilePath, Text

Engine = Literal["transformers", "vllm", "vllm-server"]
"""`transformers`: our own loop, its KV cache kept across turns; `vllm`: vLLM in this process,
stepped by us; `vllm-server`: a running `vllm serve`, token ids over HTTP."""


class VllmConfig(Config):
    """How to reach vLLM, or how much of the GPU it may take."""

    block = "vllm"

    base_url: Address = "http://127.0.0.1:8000"
    """`vllm-server`: address of the server, up to and without `/v1`."""
    replicas: Addresses = ()
    """`vllm-server`, in evaluations: further servers of the same model. An episode stays with one,
    whose prefix cache holds its earlier turns; the work of one that fails goes to the others."""
    rest_s: float = Field(default=30.0, ge=0)
    """`vllm-server`: seconds for which a replica that failed is given no work while others are
    there."""
    served_model: Text = ""
    """`vllm-server`: the model's name there. Empty: the first that the server lists."""
    wait_s: float = Field(default=0.0, ge=0)
    """`vllm-server`: seconds to wait for a server that is still starting."""
    timeout_s: float = Field(default=600.0, gt=0)
    """`vllm-server`: seconds without an answer before a turn is given up as failed."""
    retries: int = Field(default=3, ge=0)
    """`vllm-server`: further attempts after a lost connection, 429 or 5xx."""
    backoff_s: float = Field(default=1.0, ge=0)
    """`vllm-server`: wait before the second attempt; it doubles with each."""
    group_port: int = Field(default=51216, ge=1, le=65535)
    """`vllm-server`: port over which a trainer sends its weights (NCCL)."""

    gpu_memory: float = Field(default=0.0, ge=0, le=1)
    """`vllm`: share of the GPU's memory. 0: 0.9, and 0.3 beside a trainer."""
    sleep: bool = False
    """`vllm`, beside a trainer: give the memory back between rollouts, for some seconds a step."""
    tensor_parallel: int = Field(default=1, ge=1)
    """`vllm`, in evaluations: GPUs that share the model."""
    prefix_caching: bool = True
    """`vllm`, in evaluations: keep the keys and values of earlier turns. Off: each turn reads its
    whole episode again."""
    lora: FilePath = ""
    """`vllm`, in evaluations: folder of a LoRA adapter of the model. A server is started with
    `--lora-modules NAME=FOLDER`, and NAME is its `served_model`."""
    enforce_eager: bool = False
    """`vllm`, in evaluations: no compiled graphs. Starts sooner, decodes slower."""
    dtype: Literal["auto", "float32", "bfloat16", "float16"] = "auto"
    """`vllm`, in evaluations: `auto` is the model's own."""

    seeded: bool = True
    """Each turn draws from a generator of its own, so sampling can be repeated. Off: one generator
    for all, which is faster with hundreds of episodes."""
    ratio_cap: float = Field(default=2.0, ge=0)
    """GRPO: each token's weight is the ratio of its probability in training to that in sampling,
    at most this; it corrects for engines that round differently. 0: no correction."""

    @property
    def share_beside_trainer(self) -> float:
        """Share of the GPU's memory that the engine takes where a trainer has the rest."""
        return self.gpu_memory or 0.3

    @property
    def addresses(self) -> tuple[str, ...]:
        """Of all servers, each once."""
        return tuple(dict.fromkeys((self.base_url, *self.replicas)))

    @field_validator("base_url")
    @classmethod
    def _is_plain_http_address(cls, value: str) -> str:
        return plain_http_address(value, "http://127.0.0.1:8000").removesuffix("/v1")

    @field_validator("replicas")
    @classmethod
    def _are_plain_http_addresses(cls, values: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(map(cls._is_plain_http_address, values))
