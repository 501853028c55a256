"""The settings of `graphwalker demo`, and where the shipped ones lie."""

from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from graphwalker.config import Config
from graphwalker.errors import UserError

Settings = dict[str, Any]


class DemoConfig(Config):
    """`graphwalker demo`: the settings of every stage, each checked by the stage itself."""

    seed: int = 0
    """Seed of the world, the data, the weights and every draw."""
    graph: str = ""
    """A compiled graph of your own to walk; empty: a fictional world is made."""
    entities: int = Field(default=3000, ge=1000)
    """Named entities of the fictional world."""
    processes: Literal[1, 2] = 1
    """Processes that work side by side, of one thread each where there are 2: what SFT does not
    wait for is made and evaluated beside it, and GRPO's episodes are drawn by two that average
    their gradients, in another order of sums than one, so that a run repeats with the same number.
    1: all in turn, with the threads that torch takes."""
    environment: Settings = {}
    """Tools, limits and prompt, the same for data, training and evaluation."""
    synth: Settings = {}
    """GraphSynth (see `graphwalker config synth`)."""
    rl_questions: Settings = {}
    """Questions for the expert, and for GRPO those that the expert leaves: other walks than
    GraphSynth's."""
    grpo_questions: Settings = {}
    """GRPO's own questions, in place of those that the expert leaves; what is not named here is as
    in `rl_questions`."""
    experts: Settings = {}
    """GraphRoll (see `graphwalker config experts`)."""
    tests: dict[str, Settings] = {}
    """Held-out question sets by split (`test-entity`, `test-path`)."""
    model: Settings = {}
    """The tiny model (see `graphwalker config model`)."""
    sft1: Settings = {}
    """SFT stage 1 on GraphSynth (see `graphwalker config sft`)."""
    sft2: Settings = {}
    """SFT stage 2 on GraphRoll."""
    grpo: Settings = {}
    """GRPO (see `graphwalker config grpo`). The demonstrations of `replay` are the run's own of
    stage 2, unless it names others."""
    eval: Settings = {}
    """Evaluation of each stage (see `graphwalker config eval`)."""
    benchmarks: dict[str, str] = {}
    """Question files (name: path) that the agent answers greedily before and after GRPO, besides
    the test set. `grpo.questions` may name questions of the same kind to train on."""


def shipped_config(quick: bool) -> Path:
    """The demo's settings, from the source tree or the installed package."""
    here, name = Path(__file__).parents[1], "demo-quick.yaml" if quick else "demo.yaml"
    for folder in (here.parent / "configs", here / "configs"):
        if (folder / name).is_file():
            return folder / name
    raise UserError(f"{name} is missing from this installation: reinstall graphwalker")
