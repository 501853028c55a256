"""GraphRoll: expert episodes over a stratified sample of questions, kept by rejection."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from itertools import count, takewhile
from pathlib import Path
from typing import Any

from data_pipeline.config import ExpertConfig, quotas
from data_pipeline.experts import ExpertPolicy
from data_pipeline.ledger import Ledger, Progress, file_checksum, open_run
from data_pipeline.lexicon import Lexicon
from data_pipeline.pool import Pool
from data_pipeline.shards import Shard, Unit, make_share
from data_pipeline.shards_merge import Shards
from data_pipeline.stats import write_card
from graphwalker.agents.presets import Environment
from graphwalker.agents.rollout import rollout, untimed
from graphwalker.config import Config
from graphwalker.errors import GraphError, UserError
from graphwalker.graphs.compiled import open_graph
from graphwalker.jsonl import read_records
from graphwalker.policies.base import Sampling
from graphwalker.question import Question
from graphwalker.scoring import score
from graphwalker.trajectory import StopReason, Trajectory

GRAPHROLL, DROPPED = "graphroll.jsonl", "dropped.jsonl"


class Expert:
    """Runs the expert on one question at a time."""

    def __init__(self, graph: Any, config: ExpertConfig) -> None:
        self._environment = Environment(graph, config.environment)
        self._policy = ExpertPolicy(
            graph,
            self._environment.protocol,
            max_turns=config.environment.max_turns,
            error_rate=config.error_rate,
            slips=config.slips,
            seed=config.seed,
            plain=config.plain_thoughts,
            twin=Lexicon.for_graph(graph.relation_ids()).twin,
        )

    def trajectory(self, question: Question) -> Trajectory:
        """The scored episode; its provenance lists what went wrong in it, turn by turn."""
        run = rollout([question], self._environment, self._policy, Sampling(), concurrency=1)
        done = untimed(next(run))
        errors = self._policy.errors(done.id)
        if done.stop is StopReason.GRAPH_ERROR:
            raise GraphError(f"{question.id}: {done.provenance['error']}")
        done.provenance["errors"] = errors
        return done if done.stop.ours else done.with_scores(**score(done))


def collect_experts(
    graph: Path,
    config: ExpertConfig,
    questions: Path,
    out: Path,
    progress: Progress | None = None,
    shard: Shard | None = None,
    shards: Shards | None = None,
) -> dict[str, Any]:
    """Collect `config.count` expert trajectories; writes graphroll.jsonl, dropped.jsonl, the card.

    `questions` is a file of certified questions (`questions.jsonl` of a question set). They are
    taken in its order, by structure; one that the expert fails is replaced by the next. With
    `shard`, every n-th question of a structure is tried, in a folder below `out`; with `shards`,
    what they have tried is taken from them.
    """
    run = _Run(graph, config, questions, out if shard is None else shard.folder(out))
    facts = {"questions": file_checksum(questions)}
    open_run(
        run.out, "experts", config, run.about, facts | ({"shard": str(shard)} if shard else {})
    )
    with (
        Ledger(run.out, [], [GRAPHROLL, DROPPED]) as ledger,
        Pool[Question, Trajectory](
            expert_maker, graph, config, config.workers, config.engine
        ) as pool,
    ):
        if shard is not None:
            return run.share(ledger, pool, shard, progress)
        return run.whole(ledger, pool, shards, progress)


def fault(trajectory: Trajectory) -> str:
    """Why the trajectory is rejected, `""` when it is kept (GraphWalker section 2.2.2)."""
    if trajectory.answer is None or trajectory.stop.ours:
        return trajectory.stop.value
    if trajectory.scores["em"] != 1.0:
        return "wrong_answer" if trajectory.answer else "gave_up"
    return "" if trajectory.scores["grounded"] == 1.0 else "not_grounded"


def expert_maker(graph: Path, config: Config) -> Callable[[Question], Trajectory]:
    """For workers: opens the graph, returns the function of a question."""
    assert isinstance(config, ExpertConfig)
    return Expert(open_graph(graph), config).trajectory


class _Run:
    """One collection: its questions by structure, and how they are gone through."""

    def __init__(self, graph: Path, config: ExpertConfig, questions: Path, out: Path) -> None:
        self.about = {"checksum": open_graph(graph).checksum}
        self.config, self.source, self.out = config, str(questions), out
        self.questions = _by_structure(questions)

    def whole(
        self,
        ledger: Ledger,
        pool: Pool[Question, Trajectory],
        shards: Shards | None,
        progress: Progress | None,
    ) -> dict[str, Any]:
        goal = _Goal(self.config, self.questions, ledger, self.source)
        streams = {
            name: self._merged(shards, pool, name, goal.tried[name])
            if shards
            else self._units(pool, name, count(goal.tried[name]))
            for name in goal.quota
        }
        while (structure := goal.next_structure()) is not None:
            unit = next(streams[structure])
            kept = unit[-1][0] == GRAPHROLL
            ledger.write(unit)
            goal.count(structure, kept)
            if progress and kept:
                progress(goal.kept.total(), self.config.count, "experts")
        return self._card({})

    def share(
        self,
        ledger: Ledger,
        pool: Pool[Question, Trajectory],
        shard: Shard,
        progress: Progress | None,
    ) -> dict[str, Any]:
        tried = make_share(
            ledger,
            quotas(self.config.mix, self.config.count),
            lambda name, numbers, _: self._units(pool, name, numbers),
            structure_of,
            shard,
            sum(map(len, self.questions.values())) + 1,
            progress,
        )
        return self._card({"shard": str(shard), "tried": tried})

    def _units(
        self, pool: Pool[Question, Trajectory], structure: str, numbers: Iterator[int]
    ) -> Iterator[Unit]:
        questions = self.questions.get(structure, [])
        there = takewhile(lambda number: number < len(questions), numbers)
        done = pool.results(questions[number] for number in there)
        return (list(_records(trajectory, fault(trajectory))) for trajectory in done)

    def _merged(
        self, shards: Shards, pool: Pool[Question, Trajectory], structure: str, start: int
    ) -> Iterator[Unit]:
        return shards.units(
            structure,
            start,
            [f"{question.id}#0" for question in self.questions.get(structure, [])],
            (GRAPHROLL, DROPPED),
            structure_of,
            lambda numbers: self._units(pool, structure, numbers),
        )

    def _card(self, more: Mapping[str, Any]) -> dict[str, Any]:
        found = {**_recovery(self.out / GRAPHROLL), **more}
        return write_card(self.out, "experts", self.config, self.about, GRAPHROLL, found)


def structure_of(record: Mapping[str, Any]) -> str:
    """The structure of the question behind a kept or a dropped record."""
    return str(record.get("structure") or record["question"]["structure"])


class _Goal:
    """Which structure comes next, and how many of its questions are used up."""

    def __init__(
        self,
        config: ExpertConfig,
        questions: dict[str, list[Question]],
        ledger: Ledger,
        source: str,
    ) -> None:
        self.quota = quotas(config.mix, config.count)
        self.kept: Counter[str] = Counter()
        self.tried: Counter[str] = Counter()
        self._left = {name: len(questions.get(name, ())) for name in self.quota}
        self._source = source
        for name in (GRAPHROLL, DROPPED):
            for record in ledger.records(name):
                self._add(structure_of(record), name == GRAPHROLL)
        self._check()

    def next_structure(self) -> str | None:
        open_ones = [name for name in self.quota if self.kept[name] < self.quota[name]]
        return min(open_ones, key=lambda n: self.kept[n] / self.quota[n]) if open_ones else None

    def count(self, structure: str, kept: bool) -> None:
        self._add(structure, kept)
        self._check()

    def _add(self, structure: str, kept: bool) -> None:
        self.tried[structure] += 1
        self.kept[structure] += kept
        self._left[structure] -= 1

    def _check(self) -> None:
        """Raises `UserError` when the file has too few questions of a structure."""
        for name, wanted in self.quota.items():
            if self._left[name] < wanted - self.kept[name]:
                raise UserError(
                    f"{self._source}: {self.kept[name]} trajectories of {wanted} made, and too few "
                    f"{name} questions left: make more questions, ask for fewer trajectories, "
                    f"or set mix.{name}=0"
                )


def _by_structure(path: Path) -> dict[str, list[Question]]:
    found: dict[str, list[Question]] = {}
    for question in read_records(path, Question.from_json):
        if "said" not in question.query:
            raise UserError(
                f"{path}: {question.id} has no phrases for an expert to read: make the questions "
                "with `graphwalker questions`"
            )
        found.setdefault(question.structure, []).append(question)
    return found


def _records(trajectory: Trajectory, reason: str) -> Iterator[tuple[str, dict[str, Any]]]:
    if not reason:
        yield GRAPHROLL, trajectory.to_json()
        return
    yield (
        DROPPED,
        {
            "id": trajectory.id,
            "structure": trajectory.question.structure,
            "stage": "expert",
            "reason": reason,
            "errors": [error["kind"] for error in trajectory.provenance["errors"]],
        },
    )


def _recovery(path: Path) -> dict[str, Any]:
    """What went wrong and was put right, over the kept trajectories."""
    errors: Counter[str] = Counter()
    erring = total = 0
    for trajectory in read_records(path, Trajectory.from_json):
        found = trajectory.provenance["errors"]
        errors.update(error["kind"] for error in found)
        erring += bool(found)
        total += 1
    return {
        "with_an_error": erring,
        "share_with_an_error": round(erring / total, 4) if total else 0.0,
        "errors": dict(sorted(errors.items())),
    }
