"""The stages of GraphSynth one by one, each from a file to a file: word, filter, solve."""

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from data_pipeline.attempts import Maker, open_worker
from data_pipeline.config import FilterConfig, SamplingConfig
from data_pipeline.contamination.against import TestFiles
from data_pipeline.jobs.distinct import Distinct, query_of
from data_pipeline.jobs.goals import Every, fill
from data_pipeline.jobs.ledger import DROPPED, JobProgress, Ledger, Unit, open_ledger, unit_of
from data_pipeline.jobs.pool import open_pool
from data_pipeline.outcomes import Drop, SampledWalk
from data_pipeline.reading.corpus import CorpusReader, ReadingSource
from data_pipeline.reading.labels import read_labels
from data_pipeline.stats.card import write_card
from data_pipeline.stats.taught import taught
from data_pipeline.synthesize import GRAPHSYNTH, QUESTIONS, UNSCORED_FILE, tests_of
from data_pipeline.teacher.judge import UNSCORED
from data_pipeline.wording.own_phrases import phrase_facts
from data_pipeline.wording.vocabulary import lexicon_of
from graphwalker.errors import UserError
from graphwalker.files import digest, read_records
from graphwalker.graphs.base import KnowledgeGraph
from graphwalker.graphs.open import open_graph
from graphwalker.question import Question, read_worded
from graphwalker.tools.listing import lister
from graphwalker.trajectory import Trajectory

FILTERED = "filtered.jsonl"


def word_questions(
    graph: Path | str,
    config: SamplingConfig,
    walks: Path,
    out: Path,
    progress: JobProgress | None = None,
) -> dict[str, Any]:
    """Word a question for every walk of `walks`: questions.jsonl, not yet judged."""
    items = list(read_records(walks, _sampled))
    return _run(graph, config, walks, items, out, "words", progress)


def filter_questions(
    graph: Path | str,
    config: SamplingConfig,
    questions: Path,
    out: Path,
    progress: JobProgress | None = None,
) -> dict[str, Any]:
    """Keep the questions that pass the filter and every certificate: filtered.jsonl.

    With a `FilterConfig` whose reader is on, also those that a reader of the others understands.
    """
    return _run(
        graph,
        config,
        questions,
        list(read_records(questions, read_worded)),
        out,
        "filter",
        progress,
    )


def solve_questions(
    graph: Path | str,
    config: SamplingConfig,
    questions: Path,
    out: Path,
    progress: JobProgress | None = None,
) -> dict[str, Any]:
    """The oracle's trajectory of every certified question: graphsynth.jsonl."""
    return _run(
        graph, config, questions, list(read_records(questions, read_worded)), out, "solve", progress
    )


def _run(
    graph: Path | str,
    config: SamplingConfig,
    source: Path,
    items: Sequence[SampledWalk | Question],
    out: Path,
    stage: str,
    progress: JobProgress | None,
) -> dict[str, Any]:
    step, product = _STAGES[stage]
    if source.resolve().parent == out.resolve():
        raise UserError(f"{out}: {source.name} is there; give every stage an --out of its own")
    files = [UNSCORED_FILE, product] if stage == "filter" and config.is_judged else [product]
    opened = open_graph(graph)
    about = {"checksum": opened.checksum}
    tests = tests_of(opened, config) if stage == "filter" else None
    facts = {"graph": about, "source": digest(source), **phrase_facts(config.phrases_file)}
    facts |= tests.facts if tests else {}
    with (
        open_ledger(out, stage, config, facts, files) as ledger,
        open_pool(partial(open_worker, step), graph, config, out) as pool,
    ):
        if stage == "filter":
            read, labels = _reader(opened, config, items, progress)
            goal = _Filter(items, ledger, tests, read.rejected() if read else {})
        else:
            goal, read, labels = Every(items, ledger), None, {}
        fill(goal, pool, ledger, progress)
        more = tests.card(ledger.records(DROPPED)) if tests else {}
        more |= taught(ledger.records(product), config)
        more |= read.card(labels) if read else {}
        return write_card(out, stage, config, about, product, more)


def _reader(
    graph: KnowledgeGraph,
    config: SamplingConfig,
    questions: Sequence[Any],
    progress: JobProgress | None,
) -> tuple[CorpusReader | None, dict[str, str]]:
    """The reader of these questions, where one is asked for, and people's labels by text."""
    if not isinstance(config, FilterConfig) or not config.reader.enabled:
        return None, {}
    labels = read_labels(Path(config.reader.labels)) if config.reader.labels else {}
    lexicon = lexicon_of(graph, config.phrases_file)
    source = ReadingSource(graph, lister(graph, config.environment), lexicon)
    tick = partial(_tick, progress) if progress else _silent
    return CorpusReader(questions, source, config.reader, config.seed, tick), labels


def _tick(progress: JobProgress, done: int, total: int) -> None:
    progress(done, total, "reading")


def _silent(done: int, total: int) -> None:
    """Nobody watches."""


class _Filter(Every):
    """Of questions with one text or one query, the first one stays; of those that come too close
    to a test question, none; nor those that the reader does not understand."""

    def __init__(
        self,
        items: Sequence[Any],
        ledger: Ledger,
        tests: TestFiles | None,
        unread: Mapping[str, str],
    ) -> None:
        """`unread`: why a reader rejects a question, by its id."""
        super().__init__(items, ledger)
        self._tests, self._unread = tests, unread
        self._distinct = Distinct()
        for record in ledger.records(FILTERED):
            self._distinct.add(record, query_of(record)[0])

    def judged(self, structure: str, unit: Unit) -> Unit:
        file, record = unit[-1]
        if file == DROPPED:
            return unit
        reason, by = self._tests.holds(record) if self._tests else ("", "")
        if self._tests and reason:
            return _dropped(unit_of(record), Drop(self._tests.stage, reason, by))
        if self._distinct.holds(record):
            return _dropped(unit_of(record), Drop("certificate", "duplicate"))
        if why := self._unread.get(str(record["id"])):
            return _dropped(unit_of(record), Drop("filter", "not_read", why))
        self._distinct.add(record, query_of(record)[0])
        return unit


def _word(maker: Maker, sampled: SampledWalk) -> Unit:
    return _unit(sampled.id, maker.word(sampled), QUESTIONS)


def _certify(maker: Maker, question: Question) -> Unit:
    found = maker.certify(question)
    unit = _unit(question.id, found if isinstance(found, Drop) else found.question, FILTERED)
    if isinstance(found, Drop) and found.reason == UNSCORED:
        return [(UNSCORED_FILE, {**question.to_json(), "unit": question.id}), *unit]
    return unit


def _solve(maker: Maker, question: Question) -> Unit:
    found = maker.solve(question)
    solved = found if isinstance(found, Drop) else maker.think(found)
    return _unit(question.id, solved, GRAPHSYNTH)


_STAGES = {
    "words": (_word, QUESTIONS),
    "filter": (_certify, FILTERED),
    "solve": (_solve, GRAPHSYNTH),
}


def _unit(name: str, made: Question | Trajectory | Drop, product: str) -> Unit:
    if isinstance(made, Drop):
        return _dropped(name, made)
    return [(product, {**made.to_json(), "unit": name})]


def _dropped(name: str, drop: Drop) -> Unit:
    return [(DROPPED, drop.to_json(name))]


def _sampled(record: dict[str, Any]) -> SampledWalk:
    try:
        return SampledWalk.from_json(record)
    except (KeyError, TypeError, ValueError) as error:
        raise UserError(f"not a walk of `graphwalker walk` ({error})") from None
