"""The teacher: one interface for a model behind an API and for the programmatic one."""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from data_pipeline.teacher.client import TeacherClient
from data_pipeline.teacher.judge import Judge
from data_pipeline.teacher.parse import Unreadable, read_text
from data_pipeline.teacher.paths import hints, paths
from data_pipeline.teacher.thoughts import with_thoughts
from data_pipeline.wording import quality
from data_pipeline.wording.constraint_phrases import forms_of
from data_pipeline.wording.lexicon import Lexicon
from data_pipeline.wording.questions import ProgrammaticTeacher
from graphwalker.graphs.base import Entity
from graphwalker.protocols.base import ActionProtocol
from graphwalker.query.draft import Draft
from graphwalker.query.query import Hop, Query
from graphwalker.trajectory import Trajectory


class Teacher(Protocol):
    """Words questions, judges them, thinks. Raises `Unusable` with the reason of a drop."""

    def ask(self, query: Query, answers: Sequence[Entity], rng: random.Random) -> Draft | None:
        """One question, or `None` when it cannot be worded well."""
        ...

    def checked(
        self, text: str, query: Query, draft: Draft, between: Sequence[Entity]
    ) -> quality.Verdict:
        """What can be checked at no cost. `between`: entities that it must not name."""
        ...

    def scored(self, text: str, query: Query) -> quality.Verdict | None:
        """The three scores of a judge; `None` where there is none."""
        ...

    def with_thoughts(self, trajectory: Trajectory) -> Trajectory:
        """The trajectory with the teacher's thoughts; calls and observations stay as they are."""
        ...


@dataclass(frozen=True, slots=True)
class Programmatic:
    """Phrases and checks of our own; needs no key and no network."""

    phrases: ProgrammaticTeacher

    def ask(self, query: Query, answers: Sequence[Entity], rng: random.Random) -> Draft | None:
        return self.phrases.ask(query, answers, rng)

    def checked(
        self, text: str, query: Query, draft: Draft, between: Sequence[Entity]
    ) -> quality.Verdict:
        return quality.judge(text, query, draft, (), between)

    def scored(self, text: str, query: Query) -> quality.Verdict | None:
        return None

    def with_thoughts(self, trajectory: Trajectory) -> Trajectory:
        return trajectory


class ChatTeacher:
    """A chat model (GraphWalker section 2.2, phases 2 and 3; its prompts are in appendix E, ours
    are our own). Thread-safe."""

    def __init__(self, client: TeacherClient, lexicon: Lexicon, protocol: ActionProtocol) -> None:
        self._client = client
        self._lexicon = lexicon
        self._protocol = protocol
        self._judge = Judge(client)

    def ask(self, query: Query, answers: Sequence[Entity], rng: random.Random) -> Draft | None:
        """The question in the model's words. It words the hops in nobody's phrases: each hop is
        given our plainest phrase (for thoughts and experts) and no other reading."""
        name = "question_conjunction" if len(query.branches) > 1 else "question_composition"
        values = {
            "path": paths(query),
            "hints": hints(query, self._lexicon),
            "count": len(answers),
        }
        text = self._client.request("question", self._client.prompts.fill(name, values), _question)
        return Draft(
            text,
            tuple(tuple(map(self._phrase, branch.hops)) for branch in query.branches),
            tuple(map(self._phrase, query.tail)),
            tuple(tuple((hop,) for hop in branch.hops) for branch in query.branches),
            tuple((hop,) for hop in query.tail),
            forms_of(query.constraint)[0] if query.constraint else "",
        )

    def checked(
        self, text: str, query: Query, draft: Draft, between: Sequence[Entity]
    ) -> quality.Verdict:
        """The surface: one fault is enough."""
        faults = quality.surface(text, query, (), between)
        score = 0.0 if faults else 10.0
        return quality.Verdict((score, score, score), faults)

    def scored(self, text: str, query: Query) -> quality.Verdict | None:
        return self._judge.verdict(text, query) if self._client.config.judge else None

    def with_thoughts(self, trajectory: Trajectory) -> Trajectory:
        if not self._client.config.thoughts:
            return trajectory
        return with_thoughts(self._client, self._protocol, trajectory)

    def _phrase(self, hop: Hop) -> str:
        return self._lexicon.phrases(hop)[0].text


def _question(answer: str) -> str:
    text = read_text(answer, "question")
    if text.count("?") != 1 or not text.endswith("?"):
        raise Unreadable("its question has not one question mark, at its end")
    return text[0].upper() + text[1:]
