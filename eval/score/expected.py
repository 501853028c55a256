"""The questions that were asked: which have no record, which have two, and records of others."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from eval.run.records import SampledEpisode
from eval.score.predictions import GOLD, Parse, Prediction, read_gold
from graphwalker.answers.rows import Rows, row_text
from graphwalker.counts import number_of
from graphwalker.datasets.base import load_questions
from graphwalker.errors import UserError
from graphwalker.graphs.base import Entity
from graphwalker.graphs.views.freebase import machine_id
from graphwalker.question import Answer, Question
from graphwalker.scoring import is_right
from graphwalker.trajectory import Trajectory

NAMED = 5
"""Ids that a message names."""


class ExpectedQuestions:
    """Lets the first record of each question through, under the question's id, and notes the rest.

    A record names its question by `id` or `uid`, or by the question's text. The questions' answers
    are the gold, whatever a record carries. With `drop`, questions without a record do not count,
    and the complaint says so; otherwise they count 0.
    """

    def __init__(self, questions: Path, drop: bool = False) -> None:
        loaded = load_questions(questions)
        self._path = questions
        self.drop = drop
        self._questions = {question.id: question for question in loaded}
        self._by_text: dict[str, list[str]] = {}
        for question in loaded:
            self._by_text.setdefault(question.text, []).append(question.id)
        self._seen: dict[str, None] = {}
        self._like = Prediction("")
        """A record that was let through: missing ones count under its metrics."""
        self.doubled: list[str] = []
        self.unknown: list[str] = []
        self._differing: dict[str, None] = {}

    def question(self, name: str) -> Question:
        """Return the question of that id."""
        return self._questions[name]

    @property
    def gold(self) -> dict[str, tuple[Answer, ...]]:
        """The gold answers by id and by text."""
        by_id = {name: question.answers for name, question in self._questions.items()}
        return {text: by_id[names[0]] for text, names in self._by_text.items()} | by_id

    def check_records(self, parse: Parse) -> Parse:
        """`parse` for the records of a file; one that does not count is set aside as failed."""

        def parse_checked(record: dict[str, Any]) -> Prediction:
            question = record.get("question")
            keys = [record.get("id"), record.get("uid"), question]
            if isinstance(question, dict):  # a trajectory
                keys = [cast("dict[str, Any]", question).get("id")]
            names = [str(key) for key in keys if key is not None]
            question_id = self._find(names) if names else ""
            if question_id is None:
                return Prediction(names[0], failed=True)
            return self._admit(question_id, parse(self._with_gold(record, question_id)))

        return parse_checked

    def _with_gold(self, record: dict[str, Any], question_id: str) -> dict[str, Any]:
        """Return the record with its question's gold in place of its own, which is compared."""
        if not question_id:
            return record
        if isinstance(own := record.get("question"), dict) and "turns" in record:  # a trajectory
            self._note_episode(question_id, read_gold(cast("dict[str, Any]", own)))
            return {**record, "question": self._questions[question_id].to_json()}
        question = self._questions[question_id]
        self._note(question_id, read_gold(record))
        kept = {key: value for key, value in record.items() if key not in (*GOLD, "parses")}
        if isinstance(question.gold, Rows) and isinstance(rows := record.get("rows"), list):
            texts = [row_text(row) for row in rows if isinstance(row, dict)]
            kept["gold_rows"] = list(question.gold.nearest(texts))
        return {"id": question_id, **kept, "answers": question.to_json()["answers"]}

    def _note(self, question_id: str, own: tuple[Answer, ...] | None) -> bool:
        """Note a question for which a record carries other answers; return whether it does."""
        if own is None:
            return False
        given = [Entity(answer.id, answer.name) for answer in own]
        differs = not is_right(given, self._questions[question_id].answers)
        if differs:
            self._differing[question_id] = None
        return differs

    def _note_episode(self, question_id: str, own: tuple[Answer, ...] | None) -> bool:
        """`_note` of an episode, which found on its graph what answers given as ids are called."""
        question, by_id = self._questions[question_id], {answer.id: answer for answer in own or ()}
        found = [a if a.id else by_id.get(machine_id(a.name), a) for a in question.answers]
        self._questions[question_id] = replace(question, answers=tuple(found))
        return self._note(question_id, own)

    def settle(self, episode: Trajectory) -> Trajectory:
        """Return the episode with the gold of its question, scored by that where it had another."""
        known = self._known([episode.question.id, episode.question.text])
        if known is None or not self._note_episode(known, episode.question.answers):
            return episode
        question = self._questions[known]
        question = replace(episode.question, answers=question.answers, gold=question.gold)
        return replace(episode, question=question, scores={})

    def settle_sample(self, sample: SampledEpisode) -> SampledEpisode:
        """Return the same of a sampled episode, by the names that it answered."""
        if sample.question_id not in self._differing:
            return sample
        question = self._questions[sample.question_id]
        given = None if sample.answer is None else [Entity("", name) for name in sample.answer]
        right = float(is_right(given, question.answers))
        em = question.gold.compare(sample.answer)["em"] if question.gold else right
        return replace(sample, scores={**sample.scores, "em": em})

    @property
    def differing(self) -> list[str]:
        """Questions for which a record carries other answers than theirs."""
        return list(self._differing)

    def remark(self) -> str:
        """Say that records carry other answers than the questions; `""` where none does."""
        if not self._differing:
            return ""
        return (
            f"{len(self._differing):,} records carry other answers than the questions: those of "
            f"the questions count ({some(self.differing)})"
        )

    def of_run(self, records: Iterable[Prediction]) -> Iterator[Prediction]:
        """Yield the records of a run's folder; one that does not count is set aside as failed."""
        for record in records:
            question_id = self._find([record.id])
            yield self._admit(question_id, record) if question_id else replace(record, failed=True)

    def of_episodes(self, episodes: Iterable[Trajectory]) -> Iterator[Trajectory]:
        """Yield the scored episodes that count, several samples of a question all of them."""
        taken: set[str] = set()
        for episode in map(self.settle, episodes):
            known = self._find([episode.question.id, episode.question.text])
            if known is None or episode.stop.infrastructure_failure:
                continue
            if episode.id in taken:
                self.doubled.append(known)
                continue
            taken.add(episode.id)
            self._seen[known] = None
            yield episode

    def _find(self, names: list[str]) -> str | None:
        """Return the question of one of these names; `None`, and noted, where there is none."""
        question_id = self._known(names)
        if question_id is None:
            self.unknown.append(names[0])
        return question_id

    def _known(self, names: list[str]) -> str | None:
        for name in names:
            ids = [name] if name in self._questions else self._by_text.get(name, [])
            if ids:  # records that name several questions by one text are of one after the other
                return next((one for one in ids if one not in self._seen), ids[0])
        return None

    def _admit(self, question_id: str, record: Prediction) -> Prediction:
        if record.failed:
            return record
        if question_id in self._seen:
            self.doubled.append(question_id)
            return replace(record, failed=True)
        self._seen[question_id] = None
        self._like = record
        return replace(record, id=question_id)

    def refuse_strangers(self, path: Path) -> None:
        """Raise `UserError` where every record of a file has another question, or the file has
        none: a score of 0 would say nothing of the system."""
        if path.is_file() and not self.unknown and not self._seen:
            raise UserError(f"{path}: holds no records to score")
        if self.unknown and not self._seen:
            raise UserError(
                f"{path}: none of its {len(self.unknown):,} records has a question in {self._path} "
                f"(records: {some(self.unknown)}; questions: {some(list(self._questions))}); give "
                "the question file that they answer"
            )

    @property
    def missing(self) -> list[str]:
        """Questions without a record."""
        return [name for name in self._questions if name not in self._seen]

    def blanks(self) -> Iterator[Prediction]:
        """Get a record without an answer for each missing question; none where they are dropped."""
        like = self._like
        episode = like.scored.keys() - {"recovery_given_error"}
        for name in () if self.drop else self.missing:
            yield replace(
                like,
                id=name,
                answers=self._questions[name].answers,
                predictions=None,
                samples=((),) * len(like.samples),
                passed=(False,) * len(like.passed),
                rows=None if like.rows is None else (),
                judge=None if like.judge is None else False,
                scored=dict.fromkeys(episode, 0.0),
            )

    def to_json(self) -> dict[str, Any]:
        """`missing`, `doubled`, `unknown` and `differing`: how many, and the ids."""
        rows = {"missing": self.missing, "doubled": self.doubled, "unknown": self.unknown}
        rows["differing"] = self.differing
        counts = {name: len(ids) for name, ids in rows.items()}
        reordered = {"reordered": self.is_reordered}
        return {**counts, **{f"{name}_ids": ids for name, ids in rows.items()}, **reordered}

    @property
    def missing_count(self) -> str:
        return "left out" if self.drop else "counted 0"

    @property
    def stage_figures(self) -> dict[str, Any]:
        """What a report says of a run over these questions; see `Run.missing`."""
        return {
            "questions_total": len(self._questions),
            "missing": len(self.missing),
            "missing_ids": self.missing,
            "missing_count": self.missing_count,
            "complaint": self.complaint(),
        }

    @property
    def is_reordered(self) -> bool:
        """Whether the records stand in another order than the questions; they count by id."""
        return list(self._seen) != [name for name in self._questions if name in self._seen]

    def complaint(self) -> str:
        """Say what is wrong with the file; `""` for one record per question."""
        count = "are left out" if self.drop else "count 0"
        lost, twice, others = self.missing, self.doubled, self.unknown
        unknown = "record has no question of that id", "records have no question of that id"
        rows = {
            f"{len(lost):,} of {len(self._questions):,} questions have no record and {count}": lost,
            f"{number_of(len(twice), 'record repeats an id', 'records repeat an id')}: "
            "the first of each counts": twice,
            f"{number_of(len(others), *unknown)}: not counted": others,
        }
        return "; ".join(f"{text} ({some(ids)})" for text, ids in rows.items() if ids)


def some(ids: list[str]) -> str:
    """Name the first ids of a list.

    >>> some(["q1", "q2"])
    'q1, q2'
    """
    return ", ".join(ids[:NAMED]) + (", ..." if len(ids) > NAMED else "")
