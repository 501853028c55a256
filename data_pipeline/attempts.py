"""One attempt: from a number to a walk, its question, its certificate, the oracle's trajectory."""

from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial
from operator import attrgetter
from pathlib import Path
from typing import Any, TypeVar

from data_pipeline.certificates import (
    FRONTIER_LIMIT,
    absent_fault,
    is_irregular,
    leaks,
    other_reading,
    walk_fault,
)
from data_pipeline.config import SamplingConfig
from data_pipeline.jobs.streams import parse_stream
from data_pipeline.outcomes import Attempt, Drop, RuledOut, SampledWalk
from data_pipeline.seeds.seeds import Seeds
from data_pipeline.splits import TEST_ENTITY, TEST_WORDING, TRAIN, Splits
from data_pipeline.teacher.client import Chats, Unusable
from data_pipeline.teacher.judge import DIMENSIONS, UNSCORED
from data_pipeline.teacher.readings import TextReadings
from data_pipeline.teacher.teacher import open_teacher
from data_pipeline.walks.absent import ABSENT
from data_pipeline.walks.constrained import ConstraintWalker
from data_pipeline.walks.endpoint import open_for_walks
from data_pipeline.walks.memory import RememberedGraph
from data_pipeline.walks.plausibility import (
    COVERED,
    STEPS,
    Plausibility,
    company_of,
    describing,
    truth_relations,
)
from data_pipeline.walks.sampler import Walk, WalkRules, walk_rng
from data_pipeline.wording.banks.bank import not_asked
from data_pipeline.wording.banks.genders import genders_of
from data_pipeline.wording.banks.roles import titles_of
from data_pipeline.wording.composition.constraints import takes_type
from data_pipeline.wording.composition.questions import ProgrammaticTeacher
from data_pipeline.wording.lexicon import Lexicon
from data_pipeline.wording.paraphrases import with_wordings
from data_pipeline.wording.type_nouns import says_type
from data_pipeline.wording.vocabulary import SEEDS_MET, lexicon_of
from graphwalker.agents.environment import Environment
from graphwalker.agents.rollout import rollout, without_times
from graphwalker.answers.kinds import Absent
from graphwalker.config import Config
from graphwalker.errors import GraphError, UserError
from graphwalker.graphs.base import Entity, KnowledgeGraph
from graphwalker.oracle.oracle import OraclePolicy
from graphwalker.oracle.speakers import WalkerSpeaker
from graphwalker.policies.base import Sampling
from graphwalker.query.draft import Draft
from graphwalker.query.query import Branch, Execution, Hop, Query, execute, own_side
from graphwalker.query.sparql import render
from graphwalker.question import Answer, Question, query_and_wording
from graphwalker.scoring import score
from graphwalker.tools.listing import Lister, lister
from graphwalker.trajectory import StopReason, Trajectory

T = TypeVar("T")

SPLIT_TRIES, PROOFS = 100, 4
"""Walks drawn within one attempt until one falls into the wanted split, and those of which it is
tried whether they may be asked about."""


