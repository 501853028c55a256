"""The GRPO config: GraphWalker's values as defaults, tiny models by override."""

from typing import Literal

from pydantic import Field, model_validator

from graphwalker.config import Config
from graphwalker.policies.vllm.config import Engine, VllmConfig
from graphwalker.pretrained.shipped import StartModel
from training.config import TrainingConfig
from training.rewards.mix import RewardWeights


class GrpoEvaluation(Config):
    """Evaluation while training, in the environment of the run: greedy episodes on dev questions,
    before the first step, every so many steps, and after the last one."""

    questions: str
    """Question file; keep it apart from the training and the test questions."""
    every_steps: int = Field(default=10, ge=1)
    """Optimizer steps between evaluations; the last step is always evaluated."""
    limit: int = Field(default=200, ge=1)
    """The first so many questions of the file."""
    samples: int = Field(default=0, ge=0)
    """Sampled episodes of each question besides the greedy one, for `sampled_em`, at the run's own
    `temperature`. 0: none."""
    choose_by: Literal["em", "f1", "sampled_em"] = "em"
    """The figure by which the best model is chosen; of equals the earliest."""
    choose_best: bool = True
    """`final/` is the best model, kept in `best-STEP/` (step 0 is the model that the run started
    from). Otherwise it is the last one, and `best-STEP/` is kept beside it."""
    patience: int = Field(default=0, ge=0)
    """End the run after so many evaluations in a row without a better model. 0: never."""

    @model_validator(mode="after")
    def _sampled_where_chosen_by(self) -> "GrpoEvaluation":
        if self.choose_by == "sampled_em" and not self.samples:
            raise ValueError("choose_by sampled_em needs samples of 1 or more")
        return self


class ReplaySettings(Config):
    """Demonstrations in every step of GRPO, against forgetting: the cross-entropy of rows of the
    SFT data is added to the loss, on the agent's own tokens alone. Injected errors are masked as in
    SFT; rows longer than an episode may be are set aside and counted."""

    data: tuple[str, ...] = Field(min_length=1)
    """Trajectory files, such as those of SFT stage 2."""
    rows: int = Field(default=32, ge=1)
    """Rows in each optimizer step, over all processes; no row twice before all were seen."""
    weight: float = Field(default=0.1, gt=0)
    """Weight of their mean cross-entropy, in nats per token, beside the objective of GRPO."""


