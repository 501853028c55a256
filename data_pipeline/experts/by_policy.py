"""Any policy as the expert: a local model or an API, on questions of any benchmark."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

from data_pipeline.config import ExpertConfig
from data_pipeline.exemplars import make_exemplars
from data_pipeline.experts.referenced import play_referenced
from data_pipeline.experts.rejection import ByStructure, ExpertGoal, ending, fault
from data_pipeline.experts.way_back import ways_back
from data_pipeline.jobs.ledger import JobProgress, Ledger
from data_pipeline.walks.endpoint import as_shown
from graphwalker.agents.environment import Environment
from graphwalker.agents.exemplars import run_exemplars
from graphwalker.agents.policies import check_questions, load_policy
from graphwalker.agents.presets import find_preset
from graphwalker.agents.rollout import rollout, without_times
from graphwalker.ceilings.ceiling import winnable_questions
from graphwalker.datasets.base import load_questions
from graphwalker.datasets.grounding import ground, settle
from graphwalker.errors import GraphError, PolicyError, UserError
from graphwalker.graphs.base import KnowledgeGraph
from graphwalker.oracle.choices import Phrases
from graphwalker.policies.base import Policy, Sampling
from graphwalker.question import Question
from graphwalker.scoring import normalise, score
from graphwalker.trajectory import StopReason, Trajectory, Turn

RESUMES = "what is made is kept, the same command resumes"


def any_questions(
    path: Path, config: ExpertConfig, graph: KnowledgeGraph, out: Path
) -> ByStructure:
    """Return the questions of a file in our form or a published one, by structure (or type)."""
    found: dict[str, list[Question]] = {}
    loaded = load_questions(path, None, config.questions_format)
    shown = as_shown(graph, config.environment.layers)
    questions = ground(settle(loaded, shown, out, config.unresolved), shown)
    if config.policy is not None:
        own = find_preset(config.environment.preset).oracle
        check_questions(config.policy, questions, own)
    if config.winnable:
        environment = Environment(graph, config.environment)
        questions = winnable_questions(questions, environment, str(path))
    for question in questions:
        found.setdefault(question.structure, []).append(question)
    return found


def play_policy(
    graph: KnowledgeGraph,
    config: ExpertConfig,
    goal: ExpertGoal,
    ledger: Ledger,
    progress: JobProgress | None,
    phrases: Phrases,
) -> None:
    """Fill the goal with episodes of `config.policy`, `tries` for each question at most.

    A kept episode is written when it ends, a question without one when its tries are spent.
    Raises `UserError` or `PolicyError` when the policy fails: what it did not do is no data. What a
    content filter keeps back is the fault of one question, and is dropped.
    """
    shown = run_exemplars(
        ledger.out, graph, config.environment, config.seed, goal.questions, make_exemplars
    )
    environment = Environment(graph, config.environment, exemplars=shown)
    assert config.policy is not None
    policy: Any = load_policy(config.policy, ledger.out, environment=environment, phrases=phrases)
    with ExitStack() as stack:
        if hasattr(policy, "close"):  # who talks to a server has connections
            stack.callback(policy.close)
        run = Expert(environment, policy, config, label_errors, phrases)
        while window := goal.window(config.concurrency):
            for trajectory, reason, rejected in run.endings(window):
                ledger.write(ending(trajectory, reason, rejected))
                goal.end(trajectory.question, not reason)
                if progress:
                    progress(goal.kept.total(), config.count, "experts")


class Expert:
    """Episodes of a policy, scored, and those of them that are tried again."""

    def __init__(
        self,
        environment: Environment,
        policy: Policy,
        config: ExpertConfig,
        errors: Callable[[Trajectory], list[dict[str, Any]]],
        phrases: Phrases,
    ) -> None:
        """`errors` finds what went wrong in an episode, turn by turn, for its provenance;
        `phrases` are the words of the oracle's thoughts, where it helps."""
        self._environment, self._policy, self._config = environment, policy, config
        self._errors, self._phrases = errors, phrases

    def endings(self, questions: Sequence[Question]) -> Iterator[tuple[Trajectory, str, list[str]]]:
        """(episode, reason, earlier reasons) of each question, once it is kept or given up."""
        earlier: dict[str, list[str]] = {question.id: [] for question in questions}
        for sample in range(self._config.tries):
            again: list[Question] = []
            for trajectory in self.episodes(questions, sample):
                reason, before = fault(trajectory), earlier[trajectory.question.id]
                if reason and sample + 1 < self._config.tries:
                    before.append(reason)
                    again.append(trajectory.question)
                elif reason and (mended := self._mend(trajectory)):
                    yield mended, "", [*before, reason]
                else:
                    yield trajectory, reason, before
            questions = again

    def episodes(self, questions: Sequence[Question], sample: int = 0) -> Iterator[Trajectory]:
        """Yield the scored episode of each question; its provenance lists what went wrong in it."""
        config = self._config
        sampling = Sampling(config.temperature, 1.0, config.max_tokens, config.seed)
        if config.referenced:
            run = play_referenced(
                questions,
                self._environment,
                self._policy,
                sampling,
                sample=sample,
                plain=config.plain_thoughts,
                phrases=self._phrases,
            )
        else:
            run = rollout(
                questions,
                self._environment,
                self._policy,
                sampling,
                concurrency=config.concurrency,
                first_sample=sample,
            )
        for trajectory in map(without_times, run):
            yield self._score(trajectory)

    def _mend(self, failed: Trajectory) -> Trajectory | None:
        """Return the failed episode with the oracle's way back, where that may be kept."""
        if not self._config.way_back:
            return None
        config = self._config
        silent = config.policy is not None and config.policy.thoughts == "none"
        wording = (config.plain_thoughts, silent, self._phrases, config.count_steps)
        episodes = ways_back(failed, self._environment, config.seed, *wording)
        scored = map(self._score, episodes)
        return next((episode for episode in scored if not fault(episode)), None)

    def _score(self, trajectory: Trajectory) -> Trajectory:
        _raise_failure(trajectory, self._config)
        if not trajectory.stop.infrastructure_failure:
            trajectory = trajectory.with_scores(**score(trajectory))
        turns = tuple(replace(turn, token_ids=None, logprobs=None) for turn in trajectory.turns)
        about = {**trajectory.provenance, "errors": self._errors(trajectory)}
        return replace(trajectory, turns=turns, provenance=about)