class Maker:
    """Makes attempts on one graph. An attempt does not depend on earlier ones."""

    def __init__(
        self,
        graph: KnowledgeGraph,
        config: SamplingConfig,
        chats: Chats | None = None,
        dataset: str = "synth",
    ) -> None:
        """`chats`: the lines to chat models that teach and judge; without them, the programmatic
        teacher. With them a maker may be used by several threads."""
        self.graph = graph
        self.config = config
        self.dataset = dataset
        self._relations = frozenset(graph.relation_ids())
        seeds = Seeds(graph, config.seeds_file, config.predicates_file)
        met = [] if graph.size else list(map(Entity, seeds.spread(SEEDS_MET)))
        lexicon = lexicon_of(graph, config.phrases_file, seeds=met)
        self._splits = Splits(config.splits, lexicon.inverse)
        self._environment = Environment(graph, config.environment)
        self._inverse, self._lexicon = lexicon.inverse, lexicon
        self._own = cache(lambda hop: min(hop, lexicon.inverse(hop) or hop, key=own_side))
        self._walked = RememberedGraph(graph)
        listed = lister(graph, config.environment)
        seeds.index(listed, config.max_degree)
        judge = self._plausibility(seeds, lexicon, listed)
        # How many calls a walk takes is known for the walker's own tools only.
        own = type(self._environment.speaker) is WalkerSpeaker
        rules = WalkRules(
            *(config.min_degree, config.max_degree, config.literals),
            *(config.max_answers, config.max_frontier),
            max_calls=config.environment.max_turns if own else 0,
            usable_topic=self._usable_topic,
            # Of a hop from the side that it is worded from.
            takes_type=lambda hop, kind: takes_type(lexicon.entry(self._own(hop)), kind),
            key=seeds.shares.name if seeds.shares else lambda hop: self._own(hop).relation,
        )
        self._keys = seeds.shares.names_of if seeds.shares else attrgetter("relations")
        self._walkers = [
            ConstraintWalker(self._walked, seeds, rules, listed, judge and judge.step(step))
            for step in range(STEPS if judge else 1)
        ]
        splits = config.splits
        held_out = config.split == TEST_WORDING and splits.wording_share
        which = "held-out" if held_out else config.wordings
        wordings = with_wordings(lexicon, which, splits.wording_share, splits.seed)
        phrases = ProgrammaticTeacher(
            *(wordings, config.vague, config.styles, config.informal),
            *(graph.types, genders_of(graph), titles_of(graph)),
        )
        self._readings = TextReadings(graph, lexicon)
        protocol = self._environment.protocol
        self._teacher = open_teacher(
            config.teacher, config.judge, chats, graph, lexicon, protocol, phrases
        )

    def _plausibility(self, seeds: Seeds, lexicon: Lexicon, listed: Lister) -> Plausibility | None:
        config = self.config.plausibility
        if not config.on:
            return None
        company = company_of(self.graph, seeds.spread(config.sample))
        # `instance of` is neither a descriptor nor an answer.
        unasked = {*not_asked(), *filter(says_type, self._relations)}
        unasked |= truth_relations(self.graph, company)
        covered = company.coverage(lexicon.written, unasked) >= COVERED
        worded = lexicon.written if covered else None
        inverse = lexicon.inverse
        used = {h for hop in describing() for h in (hop, inverse(hop)) if h}
        known = used if worded and any(hop in worded for hop in used) else None
        always = seeds.shares or ()
        return Plausibility(config, listed, company, unasked, worded, known, inverse, always)

    def attempt(
        self,
        structure: str,
        index: int,
        ruled_out: RuledOut | None = None,
        avoided: frozenset[str] = frozenset(),
        *,
        thoughts: bool = True,
    ) -> Attempt:
        """Run one attempt from walk to trajectory; the first drop ends it.

        `structure` is that of a walk, or a stream of attempts at it (`Stream`). `avoided`: the
        relations (or hops, where they have shares) that the walk does not take. `thoughts`: the
        teacher words those of the trajectory, too.
        """
        name = f"{structure}/{index}"
        sampled = self.sample(structure, index, avoided)
        if isinstance(sampled, Drop):
            return Attempt(name, drop=sampled)
        if ruled_out and (reason := ruled_out(sampled)):
            return Attempt(name, sampled, drop=Drop("certificate", reason))
        question = self.word(sampled)
        if isinstance(question, Drop):
            return Attempt(name, sampled, drop=question)
        trajectory = self.certify(question, sampled.run)
        if thoughts and not isinstance(trajectory, Drop):
            trajectory = self.think(trajectory)
        if isinstance(trajectory, Drop):
            waiting = question if trajectory.reason == UNSCORED else None
            return Attempt(name, sampled, drop=trajectory, waiting=waiting)
        return Attempt(name, sampled, trajectory.question, trajectory)

    def sample(
        self, structure: str, index: int, avoided: frozenset[str] = frozenset()
    ) -> SampledWalk | Drop:
        """Return a walk of the wanted split whose executed query gives a question."""
        rng = walk_rng(self.config.seed, structure, index)
        of, step, _ = parse_stream(structure)
        fault, proofs = Drop("walk", "other_split"), 0
        for tries in range(SPLIT_TRIES):
            walk = self._walkers[step].sample(of, rng, avoided)
            if isinstance(walk, str):
                # Later draws only look for the wanted split, or for what may be asked.
                return fault if tries else Drop("walk", walk)
            split = self._wanted_split(walk.query)
            if split is None:
                continue
            found = self._check_run(f"{structure}/{index}", walk, split)
            proofs += 1
            if isinstance(found, Drop):
                fault = found if proofs == 1 else fault
            # Only now it is known from which side each hop is written.
            elif avoided.isdisjoint(self._keys(found.walk.query)):
                return found
            if proofs == PROOFS:
                break
        return fault

    def _check_run(self, name: str, walk: Walk, split: str) -> SampledWalk | Drop:
        """Return the walk, if a question may be asked about what its query gives."""
        config = self.config
        run = execute(self._walked, walk.query, FRONTIER_LIMIT)
        # Before the certificate: what is proven is the query that is stored.
        walk = self._own_side(walk, run)
        if walk.structure == ABSENT:
            fault = absent_fault(walk.query, run, config.max_frontier)
        else:
            most = config.max_answers, config.max_frontier
            fault = walk_fault(self._walked, walk.query, run, *most)
            if not fault and is_irregular(self._walked, walk.query, run):
                fault = "irregular_frontier"
        if fault:
            return Drop("walk", fault)
        path = self._splits.path(walk.query)
        sampled = SampledWalk(name, walk, run.answers, split, path, run=run)
        return self._with_sparql(sampled) if config.sparql else sampled

    def _with_sparql(self, sampled: SampledWalk) -> SampledWalk | Drop:
        try:
            return replace(sampled, sparql=render(sampled.walk.query, self._relations))
        except UserError as error:
            return Drop("walk", "no_iri", str(error))

    def _wanted_split(self, query: Query) -> str | None:
        """Return the split that a query counts to; `None` where another one is wanted."""
        split, wanted = self._splits.of(query), self.config.split
        # Held-out wordings are measured on held-out entities, unseen in training.
        if wanted == TEST_WORDING and split == TEST_ENTITY:
            return TEST_WORDING
        return split if wanted in ("any", split) else None

    def _own_side(self, walk: Walk, run: Execution) -> Walk:
        """Return the walk with one spelling of a relation and its inverse, if it executes alike."""
        query = walk.query
        paths = [*(branch.hops for branch in query.branches), query.tail]
        if all(self._own(hop) == hop for hops in paths for hop in hops):
            return walk
        branches = tuple(Branch(b.topic, self._own_sides(b.hops)) for b in query.branches)
        canonical = replace(query, branches=branches, tail=self._own_sides(query.tail))
        if execute(self._walked, canonical, FRONTIER_LIMIT) != run:
            return walk
        return replace(walk, query=canonical)

    def _own_sides(self, hops: tuple[Hop, ...]) -> tuple[Hop, ...]:
        return tuple(map(self._own, hops))

    def word(self, sampled: SampledWalk) -> Question | Drop:
        """Return the question of a walk, as the teacher words it."""
        stream, _, index = sampled.id.rpartition("/")
        query = sampled.walk.query
        rng = walk_rng(self.config.seed, stream, int(index), "question")
        try:
            draft = self._teacher.ask(query, sampled.answers, rng, sampled.run)
        except Unusable as error:
            return Drop("question", str(error), error.detail)
        if draft is None:
            return Drop("question", "no_wording")
        return Question(
            id=f"{self.dataset}/{self.config.split}/{self.config.seed}/{sampled.id}",
            text=draft.text,
            topic_entities=query.topics,
            answers=tuple(Answer(entity.name, entity.id) for entity in sampled.answers),
            dataset=self.dataset,
            structure=sampled.walk.structure,
            hops=query.hops,
            split=sampled.split,
            query=query,
            wording=draft,
            relation_path=sampled.path,
            annotations={"sparql": sampled.sparql} if sampled.sparql else {},
            gold=Absent() if sampled.walk.structure == ABSENT else None,
        )

    def certify(self, question: Question, run: Execution | None = None) -> Trajectory | Drop:
        """Return the oracle's trajectory of a question that passes every certificate; `run` is that
        of its query, where it was executed already."""
        query, draft = query_and_wording(question)
        answers = [Entity(answer.id, answer.name) for answer in question.answers]
        run = run or execute(self.graph, query, FRONTIER_LIMIT)
        # In the order of their cost: the text alone, other readings on the graph, a whole episode,
        # and in `_score` what a chat model is paid for.
        verdict = self._teacher.check(question.text, query, draft, _between(run))
        unchecked = self.config.unchecked
        if not verdict.kept and "quality" not in unchecked:
            return Drop("filter", "quality", ", ".join(verdict.reasons))
        if leaks(question.text, answers):
            return Drop("certificate", "leak")
        rival = other_reading(self._walked, query, draft, run, answers, self._inverse)
        if not rival and question.gold:
            rival = self._readings.answer_of_absent(question.text, query, run)
        if rival and "ambiguous_reading" not in unchecked:
            return Drop("certificate", "ambiguous_reading", rival)
        trajectory = self.solve(question)
        if isinstance(trajectory, Drop):
            return trajectory
        return self._score(trajectory, query, draft, run)

    def _score(
        self, trajectory: Trajectory, query: Query, draft: Draft, run: Execution
    ) -> Trajectory | Drop:
        """Ask the judge for its scores last: they are paid for."""
        question = trajectory.question
        try:
            verdict = self._teacher.score(question.text, query, draft, run)
            if verdict is None:
                return trajectory
            if not verdict.kept:
                return Drop("filter", "quality", ", ".join(verdict.reasons))
            misread = self._teacher.misread_step(question.text, query, draft, run)
        except Unusable as error:
            return Drop("filter", str(error), error.detail)
        if misread:
            return Drop("certificate", "misread_step", misread)
        scores = dict(zip(DIMENSIONS, verdict.scores, strict=True))
        annotations = {**question.annotations, "scores": scores}
        return replace(trajectory, question=replace(question, annotations=annotations))

    def solve(self, question: Question) -> Trajectory | Drop:
        """Return the oracle's own run, the proof that the environment lets it be answered."""
        config, protocol = self.config, self._environment.protocol
        speaker = self._environment.speaker
        oracle = OraclePolicy(
            *(self._walked, protocol, config.seed, config.plain_thoughts, speaker),
            phrases=self._lexicon,
            counts_steps=config.count_steps,
        )
        run = rollout([question], self._environment, oracle, Sampling(), concurrency=1)
        trajectory = replace(without_times(next(run)), question=question)
        if trajectory.stop is StopReason.GRAPH_ERROR:
            # An outage is no fault of the question: dropped for it, it would be missing from the
            # data on one day and not on another.
            raise GraphError(f"{question.id}: {trajectory.provenance['error']}")
        if trajectory.stop is StopReason.POLICY_ERROR and config.environment.reranker.chats:
            raise UserError(
                f"{trajectory.provenance['error']}; what is made is kept, the same command resumes"
            )
        if trajectory.stop.infrastructure_failure:
            return Drop("certificate", "unsolvable", trajectory.stop.value)
        scores = score(trajectory)
        if scores["em"] == 1.0 and scores["retrieval_all"] == 1.0:
            return trajectory.with_scores(**scores)
        return Drop("certificate", "unsolvable", _why_unsolved(trajectory))

    def think(self, trajectory: Trajectory) -> Trajectory:
        """Return the solved trajectory, its thoughts in the teacher's words."""
        return self._teacher.with_thoughts(trajectory)

    def _usable_topic(self, entity_id: str) -> bool:
        if self.config.split == "any":
            return True
        held_out = self._splits.entity_held_out(entity_id)
        return held_out is not (self.config.split == TRAIN)


def _between(run: Execution) -> list[Entity]:
    """Return the entities that a question must not name: neither topics nor answers."""
    inner = [frontier for branch in run.frontiers for frontier in branch[1:]]
    answers = set(run.answers)
    found = dict.fromkeys(e for frontier in (*inner, *run.tail_frontiers) for e in frontier)
    return [entity for entity in found if entity not in answers]


def _why_unsolved(trajectory: Trajectory) -> str:
    if trajectory.answer is None:
        return "out_of_turns"
    return "not_shown" if trajectory.answer else "relation_not_listed"


def open_maker(graph: Path | str, config: Config, chats: Chats | None = None) -> Maker:
    """Return a maker of its own for each worker process."""
    assert isinstance(config, SamplingConfig)
    return Maker(open_for_walks(graph, config), config, chats)


def open_worker(
    step: Callable[[Maker, Any], T], graph: Path | str, config: Config, chats: Chats | None = None
) -> Callable[[Any], T]:
    """Return what makes one record of one job, by a step of a maker of its own."""
    return partial(step, open_maker(graph, config, chats))
