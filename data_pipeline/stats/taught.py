"""What a chat teacher did to a corpus, for its card: thoughts that are its own, words in doubt."""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from data_pipeline.config import SamplingConfig
from data_pipeline.teacher.thoughts import compares
from graphwalker.question import Question
from graphwalker.trajectory import Trajectory


def taught(records: Iterable[Mapping[str, Any]], config: SamplingConfig) -> dict[str, Any]:
    """Counts over the questions or trajectories (as their JSON records) of a chat teacher.

    `ambiguity`: of all hops, those of which the text also fits other relations of the entity (all
    of them were executed, and gave the same answers or none), and those that are said in words
    which no known phrase has: a judge has read each of these again, where there is one.
    """
    if not config.teacher.chats:
        return {}
    thoughts, ambiguity = Counter[str](), Counter[str]()
    for record in records:
        if "turns" in record:
            _count_thoughts(Trajectory.from_json(dict(record)), thoughts)
        question = record["question"] if "turns" in record else record
        _count_readings(Question.from_json(dict(question)), ambiguity)
    names = ("hops", "with_other_readings_executed", "in_words_of_its_own")
    doubts: dict[str, Any] = {name: ambiguity[name] for name in names}
    doubts["own_words_read_again"] = "by the judge" if config.is_judged else "by nobody"
    counted = {"thoughts": dict(thoughts)} if thoughts else {}
    return {"teacher": {"model": config.teacher.model, **counted, "ambiguity": doubts}}


def _count_thoughts(trajectory: Trajectory, counts: Counter[str]) -> None:
    own = trajectory.provenance.get("programmatic_thoughts", [])
    choices = [
        found
        for before, turn in zip(trajectory.turns, trajectory.turns[1:], strict=False)
        if (found := compares(turn, before)) is not None
    ]
    counts["turns"] += len(trajectory.turns)
    counts["programmatic"] += len(own)
    counts["records_with_programmatic"] += bool(own)
    counts["choices_of_a_relation"] += len(choices)
    counts["choices_that_name_another"] += sum(choices)


def _count_readings(question: Question, counts: Counter[str]) -> None:
    if question.wording is None:
        return
    readings = [hop for branch in question.wording.readings for hop in branch]
    readings += question.wording.tail_readings
    counts["hops"] += len(readings)
    counts["with_other_readings_executed"] += sum(len(hop) > 1 for hop in readings)
    counts["in_words_of_its_own"] += len(question.wording.own_words)
