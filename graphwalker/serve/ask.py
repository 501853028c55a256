"""One question, asked of an agent, its walk shown while it happens."""

from collections.abc import Callable, Sequence
from threading import Lock

from graphwalker.agents.environment import Environment
from graphwalker.agents.rollout import Task, rollout
from graphwalker.datasets.own.resolver import describe
from graphwalker.datasets.own.topics import find_topic, find_topics, one_of_each_name
from graphwalker.graphs.base import KnowledgeGraph
from graphwalker.graphs.views.name_index import NameIndex, index_of
from graphwalker.oracle.baselines import FirstRelation
from graphwalker.policies.base import Policy, Sampling
from graphwalker.question import Question
from graphwalker.ranking.load import RANKERS
from graphwalker.trajectory import Trajectory, Turn

NO_TOPIC = (
    "no entity of the graph is named in the question: give topic entities (`topics` over the API)"
)
Show = Callable[[int, Turn], None]
"""Called with (turn number from 1, turn) as soon as a turn is over."""


def ask(
    text: str,
    topics: Sequence[str],
    environment: Environment,
    policy: Policy,
    *,
    max_tokens: int = 512,
    show: Show | None = None,
    note: Callable[[str], None] | None = None,
    index: NameIndex | None = None,
) -> Trajectory:
    """Ask `text` about the entities named `topics`, without any about those that it names. `note`
    is called with a name of `topics` that several entities bear; `index` finds what to suggest for
    a name that none does.

    Raises `UserError` for an unknown name, and for a text that names no entity or several of one
    name.
    """
    graph = environment.graph
    entities = tuple(find_topic(graph, name, note, index) for name in topics)
    entities = entities or one_of_each_name(graph, text, index)
    question = Question("ask", text, entities, dataset="ask")
    sampling = Sampling(max_tokens=max_tokens)

    def on_turn(task: Task, number: int, turn: Turn) -> None:
        if show is not None:
            show(number, turn)

    # Somebody waits for it: what went wrong is said at once, and asking again is one key away.
    policy = outspoken(policy, environment)
    return next(rollout([question], environment, policy, sampling, retries=0, on_turn=on_turn))


def outspoken(policy: Policy, environment: Environment) -> Policy:
    """Return the policy as people meet it: `first-relation` says where no relation has a word of
    the question. Where something learned ranks the relations, the first needs none."""
    if type(policy) is FirstRelation and environment.ranker in RANKERS.values():
        return policy.for_people()
    return policy


MOST_NAMES = 8
LONGEST_NAME = 100
"""Characters of a name that are looked up."""


def topic_candidates(graph: KnowledgeGraph, text: str) -> list[dict[str, object]]:
    """Return the entities that a question names, each with its namesakes. Raises `GraphError`."""
    found = find_topics(graph, text)
    return [
        {
            **describe(graph, entity),
            "candidates": [describe(graph, e) for e in graph.resolve(entity.name)[:MOST_NAMES]],
        }
        for entity in found
    ]


class NameCompletion:
    """The names of a graph, searched as they are typed. The index is made with the first search;
    a large graph needs one beside it (`graphwalker graph index`), else names are found whole."""

    def __init__(self, graph: KnowledgeGraph) -> None:
        self._graph = graph
        self._index: NameIndex | None = None
        self._lock = Lock()

    def complete(self, typed: str) -> list[dict[str, str]]:
        """Return the entities whose names look most like what was typed. Raises `GraphError`."""
        typed = typed.strip()[:LONGEST_NAME]
        if not typed:
            return []
        with self._lock:
            self._index = self._index or index_of(self._graph)
        near = [hit.entity for hit in self._index.search(typed, MOST_NAMES)]
        exact = self._graph.resolve(typed)[:MOST_NAMES]
        return [describe(self._graph, e) for e in list(dict.fromkeys([*exact, *near]))[:MOST_NAMES]]
