"""An episode whose policy is another program: OpenEnv, TRL, verl and Inspect all play this one."""

from typing import Any

from graphwalker.agents.environment import Environment
from graphwalker.agents.episode import Episode
from graphwalker.datasets.grounding import ground_one
from graphwalker.errors import UserError
from graphwalker.policies.base import Completion
from graphwalker.question import Question
from graphwalker.scoring import compare, score
from graphwalker.trajectory import Message, Trajectory

REWARDS = tuple(compare(None, ()))
"""Metrics that can be the reward: `em`, `f1`, `precision`, `recall`, `hits1`, `hit_any`."""


def check_reward(name: str) -> str:
    """Return the name. Raises `UserError` for one that is no reward."""
    if name not in REWARDS:
        raise UserError(f"reward={name}: no such metric; known: {', '.join(REWARDS)}")
    return name


class ExternalEpisode:
    """One question of an environment, played by `play` turn by turn.

    Raises the `GraphError` or `PolicyError` of an infrastructure failure, here and in `play`: such
    an episode has no reward.
    """

    def __init__(self, environment: Environment, question: Question, reward: str = "em") -> None:
        self._reward = check_reward(reward)
        self.question = ground_one(question, environment.graph)
        self._episode = Episode(self.question, 0, environment)
        self.trajectory: Trajectory | None = None
        """The record of the finished episode, with its scores."""
        self.messages: tuple[Message, ...] = ()
        """What the policy reads next: messages that follow its last completion."""
        self.conversation: tuple[Message, ...] = ()
        """The same with all that stands before them."""
        self.restart = False
        """Whether `messages` begin a new conversation."""
        self._update()

    @property
    def done(self) -> bool:
        return self.trajectory is not None

    @property
    def steps(self) -> int:
        """Completions so far."""
        return len(self._episode.turns)

    @property
    def observation(self) -> str:
        """What the last call showed; before the first, what the agent is told first."""
        if self._episode.turns:
            return self._episode.turns[-1].observation
        return self.messages[-1].content if self.messages else ""

    @property
    def is_forced(self) -> bool:
        """Whether nothing but an answer is accepted any more."""
        return self._episode.ask is not None and self._episode.ask.forced

    @property
    def stop_strings(self) -> tuple[str, ...]:
        """Strings that end the next completion, kept in it."""
        return self._episode.ask.stop if self._episode.ask else ()

    @property
    def reward(self) -> float:
        """The reward of the finished episode, 0 until then."""
        return float(self.trajectory.scores[self._reward]) if self.trajectory else 0.0

    def play(self, completion: str | Completion) -> None:
        """Continue with a completion. Raises `UserError` where the episode is over."""
        if self.done:
            raise UserError("the episode is over: reset begins another")
        turn = Completion(completion) if isinstance(completion, str) else completion
        self._episode.feed(turn)
        self._update()

    def to_json(self) -> dict[str, Any]:
        """Return what a client of another process is told."""
        end = self.trajectory
        return {
            "observation": self.observation,
            "messages": [{"role": one.role, "content": one.content} for one in self.messages],
            "restart": self.restart,
            "stop_strings": list(self.stop_strings),
            "stop": end.stop.value if end else "",
            "scores": end.scores if end else {},
        }

    def _update(self) -> None:
        episode = self._episode
        if episode.failure is not None:
            raise episode.failure
        if episode.ask is None:
            done = episode.trajectory("external")
            self.trajectory = done.with_scores(**score(done))
            self.messages = ()
            return
        self.restart = episode.ask.restart or not self.conversation
        known = 0 if self.restart else len(self.conversation) + 1
        self.conversation = episode.ask.messages
        self.messages = self.conversation[known:]
