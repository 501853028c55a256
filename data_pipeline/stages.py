"""The stages of GraphSynth one by one, each from a file to a file: word, filter, solve."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from data_pipeline.attempts import Attempt, Drop, Sampled, open_maker
from data_pipeline.config import SamplingConfig
from data_pipeline.jobs.ledger import Ledger, Progress, file_checksum, open_run
from data_pipeline.jobs.teacher_pool import open_pool
from data_pipeline.stats.card import write_card
from data_pipeline.synthesize import DROPPED, GRAPHSYNTH, QUESTIONS
from data_pipeline.teacher.client import TeacherClient
from graphwalker.config import Config
from graphwalker.errors import UserError
from graphwalker.files import read_records
from graphwalker.graphs.open import open_graph
from graphwalker.question import Question
from graphwalker.trajectory import Trajectory

FILTERED = "filtered.jsonl"

J = TypeVar("J", Sampled, Question)


def word_questions(
    graph: Path | str,
    config: SamplingConfig,
    walks: Path,
    out: Path,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Ask a question for every walk of `walks`: questions.jsonl, not yet judged."""
    jobs = list(read_records(walks, _sampled))
    return _run(graph, config, walks, jobs, out, ("words", _word, QUESTIONS), progress)


def filter_questions(
    graph: Path | str,
    config: SamplingConfig,
    questions: Path,
    out: Path,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Keep the questions that pass the filter and every certificate: filtered.jsonl."""
    jobs = _questions(questions)
    return _run(graph, config, questions, jobs, out, ("filter", _certify, FILTERED), progress)


def solve_questions(
    graph: Path | str,
    config: SamplingConfig,
    questions: Path,
    out: Path,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """The oracle's trajectory of every certified question: graphsynth.jsonl."""
    jobs = _questions(questions)
    return _run(graph, config, questions, jobs, out, ("solve", _solve, GRAPHSYNTH), progress)


def _run(
    graph: Path | str,
    config: SamplingConfig,
    source: Path,
    jobs: list[J],
    out: Path,
    stage: tuple[str, Callable[..., Callable[[J], Attempt]], str],
    progress: Progress | None,
) -> dict[str, Any]:
    name, build, product = stage
    if source.resolve().parent == out.resolve():
        raise UserError(f"{out}: {source.name} is there; give every stage an --out of its own")
    about = {"checksum": open_graph(graph).checksum}
    open_run(out, name, config, about, {"source": file_checksum(source)})
    with (
        Ledger(out, [], [product, DROPPED]) as ledger,
        open_pool(build, graph, config, out) as pool,
    ):
        distinct = _Distinct(ledger.records(product))
        todo = [job for job in jobs if job.id not in ledger.finished]
        for number, attempt in enumerate(pool.results(todo), start=len(jobs) - len(todo) + 1):
            if name == "filter":
                attempt = distinct.judged(attempt)
            ledger.write(_records(attempt, product))
            if progress:
                progress(number, len(jobs), name)
    return write_card(out, name, config, about, product)


class _Distinct:
    """No two questions of one text or of one query; the first one stays."""

    def __init__(self, kept: Iterator[dict[str, Any]]) -> None:
        self._seen: set[str] = set()
        for record in kept:
            if "turns" not in record:
                self._seen |= _keys(Question.from_json(record))

    def judged(self, attempt: Attempt) -> Attempt:
        if attempt.question is None:
            return attempt
        keys = _keys(attempt.question)
        if keys & self._seen:
            return Attempt(attempt.id, drop=Drop("certificate", "duplicate"))
        self._seen |= keys
        return attempt


def _keys(question: Question) -> set[str]:
    return {question.text.casefold(), *([question.query.key] if question.query else [])}


def _records(attempt: Attempt, product: str) -> Iterator[tuple[str, dict[str, Any]]]:
    if attempt.drop is not None:
        yield DROPPED, attempt.drop.to_json(attempt.id)
    elif attempt.trajectory is not None:
        yield product, {**attempt.trajectory.to_json(), "unit": attempt.id}
    elif attempt.question is not None:
        yield product, {**attempt.question.to_json(), "unit": attempt.id}


def _word(
    graph: Path | str, config: Config, client: TeacherClient | None = None
) -> Callable[[Sampled], Attempt]:
    maker = open_maker(graph, config, client)

    def word(sampled: Sampled) -> Attempt:
        question = maker.ask(sampled)
        if isinstance(question, Drop):
            return Attempt(sampled.id, drop=question)
        return Attempt(sampled.id, question=question)

    return word


def _certify(
    graph: Path | str, config: Config, client: TeacherClient | None = None
) -> Callable[[Question], Attempt]:
    solve = _proof(open_maker(graph, config, client).certify)
    return lambda question: replace(solve(question), trajectory=None)


def _solve(
    graph: Path | str, config: Config, client: TeacherClient | None = None
) -> Callable[[Question], Attempt]:
    maker = open_maker(graph, config, client)

    def solve(question: Question) -> Trajectory | Drop:
        found = maker.solve(question)
        return found if isinstance(found, Drop) else maker.voice(found)

    return _proof(solve)


def _proof(proven: Callable[[Question], Trajectory | Drop]) -> Callable[[Question], Attempt]:
    def prove(question: Question) -> Attempt:
        found = proven(question)
        if isinstance(found, Drop):
            return Attempt(question.id, drop=found)
        return Attempt(question.id, question=found.question, trajectory=found)

    return prove


def _sampled(record: dict[str, Any]) -> Sampled:
    try:
        return Sampled.from_json(record)
    except (KeyError, TypeError, ValueError) as error:
        raise UserError(f"not a walk of `graphwalker walk` ({error})") from None


def _questions(path: Path) -> list[Question]:
    questions = list(read_records(path, Question.from_json))
    for question in questions:
        if question.query is None or question.wording is None:
            raise UserError(
                f"{path}: {question.id} has no query and phrases to certify it by: make the "
                "questions with `graphwalker questions`"
            )
    return questions
