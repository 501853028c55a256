"""The environment of an agent: a graph, its tools, and the agent that a preset makes."""

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, lru_cache
from typing import Annotated, Any, Self

from pydantic import SerializerFunctionWrapHandler, model_serializer, model_validator
from pydantic_core import to_jsonable_python

from graphwalker.agents.preset import AgentSettings, Preset
from graphwalker.agents.presets import find_preset, presets
from graphwalker.agents.prompt import Prompt
from graphwalker.agents.react import ReActAgent
from graphwalker.config import Config, parse_config
from graphwalker.errors import UserError
from graphwalker.graphs.base import KnowledgeGraph
from graphwalker.graphs.views.sets import MEMBERS_KEPT, GraphSet
from graphwalker.graphs.views.settings import with_layers
from graphwalker.protocols.base import ActionProtocol
from graphwalker.question import Question
from graphwalker.ranking.load import load_ranker, trained_ranker
from graphwalker.settings.named import is_own
from graphwalker.tools.base import BoundedTools, ToolBox, abilities_of
from graphwalker.tools.own import OwnTool, OwnTools, load_tool, tool_digests
from graphwalker.trajectory import Message, Trajectory
from graphwalker.trust import RUNS, ByHand


class EnvironmentConfig(AgentSettings):
    """What an agent lives in, the limits of its tools included. The defaults are GraphWalker's."""

    basic = (
        "preset", "prompt", "ranker", "top_relations", "relations_per_call",
        "triples_per_relation", "max_turns", "max_malformed", "max_observation_chars",
        "max_context_tokens", "reranker.base_url", "reranker.model", "layers.wikidata",
        "layers.aliases", "layers.freebase_schema",
    )  # fmt: skip

    block = "environment"

    preset: Annotated[str, ByHand(RUNS, lambda name: not is_own(str(name)))] = "graphwalker"
    """Which environment this is, as `graphwalker agents` lists them: `graphwalker`,
    `graphwalker-wide`, `search-on-graph`, ..., or `module:NAME` of your own `Preset`."""

    @classmethod
    def open_section(cls, key: str, values: Mapping[str, Any]) -> type[Config] | None:
        """Return the model of `options`, by the preset among the values (`graphwalker.trust`)."""
        if key != "options":
            return None
        known = presets().get(str(values.get("preset", cls.model_fields["preset"].default)))
        return known.options if known else None

    @model_validator(mode="after")
    def _with_the_defaults_of_its_preset(self) -> Self:
        preset = find_preset(self.preset)
        parse_config(preset.options, self.options, "environment.options")
        for name, value in preset.own_defaults.items():
            if name not in self.model_fields_set:  # a default stays one: it does not count as set
                object.__setattr__(self, name, value)
        return self

    @model_serializer(mode="wrap")
    def _without_what_is_not_set(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        # Run folders of before these settings hold the same record as those of today.
        data = handler(self)
        kept = {
            "ranker": self.ranker != self._default_ranker(),
            "tools": bool(self.tools),
            "reranker": self.reranker.chats,
            "options": bool(self.options),
            "constrained": self.constrained,
            "exemplars": self.exemplars > 0,
            "answers": self.answers != "strict",
        }
        return {key: value for key, value in data.items() if kept.get(key, True)}

    def explicit(self) -> dict[str, Any]:
        """Return what was set, as a config file writes it; a default that was written down, too."""
        return self._with(self.model_fields_set, self.model_dump(mode="json", exclude_unset=True))

    def whole(self) -> dict[str, Any]:
        """Return every setting; its record leaves out some that are at their defaults."""
        return self._with(type(self).model_fields, self.model_dump(mode="json"))

    def _with(self, names: Collection[str], found: dict[str, Any]) -> dict[str, Any]:
        others = sorted(set(names) - found.keys())
        return {**found, **{name: to_jsonable_python(getattr(self, name)) for name in others}}

    def _default_ranker(self) -> str:
        # `_of` sets the name of a preset at hand, which may be none that can be looked up.
        known = self.preset in presets() or is_own(self.preset)
        return find_preset(self.preset).own_defaults.get("ranker", "bm25") if known else "bm25"


class Environment:
    """A graph, its tools and the agent that uses them: one for data, training and evaluation."""

    def __init__(
        self,
        graph: KnowledgeGraph,
        config: EnvironmentConfig | None = None,
        preset: Preset | None = None,
        exemplars: Sequence[Trajectory] = (),
    ) -> None:
        """`preset` is one at hand, in place of the one that the config names; `exemplars` are the
        worked episodes that the prompt shows."""
        config = config or EnvironmentConfig()
        self.preset = preset or find_preset(config.preset)
        self.config = _of(config, preset) if preset else config
        self.graph = with_layers(graph, self.config.layers)
        self.name = self.preset.name
        self.own_tools = tuple(map(load_tool, self.config.tools))
        """The user's own, beside the preset's."""
        self.protocol = _extend_protocol(
            self.preset.protocol(self.config), self.own_tools, self.name
        )
        speaker = self.preset.speaker
        self.speaker = speaker(self.config) if callable(speaker) else speaker
        self.oracle = self.preset.oracle
        self.exemplars = tuple(exemplars)
        prompt = Prompt.load(self.config.prompt, self.preset.prompts)
        if self.own_tools:
            prompt = prompt.with_tools()
        self.prompt = replace(prompt, shown=exemplar_messages(self.exemplars, self.name))
        bounded = self.preset.bound_observations(self.config)
        self.agent = self.preset.agent(self.protocol, self.prompt, bounded)
        if self.own_tools and not isinstance(self.agent, ReActAgent):
            raise _takes_no_tools(self.name)
        if self.config.constrained and not getattr(self.agent, "constrained", False):
            raise UserError(
                f"environment.constrained: the agent of {self.name} cannot be constrained; set "
                "constrained=false, or take graphwalker, graphwalker-wide or another agent that "
                "thinks, calls its tools and reads, one message after the other"
            )
        reranker = self.config.reranker
        self.ranker = load_ranker(self.config.ranker, reranker, self.config.top_relations)
        """What orders the relations that are shown."""
        self._limit = bounded.max_observation_chars or 0

        def tools(graph: KnowledgeGraph) -> Callable[[Question], ToolBox]:
            return self.preset.tools(graph, bounded, self.ranker)

        self._tools_on = lru_cache(MEMBERS_KEPT)(tools)
        if not isinstance(self.graph, GraphSet):
            self._tools_on(self.graph)  # what does not fit the graph is refused now
        self.tools_at_once = reranker.concurrency if reranker.chats else 1
        """Episodes whose tools may run side by side: as many as a reranker is asked at once."""

    def toolbox(self, question: Question) -> ToolBox:
        """Return fresh tools for one episode, whose observations keep to the config's limit."""
        box: Any = self._toolbox(question)
        if self.own_tools:
            box = OwnTools(box, self.own_tools, self.graph.for_question(question))
        bounded: Any = BoundedTools(box, self._limit)
        return bounded if self._limit else box

    def _toolbox(self, question: Question) -> ToolBox:
        return self._tools_on(self.graph.for_question(question))(question)

    @cached_property
    def provenance(self) -> dict[str, Any]:
        """What a trajectory says about where it was made."""
        about: dict[str, Any] = {
            "environment": self.preset.name,
            "environment_version": self.preset.version,
            "prompt": self.config.prompt,
        }
        if self.config.options:
            about["options"] = self.config.options
        if self.exemplars:
            about["exemplars"] = [episode.question.id for episode in self.exemplars]
        if self.config.tools:
            about["tools"] = json.dumps(tool_digests(self.config.tools))
        if limits := self._limits_set():
            about["limits"] = json.dumps(limits)
        if self.config.ranker != "bm25":
            about["ranker"] = self.config.ranker
        about |= trained_ranker(self.config.ranker)
        reranker = self.config.reranker
        return {**about, "reranker": reranker.model} if reranker.chats else about

    def _limits_set(self) -> dict[str, int]:
        """Return the whole numbers among the settings that are not the preset's defaults."""
        fields, own = EnvironmentConfig.model_fields, self.preset.own_defaults
        usual = {name: own.get(name, field.default) for name, field in fields.items()}
        found = {name: value for name, value in self.config if type(value) is int}
        return {k: v for k, v in found.items() if v != usual[k] and k != "exemplars"}


def settings_named(provenance: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of `EnvironmentConfig` that a trajectory's `provenance` names.

    Raises `UserError` for limits or tools that are no JSON object.
    """
    names = {"preset": "environment", "prompt": "prompt", "options": "options", "ranker": "ranker"}
    named = {setting: provenance[name] for setting, name in names.items() if name in provenance}
    tools = [*read_recorded(provenance, "tools")]
    return {**read_recorded(provenance, "limits"), **named, **({"tools": tools} if tools else {})}


def read_recorded(provenance: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Return an entry of a `provenance` that is JSON in a text; empty where it is not there."""
    try:
        return dict(json.loads(provenance.get(name, "{}")))
    except (TypeError, ValueError):
        raise UserError(f"provenance.{name}: not a JSON object in a text") from None


def _extend_protocol(
    protocol: ActionProtocol, tools: Sequence[OwnTool], preset: str
) -> ActionProtocol:
    """Return the protocol with the user's own tools. Raises `UserError` for a name that is taken,
    and for a protocol that takes no further tools."""
    if not tools:
        return protocol
    taken, extend = {"answer"}, abilities_of(protocol).extend
    for tool in tools:
        name = tool.function.name
        if name in taken or protocol.hint(name):
            raise UserError(f"tool {tool.setting}: there is a tool {name} already; rename it")
        taken.add(name)
    if extend is None:
        raise _takes_no_tools(preset)
    return extend([tool.function for tool in tools])


def _takes_no_tools(preset: str) -> UserError:
    return UserError(
        f"environment.tools: the agent of {preset} asks for decisions of its own; take "
        "graphwalker, graphwalker-wide, search-on-graph, kg-r1, or an agent of ReActAgent"
    )


def _of(config: EnvironmentConfig, preset: Preset) -> EnvironmentConfig:
    """Return the config with that preset's name, and its defaults where nothing was set."""
    given = config.model_fields_set
    defaults = {k: v for k, v in preset.own_defaults.items() if k not in given}
    parse_config(preset.options, config.options, "environment.options")
    return config.model_copy(update={**defaults, "preset": preset.name})


def exemplar_messages(episodes: Sequence[Trajectory], preset: str) -> tuple[Message, ...]:
    """Return the dialogues of the episodes, one behind the other, without their system messages.

    Raises `UserError` for an agent that begins its conversation anew.
    """
    shown: list[Message] = []
    for turn in (turn for episode in episodes for turn in episode.turns):
        if turn.restart:
            raise UserError(
                f"environment.exemplars: {preset} asks each step in a conversation of its own, "
                "which shows no whole dialogue; set exemplars=0"
            )
        shown += [message for message in turn.context if message.role != "system"]
        shown.append(Message("assistant", turn.completion))
    return tuple(shown)
