"""Environments by name: the tools, limits, prompt and agent of a paper, versioned."""

from typing import Any, Literal

from pydantic import Field, SerializerFunctionWrapHandler, model_serializer

from graphwalker.agents.base import Agent
from graphwalker.agents.io_prompt import IOPromptAgent
from graphwalker.agents.react import Prompt, ReActAgent
from graphwalker.graphs.base import KnowledgeGraph
from graphwalker.graphs.views.settings import GraphLayers, with_layers
from graphwalker.policies.chat.reranker_config import RerankerConfig
from graphwalker.protocols.tags import TagProtocol
from graphwalker.question import Question
from graphwalker.ranking.chat import ChatReranker
from graphwalker.ranking.rerank import bm25
from graphwalker.tools.base import ToolBox
from graphwalker.tools.listing import lister
from graphwalker.tools.settings import WalkerSettings
from graphwalker.tools.walker import WalkerTools

VERSION = 3
"""Raised whenever an environment would show anything else for the same completions."""


class EnvironmentConfig(WalkerSettings):
    """What an agent lives in, the limits of its tools included. The defaults are GraphWalker's."""

    preset: Literal["graphwalker", "io-prompt"] = "graphwalker"
    """Which published environment this is; `io-prompt` asks once, without tools (`prompt: io`)."""
    prompt: str = "graphwalker"
    """A shipped prompt (`graphwalker`, `compact` for tiny models, `io`), or your own by path."""
    max_turns: int = Field(default=10, ge=1)
    """Completions before the forced answer; malformed ones count."""
    max_context_tokens: int = Field(default=0, ge=0)
    """Ask for the answer early once the conversation has this many tokens, as the policy counts
    them. Leave room below the engine's own limit for one observation and one completion. 0: off."""
    max_malformed: int = Field(default=3, ge=0)
    """So many malformed completions in a row end the episode as `malformed`: who cannot write an
    action is not asked for an answer. 0: only the turn budget ends it, as in the released code."""
    stop_repeats: int = Field(default=0, ge=0)
    """Ask for the answer early once the same call was repeated so many times in a row. 0: off."""
    layers: GraphLayers = GraphLayers()
    """Views laid over the graph: aliases, schema, whitelist, hidden triples, Wikidata."""
    reranker: RerankerConfig = RerankerConfig()
    """A chat model that chooses among BM25's relations; `reranker.base_url` and `reranker.model`
    are enough. Without one BM25 chooses."""

    @model_serializer(mode="wrap")
    def _without_a_reranker_that_is_not_set(
        self, handler: SerializerFunctionWrapHandler
    ) -> dict[str, Any]:
        data = handler(self)
        return data if self.reranker.chats else {k: v for k, v in data.items() if k != "reranker"}


class Environment:
    """A graph, its tools and the agent that uses them: one for data, training and evaluation."""

    def __init__(self, graph: KnowledgeGraph, config: EnvironmentConfig | None = None) -> None:
        self.config = config or EnvironmentConfig()
        self.graph = with_layers(graph, self.config.layers)
        self.protocol = TagProtocol()
        self.name: str = self.config.preset
        self.agent = self._make_agent()
        self._list_relations = lister(self.graph, self.config)
        reranker, count = self.config.reranker, self.config.top_relations
        self._rank = ChatReranker(reranker, count) if reranker.chats else bm25
        self.tools_at_once = reranker.concurrency if reranker.chats else 1
        """Episodes whose tools may run side by side: as many as a reranker is asked at once."""

    def _make_agent(self) -> Agent:
        prompt = Prompt.load(self.config.prompt)
        if self.config.preset == "io-prompt":
            return IOPromptAgent(self.protocol, prompt)
        return ReActAgent(
            self.protocol,
            prompt,
            self.config.max_turns,
            self.config.max_context_tokens,
            self.config.max_malformed,
            self.config.stop_repeats,
        )

    def toolbox(self, question: Question) -> ToolBox:
        """Fresh tools for one episode."""
        return WalkerTools(self.graph, question, self.config, self._list_relations, self._rank)

    @property
    def provenance(self) -> dict[str, Any]:
        """What a trajectory says about where it was made."""
        about = {
            "environment": self.config.preset,
            "environment_version": VERSION,
            "prompt": self.config.prompt,
        }
        reranker = self.config.reranker
        return {**about, "reranker": reranker.model} if reranker.chats else about
