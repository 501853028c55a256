"""Settings of training: what SFT and GRPO share, and SFT's own."""

from typing import Any, Literal

from pydantic import Field, model_validator

from graphwalker.agents.environment import EnvironmentConfig
from graphwalker.config import Config, RunSeed
from graphwalker.pretrained.shipped import StartModel
from graphwalker.tokens.formats import FormatSetting
from graphwalker.trust import TrustedFolders
from training.trl_names import BARE_NAMES


class LoraSettings(Config):
    """Low-rank adapters (Hu et al. 2021): the model's own weights stay as they are."""

    block = "lora"

    r: int = Field(default=16, ge=1)
    """Rank of an adapter."""
    alpha: float = Field(default=32.0, gt=0)
    """Adapters are scaled by alpha / r."""
    dropout: float = Field(default=0.0, ge=0, lt=1)
    """Share of an adapter's inputs that are dropped in training."""
    targets: tuple[str, ...] = ()
    """Names of the layers that get one, such as `q_proj`. None named: every linear layer but the
    head."""


class TrainingConfig(Config):
    """Settings that SFT and GRPO share: the model, the optimizer, and the record of a run."""

    other_names = BARE_NAMES

    model: StartModel
    """Model to start from: a local folder or a Hub name. It brings its tokenizer."""
    output_dir: str
    """Run folder: config, checkpoints, metrics.jsonl, and the model in `final/`."""
    format: FormatSetting = "auto"
    """Layout of messages. `auto`: that of the chat template of the model's tokenizer. Else
    `chatml`, `qwen2.5`, `qwen3`, `llama3`, `llama3.1`, `inline` (tiny models), or a layout of your
    own (see `FormatConfig` in `graphwalker/tokens/formats.py`)."""

    environment: EnvironmentConfig = EnvironmentConfig()
    """The agent's tools, limits and prompt. What is not set is that of the demonstrations (SFT), or
    of the model, as its graphwalker.json says (GRPO)."""
    force_environment: bool = False
    """Train in another preset's environment than the demonstrations or the model have."""
    trust: TrustedFolders = ()
    """Folders of models and data whose files may name code, paths, addresses and variables
    (`docs/threat-model.md`). What they name is told before it is used."""
    allow_cpu: bool = False
    """Train on the CPU where Slurm, CUDA_VISIBLE_DEVICES or the layout promise GPUs that PyTorch
    does not see. Otherwise such a run ends before it starts."""

    max_seconds: float = Field(default=0.0, ge=0)
    """Stop after the step that passes this time. 0: no limit. Such a run is not repeatable."""
    lr: float = Field(gt=0)
    """Peak learning rate."""
    schedule: Literal["cosine", "linear", "constant"]
    """Learning rate after the warm-up."""
    beta1: float = Field(default=0.9, ge=0, lt=1)
    """AdamW's first moment."""
    beta2: float = Field(default=0.98, ge=0, lt=1)
    """AdamW's second moment (GraphWalker's code: 0.98)."""
    weight_decay: float = Field(default=0.01, ge=0)
    """AdamW's weight decay (GraphWalker's code: 0.01)."""
    max_grad_norm: float = Field(default=1.0, ge=0)
    """Gradients are clipped to this norm; 0: they are not clipped."""

    lora: LoraSettings | None = None
    """Train low-rank adapters alone; `final/` then holds the adapter, and in GRPO the model without
    it is the reference. `lora.r=16` is enough. Where `model` is an adapter, it is trained
    further over its base, and as it was it is the reference. Needs the extra `lora`. None: the
    whole model."""
    dtype: Literal["auto", "native", "float32", "bfloat16"] = "auto"
    """Of the arithmetic; trained weights are float32. `auto`: bfloat16 on a GPU that has it,
    float32 on a CPU. `native`: bfloat16 also on a CPU that multiplies in it (AVX512-BF16 or AMX),
    which nearly halves the time of a step of SFT; such a run repeats on CPUs of one kind. SFT with
    `lora` holds the model's own weights in it, too, and episodes are drawn with a copy in it."""
    gradient_checkpointing: bool = False
    """Recompute activations in the backward pass: less memory, slower."""
    seed: RunSeed = 0
    """Order of rows and questions, initial adapters, dropout, and every draw of a token."""

    save_steps: int = Field(ge=1)
    """Optimizer steps between checkpoints."""
    keep_checkpoints: int = Field(default=2, ge=1)
    """Older checkpoints are removed."""
    report_to: tuple[str, ...] = ()
    """Trackers besides metrics.jsonl, by TRL's names: `tensorboard`, `wandb`, `trackio`, ..."""
    ddp_timeout_s: int = Field(default=14_400, ge=1)
    """Seconds that a process waits for the others, such as those with the slowest rollouts."""
    trainer: dict[str, Any] = {}
    """Any other field of TRL's trainer config (`SFTConfig`, `GRPOConfig`), such as
    `trainer.torch_compile=true` or `trainer.lr_scheduler_kwargs={min_lr_rate: 0.1}`. Names and
    types are checked when the run starts; fields that other settings decide are refused."""


