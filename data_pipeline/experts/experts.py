"""GraphRoll: expert episodes over a stratified sample of questions, kept by rejection."""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from data_pipeline.config import ExpertConfig
from data_pipeline.experts.by_policy import Expert, any_questions, play_policy
from data_pipeline.experts.erring_oracle import DIRECTED_ERRORS, ErringOracle
from data_pipeline.experts.expert import ExpertPolicy
from data_pipeline.experts.given import (
    refusal,
    refuse_all_without_query,
    resolve_given,
    with_wording,
)
from data_pipeline.experts.rejection import (
    GRAPHROLL,
    ExpertGoal,
    attempts,
    ending,
    quotas_of,
    recoveries,
    refused,
)
from data_pipeline.experts.searched import SearchedWalks
from data_pipeline.jobs.goals import fill, streams
from data_pipeline.jobs.ledger import JobProgress, Unit, open_ledger
from data_pipeline.jobs.pool import open_pool
from data_pipeline.jobs.shards import Shard, ShardGoal, Shards
from data_pipeline.stats.card import write_card
from data_pipeline.walks.endpoint import open_shared
from data_pipeline.wording.lexicon import Lexicon, hand_written_inverses
from data_pipeline.wording.vocabulary import lexicon_of
from graphwalker.agents.environment import Environment
from graphwalker.agents.model_environment import with_model_settings
from graphwalker.config import Config
from graphwalker.datasets.grounding import refuse_unknown_topics
from graphwalker.errors import UserError
from graphwalker.files import digest
from graphwalker.graphs.base import KnowledgeGraph
from graphwalker.graphs.triples import Direction, Side
from graphwalker.question import Question
from graphwalker.tools.base import abilities_of

MET_AT = 20
"""Questions at whose topics the relations of an endpoint are looked up."""


def built_in(
    graph: KnowledgeGraph, config: ExpertConfig, met: frozenset[str] = frozenset()
) -> Expert:
    """The expert that needs no model: it reads phrases, errs, and recovers; or it searches.

    `met` are relations of a graph that cannot list its own, from which its phrases are told.
    """
    environment = Environment(graph, config.environment)
    lexicon, protocol = (
        Lexicon.for_endpoint(met) if met else lexicon_of(graph),
        environment.protocol,
    )
    common: dict[str, Any] = {
        "seed": config.seed,
        "plain": config.plain_thoughts,
        "speaker": environment.speaker,
        "says": lexicon.says,
    }
    if config.searched:
        walks = SearchedWalks(graph, protocol, max_hops=config.searched, **common)
        return Expert(environment, walks, config, lambda done: [])
    common["error_rate"] = config.error_rate
    if abilities_of(environment.speaker).directed:
        policy = ErringOracle(graph, protocol, injected_errors=_kinds(config), **common)
    else:
        policy = ExpertPolicy(
            graph,
            protocol,
            max_turns=config.environment.max_turns,
            injected_errors=config.injected_errors,
            inverse=hand_written_inverses().get,
            word=lambda question: with_wording(question, lexicon),
            **common,
        )
    return Expert(environment, policy, config, lambda done: policy.errors(done.id))


def _kinds(config: ExpertConfig) -> tuple[str, ...]:
    """The errors to inject with tools that look one way. Raises `UserError` for none of them."""
    if "injected_errors" not in config.model_fields_set:
        return DIRECTED_ERRORS
    found = tuple(kind for kind in config.injected_errors if kind in DIRECTED_ERRORS)
    if not found and config.error_rate:
        raise UserError(
            f"injected_errors: the tools of {config.environment.preset} allow none of "
            f"{', '.join(config.injected_errors)}; these can be made: {', '.join(DIRECTED_ERRORS)}"
        )
    return found


def make_experts(
    graph: Path | str,
    config: ExpertConfig,
    questions: Path,
    out: Path,
    progress: JobProgress | None = None,
    shard: Shard | None = None,
    shards: Shards | None = None,
) -> dict[str, Any]:
    """Make `config.count` expert trajectories; writes graphroll.jsonl, dropped.jsonl, the card.

    `questions` is a file of certified questions (`questions.jsonl` of a question set), for a policy
    and for searched walks of any questions. They are taken in its order, by structure; one that
    the expert fails is replaced by the next. With `shard`, every n-th question of a structure is
    tried, in a folder below `out`; with `shards`, what they have tried is taken from them.
    """
    config = with_model_settings(config)
    if config.policy and (shard or config.workers > 1):
        raise UserError(
            "shards and workers are for the built-in expert: with a policy, set concurrency"
        )
    opened = open_shared(graph, config.environment)
    read = any_questions(questions, config, opened, out)
    if config.policy is None and not config.searched and not opened.is_remote:
        refuse_all_without_query([q for some in read.values() for q in some], str(questions))
    refuse_unknown_topics([q for some in read.values() for q in some], opened, str(graph))
    about = {"checksum": opened.checksum}
    facts: dict[str, Any] = {"graph": about, "questions": digest(questions)}
    if shard:
        out, facts = shard.folder(out), {**facts, "shard": str(shard)}
    with open_ledger(out, "experts", config, facts, [GRAPHROLL]) as ledger:
        goal = (
            ShardGoal(shard, quotas_of(read, config), attempts(read), ledger)
            if shard
            else ExpertGoal(config, read, ledger, str(questions))
        )
        if isinstance(goal, ExpertGoal) and config.policy:
            play_policy(opened, config, goal, ledger, progress)
        else:
            met = _met_relations(opened, [q for some in read.values() for q in some])
            with open_pool(partial(expert_maker, met=met), graph, config, out) as pool:
                fill(goal, pool, ledger, progress, shards.streams if shards else streams)
        more = {**recoveries(ledger, config.tries), **goal.card}
        return write_card(out, "experts", config, about, GRAPHROLL, more)


def _met_relations(graph: KnowledgeGraph, questions: Sequence[Question]) -> frozenset[str]:
    """Relations at the topics of the first questions, where the graph cannot list its own."""
    if graph.relation_ids():
        return frozenset()
    met = set[str]()
    for question in questions[:MET_AT]:
        sides = [Side(t.id, direction) for t in question.topic_entities for direction in Direction]
        listed = graph.for_question(question).relations_many(sides)
        met |= {relation for side in listed for relation, _ in side}
    return frozenset(met)


def expert_maker(
    graph: Path | str, config: Config, met: frozenset[str] = frozenset()
) -> Callable[[Question], Unit]:
    """For workers: opens the graph, returns the function of a question."""
    assert isinstance(config, ExpertConfig)
    opened = open_shared(graph, config.environment)
    expert = built_in(opened, config, met)

    def play(question: Question) -> Unit:
        if not config.searched:
            question = resolve_given(question, opened)
            if reason := refusal(question):
                return refused(question, reason)
        return ending(*next(expert.endings([question])))

    return play
