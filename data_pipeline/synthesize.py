"""GraphSynth: certified questions with the oracle's trajectories, exactly as many as asked for."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from typing import Any, Protocol

from data_pipeline.attempts import Attempt, Drop, open_maker
from data_pipeline.config import SynthConfig, quotas
from data_pipeline.jobs.ledger import Ledger, Progress, open_run, unit_of
from data_pipeline.jobs.merge_shards import Shards
from data_pipeline.jobs.pool import Pool
from data_pipeline.jobs.seen import Seen
from data_pipeline.jobs.shards import Room, Shard, Unit, make_share
from data_pipeline.jobs.teacher_pool import TeacherPool, open_pool
from data_pipeline.stats.card import write_card
from data_pipeline.teacher.client import TeacherClient
from data_pipeline.walks.constrained import require_values
from data_pipeline.walks.endpoint import open_for_walks
from graphwalker.config import Config
from graphwalker.errors import UserError
from graphwalker.query.query import Query, stored

WALKS, QUESTIONS, DROPPED = "walks.jsonl", "questions.jsonl", "dropped.jsonl"
GRAPHSYNTH = "graphsynth.jsonl"

Job = tuple[str, int]
"""Structure and number of an attempt."""
Records = Iterator[tuple[str, dict[str, Any]]]
AnyPool = Pool[Job, Unit] | TeacherPool[Job, Unit]


class Elsewhere(Protocol):
    """Other corpora, whose questions must not be made again."""

    @property
    def facts(self) -> Mapping[str, Any]:
        """What tells one such set of corpora from another."""
        ...

    def holds(self, record: Mapping[str, Any]) -> str:
        """Why a question is ruled out, `""` where it is not."""
        ...


@dataclass(frozen=True, slots=True)
class Stage:
    """What a run makes: of each job, by `build`; written as `files`, the last one its product."""

    name: str
    build: Callable[..., Callable[[Job], Unit]]
    """Called with the graph, the config and, where there is one, the line to a chat model."""
    files: tuple[str, ...]

    @property
    def product(self) -> str:
        return self.files[-1]

    @property
    def asked(self) -> str:
        """The file that tells which questions (or bare walks) were made already."""
        return QUESTIONS if QUESTIONS in self.files else WALKS


def synthesize(
    graph: Path | str,
    config: SynthConfig,
    out: Path,
    progress: Progress | None = None,
    shard: Shard | None = None,
) -> dict[str, Any]:
    """Make `config.count` trajectories in the exact mix; returns the data card.

    Writes walks.jsonl (every walk that could be asked), questions.jsonl (the certified ones),
    graphsynth.jsonl (their trajectories), dropped.jsonl (every other attempt, with its reason) and
    the data card. The same command goes on where a killed one stopped; any number of workers
    makes the same bytes. With `shard`, one part of the run is made below `out`, to be merged.
    """
    return make(graph, config, out, STAGES["synth"], progress, shard)


def make_questions(
    graph: Path | str,
    config: SynthConfig,
    out: Path,
    progress: Progress | None = None,
    shard: Shard | None = None,
) -> dict[str, Any]:
    """Make a question set (held out, or for RL) under the same certificates, without trajectories.

    Writes walks.jsonl, questions.jsonl, dropped.jsonl and the data card.
    """
    return make(graph, config, out, STAGES["questions"], progress, shard)


def make_walks(
    graph: Path | str,
    config: SynthConfig,
    out: Path,
    progress: Progress | None = None,
    shard: Shard | None = None,
) -> dict[str, Any]:
    """Sample walks alone, in the exact mix: walks.jsonl, dropped.jsonl and the data card."""
    return make(graph, config, out, STAGES["walk"], progress, shard)


def make(
    graph: Path | str,
    config: SynthConfig,
    out: Path,
    stage: Stage,
    progress: Progress | None,
    shard: Shard | None = None,
    shards: Shards | None = None,
    elsewhere: Elsewhere | None = None,
) -> dict[str, Any]:
    """Attempt after attempt, always of the structure furthest behind, until the mix is full.

    With `shard`, that part of the attempts is made below `out`, not judged against others. With
    `shards`, what they have tried is taken from them. `elsewhere` rules out what others hold.
    """
    opened = open_for_walks(graph, config)
    require_values(opened, config.mix)
    about = {"checksum": opened.checksum}
    if shard is not None:
        return _make_shard(graph, config, shard.folder(out), stage, about, shard, progress)
    open_run(out, stage.name, config, about, elsewhere.facts if elsewhere else {})
    with (
        Ledger(out, stage.files[:-1], [stage.product, DROPPED]) as ledger,
        open_pool(stage.build, graph, config, out) as pool,
    ):
        goal = _Goal(config, ledger, ledger.records(stage.asked), elsewhere)
        streams = {
            name: _merged(shards, pool, stage, name, goal.tried[name], goal.room(name))
            if shards
            else _units(pool, name, count(goal.tried[name]), goal.room(name))
            for name in goal.quota
        }
        while (structure := goal.next_structure()) is not None:
            unit = goal.judged(structure, next(streams[structure]))
            kept = unit[-1][0] != DROPPED
            ledger.write(unit)
            goal.count(structure, kept)
            if progress and kept:
                progress(goal.kept.total(), config.count, stage.name)
    return write_card(out, stage.name, config, about, stage.product)


def _make_shard(
    graph: Path | str,
    config: SynthConfig,
    out: Path,
    stage: Stage,
    about: Mapping[str, Any],
    shard: Shard,
    progress: Progress | None,
) -> dict[str, Any]:
    open_run(out, stage.name, config, about, {"shard": str(shard)})
    with (
        Ledger(out, stage.files[:-1], [stage.product, DROPPED]) as ledger,
        open_pool(stage.build, graph, config, out) as pool,
    ):
        tried = make_share(
            ledger,
            quotas(config.mix, config.count),
            lambda name, numbers, room: _units(pool, name, numbers, room),
            structure_of,
            shard,
            max(1, config.max_attempts // shard.of),
            progress,
        )
    more = {"shard": str(shard), "tried": tried}
    return write_card(out, stage.name, config, about, stage.product, more)


def _units(pool: AnyPool, structure: str, numbers: Iterator[int], room: Room) -> Iterator[Unit]:
    jobs = ((structure, number) for number in numbers)
    taught = isinstance(pool, TeacherPool)
    return pool.results(jobs, room) if taught else pool.results(jobs)


def _merged(
    shards: Shards, pool: AnyPool, stage: Stage, structure: str, start: int, room: Room
) -> Iterator[Unit]:
    return shards.units(
        structure,
        start,
        (f"{structure}/{number}" for number in count()),
        (*stage.files, DROPPED),
        structure_of,
        lambda numbers: _units(pool, structure, numbers, room),
    )


def structure_of(record: Mapping[str, Any]) -> str:
    """The structure that the attempt behind a record was of."""
    return unit_of(record).rpartition("/")[0]


def records(attempt: Attempt) -> Records:
    """The lines that an attempt adds, its ending last."""
    if attempt.sampled is not None:
        yield WALKS, attempt.sampled.to_json()
    if attempt.question is not None:
        yield QUESTIONS, {**attempt.question.to_json(), "unit": attempt.id}
    if attempt.trajectory is not None:
        yield GRAPHSYNTH, {**attempt.trajectory.to_json(), "unit": attempt.id}
    if attempt.drop is not None:
        yield DROPPED, attempt.drop.to_json(attempt.id)


def _whole(
    graph: Path | str, config: Config, client: TeacherClient | None = None
) -> Callable[[Job], Unit]:
    maker = open_maker(graph, config, client)
    return lambda job: list(records(maker.attempt(*job)))


def _proven(
    graph: Path | str, config: Config, client: TeacherClient | None = None
) -> Callable[[Job], Unit]:
    maker = open_maker(graph, config, client)
    return lambda job: list(records(replace(maker.attempt(*job, voiced=False), trajectory=None)))


def _walk(
    graph: Path | str, config: Config, client: TeacherClient | None = None
) -> Callable[[Job], Unit]:
    maker = open_maker(graph, config, client)

    def sample(job: Job) -> Unit:
        found = maker.sample(*job)
        name = "/".join(map(str, job))
        if isinstance(found, Drop):
            return [(DROPPED, found.to_json(name))]
        return [(WALKS, found.to_json())]

    return sample


STAGES = {
    stage.name: stage
    for stage in (
        Stage("synth", _whole, (WALKS, QUESTIONS, GRAPHSYNTH)),
        Stage("questions", _proven, (WALKS, QUESTIONS)),
        Stage("walk", _walk, (WALKS,)),
    )
}


class _Goal:
    """Which structure to attempt next, and what the records made so far rule out."""

    def __init__(
        self,
        config: SynthConfig,
        ledger: Ledger,
        kept: Iterator[dict[str, Any]],
        elsewhere: Elsewhere | None = None,
    ) -> None:
        self.config = config
        self._elsewhere = elsewhere
        self.quota = quotas(config.mix, config.count)
        endings = (record for name in ledger.endings for record in ledger.records(name))
        self.tried: Counter[str] = Counter(map(structure_of, endings))
        self.kept: Counter[str] = Counter()
        self._productive: Counter[str] = Counter()  # attempts up to the last one that was kept
        self._texts, self._queries = Seen(), Seen()
        self._paths: Counter[tuple[str, ...]] = Counter()
        self._relations: Counter[tuple[str, str]] = Counter()
        for record in kept:
            structure, _, number = unit_of(record).rpartition("/")
            self.kept[structure] += 1
            self._productive[structure] = int(number) + 1
            self._remember(record)

    def next_structure(self) -> str | None:
        """The structure that is furthest behind its quota; `None` when all are full.

        Raises `UserError` when the graph seems to have no more of it.
        """
        open_ones = [name for name in self.quota if self.kept[name] < self.quota[name]]
        if not open_ones:
            return None
        structure = min(open_ones, key=lambda name: self.kept[name] / self.quota[name])
        self._check(structure)
        return structure

    def judged(self, structure: str, unit: Unit) -> Unit:
        """The attempt, dropped when an earlier one asked the same or filled its path's or a
        relation's share."""
        found = dict(unit)
        record = found.get(QUESTIONS) or found.get(WALKS)
        if DROPPED in found or record is None:
            return unit
        reason = self._elsewhere.holds(record) if self._elsewhere else ""
        reason = reason or self._rival(structure, record)
        if not reason:
            self._remember(record)
            return unit
        sampled = unit[:1] if QUESTIONS in found else []
        return [*sampled, (DROPPED, Drop("certificate", reason).to_json(unit_of(record)))]

    def _rival(self, structure: str, record: Mapping[str, Any]) -> str:
        """What records made earlier have against this one."""
        if "question" in record and _text(record) in self._texts:
            return "duplicate"
        query, path = _stored(record)
        if query.key in self._queries:
            return "duplicate"
        if self._paths[structure, *path] >= self._path_limit(structure):
            return "path_share"
        limit = self._relation_limit(structure)
        full = any(self._relations[structure, one] >= limit for one in query.relations)
        return "relation_share" if full else ""

    def room(self, structure: str) -> Room:
        """How many more records of it are wanted, whenever it is asked."""
        return lambda: self.quota[structure] - self.kept[structure]

    def count(self, structure: str, kept: bool) -> None:
        self.tried[structure] += 1
        if kept:
            self.kept[structure] += 1
            self._productive[structure] = self.tried[structure]

    def _check(self, structure: str) -> None:
        limit = self.config.max_attempts
        if self.tried[structure] - self._productive[structure] >= limit:
            raise UserError(
                f"{structure}: {self.kept[structure]} of {self.quota[structure]} made, none in the "
                f"last {limit} attempts (dropped.jsonl has the reasons): ask for fewer, "
                f"weigh it less (mix.{structure}=...), or take a larger graph"
            )

    def _path_limit(self, structure: str) -> int:
        return max(1, int(self.config.max_path_share * self.quota[structure]))

    def _relation_limit(self, structure: str) -> float:
        share = self.config.max_relation_share
        return max(1, int(share * self.quota[structure])) if share < 1 else float("inf")

    def _remember(self, record: Mapping[str, Any]) -> None:
        if "question" in record:  # a bare walk has none
            self._texts.add(_text(record))
        query, path = _stored(record)
        self._queries.add(query.key)
        if self.config.max_path_share < 1:  # else nothing is ruled out, and paths are many
            self._paths[record["structure"], *path] += 1
        self._relations.update((record["structure"], r) for r in query.relations)


def _stored(record: Mapping[str, Any]) -> tuple[Query, tuple[str, ...]]:
    found = stored(record)
    assert found is not None  # every walk and question made here has one
    return found


def _text(record: Mapping[str, Any]) -> str:
    return str(record["question"]).casefold()
