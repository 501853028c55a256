"""GraphSynth: certified questions with the oracle's trajectories, exactly as many as wanted."""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from data_pipeline.attempts import Maker, open_worker
from data_pipeline.config import SamplingConfig, SynthConfig, quotas
from data_pipeline.contamination.against import TestFiles
from data_pipeline.jobs.distinct import Distinct, query_of
from data_pipeline.jobs.goals import Draws, Goal, fill, streams, too_few
from data_pipeline.jobs.ledger import DROPPED, JobProgress, Ledger, Unit, open_ledger, unit_of
from data_pipeline.jobs.merge_shards import Shards
from data_pipeline.jobs.pool import is_in_line, open_pool
from data_pipeline.jobs.shards import Shard, ShardGoal
from data_pipeline.outcomes import Attempt, Drop, RuledOut, SampledWalk
from data_pipeline.stats.card import write_card
from data_pipeline.stats.taught import taught
from data_pipeline.walks.constrained import require_values
from data_pipeline.walks.endpoint import open_for_walks
from data_pipeline.walks.plausibility import LOOSER, STEP_NAMES, STEPS, parse_stream, stream_of
from data_pipeline.walks.sampler import STRUCTURES
from data_pipeline.wording.own_phrases import phrase_facts
from data_pipeline.wording.vocabulary import lexicon_of
from graphwalker.errors import UserError
from graphwalker.graphs.base import KnowledgeGraph
from graphwalker.query.query import Query

WALKS, QUESTIONS, GRAPHSYNTH = "walks.jsonl", "questions.jsonl", "graphsynth.jsonl"
UNSCORED_FILE = "unscored.jsonl"

FEW_USES = 5
"""Uses of a relation in one structure that are no share of it yet: a small run has no room for
shares."""

AttemptNumber = tuple[str, int, RuledOut | None]
"""Structure and number of an attempt; where it is made in its turn, what rules its walk out."""


class Corpora(Protocol):
    """Other corpora, whose questions must not be made again."""

    stage: str
    """What drops are counted under."""

    @property
    def facts(self) -> Mapping[str, Any]:
        """What distinguishes one such set of corpora from another."""
        ...

    def holds(self, record: Mapping[str, Any]) -> tuple[str, str]:
        """Why a walk or a question is ruled out, and what by; both empty where it is not."""
        ...


@dataclass(frozen=True, slots=True)
class Recipe:
    """What a run makes: of each job, by `build`; written as `files`, the last one its product."""

    name: str
    build: Callable[..., Callable[[AttemptNumber], Unit]]
    """Called with the graph, the config and, where there is one, the line to a chat model."""
    files: tuple[str, ...]

    @property
    def product(self) -> str:
        return self.files[-1]

    @property
    def distinct(self) -> str:
        """The file whose questions (or bare walks) must differ from one another."""
        return QUESTIONS if QUESTIONS in self.files else WALKS


def synthesize(
    graph: Path | str,
    config: SynthConfig,
    out: Path,
    progress: JobProgress | None = None,
    shard: Shard | None = None,
) -> dict[str, Any]:
    """Make `config.count` trajectories in the exact mix; returns the data card.

    Writes walks.jsonl (every walk that gives a question), questions.jsonl (the certified ones),
    graphsynth.jsonl (their trajectories), dropped.jsonl (every other attempt, with its reason) and
    the data card. The same command resumes a killed run; any number of workers makes the same
    bytes. With `shard`, one part of the run is made below `out`, to be merged.
    """
    return make(graph, config, out, RECIPES["synth"], progress, shard)


def make_questions(
    graph: Path | str,
    config: SynthConfig,
    out: Path,
    progress: JobProgress | None = None,
    shard: Shard | None = None,
) -> dict[str, Any]:
    """Make a question set (held out, or for RL) under the same certificates, without trajectories.

    Writes walks.jsonl, questions.jsonl, dropped.jsonl and the data card.
    """
    return make(graph, config, out, RECIPES["questions"], progress, shard)


def make_walks(
    graph: Path | str,
    config: SynthConfig,
    out: Path,
    progress: JobProgress | None = None,
    shard: Shard | None = None,
) -> dict[str, Any]:
    """Sample walks alone, in the exact mix: walks.jsonl, dropped.jsonl and the data card."""
    return make(graph, config, out, RECIPES["walk"], progress, shard)


