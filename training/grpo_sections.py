"""Sections of the GRPO config: evaluation on dev questions, and replay of demonstrations."""

from typing import Literal

from pydantic import Field, model_validator

from graphwalker.config import Config


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
    SFT data is added to the loss, on the agent's own tokens alone. Injected errors are masked, as in
    SFT; rows longer than an episode may be are set aside and counted."""

    data: tuple[str, ...] = Field(min_length=1)
    """Trajectory files, such as those of SFT stage 2."""
    rows: int = Field(default=32, ge=1)
    """Rows in each optimizer step, over all processes; no row twice before all were seen."""
    weight: float = Field(default=0.1, gt=0)
    """Weight of their mean cross-entropy, in nats per token, beside the objective of GRPO."""
