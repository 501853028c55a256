"""The settings of `benchmarks.graphwalk_trained`."""

from collections.abc import Sequence
from typing import Any

from graphwalker.config import Config
from graphwalker.question import Question

Settings = dict[str, Any]


class GraphSetConfig(Config):
    """A set of synthetic graphs (`graphwalker graph synthetic`)."""

    nodes: int = 100
    graphs: int = 100
    seed: int = 0
    each: int = 1
    """Questions of each template a graph."""
    size: Settings = {}
    """What differs from the sizes of the paper: `properties`, `density`, ..."""
    keep: dict[str, float] = {}
    """Share of the questions of a template that are kept; of one that is not named, all."""


class RoundConfig(Config):
    """One round of training."""

    sets: tuple[int, ...] = ()
    """Numbers of the sets of training graphs that it reads; none: all of them."""
    sft: Settings = {}
    """What is different from the settings of all rounds."""


class GraphWalkTrainedConfig(Config):
    """The settings of every stage, each checked by the stage itself."""

    train: tuple[GraphSetConfig, ...]
    """Training graphs."""
    test: dict[str, GraphSetConfig]
    """Test sets by name."""
    environment: Settings = {}
    """The agent's environment."""
    constrained: bool = False
    """The trained model's calls are decoded under constraint; beside it stands free decoding."""
    no_tools: Settings = {}
    """The environment of the model without tools."""
    model: Settings = {}
    """The tiny model (`graphwalker config model`)."""
    sft: Settings = {}
    """The training."""
    rounds: tuple[RoundConfig, ...] = (RoundConfig(),)
    """The first one begins with the tiny model, each other one with what the round before it made.
    Short rows first, then long ones."""
    no_tools_sft: Settings = {}
    """What is different without tools."""
    eval: Settings = {}
    """The evaluation."""


def kept(questions: Sequence[Question], config: GraphSetConfig) -> list[Question]:
    """The first of each template, as many as its share says."""
    groups: dict[str, list[Question]] = {}
    for question in questions:
        groups.setdefault(question.structure, []).append(question)
    sizes = {name: round(config.keep.get(name, 1.0) * len(some)) for name, some in groups.items()}
    chosen = {q.id for name, some in groups.items() for q in some[: sizes[name]]}
    return [question for question in questions if question.id in chosen]
