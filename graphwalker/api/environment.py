"""The environment of a script: as the settings say, or as a model was trained."""

from collections.abc import Sequence
from pathlib import Path

from graphwalker.agents.environment import Environment, EnvironmentConfig
from graphwalker.agents.model_environment import environment_of
from graphwalker.agents.preset import Preset
from graphwalker.graphs.base import KnowledgeGraph


class ScriptEnvironment(Environment):
    """A graph, its tools and the agent that uses them: one for data, training and evaluation."""

    def __init__(
        self,
        graph: KnowledgeGraph,
        config: EnvironmentConfig | None = None,
        preset: Preset | None = None,
        *,
        model: str | Path | None = None,
        trust: Sequence[str] = (),
    ) -> None:
        """`model` is a model's folder: the environment that it was trained in, with what the
        config sets. `preset` is one at hand, in place of the one that the config names. `trust`
        holds folders whose files may name code, paths, addresses and variables.

        Raises `UserError` for a folder that does not say its environment, and for another preset
        than the model's.
        """
        if model is not None:
            config = environment_of(model, config or EnvironmentConfig(), trust)
        super().__init__(graph, config, preset)
