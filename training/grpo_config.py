"""The GRPO config: GraphWalker's values as defaults, tiny models by override."""

from typing import Literal

from pydantic import Field, model_validator

from graphwalker.agents.environment import EnvironmentConfig
from graphwalker.config import Config
from graphwalker.policies.vllm.config import Engine, VllmConfig
from graphwalker.tokens.formats import FormatSetting
from training.reinforce.rewards import RewardMix
from training.sft_settings import LoraSettings


class GrpoConfig(Config):
    """Reinforcement learning in the environment; the reward is strict set EM of the answer.

    Values are those of GraphWalker's Table 12, and where that is silent, of its released code.
    """

    model: str
    """Model to start from, and the reference of the KL term: a local folder or a Hub name."""
    questions: str
    """Training questions (`.jsonl`, `.jsonl.gz`); those of trajectory files count too."""
    graph: str
    """Compiled graph that the agent walks."""
    output_dir: str
    """Run folder: config, checkpoints, metrics.jsonl, trajectories.jsonl, the model in `final/`."""
    format: FormatSetting = "chatml"
    """Layout of messages: `chatml`, `qwen2.5`, `qwen3`, `llama3`, `llama3.1`, `inline` (tiny
    models), or a layout of your own (see `FormatConfig` in `graphwalker/tokens/formats.py`)."""
    environment: EnvironmentConfig = EnvironmentConfig()
    """What the agent lives in; the same as for the SFT data and the evaluation."""

    prompts_per_step: int = Field(default=64, ge=1)
    """Questions per step (GraphWalker: 64)."""
    samples: int = Field(default=8, ge=2)
    """Episodes per question, compared with each other (GraphWalker: 8)."""
    steps: int = Field(default=100, ge=1)
    """Optimizer steps (GraphWalker: 100)."""
    iterations: int = Field(default=1, ge=1)
    """Optimizer steps on each batch of episodes (GraphWalker: 1). From the second on, the policy
    is no longer the one that drew them, and the clips of the ratio act."""
    max_seconds: float = Field(default=0.0, ge=0)
    """Stop after the step that passes this time. 0: no limit. Such a run is not repeatable."""
    temperature: float = Field(default=1.0, gt=0)
    """Of sampling and of the trained distribution (GraphWalker: 1.0)."""
    max_turn_tokens: int = Field(default=512, ge=1)
    """Tokens of one completion."""
    max_episode_tokens: int = Field(default=0, ge=0)
    """Tokens that the policy may draw in one episode, over all its turns. 0: no limit."""
    max_prompt_tokens: int = Field(default=4096, ge=1)
    """Tokens of the first prompt (GraphWalker: 4096); with the next, the limit of the context."""
    max_response_tokens: int = Field(default=8192, ge=1)
    """Tokens after it, observations included (GraphWalker: 8192)."""

    rewards: RewardMix = RewardMix()
    """What an answer earns: weights of EM, F1 and others."""
    turn_credit: float = Field(default=0.0, ge=0)
    """Weight of each turn's own advantage: did the tools accept its action? 0: off, as in
    GraphWalker. (MT-GRPO, arXiv:2505.11821; see `training/reinforce/turn_credit.py`.)"""
    zero_variance: Literal["keep", "filter", "resample"] = "keep"
    """Groups whose episodes all earn the same: `keep` them (their advantage is 0), `filter` them
    out of the loss's mean, or `resample`: draw groups of other questions instead (DAPO)."""
    resample_tries: int = Field(default=3, ge=1)
    """Rounds of `resample` at most; groups that are still without variance are kept."""
    max_failed: float = Field(default=0.25, ge=0, le=1)
    """The run stops when more than this share of a step's episodes failed because the graph or the
    engine did. Failed episodes have no reward and no gradient."""

    lr: float = Field(default=1e-6, gt=0)
    """Learning rate (GraphWalker: 1e-6)."""
    schedule: Literal["constant", "linear", "cosine"] = "constant"
    """Learning rate after the warm-up (GraphWalker's code: constant)."""
    warmup_steps: int = Field(default=0, ge=0)
    """Steps in which the learning rate rises from zero."""
    beta: float = Field(default=0.001, ge=0)
    """Weight of the KL term (GraphWalker: 0.001). 0: no reference model, which is faster."""
    clip_low: float = Field(default=0.2, gt=0)
    """Lower clip of the probability ratio (GraphWalker's code: 0.2)."""
    clip_high: float = Field(default=0.28, gt=0)
    """Upper clip (GraphWalker's code: 0.28, DAPO's clip-higher)."""
    loss_type: Literal["grpo", "bnpo", "dr_grpo", "dapo"] = "grpo"
    """TRL's name of the objective; `grpo` is the paper's mean over each sequence. Dr. GRPO is
    `dr_grpo` with `scale_rewards: none`."""
    importance_level: Literal["token", "sequence"] = "token"
    """Whose probability ratio is clipped. GSPO is `sequence` with `clip_low: 3e-4`,
    `clip_high: 4e-4`, `beta: 0` and `iterations` above 1 (arXiv:2507.18071)."""
    scale_rewards: Literal["group", "batch", "none"] = "group"
    """What the advantages are divided by the deviation of."""
    beta1: float = Field(default=0.9, ge=0, lt=1)
    """AdamW's first moment."""
    beta2: float = Field(default=0.98, ge=0, lt=1)
    """AdamW's second moment (GraphWalker's code: 0.98)."""
    epsilon: float = Field(default=1e-8, gt=0)
    """AdamW's epsilon. Tiny models want 1e-5 or more: the gradient is small and noisy, and what
    hardly gets any (the embedding of a rare word) should hardly move."""
    weight_decay: float = Field(default=0.01, ge=0)
    """AdamW's weight decay (GraphWalker's code: 0.01)."""
    max_grad_norm: float = Field(default=1.0, ge=0)
    """Gradients are clipped to this norm; 0: not."""

    micro_batch: int = Field(default=8, ge=1)
    """Episodes per forward and backward pass of one process."""
    engine_batch: int = Field(default=256, ge=1)
    """Episodes that are decoded together."""
    engine: Engine = "transformers"
    """What draws the episodes: `transformers`, `vllm` (beside the trainer on its GPU), or
    `vllm-server` (on GPUs of its own)."""
    vllm: VllmConfig = VllmConfig()
    """Settings of the two vLLM engines."""
    lora: LoraSettings | None = None
    """Train low-rank adapters alone (one GPU): the model without them is the reference, `final/`
    holds the adapter. `lora.r=16` is enough. Needs the extra `lora`. None: the whole model."""
    dtype: Literal["auto", "float32", "bfloat16"] = "auto"
    """`auto`: bfloat16 arithmetic on a GPU that has it, float32 on a CPU."""
    gradient_checkpointing: bool = False
    """Recompute activations in the backward pass: less memory, slower."""
    threads: int = Field(default=0, ge=0)
    """CPU threads of torch. 0: as many as cores, or `OMP_NUM_THREADS`."""
    seed: int = 0
    """Order of the questions, and every draw of a token."""

    min_answered: float = Field(default=0.2, ge=0, le=1)
    """The alarm rings below this share of episodes that end with an answer."""
    min_valid_actions: float = Field(default=0.2, ge=0, le=1)
    """The alarm rings below this share of completions that hold a valid action."""
    min_entropy: float = Field(default=0.0, ge=0)
    """The alarm rings below this entropy, in nats per drawn token. 0: no limit."""
    max_kl: float = Field(default=1.0, ge=0)
    """The alarm rings above this KL from the reference, in nats per token. 0: no limit."""
    max_mismatch: float = Field(default=0.1, ge=0)
    """The alarm rings when log-probabilities of training are on average further than this from
    those of sampling. In float32 they agree to 1e-4. 0: no limit."""
    alarm_steps: int = Field(default=5, ge=0)
    """Steps in a row beyond a limit that stop the run. 0: never."""

    save_steps: int = Field(default=10, ge=1)
    """Optimizer steps between checkpoints."""
    keep_checkpoints: int = Field(default=2, ge=1)
    """Older checkpoints are removed."""
    trajectories_per_step: int = Field(default=4, ge=0)
    """Episodes of each step that are written to trajectories.jsonl, to be read."""
    report_to: tuple[str, ...] = ()
    """Trackers besides metrics.jsonl, by TRL's names: `tensorboard`, `wandb`, `trackio`, ..."""

    @model_validator(mode="after")
    def _batches_are_whole(self) -> "GrpoConfig":
        for name in ("steps", "save_steps"):
            if getattr(self, name) % self.iterations:
                raise ValueError(f"{name} must be a multiple of iterations ({self.iterations})")
        if self.lora and self.engine != "transformers":
            raise ValueError("lora draws with engine=transformers: vLLM is sent whole weights")
        return self
