"""One question, asked of an agent, its walk shown while it happens."""

from collections.abc import Callable, Sequence

from graphwalker.agents.presets import Environment
from graphwalker.agents.rollout import rollout
from graphwalker.errors import PolicyError, UserError
from graphwalker.graphs.base import Entity, KnowledgeGraph
from graphwalker.policies.base import Completion, Policy, Request, Sampling
from graphwalker.question import Question
from graphwalker.trajectory import Trajectory, Turn

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
) -> Trajectory:
    """Ask `text` about the entities named `topics`. Raises `UserError` for an unknown name."""
    entities = tuple(find_topic(environment.graph, name) for name in topics)
    question = Question("ask", text, entities, dataset="ask")
    watched = _Watched(policy, show)
    sampling = Sampling(max_tokens=max_tokens)
    trajectory = next(iter(rollout([question], environment, watched, sampling)))
    watched.show_new(trajectory.turns)
    return trajectory


def find_topic(graph: KnowledgeGraph, name: str) -> Entity:
    """The best entity of that name, or of that id."""
    found = graph.resolve(name)
    if found:
        return found[0]
    if graph.name(name):
        return Entity(name, graph.name(name))
    raise UserError(
        f"no entity is named {name!r} in this graph: copy a name exactly, or give its id"
    )


class _Watched:
    """A policy that shows the turns that came before each request."""

    def __init__(self, policy: Policy, show: Show | None) -> None:
        self.name = policy.name
        self._policy = policy
        self._show = show
        self._shown = 0

    def show_new(self, turns: Sequence[Turn]) -> None:
        for number in range(self._shown, len(turns)):
            if self._show:
                self._show(number + 1, turns[number])
        self._shown = len(turns)

    def submit(self, request: Request) -> None:
        self.show_new(request.turns)
        self._policy.submit(request)

    def collect(self) -> list[tuple[str, Completion | PolicyError]]:
        return self._policy.collect()

    def release(self, key: str) -> None:
        self._policy.release(key)
