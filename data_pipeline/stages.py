"""The stages of GraphSynth one by one, each from a file to a file: word, filter."""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from data_pipeline.attempts import Maker, open_worker
from data_pipeline.config import SamplingConfig
from data_pipeline.contamination.against import TestFiles
from data_pipeline.jobs.distinct import Distinct, query_of
from data_pipeline.jobs.goals import AllItems, fill
from data_pipeline.jobs.ledger import (
    DROPPED,
    JobProgress,
    Ledger,
    Unit,
    open_ledger,
    unit_of,
)
from data_pipeline.jobs.pool import open_pool
from data_pipeline.outcomes import Drop, SampledWalk
from data_pipeline.stats.card import teacher_counts, write_card
from data_pipeline.synthesize import QUESTIONS, UNSCORED_FILE, tests_of
from data_pipeline.teacher.judge import UNSCORED
from data_pipeline.wording.vocabulary import phrase_facts
from graphwalker.errors import UserError
from graphwalker.files import digest, read_records
from graphwalker.graphs.open import open_graph
from graphwalker.question import Question, read_worded

FILTERED = "filtered.jsonl"


def run_stage(
    stage: str,
    graph: Path | str,
    config: SamplingConfig,
    source: Path,
    out: Path,
    progress: JobProgress | None = None,
) -> dict[str, Any]:
    """Run one stage over the records of `source`; returns the data card.

    `words` makes questions.jsonl of walks, not yet judged; `filter` keeps in filtered.jsonl those
    that pass the filter and every certificate.
    """
    read, step, product = _STAGES[stage]
    items = list(read_records(source, read))
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
        goal = _Filter(items, ledger, tests) if stage == "filter" else AllItems(items, ledger)
        fill(goal, pool, ledger, progress)
        more = tests.card(ledger.records(DROPPED)) if tests else {}
        more |= teacher_counts(ledger.records(product), config)
        return write_card(out, stage, config, about, product, more)


class _Filter(AllItems):
    """Of questions with one text or one query, the first one stays; of those that come too close
    to a test question, none."""

    def __init__(
        self,
        items: Sequence[Any],
        ledger: Ledger,
        tests: TestFiles | None,
    ) -> None:
        super().__init__(items, ledger)
        self._tests = tests
        self._distinct = Distinct()
        for record in ledger.records(FILTERED):
            self._distinct.add(record, query_of(record)[0])

    def judge(self, structure: str, unit: Unit) -> Unit:
        file, record = unit[-1]
        if file == DROPPED:
            return unit
        reason, by = self._tests.holds(record) if self._tests else ("", "")
        if self._tests and reason:
            return _drop_unit(unit_of(record), Drop(self._tests.stage, reason, by))
        if self._distinct.holds(record):
            return _drop_unit(unit_of(record), Drop("certificate", "duplicate"))
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


def _read_walk(record: dict[str, Any]) -> SampledWalk:
    try:
        return SampledWalk.from_json(record)
    except (KeyError, TypeError, ValueError) as error:
        raise UserError(f"not a walk of `graphwalker walk` ({error})") from None


_STAGES: dict[str, tuple[Callable[[dict[str, Any]], Any], Callable[[Maker, Any], Unit], str]] = {
    "words": (_read_walk, _word, QUESTIONS),
    "filter": (read_worded, _certify, FILTERED),
}
word_questions = partial(run_stage, "words")
filter_questions = partial(run_stage, "filter")


def _unit(name: str, made: Question | Drop, product: str) -> Unit:
    if isinstance(made, Drop):
        return _drop_unit(name, made)
    return [(product, {**made.to_json(), "unit": name})]


def _drop_unit(name: str, drop: Drop) -> Unit:
    return [(DROPPED, drop.to_json(name))]
