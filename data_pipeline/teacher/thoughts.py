"""A teacher's thoughts, each from what was seen before it: in one request, or one for each step."""

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial

from data_pipeline.teacher.client import TeacherClient, Unusable
from data_pipeline.teacher.parse import Unreadable, is_english, read_thoughts
from data_pipeline.teacher.paths import one_line
from data_pipeline.wording.english import mentions
from graphwalker.protocols.base import ActionProtocol, Calls, FinalAnswer, Malformed
from graphwalker.tools.base import Call
from graphwalker.trajectory import Trajectory, Turn

LONGEST = 120
"""Words of one thought."""
SENTENCES = (2, 5)
"""Of one thought, fewest and most (GraphWalker appendix E)."""
TOKENS = 160
"""Completion tokens that a thought may take."""
_END = re.compile(r"[.!?;](?=\s|$)")


def with_thoughts(
    client: TeacherClient,
    protocol: ActionProtocol,
    trajectory: Trajectory,
    english: bool = True,
    each: bool = False,
) -> Trajectory:
    """Return the trajectory with its thoughts written by the teacher; nothing else changes. `each`:
    a request of its own for each step, which shows the steps before it alone.

    A thought that names what no observation has shown yet, or that cannot be written in the
    protocol, is requested again. One that the teacher does not give stays the programmatic
    speaker's: `provenance["programmatic_thoughts"]` lists the turns where that is so.
    """
    steps = _Steps(protocol, trajectory, english)
    values = {
        "conditions": _conditions(client, trajectory),
        "question": one_line(trajectory.question.text),
        "topics": ", ".join(one_line(e.name) for e in trajectory.question.topic_entities),
    }
    numbers = steps.open
    for wanted in [[number] for number in numbers] if each else filter(None, [numbers]):
        name = "thought" if each else "thoughts"
        about = {"count": len(wanted), "steps": steps.describe()}
        if each:
            about = {"before": steps.describe(wanted[0]), "step": steps.action_text(wanted[0])}
        limit = client.config.max_tokens + TOKENS * len(wanted)
        fields = [f"thought{number}" for number in wanted]
        # A record is paid for by now: what is missing is marked on it.
        with suppress(Unusable):
            steps.prompt = prompt = client.prompts.fill(name, {**values, **about})
            read = partial(steps.read, numbers=wanted)
            client.request("thoughts", prompt, read, max_tokens=limit, fields=fields)
    about = {**trajectory.provenance, "thoughts": client.config.model}
    if left := steps.left:
        about["programmatic_thoughts"] = left
    return replace(trajectory, turns=steps.turns(), provenance=about)


def _conditions(client: TeacherClient, trajectory: Trajectory) -> str:
    query = trajectory.question.query
    several = query is not None and len(query.branches) > 1
    return f" {client.prompts.fill('thoughts_conditions')}" if several else ""


class _Steps:
    """The turns of a trajectory, and the teacher's thoughts on them so far.

    A thought with a mere fault of form (too few sentences, say) is kept in case nothing better
    comes; one that knows too much never is.
    """

    def __init__(self, protocol: ActionProtocol, trajectory: Trajectory, english: bool) -> None:
        self._protocol, self._trajectory, self._english = protocol, trajectory, english
        parsed = (protocol.parse(turn.completion)[1] for turn in trajectory.turns)
        # Several calls at once share one thought, which stays as it is.
        self._actions = [
            None if isinstance(action, Malformed | Calls) else action for action in parsed
        ]
        readable = (k for k, action in enumerate(self._actions) if action is not None)
        self._numbers = dict(enumerate(readable, start=1))
        self.prompt = ""
        """The request, whose instructions a small model writes back."""
        self._good: dict[int, str] = {}
        self._spare: dict[int, str] = {}
        self._hidden = {number: Hidden(trajectory, k) for number, k in self._numbers.items()}
        self._names = [entity.name for turn in trajectory.turns for entity in turn.shown]
        self._names += [entity.name for entity in trajectory.question.topic_entities]

    @property
    def open(self) -> list[int]:
        """The numbers of the steps, as the prompt counts them, that have no good thought yet."""
        return [number for number in self._numbers if number not in self._good]

    @property
    def left(self) -> list[int]:
        """The turns, from 0 on, that the teacher gave no thought for."""
        return [self._numbers[n] for n in self.open if n not in self._spare]

    def read(self, answer: str, numbers: Sequence[int]) -> None:
        """Take the good thoughts of an answer to these steps. Raises `Unreadable` while one is
        missing."""
        wanted = [number for number in numbers if number in self.open]
        found = read_thoughts(answer, wanted)
        problems: list[str] = []
        for number in wanted:
            problem = self._take(number, found[number]) if number in found else "is missing"
            if problem:
                problems.append(f"thought {number} {problem}")
        if problems:
            left = ", ".join(str(number) for number in wanted if number in self.open)
            raise Unreadable(f"{'; '.join(problems[:4])} (write {left} again, and no other)")

    def _take(self, number: int, thought: str) -> str:
        """Return what is wrong with a thought, `""` where nothing is."""
        action = self._actions[self._numbers[number]]
        assert action is not None
        if name := self._hidden[number].name_in(thought):
            return f"names what has not been shown yet ({name})"
        if not fits(self._protocol, thought, action):
            return "holds a tag or a step"
        if self._english and not is_english(thought, self._names):
            return "is not in English"
        parts = re.split(r"(?<=[.:;]) ", thought)
        if any(len(part.split()) > 6 and part in self.prompt for part in parts):
            return "repeats the instructions"
        if len(thought.split()) > LONGEST:
            return f"is longer than {LONGEST} words"
        count = sentences(thought, self._names)
        if not SENTENCES[0] <= count <= SENTENCES[1]:
            self._spare[number] = thought
            return f"has {count} sentence{'s' * (count != 1)}, and 2 to 5 are wanted"
        self._good[number] = thought
        return ""

    def turns(self) -> tuple[Turn, ...]:
        """Return the turns with the thoughts that were given."""
        turns = list(self._trajectory.turns)
        for number, thought in {**self._spare, **self._good}.items():
            k = self._numbers[number]
            action = self._actions[k]
            assert action is not None
            completion = self._protocol.render(thought, action)
            turns[k] = replace(turns[k], thought=thought, completion=completion)
        return tuple(turns)

    def action_text(self, number: int) -> str:
        """Return one step as the protocol writes it."""
        action = self._actions[self._numbers[number]]
        assert action is not None
        return self._protocol.render("", action).rpartition("</think>")[2].strip()

    def describe(self, before: int | None = None) -> str:
        """Return the steps as the teacher reads them: what was done, and what that showed; those
        before one step alone."""
        lines: list[str] = []
        numbers = {k: number for number, k in self._numbers.items()}
        end = len(self._trajectory.turns) if before is None else self._numbers[before]
        for k, turn in enumerate(self._trajectory.turns[:end]):
            if k not in numbers:  # its thought stays as it is
                lines.append(f"(another message) {turn.observation}")
                continue
            lines.append(f"Step {numbers[k]}: {self.action_text(numbers[k])}")
            if turn.observation:
                lines.append(f"Shown: {turn.observation}")
        return "\n".join(lines) or "(none: nothing has been shown yet)"


