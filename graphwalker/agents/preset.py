"""A preset: a published agent with its tools, protocol, prompt and settings, under one name."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, TypeVar

from pydantic import Field

from graphwalker.agents.base import Agent
from graphwalker.agents.prompt import Prompt, is_shipped
from graphwalker.config import Config, parse_config
from graphwalker.graphs.base import KnowledgeGraph
from graphwalker.graphs.views.settings import GraphLayers
from graphwalker.oracle.plan import OwnOracle
from graphwalker.oracle.speakers import Speaker
from graphwalker.protocols.base import ActionProtocol
from graphwalker.question import Question
from graphwalker.ranking.bm25 import Ranker
from graphwalker.ranking.chat import RerankerConfig
from graphwalker.ranking.load import RANKERS
from graphwalker.tools.base import ToolBox
from graphwalker.tools.listing import Lister, lister
from graphwalker.tools.settings import WalkerSettings
from graphwalker.trust import READS, RUNS, ByHand, OwnCode, is_number

Options = TypeVar("Options", bound=Config)
ENTRY_CHARS = 300
"""Of an observation by default, for each entry: twice the longest triple of usual names."""


class AgentSettings(WalkerSettings):
    """What every preset is given: the limits of its tools, its prompt and its budget."""

    prompt: Annotated[str, ByHand(READS, is_shipped)] = "graphwalker"
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
    answers: Literal["strict", "lenient"] = "strict"
    """`lenient`: presets with tags also take answers of other forms that are clear, such as `Oslo,
    Rome` without a list, and count them in the report: the default of `eval` for a model behind
    `policy.api`."""
    constrained: bool = False
    """Constrained decoding: a call or an answer has the form that the agent reads and names only
    what the episode has shown; a call whose whole result was shown is not made again. Local models
    need the extra `constrained` (xgrammar), chat servers `policy.api.grammar`."""
    exemplars: int = Field(default=0, ge=0)
    """Worked episodes that the prompt shows before the question: whole dialogues of the oracle on
    questions made from the graph at hand, the same for every question of a run. `eval` and
    `experts` keep them in the run's folder (`exemplars.jsonl`)."""
    options: Annotated[dict[str, Any], ByHand(RUNS, is_number)] = Field(default_factory=dict)
    """Settings that only this preset has, such as `options.rows=50`."""
    layers: GraphLayers = GraphLayers()
    """Views laid over the graph: aliases, schema, whitelist, hidden triples, Wikidata."""
    ranker: Annotated[str, ByHand(RUNS, RANKERS.__contains__)] = "bm25"
    """What orders the relations that are shown: `bm25`, `stems` (BM25 over stems and letter
    trigrams), the folder of a trained one (`graphwalker ranker train`), or `module:NAME` of your
    own."""
    tools: OwnCode = ()
    """Functions of your own that the model may call beside the preset's tools, each `module:NAME`
    (docs/extend.md)."""
    reranker: RerankerConfig = RerankerConfig()
    """A chat model that chooses among BM25's relations; `reranker.base_url` and `reranker.model`
    are enough. Without one `ranker` chooses."""

    @property
    def is_lenient(self) -> bool:
        return self.answers == "lenient"

    def read_options(self, kind: type[Options]) -> Options:
        """Return `options` as the model of the preset's own settings. Raises `UserError`."""
        return parse_config(kind, self.options, "environment.options")


Tools = Callable[[KnowledgeGraph, AgentSettings, Ranker], Callable[[Question], ToolBox]]
"""Made once for an environment (what episodes share), then called once for each episode."""


def listing_tools(
    kind: Callable[[KnowledgeGraph, Question, AgentSettings, Lister, Ranker], ToolBox],
) -> Tools:
    """Tools whose episodes share what was listed."""

    def tools(
        graph: KnowledgeGraph, settings: AgentSettings, rank: Ranker
    ) -> Callable[[Question], ToolBox]:
        listed = lister(graph, settings)
        return lambda question: kind(graph, question, settings, listed, rank)

    return tools


@dataclass(frozen=True, slots=True)
class Preset:
    """An agent of the registry. Everything that depends on settings is made from them."""

    name: str
    version: int
    """Raised whenever the preset would show anything else for the same completions."""
    source: str
    """The paper, or whose own it is."""
    tools: Tools
    protocol: Callable[[AgentSettings], ActionProtocol]
    agent: Callable[[ActionProtocol, Prompt, AgentSettings], Agent]
    defaults: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Settings whose default differs from GraphWalker's, such as the prompt's name."""
    prompts: Mapping[str, str] = field(default_factory=dict[str, str])
    """Texts of prompts of its own, by name; the first is its default."""
    options: type[Config] = Config
    """The model of `environment.options`; without one the preset has none."""
    calls: tuple[str, ...] = ()
    """The tools, or the decisions, that the model is asked for, by name: for lists of agents."""
    most_entries: Callable[[AgentSettings], int] = lambda settings: settings.most_entries
    """Entries that one observation may hold by the preset's own limits: they bound its length."""
    graphs: str = "any graph with names"
    """What graphs it needs, in words."""
    speaker: Speaker | Callable[[AgentSettings], Speaker] | None = None
    """How the oracle plays it, where every completion calls a tool or answers; made from the
    settings where it depends on them."""
    oracle: OwnOracle | None = None
    """How the oracle plays it otherwise; without either it cannot."""

    def bound_observations(self, settings: AgentSettings) -> AgentSettings:
        """Return the settings with a bound where none is set; 0 stays no bound."""
        if settings.max_observation_chars is not None:
            return settings
        bound = ENTRY_CHARS * self.most_entries(settings)
        return settings.model_copy(update={"max_observation_chars": bound})

    @property
    def own_defaults(self) -> Mapping[str, Any]:
        """What a setting is where the user set nothing."""
        first = {"prompt": next(iter(self.prompts))} if self.prompts else {}
        return {**first, **self.defaults}
