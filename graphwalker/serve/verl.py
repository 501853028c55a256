"""The environment as an interaction of verl: its agent loop plays GraphWalker's episodes.

`graphwalker export --to verl` writes the rows and the config that name this class. The contract is
that of verl's `BaseInteraction` (verl/interactions/base.py, 2025); it is kept, not inherited, so
that this package needs no verl.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from graphwalker.agents.environment import Environment, EnvironmentConfig
from graphwalker.agents.episode import Episode
from graphwalker.config import parse_config
from graphwalker.errors import GraphError
from graphwalker.graphs.open import open_graph
from graphwalker.policies.base import Completion
from graphwalker.question import Question
from graphwalker.scoring import score


class GraphWalkerInteraction:
    """What answers the model's messages: observations, until it has answered."""

    def __init__(self, config: Mapping[str, Any]) -> None:
        """`config`: `graph` as every command takes it, and settings of the `environment`."""
        self.name = str(config.get("name", "graphwalker"))
        settings = parse_config(EnvironmentConfig, config.get("environment") or {}, self.name)
        graph = open_graph(str(config["graph"]), wikidata=settings.layers.wikidata)
        self._environment = Environment(graph, settings)
        self._episodes: dict[str, Episode] = {}
        self._scores: dict[str, float] = {}

    async def start_interaction(
        self, instance_id: str, question: str = "", **kwargs: object
    ) -> str:
        """Begin the episode of one rollout. `question` is a question of ours as JSON."""
        parsed = Question.from_json(json.loads(question))
        self._episodes[instance_id] = Episode(parsed, 0, self._environment)
        return instance_id

    async def generate_response(
        self, instance_id: str, messages: Sequence[Mapping[str, Any]], **kwargs: object
    ) -> tuple[bool, str, float, dict[str, Any]]:
        """(whether the episode is over, the observation, its score, nothing). The score is the
        strict exact match of the answers, 0 before the end.

        Raises `GraphError` where the graph failed: such an episode says nothing about the model.
        """
        episode = self._episodes[instance_id]
        written = next(m for m in reversed(messages) if m["role"] == "assistant")
        episode.feed(Completion(str(written["content"])))
        if episode.ask is not None:
            return False, episode.ask.messages[-1].content, 0.0, {}
        if episode.failure is not None:
            raise GraphError(f"{episode.key}: {episode.failure}")
        self._scores[instance_id] = score(episode.trajectory("verl"))["em"]
        return True, "", self._scores[instance_id], {}

    async def calculate_score(self, instance_id: str = "", **kwargs: object) -> float:
        """The score of an episode that is over, else 0."""
        return self._scores.get(instance_id, 0.0)

    async def finalize_interaction(self, instance_id: str = "", **kwargs: object) -> None:
        """Forget the episode."""
        self._episodes.pop(instance_id, None)
        self._scores.pop(instance_id, None)
