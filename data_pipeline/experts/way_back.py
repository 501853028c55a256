"""The way back: the turns of a failed episode, then the oracle from where they stand."""

import random
from collections.abc import Iterator
from dataclasses import replace

from graphwalker.agents.environment import Environment
from graphwalker.agents.rollout import rollout, without_times
from graphwalker.oracle.choices import NO_PHRASES, Phrases
from graphwalker.oracle.oracle import OraclePolicy
from graphwalker.oracle.plan import Plan
from graphwalker.policies.base import Completion, Request
from graphwalker.question import Question
from graphwalker.trajectory import Trajectory, Turn


class WayBack(OraclePolicy):
    """Repeats the first turns of an episode word for word, then continues as the oracle."""

    name = "way-back"

    def repeat(self, turns: tuple[Turn, ...]) -> None:
        """Set the turns that the next episode begins with."""
        self._repeated = turns

    def submit(self, request: Request) -> None:
        done = len(request.turns)
        if done < len(self._repeated):
            self._done.append((request.key, Completion(self._repeated[done].completion)))
            return
        if done == len(self._repeated):
            own = self.on_graph_of(request.question)
            self._plans[request.key] = own.continue_from(request.question, request.turns)
            request = replace(request, turns=())
        super().submit(request)

    def plan(self, key: str, question: Question) -> Plan:
        return self._plans[key]


def ways_back(
    failed: Trajectory,
    environment: Environment,
    seed: int,
    plain: bool = False,
    silent: bool = False,
    phrases: Phrases = NO_PHRASES,
    counts_steps: bool = False,
) -> Iterator[Trajectory]:
    """Episodes that begin as the failed one did and end as the oracle would, each from an earlier
    turn of it than the one before; the first from a turn that is drawn by seed.

    `silent`: the way back has no thoughts. Observations are the environment's own: the calls are
    made again. Not scored. An episode that made no call has no way back, nor has one in several
    contexts.
    """
    turns = [turn for turn in failed.turns if turn.error or "answer" not in turn.action]
    if not turns or any(turn.restart for turn in turns) or failed.question.query is None:
        return
    # Where something was found or refused, the episode may have gone wrong: a list alone is no
    # mistake.
    ends = [k for k, turn in enumerate(turns, 1) if turn.triples or turn.error] or [len(turns)]
    policy = WayBack(
        *(environment.graph, environment.protocol, seed, plain, environment.speaker, silent),
        *(phrases, counts_steps),
    )
    drawn = random.Random(f"{seed}/{failed.id}/way back").randrange(len(ends))
    for at in reversed(ends[: drawn + 1]):
        policy.repeat(failed.turns[:at])
        run = rollout([failed.question], environment, policy, first_sample=failed.sample)
        for episode in map(without_times, run):
            about = {**episode.provenance, "way_back": at}
            name = f"{failed.policy}+{OraclePolicy.name}"
            yield replace(episode, policy=name, provenance=about)