def _raise_failure(trajectory: Trajectory, config: ExpertConfig) -> None:
    if trajectory.stop is StopReason.GRAPH_ERROR:
        raise GraphError(f"{trajectory.question.id}: {trajectory.provenance['error']}")
    away = (config.policy and config.policy.api) or config.environment.reranker.chats
    # A filter keeps back this one question; a server that is down would keep back all of them.
    if trajectory.stop is StopReason.POLICY_ERROR and not trajectory.provenance.get("failure"):
        line = f"expert: {trajectory.provenance['error']}; {RESUMES}"
        raise UserError(line) if away else PolicyError(line)


DEAD_END = "dead_end"


def label_errors(trajectory: Trajectory) -> list[dict[str, Any]]:
    """Return the errors of a scored episode, in the order of its turns.

    `kind` is the environment's (`unknown_relation`, `malformed`, ...), or `dead_end`: a call that
    was answered, but nothing that it showed was used in a later call or in the answer.
    `recovered_at` is the next turn that was none of these, where the episode ended right.
    """
    turns = trajectory.turns
    kinds = [_kind(trajectory, number) for number in range(len(turns))]
    right = trajectory.scores.get("em") == 1.0
    found: list[dict[str, Any]] = []
    for number, kind in enumerate(kinds):
        if not kind:
            continue
        later = (k for k in range(number + 1, len(turns)) if not kinds[k])
        mended = next(later, None) if right else None
        what = _what(turns[number])
        about = {"turn": number, "kind": kind, "what": what, "slip": False}
        found.append({**about, "recovered": mended is not None, "recovered_at": mended})
    return found


def _kind(trajectory: Trajectory, number: int) -> str:
    turn = trajectory.turns[number]
    if turn.error or not turn.triples:
        return turn.error
    subject = normalise(str(turn.action["arguments"].get("entity", "")))
    shown = {normalise(entity.name) for entity in turn.shown} - {subject}
    names = _later_starts(trajectory, number)
    used = {normalise(name) for name in (*names, *(trajectory.answer or ()))}
    return "" if shown & used else DEAD_END


def _later_starts(trajectory: Trajectory, number: int) -> list[str]:
    later = (turn.action.get("arguments", {}) for turn in trajectory.turns[number + 1 :])
    return [str(arguments.get("entity", "")) for arguments in later]


def _what(turn: Turn) -> str:
    arguments = turn.action.get("arguments", {})
    relations = arguments.get("relations")
    if isinstance(relations, list | tuple):
        return ", ".join(map(str, relations))
    return str(arguments.get("entity", turn.action.get("malformed", "")))