def make(
    graph: Path | str,
    config: SynthConfig,
    out: Path,
    recipe: Recipe,
    progress: JobProgress | None = None,
    shard: Shard | None = None,
    shards: Shards | None = None,
    exclude: Corpora | None = None,
) -> dict[str, Any]:
    """Attempt after attempt, always of the structure furthest behind, until the mix is full.

    With `shard`, that part of the attempts is made below `out`, not judged against others. With
    `shards`, what they have tried is taken from them. `exclude` rules out what other corpora hold.
    """
    opened = open_for_walks(graph, config)
    require_values(opened, config.mix)
    about = {"checksum": opened.checksum}
    words = phrase_facts(config.phrases_file)
    tests = tests_of(opened, config)
    exclude = exclude or tests
    facts = {"graph": about, **words, **(exclude.facts if exclude else {})}
    if shard:
        out, facts = shard.folder(out), {**facts, "shard": str(shard)}
    # A question for which a judge had no score waits in a file of its own.
    files = (UNSCORED_FILE, *recipe.files) if config.is_judged else recipe.files
    with (
        open_ledger(out, recipe.name, config, facts, files) as ledger,
        open_pool(recipe.build, graph, config, out) as pool,
    ):
        quota = quotas(config.mix, config.count)
        goal = (
            ShardGoal(shard, quota, Draws(), ledger, max(1, config.max_attempts // shard.of))
            if shard
            else SynthGoal(config, ledger, recipe, exclude, is_in_line(graph, config))
        )
        fill(goal, pool, ledger, progress, shards.streams if shards else streams)
        more = tests.card(ledger.records(DROPPED)) if tests else {}
        if recipe.product != WALKS:
            more |= taught(ledger.records(recipe.product), config)
        return write_card(out, recipe.name, config, about, recipe.product, {**goal.card, **more})


def tests_of(graph: KnowledgeGraph, config: SamplingConfig) -> TestFiles | None:
    """The test questions that the config names, which nothing that is made may come close to."""
    if not isinstance(config, SynthConfig) or not config.against:
        return None
    inverse = lexicon_of(graph, config.phrases_file).inverse
    return TestFiles([Path(file) for file in config.against], config.contamination, inverse)


def records(attempt: Attempt) -> Unit:
    """The lines that an attempt adds, its ending last."""
    unit: Unit = []
    if attempt.sampled is not None:
        unit.append((WALKS, attempt.sampled.to_json()))
    if attempt.question is not None:
        unit.append((QUESTIONS, {**attempt.question.to_json(), "unit": attempt.id}))
    if attempt.trajectory is not None:
        unit.append((GRAPHSYNTH, {**attempt.trajectory.to_json(), "unit": attempt.id}))
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
    structure, number, _ = job
    found = maker.sample(structure, number)
    if isinstance(found, Drop):
        return [(DROPPED, found.to_json(f"{structure}/{number}"))]
    return [(WALKS, found.to_json())]


RECIPES = {
    recipe.name: recipe
    for recipe in (
        Recipe("synth", partial(open_worker, _whole), (WALKS, QUESTIONS, GRAPHSYNTH)),
        Recipe("questions", partial(open_worker, _proven), (WALKS, QUESTIONS)),
        Recipe("walk", partial(open_worker, _walk), (WALKS,)),
    )
}


class SynthGoal(Goal):
    """A mix of distinct questions: the records made so far rule out some of those to come.

    A structure that the graph seems to have no more of is given up, and what it lacks is shared
    out among the others by weight. What is given up follows from the ledger alone, so that a
    resumed or merged run gives up the same. Raises `UserError` when none is left.
    """

    def __init__(
        self,
        config: SynthConfig,
        ledger: Ledger,
        recipe: Recipe,
        exclude: Corpora | None = None,
        in_line: bool = False,
    ) -> None:
        """`in_line`: an attempt is made when all before it were judged. It then ends where its walk
        is ruled out, as `judged` would end it."""
        self._requested = quotas(config.mix, config.count)
        super().__init__(self._requested, Draws(self.ruled_out if in_line else None), ledger)
        self.config = config
        self._bare = recipe.product == WALKS
        self._steps = STEPS if config.plausibility.on else 1
        self._streams_of = {
            name: [stream_of(name, step) for step in range(self._steps)] for name in self.quota
        }
        self._patience = max(1, config.max_attempts // self._steps)
        self._given_up: list[str] = []
        self._exclude = exclude
        self._productive: Counter[str] = Counter()  # attempts up to the last one that was kept
        self._made: Counter[str] = Counter()
        self._distinct = Distinct()
        self._paths: Counter[tuple[str, ...]] = Counter()
        self._relations: Counter[tuple[str, str]] = Counter()
        for record in ledger.records(recipe.distinct):
            stream, _, number = unit_of(record).rpartition("/")
            self._productive[stream] = int(number) + 1
            self._made[stream] += 1
            self._remember(record)

    def next_structure(self) -> str | None:
        if self.kept.total() >= self.total:
            return None
        while (barren := self._barren()) is not None:
            self._give_up(barren)
        structure = super().next_structure()
        return structure and stream_of(structure, self._step(structure))

    @property
    def streams(self) -> list[str]:
        return [stream for name in self.quota for stream in self._streams_of[name]]

    def quota_of(self, stream: str) -> str:
        return parse_stream(stream)[0]

    def is_open(self, stream: str) -> bool:
        structure, step = parse_stream(stream)
        return step == self._step(structure)

    def _step(self, structure: str) -> int:
        """How often the rule of plausibility has given way: once for each stream of the structure
        that has come to its end."""
        for step, stream in enumerate(self._streams_of[structure]):
            if self.tried[stream] - self._productive[stream] < self._patience:
                return step
        return self._steps

    def _barren(self) -> str | None:
        """A structure that has no more attempts worth making and is not full. One that had all
        that was asked for may become one, when it takes the place of others."""
        for name, quota in self.quota.items():
            wanting = name not in self._given_up and self.kept[name] < quota
            if wanting and self._step(name) == self._steps:
                return name
        return None

    def _give_up(self, structure: str) -> None:
        """Share out what the structure lacks. Raises `UserError` where there is no other."""
        self._given_up.append(structure)
        rest = {n: self.config.mix[n] for n in self._requested if n not in self._given_up}
        if not rest:
            made = "; ".join(
                f"{n}: {self.kept[n]} of {self._requested[n]}" for n in self._requested
            )
            raise UserError(
                f"{made} made, none in the last {self.config.max_attempts} attempts (dropped.jsonl "
                "has the reasons): ask for fewer, or take a larger graph"
            )
        kept = {name: self.kept[name] for name in self._given_up}
        more = quotas(rest, self.total - sum(kept.values()) - sum(self._requested[n] for n in rest))
        shared = {n: max(self.kept[n], self._requested[n] + more.get(n, 0)) for n in rest}
        self.quota = {name: (kept | shared)[name] for name in self._requested}

    @property
    def card(self) -> dict[str, Any]:
        gave_way: dict[str, dict[str, int]] = {}
        for stream, made in sorted(self._made.items()):
            structure, step = parse_stream(stream)
            if step:
                gave_way.setdefault(structure, {})[STEP_NAMES[step]] = made
        found = {"plausibility_gave_way": gave_way} if gave_way else {}
        return {**too_few(self._requested, self.kept), **found}

    def judged(self, structure: str, unit: Unit) -> Unit:
        """The attempt, dropped when an earlier one is the same question, or filled the share
        of its path or of a relation. What rules out a walk comes before what its question met."""
        found = dict(unit)
        if (walk := found.get(WALKS)) is None:
            return unit
        drop = self._drop(structure, walk, found)
        if drop is None:
            return unit
        return [*([] if self._bare else unit[:1]), (DROPPED, drop.to_json(unit_of(walk)))]

    def _drop(
        self, stream: str, walk: Mapping[str, Any], found: Mapping[str, dict[str, Any]]
    ) -> Drop | None:
        """Why an attempt is dropped that gave a walk; one that is kept is remembered."""
        if reason := self._rival(stream, *query_of(walk)):
            return Drop("certificate", reason)
        if DROPPED in found:
            return None
        record = found.get(QUESTIONS) or walk
        if self._exclude:
            reason, by = self._exclude.holds(record)
            if reason:
                return Drop(self._exclude.stage, reason, by)
        if self._distinct.holds_text(record):
            return Drop("certificate", "duplicate")
        self._remember(record)
        return None

    def ruled_out(self, sampled: SampledWalk) -> str:
        """Why nothing comes of the walk, whatever its question is."""
        stream = sampled.id.rpartition("/")[0]
        return self._rival(stream, sampled.walk.query, sampled.path)

    def count(self, structure: str, kept: bool) -> None:
        super().count(structure, kept)
        if kept:
            self._productive[structure] = self.tried[structure]
            self._made[structure] += 1

    def _rival(self, stream: str, query: Query, path: tuple[str, ...]) -> str:
        """What records made earlier have against a walk."""
        structure, step = parse_stream(stream)
        if self._distinct.holds_query(query):
            return "duplicate"
        if self._paths[structure, *path] >= self._path_limit(structure):
            return "path_share"
        limit = self._relation_limit(structure, step)
        full = any(self._relations[structure, one] >= limit for one in query.relations)
        return "relation_share" if full else ""

    def _path_limit(self, structure: str) -> int:
        return max(1, int(self.config.max_path_share * self.quota[structure]))

    def _relation_limit(self, structure: str, step: int) -> float:
        """It gives way with the rule of plausibility: a graph of few relations has no others."""
        share = self.config.max_relation_share * LOOSER**step
        last = self._steps > 1 and step == self._steps - 1
        if share >= 1 or last:
            return float("inf")
        lengths, tail = STRUCTURES.get(structure, ((1,), 0))
        uses = self.quota[structure] * (sum(lengths) + tail)
        return max(FEW_USES, int(share * uses))

    def _remember(self, record: Mapping[str, Any]) -> None:
        self._distinct.add(record)
        query, path = query_of(record)
        if self.config.max_path_share < 1:  # else nothing is ruled out, and paths are many
            self._paths[record["structure"], *path] += 1
        self._relations.update((record["structure"], r) for r in query.relations)
