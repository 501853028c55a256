"""GraphSynth: certified questions with the oracle's trajectories, exactly as many as asked for."""

from collections import Counter
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

from data_pipeline.attempts import Attempt, Drop, attempt_maker, question_set_maker
from data_pipeline.config import SynthConfig, quotas
from data_pipeline.ledger import Ledger, Progress, open_run
from data_pipeline.pool import Build, Pool
from data_pipeline.stats import write_card
from graphwalker.errors import UserError
from graphwalker.graphs.compiled import open_graph

WALKS, QUESTIONS, DROPPED = "walks.jsonl", "questions.jsonl", "dropped.jsonl"
GRAPHSYNTH = "graphsynth.jsonl"


def synthesize(
    graph: Path, config: SynthConfig, out: Path, progress: Progress | None = None
) -> dict[str, Any]:
    """Make `config.count` trajectories in the exact mix; returns the data card.

    Writes walks.jsonl (every walk that could be asked), questions.jsonl (the certified ones),
    graphsynth.jsonl (their trajectories), dropped.jsonl (every other attempt, with its reason) and
    the data card. The same command goes on where a killed one stopped; any number of workers
    makes the same bytes.
    """
    return _make(graph, config, out, "synth", attempt_maker, _synth_records, progress)


def make_questions(
    graph: Path, config: SynthConfig, out: Path, progress: Progress | None = None
) -> dict[str, Any]:
    """Make a question set (held out, or for RL) under the same certificates, without trajectories.

    Writes walks.jsonl, questions.jsonl, dropped.jsonl and the data card.
    """
    return _make(graph, config, out, "questions", question_set_maker, _question_records, progress)


Records = Iterator[tuple[str, dict[str, Any]]]


def _make(
    graph: Path,
    config: SynthConfig,
    out: Path,
    stage: str,
    build: Build,
    records: Callable[[Attempt], Records],
    progress: Progress | None,
) -> dict[str, Any]:
    opened = open_graph(graph)
    about = {"checksum": opened.checksum}
    open_run(out, stage, config, about)
    made = GRAPHSYNTH if build is attempt_maker else QUESTIONS
    files = [WALKS, QUESTIONS] if made == GRAPHSYNTH else [WALKS]
    with (
        Ledger(out, files, [made, DROPPED]) as ledger,
        Pool[tuple[str, int], Attempt](build, graph, config, config.workers) as pool,
    ):
        goal = _Goal(config, ledger)
        streams = {name: pool.results(_jobs(name, goal.tried[name])) for name in goal.quota}
        while (structure := goal.next_structure()) is not None:
            attempt = goal.judged(structure, next(streams[structure]))
            ledger.write(records(attempt))
            goal.count(structure, attempt)
            if progress and attempt.drop is None:
                progress(goal.kept.total(), config.count, stage)
    return write_card(out, stage, config, about, made)


def _jobs(structure: str, start: int) -> Iterator[tuple[str, int]]:
    return ((structure, index) for index in count(start))


class _Goal:
    """Which structure to attempt next, and what the records made so far rule out."""

    def __init__(self, config: SynthConfig, ledger: Ledger) -> None:
        self.config = config
        self.quota = quotas(config.mix, config.count)
        self.tried: Counter[str] = Counter(unit.rpartition("/")[0] for unit in ledger.finished)
        self.kept: Counter[str] = Counter()
        self._texts: set[str] = set()
        self._queries: set[str] = set()
        self._paths: Counter[tuple[str, ...]] = Counter()
        for record in ledger.records(QUESTIONS):
            self.kept[record["structure"]] += 1
            self._remember(record["question"], record["query"], record["structure"])

    def next_structure(self) -> str | None:
        """The structure that is furthest behind its quota; `None` when all are full."""
        open_ones = [name for name in self.quota if self.kept[name] < self.quota[name]]
        if not open_ones:
            return None
        return min(open_ones, key=lambda name: self.kept[name] / self.quota[name])

    def judged(self, structure: str, attempt: Attempt) -> Attempt:
        """The attempt, dropped when an earlier one asked the same or filled its path's share."""
        question = attempt.question
        if question is None:
            return attempt
        reason = ""
        if question.text.casefold() in self._texts or _key(question.query) in self._queries:
            reason = "duplicate"
        elif self._paths[(structure, *question.query["path"])] >= self._path_limit(structure):
            reason = "path_share"
        if not reason:
            self._remember(question.text, question.query, structure)
            return attempt
        return Attempt(attempt.id, attempt.sampled, drop=Drop("certificate", reason))

    def count(self, structure: str, attempt: Attempt) -> None:
        """Raises `UserError` when the structure turns out too rare in this graph."""
        self.tried[structure] += 1
        self.kept[structure] += attempt.drop is None
        wanted, tried = self.quota[structure], self.tried[structure]
        if tried >= self.config.max_attempts * (wanted + 1) > 0 and self.kept[structure] < wanted:
            raise UserError(
                f"{structure}: {self.kept[structure]} of {wanted} made after {tried} attempts; ask "
                f"for fewer, leave it out of the mix (mix.{structure}=0), or raise max_attempts; "
                "dropped.jsonl has the reasons"
            )

    def _path_limit(self, structure: str) -> int:
        return max(1, int(self.config.max_path_share * self.quota[structure]))

    def _remember(self, text: str, query: dict[str, Any], structure: str) -> None:
        self._texts.add(text.casefold())
        self._queries.add(_key(query))
        self._paths[(structure, *query["path"])] += 1


def _key(query: dict[str, Any]) -> str:
    """The same for two spellings of one query: topics with the path of each, in any order."""
    branches = sorted("/".join((b["topic"]["id"], *b["hops"])) for b in query["branches"])
    return " & ".join((*branches, *query["tail"]))


def _synth_records(attempt: Attempt) -> Records:
    if attempt.sampled is not None:
        yield WALKS, attempt.sampled.to_json()
    if attempt.drop is not None:
        yield DROPPED, attempt.drop.to_json(attempt.id)
        return
    assert attempt.question is not None and attempt.trajectory is not None
    yield QUESTIONS, {**attempt.question.to_json(), "unit": attempt.id}
    yield GRAPHSYNTH, {**attempt.trajectory.to_json(), "unit": attempt.id}


def _question_records(attempt: Attempt) -> Records:
    if attempt.sampled is not None:
        yield WALKS, attempt.sampled.to_json()
    if attempt.drop is not None:
        yield DROPPED, attempt.drop.to_json(attempt.id)
    elif attempt.question is not None:
        yield QUESTIONS, {**attempt.question.to_json(), "unit": attempt.id}
