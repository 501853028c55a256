"""GraphRoll: expert episodes over a stratified sample of questions, kept by rejection."""

from collections.abc import Callable, Iterator, Mapping
from itertools import count, takewhile
from pathlib import Path
from typing import Any

from data_pipeline.collect_policy import GOES_ON, any_questions, collect_with_policy
from data_pipeline.config import ExpertConfig
from data_pipeline.demonstrators.expert import ExpertPolicy
from data_pipeline.jobs.goals import (
    DROPPED,
    GRAPHROLL,
    ByStructure,
    Goal,
    ending,
    fault,
    quotas_of,
    recoveries,
    structure_of,
    unit,
)
from data_pipeline.jobs.ledger import Ledger, Progress, file_checksum, open_run
from data_pipeline.jobs.merge_shards import Shards
from data_pipeline.jobs.pool import Pool
from data_pipeline.jobs.shards import Shard, Unit, make_share
from data_pipeline.stats.card import write_card
from data_pipeline.walks.endpoint import open_shared
from data_pipeline.wording.lexicon import hand_written_twins
from graphwalker.agents.environment import Environment
from graphwalker.agents.rollout import rollout, untimed
from graphwalker.config import Config
from graphwalker.errors import GraphError, UserError
from graphwalker.files import read_records
from graphwalker.graphs.base import KnowledgeGraph
from graphwalker.policies.base import Sampling
from graphwalker.question import Question
from graphwalker.scoring import score
from graphwalker.trajectory import StopReason, Trajectory

Tried = tuple[Trajectory, str, list[str]]
"""The episode that ends a question, why it is dropped (`""`: kept), and why those before were."""


class Expert:
    """Runs the expert on one question at a time."""

    def __init__(self, graph: KnowledgeGraph, config: ExpertConfig) -> None:
        self._environment = Environment(graph, config.environment)
        self._tries, self._reranks = config.tries, config.environment.reranker.chats
        self._policy = ExpertPolicy(
            graph,
            self._environment.protocol,
            max_turns=config.environment.max_turns,
            error_rate=config.error_rate,
            slips=config.slips,
            seed=config.seed,
            plain=config.plain_thoughts,
            twin=hand_written_twins().get,
        )

    def trajectory(self, question: Question, sample: int = 0) -> Trajectory:
        """The scored episode; its provenance lists what went wrong in it, turn by turn."""
        run = rollout(
            [question],
            self._environment,
            self._policy,
            Sampling(),
            concurrency=1,
            first_sample=sample,
        )
        done = untimed(next(run))
        errors = self._policy.errors(done.id)
        if done.stop is StopReason.GRAPH_ERROR:
            raise GraphError(f"{question.id}: {done.provenance['error']}")
        if done.stop is StopReason.POLICY_ERROR and self._reranks:
            raise UserError(f"{done.provenance['error']}; {GOES_ON}")
        done.provenance["errors"] = errors
        return done if done.stop.ours else done.with_scores(**score(done))

    def tried(self, question: Question) -> Tried:
        """The first of `tries` episodes that is kept, else the last one."""
        before: list[str] = []
        for sample in range(self._tries):
            done = self.trajectory(question, sample)
            reason = fault(done)
            if not reason or sample + 1 == self._tries:
                return done, reason, before
            before.append(reason)
        raise AssertionError("tries is at least 1")


