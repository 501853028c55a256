"""GraphSynth: certified questions with the oracle's trajectories, in one go or stage by stage."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from data_pipeline.attempts import Maker, open_worker
from data_pipeline.config import SamplingConfig, SynthConfig, quotas
from data_pipeline.contamination.against import TestFiles
from data_pipeline.jobs.distinct import Distinct, query_of
from data_pipeline.jobs.goals import AllItems, draws, fill, streams
from data_pipeline.jobs.ledger import (
    DROPPED,
    JobProgress,
    Ledger,
    Unit,
    open_ledger,
    record_of,
    unit_of,
)
from data_pipeline.jobs.pool import is_in_line, open_pool
from data_pipeline.jobs.shards import Shard, ShardGoal, Shards
from data_pipeline.jobs.synth_goal import (
    GRAPHSYNTH,
    QUESTIONS,
    UNSCORED_FILE,
    WALKS,
    AttemptNumber,
    Corpora,
    Recipe,
    SynthGoal,
)
from data_pipeline.like import apply_like, like_facts
from data_pipeline.outcomes import Attempt, Drop, SampledWalk
from data_pipeline.stats.card import teacher_counts, write_card
from data_pipeline.teacher.judge import UNSCORED
from data_pipeline.walks.constrained import require_values
from data_pipeline.walks.endpoint import open_for_walks, open_shared
from data_pipeline.wording.vocabulary import lexicon_of, phrase_facts
from graphwalker.errors import UserError
from graphwalker.files import digest, read_records
from graphwalker.graphs.base import KnowledgeGraph
from graphwalker.policies.chat.config import divide_caps
from graphwalker.question import Question, read_worded

__all__ = ["GRAPHSYNTH", "QUESTIONS", "UNSCORED_FILE", "WALKS", "AttemptNumber", "Recipe"]


def make(
    graph: Path | str,
    config: SynthConfig,
    out: Path,
    progress: JobProgress | None = None,
    shard: Shard | None = None,
    *,
    recipe: Recipe,
    shards: Shards | None = None,
    exclude: Corpora | None = None,
) -> dict[str, Any]:
    """Run attempts of the structure furthest behind its quota until the mix is full; returns the
    data card.

    Writes the files of the recipe, dropped.jsonl (every other attempt, with its reason) and the
    card. The same command resumes a killed run; any number of workers makes the same bytes. With
    `shard`, that part of the attempts is made below `out`, not judged against others: merging does
    that. With `shards`, what they have tried is taken from them. `exclude` rules out what other
    corpora hold.
    """
    config = apply_like(config, open_shared(graph, config.environment), out)
    opened = open_for_walks(graph, config)
    require_values(opened, quotas(config.weights, config.count))
    about = {"checksum": opened.checksum}
    words = phrase_facts(config.phrases_file)
    tests = tests_of(opened, config)
    exclude = exclude or tests
    facts = {"graph": about, **words, **(exclude.facts if exclude else {})}
    parts = shard.of if shard else 1
    if shard:
        out, facts = shard.folder(out), {**facts, "shard": str(shard)}
    # A question for which a judge had no score waits in a file of its own.
    files = (UNSCORED_FILE, *recipe.files) if config.is_judged else recipe.files
    with (
        open_ledger(out, recipe.name, config, facts, files) as ledger,
        open_pool(recipe.build, graph, divide_caps(config, parts), out) as pool,
    ):
        quota = quotas(config.weights, config.count)
        goal = (
            ShardGoal(shard, quota, draws(), ledger, max(1, config.max_attempts // shard.of))
            if shard
            else SynthGoal(config, ledger, recipe, exclude, is_in_line(graph, config))
        )
        fill(goal, pool, ledger, progress, shards.streams if shards else streams)
        more = tests.card(ledger.records(DROPPED)) if tests else {}
        more |= like_facts(config, ledger.records(recipe.product))
        if recipe.product != WALKS:
            more |= teacher_counts(ledger.records(recipe.product), config)
        return write_card(out, recipe.name, config, about, recipe.product, {**goal.card, **more})


def tests_of(graph: KnowledgeGraph, config: SamplingConfig) -> TestFiles | None:
    """Return the test questions that the config names, which nothing made may come close to."""
    if not isinstance(config, SynthConfig) or not config.against:
        return None
    inverse = lexicon_of(graph, config.phrases_file).inverse
    files = [Path(file) for file in config.against]
    return TestFiles(files, config.contamination, inverse, graph)


def records(attempt: Attempt) -> Unit:
    """Return the lines that an attempt adds, its ending last."""
    unit: Unit = []
    if attempt.sampled is not None:
        unit.append((WALKS, attempt.sampled.to_json()))
    if attempt.question is not None:
        unit.append((QUESTIONS, {**attempt.question.to_json(), "unit": attempt.id}))
    if attempt.trajectory is not None:
        unit.append((GRAPHSYNTH, record_of(attempt.trajectory, attempt.id)))
    if attempt.waiting is not None:
        unit.append((UNSCORED_FILE, {**attempt.waiting.to_json(), "unit": attempt.id}))
    if attempt.drop is not None:
        unit.append((DROPPED, attempt.drop.to_json(attempt.id)))
    return unit


def _whole(maker: Maker, job: AttemptNumber) -> Unit:
    return records(maker.attempt(*job))


def _proven(maker: Maker, job: AttemptNumber) -> Unit:
    return records(replace(maker.attempt(*job, thoughts=False), trajectory=None))


def _walk(maker: Maker, job: AttemptNumber) -> Unit:
    stream, number, _, avoided = job
    found = maker.sample(stream, number, avoided)
    if isinstance(found, Drop):
        return [(DROPPED, found.to_json(f"{stream}/{number}"))]
    return [(WALKS, found.to_json())]


RECIPES = {
    recipe.name: recipe
    for recipe in (
        Recipe("synth", partial(open_worker, _whole), (WALKS, QUESTIONS, GRAPHSYNTH)),
        Recipe("questions", partial(open_worker, _proven), (WALKS, QUESTIONS)),
        Recipe("walk", partial(open_worker, _walk), (WALKS,)),
    )
}
synthesize = partial(make, recipe=RECIPES["synth"])
"""GraphSynth: walks.jsonl (every walk that gives a question), questions.jsonl (the certified ones),
graphsynth.jsonl (their trajectories)."""
make_questions = partial(make, recipe=RECIPES["questions"])
"""A question set (held out, or for RL) under the same certificates, without trajectories."""
make_walks = partial(make, recipe=RECIPES["walk"])
"""Walks alone, in the exact mix."""


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
    opened = open_shared(graph, config.environment)
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

    def __init__(self, items: Sequence[Any], ledger: Ledger, tests: TestFiles | None) -> None:
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
