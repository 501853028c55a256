"""Referenced rejection: the policy is shown the gold actions and writes the thoughts to them.

A thought is kept only where the policy, without the reference, takes that action from it (the cold
start of KBQA-R1, arXiv:2512.10999, with the oracle's walk as the reference).
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from data_pipeline.teacher.thoughts import Hidden, fits
from graphwalker.agents.environment import Environment
from graphwalker.agents.rollout import rollout, without_times
from graphwalker.errors import PolicyError, UserError
from graphwalker.oracle.choices import NO_PHRASES, Phrases
from graphwalker.oracle.oracle import OraclePolicy
from graphwalker.policies.base import Completion, Policy, Request, Sampling
from graphwalker.protocols.base import FinalAnswer, Malformed
from graphwalker.question import Question
from graphwalker.tools.base import Call
from graphwalker.trajectory import Message, Trajectory

KEPT = "referenced"
"""In a trajectory's provenance: the turns, from 0, whose thought is the policy's own."""
AIDED = """

(The action of your next message is settled:
{action}
Write that message whole: first the thought by which you would find this action from the question \
and from what was shown so far, then the action. Never say that it was settled.)"""
UNAIDED = """

(Your thought on this is: {thought}
Write your message: this thought, then the action that follows from it.)"""


def play_referenced(
    questions: Sequence[Question],
    environment: Environment,
    policy: Policy,
    sampling: Sampling,
    *,
    sample: int = 0,
    plain: bool = False,
    phrases: Phrases = NO_PHRASES,
) -> Iterator[Trajectory]:
    """Yield the oracle's episode of each question, with the policy's thoughts where they are kept.

    Elsewhere the thought stays the oracle's. Raises `UserError` for a question without a query, and
    `PolicyError` where the policy fails: what it did not do is no data.
    """
    if without := [question.id for question in questions if question.query is None]:
        more = f", like {len(without) - 1:,} others" if len(without) > 1 else ""
        raise UserError(
            f"referenced: {without[0]} has no query{more}, so no gold actions "
            "are known; take questions of `graphwalker questions`, or set referenced=false"
        )
    oracle = OraclePolicy(
        environment.graph,
        environment.protocol,
        plain=plain,
        speaker=environment.speaker,
        phrases=phrases,
    )
    gold = list(map(without_times, rollout(questions, environment, oracle, first_sample=sample)))
    writer = _Writer(environment, policy, sampling)
    for number in range(max((len(episode.turns) for episode in gold), default=0)):
        gold = writer.turn(gold, number)
    name = f"{OraclePolicy.name}+{policy.name}"
    yield from (replace(episode, policy=name) for episode in map(_with_note, gold))


class _Writer:
    """Asks the policy for the thoughts of one turn of many episodes at once."""

    def __init__(self, environment: Environment, policy: Policy, sampling: Sampling) -> None:
        self._protocol, self._policy, self._sampling = environment.protocol, policy, sampling

    def turn(self, episodes: Sequence[Trajectory], number: int) -> list[Trajectory]:
        """Return the episodes, with that turn's thought replaced where the policy's is kept."""
        actions = {e.id: action for e in episodes if (action := self._action(e, number))}
        aided = [e for e in episodes if e.id in actions]
        notes = {
            e.id: AIDED.format(action=_without_thought(self._protocol.render("", actions[e.id])))
            for e in aided
        }
        thoughts = {
            e.id: thought
            for e, text in zip(aided, self._complete(aided, number, notes, "aided"), strict=True)
            if (thought := self._thought(e, number, text, actions[e.id]))
        }
        tried = [e for e in aided if e.id in thoughts]
        notes = {e.id: UNAIDED.format(thought=thoughts[e.id]) for e in tried}
        texts = self._complete(tried, number, notes, "unaided")
        kept = {
            e.id
            for e, text in zip(tried, texts, strict=True)
            if self._protocol.parse(text)[1] == actions[e.id]
        }
        return [
            self._with_thought(e, number, thoughts[e.id], actions[e.id]) if e.id in kept else e
            for e in episodes
        ]

    def _action(self, episode: Trajectory, number: int) -> Call | FinalAnswer | None:
        if number >= len(episode.turns) or episode.stop.infrastructure_failure:
            return None
        action = self._protocol.parse(episode.turns[number].completion)[1]
        return action if isinstance(action, Call | FinalAnswer) else None

    def _thought(
        self, episode: Trajectory, number: int, text: str, action: Call | FinalAnswer
    ) -> str:
        """Return the thought of an aided message, `""` where it cannot be used: another action
        follows, it names what was not shown yet, or it cannot be written in the protocol."""
        thought, written = self._protocol.parse(text)
        thought = " ".join(thought.split())
        if isinstance(written, Malformed) or written != action or not thought:
            return ""
        if Hidden(episode, number).name_in(thought) or not fits(self._protocol, thought, action):
            return ""
        return thought

    def _with_thought(
        self, episode: Trajectory, number: int, thought: str, action: Call | FinalAnswer
    ) -> Trajectory:
        turns = list(episode.turns)
        completion = self._protocol.render(thought, action)
        turns[number] = replace(turns[number], thought=thought, completion=completion)
        own = [*episode.provenance.get(KEPT, ()), number]
        return replace(episode, turns=tuple(turns), provenance={**episode.provenance, KEPT: own})

    def _complete(
        self, episodes: Sequence[Trajectory], number: int, notes: dict[str, str], how: str
    ) -> list[str]:
        """Return what the policy writes at that turn, with a note below the last message."""
        keys = {f"{e.id}/{number}/{how}": e for e in episodes}
        for key, episode in keys.items():
            messages = _before(episode, number)
            last = messages[-1]
            noted = Message(last.role, last.content + notes[episode.id])
            self._policy.submit(
                Request(
                    key, (*messages[:-1], noted), episode.question, (), self._sampling,
                    self._protocol.stop,
                )
            )  # fmt: skip
        found: dict[str, Completion] = {}
        while len(found) < len(keys):
            done = self._policy.collect()
            for key, completion in done:
                if isinstance(completion, PolicyError):
                    raise completion
                found[key] = completion
                self._policy.release(key)
            if not done:
                raise PolicyError("the policy returned nothing for a pending request")
        return [found[key].text for key in keys]


def _before(episode: Trajectory, number: int) -> tuple[Message, ...]:
    """Return the conversation that the turn completes."""
    messages: list[Message] = []
    for turn in episode.turns[:number]:
        messages += [*turn.context, Message("assistant", turn.completion)]
    return (*messages, *episode.turns[number].context)


def _without_thought(text: str) -> str:
    return text.rpartition("</think>")[2].strip() or text


def _with_note(episode: Trajectory) -> Trajectory:
    return replace(episode, provenance={KEPT: [], **episode.provenance})
