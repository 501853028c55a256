"""GraphRoll: expert episodes over a stratified sample of questions, kept by rejection."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from data_pipeline.config import INJECTED_ERRORS, ExpertConfig
from data_pipeline.experts.by_policy import Expert, any_questions, play_policy
from data_pipeline.experts.erring import DIRECTED_ERRORS
from data_pipeline.experts.expert import (
    ScriptedExpert,
    refusal,
    refuse_all_without_query,
    resolve_given,
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
from data_pipeline.jobs.goals import fill, streams
from data_pipeline.jobs.ledger import JobProgress, Unit, open_ledger
from data_pipeline.jobs.pool import open_pool
from data_pipeline.jobs.shards import Shard, ShardGoal, Shards
from data_pipeline.stats.card import write_card
from data_pipeline.walks.endpoint import as_shown, open_shared
from data_pipeline.wording.lexicon import Lexicon
from data_pipeline.wording.vocabulary import GraphSample, lexicon_of, look_around
from graphwalker.agents.environment import Environment
from graphwalker.agents.model_environment import with_model_settings
from graphwalker.config import Config
from graphwalker.datasets.answers import is_yes_no
from graphwalker.datasets.grounding import refuse_unknown_topics
from graphwalker.errors import UserError
from graphwalker.files import digest
from graphwalker.graphs.base import KnowledgeGraph
from graphwalker.question import Question
from graphwalker.tools.base import abilities_of


def built_in(graph: KnowledgeGraph, config: ExpertConfig, lexicon: Lexicon) -> Expert:
    """Return the expert that needs no model."""
    environment = Environment(graph, config.environment)
    if environment.speaker is None:
        model = "policy.model=oracle or another" if environment.preset.oracle else "policy.model"
        raise UserError(f"the built-in expert does not play {environment.name}: set {model}")
    errs = config.error_rate and not config.searched
    policy = ScriptedExpert(
        environment.graph,
        environment.protocol,
        error_rate=config.error_rate,
        kinds=_kinds(config, environment) if errs else (),
        searched=config.searched,
        seed=config.seed,
        plain=config.plain_thoughts,
        counts_steps=config.count_steps,
        speaker=environment.speaker,
        phrases=lexicon,
    )
    return Expert(environment, policy, config, lambda done: policy.errors(done.id), lexicon)


def _kinds(config: ExpertConfig, environment: Environment) -> tuple[str, ...]:
    """Return the errors to inject that the tools allow. Raises `UserError` for none of them."""
    directed = abilities_of(environment.speaker).directed
    possible = DIRECTED_ERRORS if directed else INJECTED_ERRORS
    if "injected_errors" not in config.model_fields_set:
        return possible
    found = tuple(kind for kind in config.injected_errors if kind in possible)
    if not found:
        raise UserError(
            f"injected_errors: the tools of {config.environment.preset} allow none of "
            f"{', '.join(config.injected_errors)}; these can be made: {', '.join(possible)}"
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
    shown = as_shown(opened, config.environment.layers)
    read = any_questions(questions, config, opened, out)
    if config.policy is None and not config.searched and not opened.is_remote:
        refuse_all_without_query([q for some in read.values() for q in some], str(questions))
    refuse_unknown_topics([q for some in read.values() for q in some], shown, str(graph))
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
        around = look_around(shown, [q for some in read.values() for q in some])
        if isinstance(goal, ExpertGoal) and config.policy:
            play_policy(opened, config, goal, ledger, progress, lexicon_of(shown, around=around))
        else:
            with open_pool(partial(expert_maker, around=around), graph, config, out) as pool:
                fill(goal, pool, ledger, progress, shards.streams if shards else streams)
        more = {**recoveries(ledger, config.tries), **goal.card}
        return write_card(out, "experts", config, about, GRAPHROLL, more)


def expert_maker(
    graph: Path | str, config: Config, around: GraphSample | None = None
) -> Callable[[Question], Unit]:
    """Open the graph in a worker, and return the function of a question."""
    assert isinstance(config, ExpertConfig)
    opened = open_shared(graph, config.environment)
    shown = as_shown(opened, config.environment.layers)
    expert = built_in(opened, config, lexicon_of(shown, around=around))

    def play(question: Question) -> Unit:
        if config.searched:
            reason = "yes_no" if is_yes_no(question.answers) else ""
        else:
            question = resolve_given(question, shown)
            reason = refusal(question)
        if reason:
            return refused(question, reason)
        return ending(*next(expert.endings([question])))

    return play
