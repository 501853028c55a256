"""Settings of SFT that are groups of their own: adapters, and evaluation while training."""

from pydantic import Field

from graphwalker.agents.environment import EnvironmentConfig
from graphwalker.config import Config


class LoraSettings(Config):
    """Low-rank adapters (Hu et al. 2021): the model's own weights stay as they are."""

    r: int = Field(default=16, ge=1)
    """Rank of an adapter."""
    alpha: float = Field(default=32.0, gt=0)
    """Adapters are scaled by alpha / r."""
    dropout: float = Field(default=0.0, ge=0, lt=1)
    """Share of an adapter's inputs that are left out in training."""
    targets: tuple[str, ...] = ()
    """Names of the layers that get one, such as `q_proj`. None named: every linear layer but the
    head."""


class EvaluationSettings(Config):
    """Evaluation while training: greedy episodes in the environment, on a few questions."""

    questions: str
    """Question file; keep it apart from the training and the test questions."""
    graph: str
    """Graph that the agent walks: a compiled folder, an endpoint, or a recording."""
    environment: EnvironmentConfig = EnvironmentConfig()
    """What the agent lives in; the same as in the training data."""
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
