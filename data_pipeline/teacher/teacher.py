"""The teacher: one interface for a model behind an API and for the programmatic one."""

import random
from collections.abc import Sequence
from dataclasses import replace

from data_pipeline.certificates import FRONTIER_LIMIT
from data_pipeline.teacher.client import Chats, TeacherClient
from data_pipeline.teacher.config import JudgeConfig, TeacherConfig
from data_pipeline.teacher.context import Surroundings
from data_pipeline.teacher.judge import Judge
from data_pipeline.teacher.parse import is_english, read_question
from data_pipeline.teacher.paths import PLACEHOLDER, hints, paths
from data_pipeline.teacher.prompts import style
from data_pipeline.teacher.readings import TextReadings
from data_pipeline.teacher.thoughts import with_thoughts
from data_pipeline.wording import quality
from data_pipeline.wording.composition.constraints import forms_of
from data_pipeline.wording.composition.questions import ProgrammaticTeacher
from data_pipeline.wording.lexicon import Lexicon
from graphwalker.graphs.base import Entity, KnowledgeGraph
from graphwalker.protocols.base import ActionProtocol
from graphwalker.query.draft import Draft, plain_wording
from graphwalker.query.query import Execution, Hop, Query, execute
from graphwalker.trajectory import Trajectory

JUDGED_PATIENCE = 5
"""Times `give_up_after`: so many questions in a row a judge may refuse, as it does walks without
sense."""


class Teacher:
    """Words questions, judges them, thinks; this one by phrases and checks of our own, without a
    key or a network. Raises `Unusable` with the reason of a drop."""

    def __init__(self, phrases: ProgrammaticTeacher, judge: Judge | None = None) -> None:
        """`judge` scores questions on top of the checks."""
        self.phrases, self.judge = phrases, judge

    def ask(
        self, query: Query, answers: Sequence[Entity], rng: random.Random, run: Execution | None
    ) -> Draft | None:
        """Return one question, or `None` when it cannot be worded well. `run` is the query's, where
        it was executed already."""
        return self.phrases.ask(query, answers, rng)

    def check(
        self, text: str, query: Query, draft: Draft, between: Sequence[Entity]
    ) -> quality.Verdict:
        """Return what can be checked at no cost. `between`: entities that it must not name."""
        return quality.judge(text, query, draft, (), between)

    def score(
        self, text: str, query: Query, draft: Draft, run: Execution
    ) -> quality.Verdict | None:
        """Return the three scores of a judge; `None` where there is none."""
        return self.judge.verdict(text, query, run) if self.judge else None

    def misread_step(self, text: str, query: Query, draft: Draft, run: Execution) -> str:
        """Return the step that a judge reads as another than is meant, described; `""` where none
        is. Phrases have known readings, which the certificate executes."""
        return ""

    def with_thoughts(self, trajectory: Trajectory) -> Trajectory:
        """Return the trajectory with the teacher's thoughts; calls and observations stay as is."""
        return trajectory


def open_teacher(
    teacher: TeacherConfig,
    judge: JudgeConfig,
    chats: Chats | None,
    graph: KnowledgeGraph,
    lexicon: Lexicon,
    protocol: ActionProtocol,
    phrases: ProgrammaticTeacher,
) -> Teacher:
    """Return the teacher that the settings ask for, with what scores its questions: a judge of its
    own, else the teacher itself. `chats` are their lines to servers."""
    scores = chats and (chats.judge or (chats.teacher if teacher.judge else None))
    scorer = Judge(scores, judge.keep_from) if scores else None
    if chats is None or chats.teacher is None:
        return Teacher(phrases, scorer)
    return ChatTeacher(chats.teacher, graph, lexicon, protocol, phrases, scorer, teacher)


class ChatTeacher(Teacher):
    """A chat model (GraphWalker section 2.2, phases 2 and 3; its prompts are in appendix E, ours
    are our own). Thread-safe."""

    def __init__(
        self,
        client: TeacherClient,
        graph: KnowledgeGraph,
        lexicon: Lexicon,
        protocol: ActionProtocol,
        phrases: ProgrammaticTeacher,
        judge: Judge | None,
        config: TeacherConfig,
    ) -> None:
        super().__init__(phrases, judge)
        self._client, self._graph = client, graph
        self._lexicon, self._protocol = lexicon, protocol
        self._english, self._thoughts = config.english, config.thoughts
        self._around = Surroundings(graph, lexicon)
        self._readings = TextReadings(graph, lexicon)

    def ask(
        self, query: Query, answers: Sequence[Entity], rng: random.Random, run: Execution | None
    ) -> Draft | None:
        """Return the question in the model's words. Each hop is given our plainest phrase (for
        thoughts and experts), and as readings every relation that the text may mean instead."""
        run = run or execute(self._graph, query, FRONTIER_LIMIT)
        name = "question_conjunction" if len(query.branches) > 1 else "question_composition"
        values = {
            "path": paths(query),
            "hints": hints(query, self._lexicon),
            "known": self._around.lines(query, run, rng),
            "count": len(answers),
            "style": style(rng),
        }
        prompt = self._client.prompts.fill(name, values)
        text = self._client.request("question", prompt, read_question, fields=("question",))
        form = forms_of(query.constraint)[0] if query.constraint else ""
        plain = replace(plain_wording(query, self._phrase), constraint=form)
        return self._readings.of(text, query, run, plain)

    def check(
        self, text: str, query: Query, draft: Draft, between: Sequence[Entity]
    ) -> quality.Verdict:
        """Check the surface. Raises `UserError` where every question has a fault."""
        faults = quality.surface(text, query, (), between)
        if self._english and not is_english(text, (topic.name for topic in query.topics)):
            faults = ("it is not in English", *faults)
        named = " ".join(topic.name for topic in query.topics)
        if PLACEHOLDER.search(text) and not PLACEHOLDER.search(named):
            faults = ("it shows a placeholder", *faults)
        self._client.count("question without faults", faults[0] if faults else "")
        score = 0.0 if faults else 10.0
        return quality.Verdict((score, score, score), faults)

    def score(
        self, text: str, query: Query, draft: Draft, run: Execution
    ) -> quality.Verdict | None:
        """Return the judge's scores. Raises `UserError` where it accepts no question at all."""
        if self.judge is None:
            return None
        verdict = self.judge.verdict(text, query, run)
        fault = ", ".join(verdict.reasons) if not verdict.kept else ""
        self._client.count("question that the judge accepts", fault, JUDGED_PATIENCE)
        return verdict

    def misread_step(self, text: str, query: Query, draft: Draft, run: Execution) -> str:
        """Steps said in words of the teacher's own are found again by the judge, among the
        relations that would give other answers of the same kind."""
        if self.judge is None:
            return ""
        for doubt in self._readings.doubts(query, draft, run):
            if not self.judge.means(text, doubt):
                return f"{doubt.hop} among {len(doubt.rivals) + 1} relations of {doubt.start}"
        return ""

    def with_thoughts(self, trajectory: Trajectory) -> Trajectory:
        if self._thoughts == "none":
            return trajectory
        each = self._thoughts == "each"
        return with_thoughts(self._client, self._protocol, trajectory, self._english, each)

    def _phrase(self, hop: Hop) -> str:
        return self._lexicon.entry(hop).phrases[0]