def collect_experts(
    graph: Path | str,
    config: ExpertConfig,
    questions: Path,
    out: Path,
    progress: Progress | None = None,
    shard: Shard | None = None,
    shards: Shards | None = None,
) -> dict[str, Any]:
    """Collect `config.count` expert trajectories; writes graphroll.jsonl, dropped.jsonl, the card.

    `questions` is a file of certified questions (`questions.jsonl` of a question set), for a policy
    of any questions. They are taken in its order, by structure; one that the expert fails is
    replaced by the next. With `shard`, every n-th question of a structure is tried, in a folder
    below `out`; with `shards`, what they have tried is taken from them.
    """
    if config.policy and (shard or config.workers > 1):
        raise UserError(
            "shards and workers are for the built-in expert: with a policy, set concurrency"
        )
    run = _Run(graph, config, questions, out if shard is None else shard.folder(out))
    facts = {"questions": file_checksum(questions)}
    open_run(
        run.out, "experts", config, run.about, facts | ({"shard": str(shard)} if shard else {})
    )
    if config.policy:
        with Ledger(run.out, [], [GRAPHROLL, DROPPED]) as ledger:
            return run.by_policy(ledger, progress)
    with (
        Ledger(run.out, [], [GRAPHROLL, DROPPED]) as ledger,
        Pool[Question, Tried](expert_maker, graph, config, config.workers, config.engine) as pool,
    ):
        if shard is not None:
            return run.share(ledger, pool, shard, progress)
        return run.whole(ledger, pool, shards, progress)


def expert_maker(graph: Path | str, config: Config) -> Callable[[Question], Tried]:
    """For workers: opens the graph, returns the function of a question."""
    assert isinstance(config, ExpertConfig)
    return Expert(open_shared(graph, config.environment), config).tried


class _Run:
    """One collection: its questions by structure, and how they are gone through."""

    def __init__(self, graph: Path | str, config: ExpertConfig, questions: Path, out: Path) -> None:
        self.graph = open_shared(graph, config.environment)
        self.about = {"checksum": self.graph.checksum}
        self.config, self.source, self.out = config, str(questions), out
        self.questions: ByStructure = (
            any_questions(questions, config, self.graph)
            if config.policy
            else _by_structure(questions)
        )

    def by_policy(self, ledger: Ledger, progress: Progress | None) -> dict[str, Any]:
        goal = Goal(self.config, self.questions, ledger, self.source)
        collect_with_policy(self.graph, self.config, goal, ledger, progress)
        return self._card(ledger, {})

    def whole(
        self,
        ledger: Ledger,
        pool: Pool[Question, Tried],
        shards: Shards | None,
        progress: Progress | None,
    ) -> dict[str, Any]:
        goal = Goal(self.config, self.questions, ledger, self.source)
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
        return self._card(ledger, {})

    def share(
        self,
        ledger: Ledger,
        pool: Pool[Question, Tried],
        shard: Shard,
        progress: Progress | None,
    ) -> dict[str, Any]:
        tried = make_share(
            ledger,
            quotas_of(self.config, self.questions),
            lambda name, numbers, _: self._units(pool, name, numbers),
            structure_of,
            shard,
            sum(map(len, self.questions.values())) + 1,
            progress,
        )
        return self._card(ledger, {"shard": str(shard), "tried": tried})

    def _units(
        self, pool: Pool[Question, Tried], structure: str, numbers: Iterator[int]
    ) -> Iterator[Unit]:
        questions = self.questions.get(structure, [])
        there = takewhile(lambda number: number < len(questions), numbers)
        done = pool.results(questions[number] for number in there)
        return (list(ending(*tried)) for tried in done)

    def _merged(
        self, shards: Shards, pool: Pool[Question, Tried], structure: str, start: int
    ) -> Iterator[Unit]:
        return shards.units(
            structure,
            start,
            map(unit, self.questions.get(structure, ())),
            (GRAPHROLL, DROPPED),
            structure_of,
            lambda numbers: self._units(pool, structure, numbers),
        )

    def _card(self, ledger: Ledger, more: Mapping[str, Any]) -> dict[str, Any]:
        found = {**recoveries(ledger, self.config.tries), **more}
        return write_card(self.out, "experts", self.config, self.about, GRAPHROLL, found)


def _by_structure(path: Path) -> dict[str, list[Question]]:
    found: dict[str, list[Question]] = {}
    for question in read_records(path, Question.from_json):
        if question.query is None or question.wording is None:
            raise UserError(
                f"{path}: {question.id} has no phrases for an expert to read: make the questions "
                "with `graphwalker questions`"
            )
        found.setdefault(question.structure, []).append(question)
    return found
