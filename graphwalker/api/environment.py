"""The environment of a script: as the settings say, or as a model was trained; also by hand."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any, cast

from graphwalker.agents.environment import Environment, EnvironmentConfig
from graphwalker.agents.episode import Episode
from graphwalker.agents.model_environment import environment_of
from graphwalker.agents.preset import Preset
from graphwalker.agents.presets import find_preset
from graphwalker.datasets.grounding import ground, ground_one
from graphwalker.graphs.base import Entity
from graphwalker.graphs.browse import find
from graphwalker.graphs.open import open_graph
from graphwalker.policies.base import Completion
from graphwalker.pretrained.shipped import folder_of
from graphwalker.protocols.tags import TagProtocol
from graphwalker.question import Question
from graphwalker.serve.ask import find_topic
from graphwalker.tools.base import Call, EntityNames, ErrorKind, ToolBox, abilities_of
from graphwalker.trajectory import Trajectory

TOOLBOXES = 64
"""Entities whose listings are remembered between calls by hand."""


class ScriptEnvironment(Environment):
    """A graph, its tools and the agent that uses them: one for data, training and evaluation."""

    def __init__(
        self,
        graph: Any,
        config: EnvironmentConfig | None = None,
        preset: Preset | str | None = None,
        *,
        model: str | Path | None = None,
        trust: Sequence[str] = (),
    ) -> None:
        """`graph` is a graph, or what `open_graph` takes. `model` is a model's folder: the
        environment that it was trained in, with what the config sets. `preset` is a name, or one at
        hand in place of the one that the config names. `trust`
        holds folders whose files may name code, paths, addresses and variables.

        Raises `UserError` for a folder that does not say its environment, and for another preset
        than the model's.
        """
        graph = open_graph(graph)
        preset = find_preset(preset) if isinstance(preset, str) else preset
        if model is not None:
            config = environment_of(folder_of(str(model)), config or EnvironmentConfig(), trust)
        shown: list[Trajectory] = []
        if config and config.exemplars:
            from data_pipeline.exemplars import make_exemplars

            shown = make_exemplars(graph, config, 0, ())
        super().__init__(graph, config, preset, shown)
        self._episode: Episode | None = None
        self._by_hand: dict[tuple[Entity, ...], ToolBox] = {}

    def __repr__(self) -> str:
        limits = f"max_turns={self.config.max_turns}, top_relations={self.config.top_relations}"
        return f"Environment({self.name}, {self.graph!r}, {limits})"

    @property
    def tools(self) -> tuple[str, ...]:
        """The names of the tools, each of which is a method here, too."""
        return tuple(self.preset.calls)

    def toolbox(self, question: Question) -> ToolBox:
        """Return fresh tools for one episode; topic entities that are names get their ids."""
        return super().toolbox(ground_one(question, self.graph))

    def reset(self, question: Question) -> str:
        """Begin an episode that `step` plays by hand; returns what the agent is told first. Raises
        `UserError` for a topic entity that the graph does not have."""
        if not isinstance(cast("Any", question), Question):
            raise TypeError(f"reset(Question(text, names of topic entities)); got {question!r}")
        (question,) = ground([question], self.graph)
        for topic in question.topic_entities:
            if not topic.id:
                find_topic(self.graph, topic.name)
        self._episode = Episode(question, 0, self)
        ask = self._episode.ask
        return ask.messages[-1].content if ask else ""

    def step(self, text: str) -> str | Trajectory:
        """Play a turn as the model would write it; returns the observation, or the scored episode
        where that turn ended it. Raises `TypeError` before `reset`."""
        from graphwalker.scoring import score

        if self._episode is None or self._episode.stop is not None:
            raise TypeError("no episode is under way: call reset(question) first")
        self._episode.feed(Completion(text))
        if self._episode.stop is None:
            return self._episode.turns[-1].observation
        done = self._episode.trajectory("by hand")
        return done if done.stop.infrastructure_failure else done.with_scores(**score(done))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or "preset" not in self.__dict__ or name not in self.tools:
            raise AttributeError(f"{type(self).__name__} has no attribute or tool {name!r}")
        return partial(self._call, name)

    def _call(
        self, tool: str, entity: str = "", *values: Any, question: str = "", **arguments: Any
    ) -> str:
        """Return what a tool shows of an entity, by name or id, outside of an episode. One tool may
        ask for what another one has listed. A question ranks what is listed."""
        if not isinstance(cast("Any", question), str):
            raise TypeError(f"question is a text; got {question!r}")
        topics = (self._find(entity),) if entity else ()
        known = self._by_hand.pop(topics, None)
        toolbox = known if known and not question else None
        toolbox = toolbox or self.toolbox(Question("by hand", question, topics))
        named = [topics[0].id if self.calls_by_id else toolbox.topic_names()[0]] if topics else []
        given = (*named, *values)
        if given and isinstance(self.protocol, TagProtocol):
            names = self.protocol.parameters(tool, len(given))
        else:
            names = ("entity", *map(str, range(1, len(given))))
        call = Call(tool, {**dict(zip(names, given, strict=False)), **arguments})
        seen = toolbox.call(call)
        if known and seen.error == ErrorKind.NOT_LISTED_YET:  # by this question, perhaps by another
            toolbox, seen = known, known.call(call)
        self._by_hand = dict([*self._by_hand.items(), (topics, toolbox)][-TOOLBOXES:])
        return seen.text

    @property
    def calls_by_id(self) -> bool:
        """Whether calls name entities by their ids, not by the names shown."""
        directed = abilities_of(self.speaker).directed
        return directed is not None and directed.by_id

    def describe(self, entity: Entity) -> str:
        """Return the entity's name, behind its id where calls take ids; with it for a namesake."""
        names = self._names()
        if self.calls_by_id and names:
            return names.show_entity(entity)[1]
        first = self.graph.resolve(entity.name)[:1]
        return entity.name if entity in first else f"{entity.name} ({entity.id})"

    def _find(self, text: str) -> Entity:
        """Return the entity of that name or id, as the tools write them: namesakes carry their
        ids, as in `Hidden Ember (m.0ls)`."""
        names = self._names()
        if self.calls_by_id and names and isinstance(cast("Any", text), str):
            found = names.find_entity(text)
            if isinstance(found, Entity):
                return found
        try:
            return find(self.graph, text)
        except KeyError:
            name, _, entity_id = text.removesuffix(")").rpartition(" (")
            if name and self.graph.name(entity_id) == name:
                return Entity(entity_id, name)
            raise

    def _names(self) -> EntityNames | None:
        return abilities_of(self.toolbox(Question("by hand", ""))).entities
