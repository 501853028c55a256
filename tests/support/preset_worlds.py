"""A small world for each preset of the registry: a graph that it can walk, and questions there.

A preset without an entry walks the toy graph; one that needs another kind of graph names it here.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from eval.run.workers import ThisProcess
from graphwalker.agents.environment import Environment, EnvironmentConfig
from graphwalker.agents.policies import load_policy
from graphwalker.errors import PolicyError
from graphwalker.graphs.base import Direction, Entity
from graphwalker.policies.base import Completion, Policy, Request
from graphwalker.policies.config import PolicyConfig
from graphwalker.protocols.base import FinalAnswer
from graphwalker.query.query import Branch, Hop, Query
from graphwalker.question import Answer, Question
from support.toy import TOY_NAMES, toy_graph


@dataclass(frozen=True)
class World:
    """A graph and questions that the preset's oracle can play there."""

    graph: Any
    questions: tuple[Question, ...]


def asked(name: str, topic: str, hops: Iterable[Hop], *answers: str) -> Question:
    start = Entity(topic, TOY_NAMES[topic])
    gold = tuple(Answer(TOY_NAMES[one], one) for one in answers)
    query = Query((Branch(start, tuple(hops)),))
    return Question(name, f"What of {start.name} is asked in {name}?", (start,), gold, query=query)


def _toy() -> World:
    born, film = Hop("people.person.place_of_birth"), Hop("film.director.film")
    return World(
        toy_graph(),
        (
            asked("born", "m.0eve", [born], "m.0city1"),
            asked("films", "m.0ada", [film], "m.0film1", "m.0film2"),
            asked("tongue", "m.0film1", [Hop("film.film.language")], "m.0lang"),
            asked("genre", "m.0zoe", [film, Hop("film.film.genre")], "m.0genre2"),
            asked("directed", "m.0film3", [Hop("film.film.directed_by")], "m.0zoe"),
            asked("parents", "m.0eve", [Hop("people.person.children", Direction.IN)],
                  "m.0ada", "m.0tom"),
        ),
    )  # fmt: skip


def _synthetic() -> World:
    from graphwalker.synthetic.graphs import size_of
    from graphwalker.synthetic.sets import answerable_graph

    graph, instances = answerable_graph(size_of(100), 0, 0)
    facets = {"graph": "g", "nodes": "100"}
    questions = (one.question(f"g/{k}", facets) for k, one in enumerate(instances))
    return World(graph, tuple(questions)[:6])


def _maze() -> World:
    from graphwalker.graphs.property.mazes import Maze
    from graphwalker.synthetic.sets import maze_question

    maze = Maze.parse(["S.#.", "#...", "#.#.", "...G"])
    return World(maze.graph(), (maze_question("m", maze, {}),))


WORLDS: dict[str, Callable[[], World]] = {"graphwalk": _synthetic, "graphwalk-maze": _maze}


def world_of(preset: str) -> World:
    return WORLDS.get(preset, _toy)()


def environment_of(preset: str, graph: Any = None, **settings: Any) -> Environment:
    found = graph if graph is not None else world_of(preset).graph
    return Environment(found, EnvironmentConfig(preset=preset, **settings))


class Saying:
    """A policy that writes the same lines in every episode, the last one again and again. It keeps
    every request, and answers in the opposite order where `backwards` is set."""

    name = "saying"

    def __init__(self, lines: Sequence[str | PolicyError], backwards: bool = False) -> None:
        self.requests: list[Request] = []
        self._lines, self._backwards = lines, backwards
        self._pending: list[Request] = []

    def submit(self, request: Request) -> None:
        self.requests.append(request)
        self._pending.append(request)

    def collect(self) -> list[tuple[str, Completion | PolicyError]]:
        done = [self._pending.pop()] if self._backwards else self._pending
        self._pending = self._pending if self._backwards else []
        return [(one.key, self._line(len(one.turns))) for one in done]

    def release(self, key: str) -> None:
        self._pending = [one for one in self._pending if one.key != key]

    def _line(self, turn: int) -> Completion | PolicyError:
        line = self._lines[min(turn, len(self._lines) - 1)]
        return Completion(line) if isinstance(line, str) else line


class Kept:
    """A policy that keeps every request on its way to another one."""

    def __init__(self, policy: Policy) -> None:
        self.name, self.requests = policy.name, list[Request]()
        self._policy = policy

    def submit(self, request: Request) -> None:
        self.requests.append(request)
        self._policy.submit(request)

    def collect(self) -> list[tuple[str, Completion | PolicyError]]:
        return self._policy.collect()

    def release(self, key: str) -> None:
        self._policy.release(key)


def playing(preset: str) -> ThisProcess:
    """For worker processes: the preset in its world."""
    environment = environment_of(preset)
    return ThisProcess(environment, player(environment))


def player(environment: Environment) -> Policy:
    """The preset's oracle; for one without, a policy that answers at once."""
    if environment.speaker is not None or environment.oracle is not None:
        return load_policy(PolicyConfig(model="oracle"), environment=environment)
    return Saying([environment.protocol.render("So.", FinalAnswer(("Springfield",)))])