class GrpoConfig(TrainingConfig):
    """Reinforcement learning in the environment; the reward is strict set EM of the answer.

    Values are those of GraphWalker's Table 12, and where that is silent, of its released code.
    """

    basic = (
        "prompts_per_step", "samples", "steps", "temperature", "lr", "beta",
        "rewards", "zero_variance", "max_turn_tokens", "max_prompt_tokens",
        "max_response_tokens", "micro_batch", "engine", "vllm.gpu_memory",
        "lora.r", "format", "dtype", "gradient_checkpointing",
        "save_steps", "seed",
    )  # fmt: skip

    model: StartModel
    """Model to start from, and the reference of the KL term: a local folder or a Hub name."""
    questions: str
    """Training questions: ours, published, or a table of one's own; trajectory files count too."""
    unresolved: str = "stop"
    """What to do with questions of one's own whose topic entity or answer the graph does not
    settle: `stop` lists them in `unresolved.jsonl` in the output folder, `drop` leaves them out.
    The edited file: its topics and answers count."""
    graph: str
    """Graph that the agent walks: a compiled folder, an endpoint, a recording, or
    `module:FACTORY`."""
    winnable: bool = False
    """Whether to leave out the questions that nobody could answer in this environment, as
    `graphwalker ceiling` counts them: their groups have no variance and teach nothing."""

    prompts_per_step: int = Field(default=64, ge=1)
    """Questions per step (GraphWalker: 64)."""
    samples: int = Field(default=8, ge=2)
    """Episodes per question, compared with each other (GraphWalker: 8)."""
    steps: int = Field(default=100, ge=1)
    """Optimizer steps (GraphWalker: 100)."""
    iterations: int = Field(default=1, ge=1)
    """Optimizer steps on each batch of episodes (GraphWalker: 1). From the second on, the policy
    is no longer the one that drew them, and the clips of the ratio act."""
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

    rewards: RewardWeights = {"em": 1.0}
    """What an episode earns: weights of rewards by name, or of `module:NAME`, a function of your
    own of (trajectory, question, scores). Of the answer: `em`, `grounded_em` (only what the tools
    showed), `f1`, `hits1`, `relaxed_em` (the released evaluator's), `grounded_relaxed_em`,
    `answered`, `over_answer`. In a mapping `em` counts 1 unless it is given; a list gives each of
    its names weight 1."""
    zero_variance: Literal["keep", "filter", "resample"] = "keep"
    """Groups whose episodes all earn the same: `keep` them (their advantage is 0), `filter` them
    out of the loss's mean, or `resample`: draw groups of other questions instead (DAPO)."""
    resample_tries: int = Field(default=3, ge=1)
    """Rounds of `resample` at most; groups that are still without variance are kept."""
    max_failed: float = Field(default=0.25, ge=0, le=1)
    """The run stops when more than this share of a step's episodes are infrastructure failures (of
    the graph or the engine). Those have no reward and no gradient. An
    engine that fails in two steps in a row ends it whatever the share."""

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
    """An advantage is the reward minus its group's mean, divided by the standard deviation of the
    rewards of its `group`, or of the whole `batch`, or by nothing (`none`)."""
    replay: ReplaySettings | None = None
    """Demonstrations in every step, against forgetting. None: none."""
    micro_batch: int = Field(default=8, ge=1)
    """Episodes per forward and backward pass of one process."""
    engine_batch: int = Field(default=256, ge=1)
    """Episodes that are decoded together."""
    engine: Engine = "transformers"
    """What draws the episodes: `transformers`, `vllm` (beside the trainer on its GPU), or
    `vllm-server` (on GPUs of its own)."""
    vllm: VllmConfig = VllmConfig()
    """Settings of the two vLLM engines."""
    min_answered: float = Field(default=0.2, ge=0, le=1)
    """Lower limit for the share of episodes that end with an answer."""
    min_valid_actions: float = Field(default=0.2, ge=0, le=1)
    """Lower limit for the share of completions that hold a valid action."""
    min_entropy: float = Field(default=0.0, ge=0)
    """Lower limit for the entropy, in nats per drawn token. 0: no limit."""
    max_kl: float = Field(default=1.0, ge=0)
    """Upper limit for the KL from the reference, in nats per token. 0: no limit."""
    max_mismatch: float = Field(default=0.1, ge=0)
    """Upper limit for the mean distance between the log-probabilities of training and those of
    sampling. In float32 they agree to 1e-4. 0: no limit."""
    limit_steps: int = Field(default=5, ge=0)
    """The run stops after so many steps in a row beyond one of these limits. 0: never."""

    evaluation: GrpoEvaluation | None = None
    """Evaluate on dev questions while training; figures go to metrics.jsonl (`eval_...`),
    evaluations.jsonl and `report_to`. None: only the training episodes are watched."""
    save_steps: int = Field(default=10, ge=1)
    """Optimizer steps between checkpoints."""
    trajectories_per_step: int = Field(default=4, ge=0)
    """Episodes of each step that are written to trajectories.jsonl, to be read."""

    @property
    def max_context(self) -> int:
        """Tokens of an episode, its prompt included."""
        return self.max_prompt_tokens + self.max_response_tokens

    @model_validator(mode="after")
    def _batches_are_whole(self) -> "GrpoConfig":
        for name in ("steps", "save_steps"):
            if getattr(self, name) % self.iterations:
                raise ValueError(f"{name} must be a multiple of iterations ({self.iterations})")
        return self