class Hidden:
    """What is first shown by a step or after it: its thought must not name that."""

    def __init__(self, trajectory: Trajectory, number: int) -> None:
        before, after = trajectory.turns[:number], trajectory.turns[number:]
        question = trajectory.question
        topics = (entity.name for entity in question.topic_entities)
        steps = (f"{turn.action} {turn.observation}" for turn in before)
        known = "\n".join([question.text, *topics, *steps, str(after[0].action)])
        folded = known.casefold()
        seen = {entity.name for turn in before for entity in turn.shown}
        names = [entity.name for turn in after for entity in turn.shown]
        names += [answer.name for answer in question.answers]
        new = (name for name in dict.fromkeys(names) if name not in seen)
        self._names = [name for name in new if not _stands(name, folded)]
        listed = (hop.relation for turn in after for one in turn.listed for hop in one.hops)
        # An id that is a plain word (`in`, `to`) may stand in any sentence.
        ids = (relation for relation in dict.fromkeys(listed) if not relation.isalpha())
        self._relations = [relation for relation in ids if relation not in known]

    def name_in(self, thought: str) -> str:
        """Return the first of these that the thought names, `""` where it names none."""
        folded = thought.casefold()
        names = (name for name in self._names if _stands(name, folded))
        relations = (relation for relation in self._relations if relation in thought)
        return next(names, "") or next(relations, "")


def _stands(name: str, folded: str) -> bool:
    """`mentions`, of a text that is case-folded already: most names are not in it at all."""
    return name.strip().casefold() in folded and mentions(folded, name)


def fits(protocol: ActionProtocol, thought: str, action: Call | FinalAnswer) -> bool:
    """Return whether the protocol reads the thought and the action back as they are."""
    return "<" not in thought and protocol.parse(protocol.render(thought, action)) == (
        thought,
        action,
    )


def sentences(text: str, names: Sequence[str] = ()) -> int:
    """Sentences (or clauses behind a semicolon) of a text; points within names do not count.

    >>> sentences("Two are listed: the director fits. J. R. Roe wrote it; I take that.",
    ...           ["J. R. Roe"])
    3
    """
    for name in names:
        if any(mark in name for mark in ".!?;"):
            text = text.replace(name, "X")
    return len(_END.findall(text)) + (not text.rstrip().endswith((".", "!", "?", ";", '"')))


def compares(turn: Turn, before: Turn) -> bool | None:
    """Return whether the thought of a choice among listed relations names another one that was
    listed there, by its id or by the words of its end; `None` for a turn that chooses none."""
    listed = [hop.relation for one in before.listed for hop in one.hops]
    arguments: Mapping[str, object] = turn.action.get("arguments") or {}
    taken = str(arguments.get("relations", ""))
    others = [relation for relation in dict.fromkeys(listed) if relation not in taken]
    if not others or len(others) == len(set(listed)):
        return None
    thought = turn.thought.casefold().replace("_", " ")
    return any(_names_relation(relation, thought) for relation in others)


def _names_relation(relation: str, thought: str) -> bool:
    words = relation.casefold().replace("_", " ")
    return words in thought or mentions(thought, re.split(r"[./:#]", words)[-1])