class EvaluationSettings(Config):
    """Evaluation while training: greedy episodes in the environment, on a few questions."""

    block = "evaluation"

    questions: str
    """Question file; keep it apart from the training and the test questions."""
    graph: str
    """Graph that the agent walks: a compiled folder, an endpoint, a recording, or
    `module:FACTORY`."""
    environment: EnvironmentConfig = EnvironmentConfig()
    """The agent's tools, limits and prompt, where they differ from those of the training data."""
    every_steps: int = Field(default=100, ge=1)
    """Optimizer steps between evaluations; the last step is always evaluated."""
    limit: int = Field(default=64, ge=1)
    """The first so many questions of the file."""
    max_turn_tokens: int = Field(default=512, ge=1)
    """Tokens of one completion."""
    max_context: int = Field(default=0, ge=0)
    """Tokens of an episode. 0: `max_length` of the training rows."""
    batch_size: int = Field(default=64, ge=1)
    """Episodes of one process that are decoded together."""
    choose_best: bool = True
    """`final/` is the model with the highest EM (of equals the earliest), kept in `best-STEP/`.
    Otherwise it is the last one."""


class SftConfig(TrainingConfig):
    """Supervised fine-tuning on trajectories; the loss is on the agent's tokens alone."""

    basic = (
        "data", "epochs", "max_steps", "batch_size", "tokens_per_step",
        "gradient_accumulation", "max_length", "lr", "schedule", "warmup_ratio", "lora.r",
        "format", "dtype", "gradient_checkpointing", "attention", "packing",
        "evaluation.questions", "evaluation.graph", "save_steps", "report_to", "seed",
    )  # fmt: skip

    data: tuple[str, ...]
    """Trajectory files (`.jsonl`, `.jsonl.gz`), read in order."""

    epochs: float = Field(default=2.0, gt=0)
    """Passes over the data (GraphWalker: 2)."""
    max_steps: int = Field(default=0, ge=0)
    """Stop after so many optimizer steps; the learning rate decays to there. 0: by `epochs`."""
    max_seconds: float = Field(default=0.0, ge=0)
    """Stop after so many seconds of training; the learning rate decays by the clock where that is
    faster than by steps. 0: no limit. A run with a limit is not repeatable bit by bit."""
    batch_size: int = Field(default=32, ge=1)
    """Rows per optimizer step, over all processes (GraphWalker: 32)."""
    tokens_per_step: int = Field(default=0, ge=0)
    """Tokens per optimizer step instead of `batch_size` rows, padding included. 0: by rows."""
    gradient_accumulation: int = Field(default=1, ge=1)
    """Each process splits its share of a step into so many forward passes (saves memory)."""
    max_length: int = Field(default=4096, ge=1)
    """Rows longer than this are set aside, counted and reported; none is cut (GraphWalker:
    4096)."""

    mask_injected_errors: bool = True
    """No loss on turns in which an expert was made to err: the recovery is learned, not the error
    (the paper trains on both)."""

    lr: float = Field(default=1e-5, gt=0)
    """Peak learning rate (GraphWalker: 1e-5; a tiny model from scratch: 3e-3)."""
    schedule: Literal["cosine", "linear", "constant"] = "cosine"
    """Decay of the learning rate to zero after the warm-up (GraphWalker: cosine)."""
    warmup_ratio: float = Field(default=0.03, ge=0, le=1)
    """Share of the run in which the learning rate rises from zero."""

    attention: Literal["auto", "sdpa", "eager", "flash_attention_2"] = "auto"
    """`flash_attention_2` needs a GPU and the package flash-attn. `auto`: that one for packed rows
    where it is there, else PyTorch's `sdpa`."""
    packing: bool = False
    """Lay the rows of a forward pass end to end instead of padding them; a row sees itself alone,
    so the loss is the same. Saves memory and time with `flash_attention_2`; with `sdpa` a pass of n
    tokens costs n * n, so keep passes small (`gradient_accumulation`)."""
    evaluation: EvaluationSettings | None = None
    """Evaluate on real episodes while training; EM and the share of valid actions go to
    metrics.jsonl and `report_to`. None: only the loss is watched."""

    save_steps: int = Field(default=200, ge=1)
    """Optimizer steps between checkpoints."""
    log_steps: int = Field(default=10, ge=1)
    """Optimizer steps between lines of metrics.jsonl."""
    progress: bool = True
    """Show a progress bar (on a terminal)."""

    @model_validator(mode="after")
    def _data_is_named(self) -> "SftConfig":
        if not self.data:
            raise ValueError("data must name at least one trajectory file")
        return self
