"""The engines of GRPO's rollouts: each lends a policy that draws with the weights as they stand.

With vLLM, TRL starts the engine (or joins the server) and pushes the weights to it after every
optimizer step, gathered from ZeRO shards where need be; adapters (`lora`) are merged into what is
pushed, so vLLM needs no support for them. TRL never draws: its `generate` would let
all episodes wait for the slowest one, and is a collective in server mode, where episodes that end
at different turns would hang it. We step the engine, or ask the server, turn by turn.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from graphwalker.errors import PolicyError, UserError, lacks_extra
from graphwalker.policies.base import Completion, Policy, Request
from graphwalker.policies.local.policy import TransformersPolicy
from graphwalker.policies.token_record import Transcripts, TurnEnds
from graphwalker.policies.vllm.config import VllmConfig
from graphwalker.tokens.formats import ChatFormat
from training.evaluation.dev_set import attention_of_engine
from training.models.copies import ModelCopy, copy_to_draw_with

if TYPE_CHECKING:
    from training.grpo_config import GrpoConfig

SERVE = (
    "start it with `VLLM_SERVER_DEV_MODE=1 vllm serve MODEL --weight-transfer-config "
    '\'{"backend": "nccl"}\' --logprobs-mode processed_logprobs`'
)


class RolloutEngine(ABC):
    """An engine that draws the tokens of a step."""

    def __init__(self, config: "GrpoConfig", fmt: ChatFormat) -> None:
        self.config, self.fmt = config, fmt
        self._policy: Any = None

    @abstractmethod
    def open(self, trainer: Any) -> AbstractContextManager[Policy]:
        """Return the policy of this step. All processes open and close it together."""


class TransformersRollouts(RolloutEngine):
    """Our own loop over the model in training. Gathers ZeRO-3 shards; under FSDP2 it draws with a
    copy, which has no room while the model learns."""

    _gathered: ModelCopy | None = None

    @contextmanager
    def open(self, trainer: Any) -> Iterator[Policy]:
        from trl.models.utils import unwrap_model_for_generation

        unwrapped = unwrap_model_for_generation(trainer.model_wrapped, trainer.accelerator)
        if self._gathered is None:
            self._gathered = copy_to_draw_with(trainer.model, trainer.accelerator)
        if copied := self._gathered:
            with unwrapped as model:
                drawing = copied.update(model)
            with self._lend(drawing, trainer) as policy:
                yield policy
            copied.free()
            return
        with unwrapped as model, attention_of_engine(model), self._lend(model, trainer) as policy:
            yield policy

    @contextmanager
    def _lend(self, model: Any, trainer: Any) -> Iterator[Policy]:
        if self._policy is None or self._policy.model is not model:
            self._policy = TransformersPolicy(
                model,
                trainer.processing_class,
                self.fmt,
                batch_size=self.config.engine_batch,
                max_context=self.config.max_context,
                name="training",
            )
        try:
            yield self._policy
        finally:
            self._policy.free()  # its room is the update's now


class VllmRollouts(RolloutEngine):
    """vLLM in each process, on the GPU that it trains on."""

    _slept_at = -1

    @contextmanager
    def open(self, trainer: Any) -> Iterator[Policy]:
        from graphwalker.policies.vllm.engine import VllmPolicy

        vllm, step = trainer.vllm_generation, trainer.state.global_step
        settings = self.config.vllm
        if settings.sleep:
            if self._slept_at == step:  # TRL pushes weights once a step; sleep has dropped them
                vllm.sync_weights()
            vllm.llm.wake_up(tags=["kv_cache"])
        ends = TurnEnds.of(trainer.processing_class, self.fmt, trainer.model.generation_config)
        book = Transcripts(trainer.processing_class, self.fmt, ends, self.config.max_context)
        try:
            yield VllmPolicy(vllm.llm.llm_engine, book, seeded=settings.seeded, name="training")
        finally:
            if settings.sleep:
                vllm.llm.sleep(level=2)
                self._slept_at = step


class VllmServerRollouts(RolloutEngine):
    """A vLLM server on GPUs of its own; every process asks it for its own episodes."""

    @contextmanager
    def open(self, trainer: Any) -> Iterator[Policy]:
        from graphwalker.policies.vllm.load import server_policy

        if self._policy is None:
            self._policy = server_policy(
                self.config.vllm,
                trainer.processing_class,
                trainer.model.generation_config,
                self.fmt,
                self.config.max_context,
                self.config.engine_batch,
                "training",
            )
        trainer.accelerator.wait_for_everyone()  # until the first one has pushed the weights
        yield self._policy


class BudgetPolicy:
    """Another policy, each of whose episodes may draw at most `tokens` tokens.

    The turn that meets the budget is cut there; the next one has no room, which ends the episode
    with `length`, as a full context does.
    """

    def __init__(self, inner: Policy, tokens: int) -> None:
        self.name, self._inner, self._tokens = inner.name, inner, tokens
        self._spent: list[str] = []

    def submit(self, request: Request) -> None:
        left = self._tokens - sum(len(turn.logprobs or ()) for turn in request.turns)
        if left <= 0:
            self._spent.append(request.key)
            return
        cap = min(request.sampling.max_tokens, left)
        self._inner.submit(replace(request, sampling=replace(request.sampling, max_tokens=cap)))

    def collect(self) -> list[tuple[str, Completion | PolicyError]]:
        spent, self._spent = self._spent, []
        return [(key, Completion("", "length")) for key in spent] or self._inner.collect()

    def release(self, key: str) -> None:
        if key in self._spent:
            self._spent.remove(key)
        self._inner.release(key)


def rollout_engine(config: "GrpoConfig", fmt: ChatFormat) -> RolloutEngine:
    """Return the engine that the config names."""
    kinds = {"vllm": VllmRollouts, "vllm-server": VllmServerRollouts}
    return kinds.get(config.engine, TransformersRollouts)(config, fmt)


def engine_arguments(config: "GrpoConfig") -> dict[str, Any]:
    """Return TRL's arguments of the engine. Raises `UserError` where it cannot run here."""
    if config.engine == "transformers":
        return {}
    vllm = config.vllm
    if config.environment.constrained:
        raise UserError(
            f"environment.constrained: {config.engine} gives the log-probabilities of what the "
            "grammar leaves, not of the model in training; set constrained=false or "
            "engine=transformers"
        )
    if find_spec("vllm") is None:
        raise lacks_extra(f"engine: {config.engine} needs vLLM here, too", "vllm")
    if vllm.tensor_parallel > 1:
        raise UserError(
            "vllm.tensor_parallel is for evaluations; to train with an engine over several GPUs "
            "use engine=vllm-server"
        )
    if vllm.replicas:
        raise UserError(
            "vllm.replicas is for evaluations: weights are sent to one server; start it with "
            "--data-parallel-size for several GPUs"
        )
    if config.engine == "vllm-server":
        check_server(vllm, config.temperature)
    return {
        "use_vllm": True,
        "vllm_mode": "server" if config.engine == "vllm-server" else "colocate",
        "vllm_server_base_url": vllm.base_url,
        "vllm_group_port": vllm.group_port,
        "vllm_gpu_memory_utilization": vllm.share_beside_trainer,
        "vllm_max_model_length": config.max_context,
        "vllm_enable_sleep_mode": vllm.sleep,
        "vllm_importance_sampling_correction": vllm.ratio_cap > 0,
        # A sequence's weight would be a product over thousands of tokens.
        "vllm_importance_sampling_mode": "token_truncate",
        "vllm_importance_sampling_clip_max": vllm.ratio_cap or None,
    }


def check_server(config: VllmConfig, temperature: float) -> None:
    """Raise `UserError` unless weights can be sent to the server, and its log-probabilities are
    those of the distribution that is trained."""
    import torch

    from graphwalker.http import NoReply, get
    from graphwalker.policies.vllm.server import served_model

    if not torch.cuda.is_available():
        raise UserError("engine: vllm-server sends weights over NCCL, which needs a GPU here, too")
    served_model(config)
    try:
        answer = get(f"{config.base_url}/server_info?config_format=json", 30.0)
        facts: dict[str, Any] = answer.json()["vllm_config"] if answer.status == 200 else {}
    except (NoReply, ValueError, KeyError, TypeError) as error:
        raise UserError(f"{config.base_url}: says nothing of itself ({error}); {SERVE}") from None
    if not facts.get("weight_transfer_config"):
        raise UserError(f"{config.base_url}: this server takes no weights; {SERVE}")
    mode = facts.get("model_config", {}).get("logprobs_mode")
    if temperature != 1 and mode != "processed_logprobs":
        raise UserError(
            f"{config.base_url}: temperature {temperature:g} needs log-probabilities of the "
            f"processed distribution, not {mode}; {SERVE}"
        )
