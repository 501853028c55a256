"""The one loop: run episodes against a policy, whatever the policy is."""

import logging
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import islice

from graphwalker.agents.environment import Environment
from graphwalker.agents.episode import Episode
from graphwalker.errors import PolicyError, UserError
from graphwalker.policies.base import Completion, Policy, Request, Sampling
from graphwalker.question import Question
from graphwalker.trajectory import Trajectory

log = logging.getLogger(__name__)

_READ_AHEAD = 4
"""Finished episodes that may wait for a slower, earlier one, as a multiple of the concurrency."""


def rollout(
    questions: Iterable[Question],
    environment: Environment,
    policy: Policy,
    sampling: Sampling,
    *,
    samples: int = 1,
    concurrency: int = 64,
    retries: int = 1,
    first_sample: int = 0,
) -> Iterator[Trajectory]:
    """Trajectories in question order, then sample order, whatever order they finish in.

    An episode that failed for our reasons is tried again `retries` times with fresh tools, then
    yielded with that stop reason: set it aside, it says nothing about the agent.
    """
    jobs = ((q, s) for q in questions for s in range(first_sample, first_sample + samples))
    run = _Run(environment, policy, sampling, retries)
    return run.trajectories(iter(jobs), max(1, concurrency))


def untimed(trajectory: Trajectory) -> Trajectory:
    """The trajectory without its clock readings: equal for equal episodes, byte by byte."""
    turns = tuple(replace(turn, milliseconds=0.0) for turn in trajectory.turns)
    usage = {key: value for key, value in trajectory.usage.items() if key != "seconds"}
    return replace(trajectory, turns=turns, usage=usage)


class _Run:
    """Episodes in flight, finished ones that wait for their place, and how often each was tried."""

    def __init__(
        self, environment: Environment, policy: Policy, sampling: Sampling, retries: int
    ) -> None:
        self._environment = environment
        self._policy = policy
        self._sampling = sampling
        self._retries = retries
        self._running: dict[str, tuple[int, Episode]] = {}
        self._tries: dict[int, int] = {}
        self._finished: dict[int, Trajectory] = {}
        most = environment.tools_at_once
        self._threads = ThreadPoolExecutor(most) if most > 1 else None

    def trajectories(
        self, jobs: Iterator[tuple[Question, int]], concurrency: int
    ) -> Iterator[Trajectory]:
        started = due = 0
        exhausted = False
        try:
            while not (exhausted and started == due):
                ahead = due + _READ_AHEAD * concurrency - started
                room = max(0, min(concurrency - len(self._running), ahead))
                new = list(islice(jobs, room))
                exhausted = exhausted or len(new) < room
                for question, sample in new:
                    self._start(started, question, sample)
                    started += 1
                while due in self._finished:
                    yield self._finished.pop(due)
                    due += 1
                if self._running:
                    self._collect()
        finally:
            for key in list(self._running):
                self._policy.release(key)
            if self._threads is not None:
                self._threads.shutdown()

    def _start(self, place: int, question: Question, sample: int) -> None:
        episode = Episode(question, sample, self._environment)
        if episode.key in self._running:
            raise UserError(f"question id {question.id!r} appears twice: give each its own id")
        self._running[episode.key] = (place, episode)
        self._submit(place, episode)

    def _submit(self, place: int, episode: Episode) -> None:
        """Ask the policy for what the episode waits for, or put the finished episode in place."""
        while episode.ask is not None:
            request = Request(
                key=episode.key,
                messages=episode.ask.messages,
                question=episode.question,
                turns=episode.turns,
                sampling=self._sampling,
                stop=episode.ask.stop,
                restart=episode.ask.restart,
            )
            try:
                self._policy.submit(request)
                return
            except PolicyError as error:
                episode.feed(error)
        self._finish(place, episode)

    def _collect(self) -> None:
        try:
            results = self._policy.collect()
            lost = PolicyError("the policy returned nothing for a pending request")
        except PolicyError as error:
            results, lost = [], error
        if not results:  # a policy that died, or forgot: every request in flight is lost
            results = [(key, lost) for key in self._running]
        fed: list[tuple[tuple[int, Episode], Completion | PolicyError]] = []
        for key, completion in results:
            if key not in self._running:
                log.warning("a completion came for %s, which is not in flight: dropped", key)
                continue
            fed.append((self._running[key], completion))
        self._feed(fed)
        for (place, episode), _ in fed:
            self._submit(place, episode)

    def _feed(self, fed: list[tuple[tuple[int, Episode], Completion | PolicyError]]) -> None:
        """Run the tools that the completions call; side by side where tools wait for a server."""
        if self._threads is None:
            for (_, episode), completion in fed:
                episode.feed(completion)
        else:
            running = [self._threads.submit(episode.feed, c) for (_, episode), c in fed]
            for one in running:
                one.result()

    def _finish(self, place: int, episode: Episode) -> None:
        self._running.pop(episode.key)
        self._policy.release(episode.key)
        tries = self._tries.pop(place, 0)
        trajectory = episode.trajectory(self._policy.name)
        if trajectory.stop.ours and tries < self._retries:
            log.warning("%s: %s; trying again", episode.key, trajectory.provenance["error"])
            self._tries[place] = tries + 1
            self._start(place, episode.question, trajectory.sample)
        else:
            self._finished[place] = trajectory
