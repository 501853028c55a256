"""The evaluation run: a greedy and a sampled pass, in files that a killed job resumes."""

import hashlib
import logging
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypedDict, Unpack

from eval.run.records import (
    CONFIG,
    FAILURES,
    PREDICTIONS,
    SAMPLES,
    USAGE,
    SampledEpisode,
    once,
    usage_record,
)
from eval.run.shards import adopt, has_shards, mark_complete
from eval.run.workers import ThisProcess, Workers
from graphwalker.agents.environment import Environment
from graphwalker.agents.rollout import Task, without_times
from graphwalker.errors import HopelessError, IncompleteError, UserError
from graphwalker.files import JsonlAppender, dumps, read_jsonl, read_records, write_jsonl
from graphwalker.policies.base import Policy, Sampling
from graphwalker.question import Question
from graphwalker.runs import claim, lock_folder
from graphwalker.scoring import score
from graphwalker.trajectory import Trajectory
from graphwalker.workers.shard import Shard

log = logging.getLogger(__name__)

Progress = Callable[..., None]
"""Called with (episodes done, episodes in all) after each episode, and `EM` of those just done."""


@dataclass(frozen=True, slots=True)
class _Pass:
    """Episodes of one file: every question with each of the sample `numbers`."""

    path: Path
    questions: Sequence[Question]
    sampling: Sampling
    numbers: range
    whole: bool

    def episodes(self) -> Iterator[Task]:
        """Return its episodes, in order."""
        return (Task(q, n, self.sampling) for q in self.questions for n in self.numbers)


class EvalOptions(TypedDict, total=False):
    """Options of a run by keyword; `evaluate_with` says what each means."""

    samples: int
    sampled_questions: int
    temperature: float
    cuts: Mapping[str, Any] | None
    seed: int
    max_tokens: int
    whole_samples: bool
    failures_in_a_row: int
    identity: Mapping[str, Any] | None
    progress: Progress | None


def evaluate(
    questions: Iterable[Question],
    environment: Environment,
    policy: Policy,
    out: Path,
    *,
    concurrency: int = 64,
    retries: int = 1,
    **options: Unpack[EvalOptions],
) -> Path:
    """`evaluate_with` this process, `concurrency` episodes at once."""
    workers = ThisProcess(environment, policy, concurrency, retries)
    return evaluate_with(workers, questions, out, **options)


def evaluate_with(
    workers: Workers,
    questions: Iterable[Question],
    out: Path,
    *,
    samples: int = 0,
    sampled_questions: int = 0,
    temperature: float = 1.0,
    cuts: Mapping[str, Any] | None = None,
    seed: int = 0,
    max_tokens: int = 512,
    whole_samples: bool = False,
    failures_in_a_row: int = 10,
    identity: Mapping[str, Any] | None = None,
    progress: Progress | None = None,
    shard: Shard | None = None,
) -> Path:
    """Run every question greedily (sample 0) and `samples` more times at `temperature`, or only
    `sampled_questions` of them, evenly spread. `cuts` are `Sampling`'s top_p, top_k and min_p.

    OUT/predictions.jsonl holds the greedy trajectories, OUT/samples.jsonl the sampled episodes
    (small records, or whole ones with `whole_samples`), OUT/usage.jsonl what each episode cost,
    OUT/failures.jsonl the infrastructure failures, which the next call tries again. All but
    the usage are the same bytes for any workers. `identity` names what else must be the same for a
    resume, such as the checksum of the weights. Raises `UserError` over another run's folder, and
    `IncompleteError` where to continue is of no use: after `failures_in_a_row` infrastructure
    failures (0: never), or one that every request would meet. What was done stands, and is resumed.

    With `shard`, every n-th question is run, in a folder of its own below `out`, which is returned.
    Without, what the shards below `out` have done is taken over, and the rest run.
    """
    distinct = _distinct(questions)
    greedy = Sampling(temperature=0.0, max_tokens=max_tokens, seed=seed)
    drawn = replace(greedy, temperature=temperature, **(cuts or {}))
    chosen = spread(distinct, sampled_questions) if sampled_questions else distinct
    passes = [_Pass(out / PREDICTIONS, distinct, greedy, range(1), True)]
    if samples:
        numbers = range(1, samples + 1)
        passes.append(_Pass(out / SAMPLES, chosen, drawn, numbers, whole_samples))
    facts = {
        **_describe(distinct, workers),
        "samples": samples,
        # Named only where set: folders of runs that began before this setting still resume.
        **({"sampled_questions": sampled_questions} if sampled_questions else {}),
        "temperature": temperature if samples else 0.0,
        **(cuts or {} if samples else {}),
        "max_tokens": max_tokens,
        "seed": seed,
        "whole_samples": whole_samples,
        **(identity or {}),
    }
    if shard:
        out, passes = shard.folder(out), _passes_of_shard(shard, out, passes)
    total, done = sum(len(part.questions) * len(part.numbers) for part in passes), 0
    with lock_folder(out):
        claim(
            out, {**facts, **({"shard": str(shard)} if shard else {})}, CONFIG, foreign=PREDICTIONS
        )
        if shard is None and has_shards(out):
            adopt(out, facts, [part.path.name for part in passes])
        # Its episodes are not in the other files, so they run again; kept, they would count twice.
        (out / FAILURES).unlink(missing_ok=True)
        for part in passes:
            # A bare `done` would be read at call time.
            def tick(n: int, base: int = done, **figures: float) -> None:
                if progress:
                    progress(base + n, total, **figures)

            done = _run_pass(part, workers, out, failures_in_a_row, tick)
        if shard and not any(read_jsonl(out / FAILURES)):
            mark_complete(out, len(passes[0].questions))
    return out


def _passes_of_shard(shard: Shard, out: Path, passes: Sequence[_Pass]) -> list[_Pass]:
    """Return the passes over a shard's part of the questions, in its folder."""
    mine = {question.id for question in shard.part(passes[0].questions)}
    return [
        replace(
            part,
            path=shard.folder(out) / part.path.name,
            questions=[question for question in part.questions if question.id in mine],
        )
        for part in passes
    ]


def spread(questions: Sequence[Question], count: int) -> list[Question]:
    """`count` questions at even distances, so that every part of the file is there.

    >>> spread(["a", "b", "c", "d"], 2)  # type: ignore[list-item]
    ['a', 'c']
    """
    count = min(count, len(questions))
    return [questions[i * len(questions) // count] for i in range(count)]


def _run_pass(
    part: _Pass, workers: Workers, out: Path, most_failures: int, tick: Callable[..., None]
) -> int:
    stop: str | None = None
    done = 0
    try:
        done = _run_episodes(part, workers, out, most_failures, tick)
    except (HopelessError, IncompleteError) as error:
        stop = str(error)
    for path in (part.path, out / FAILURES):
        _settle(path, [task.key for task in part.episodes()])
    if stop is not None:
        raise IncompleteError(stop)
    return done


def _run_episodes(
    part: _Pass, workers: Workers, out: Path, most_failures: int, tick: Callable[..., None]
) -> int:
    right, scored = 0.0, 0
    figure = "EM" if part.whole else "EM of samples"
    with (
        JsonlAppender(part.path) as kept,
        JsonlAppender(out / FAILURES) as lost,
        JsonlAppender(out / USAGE) as used,
    ):
        # After the appender has opened the file: that cut a half-written last line away.
        present = set(read_records(part.path, once(lambda record: str(record.get("id")))))
        spent = {str(record.get("id")) for record in read_jsonl(out / USAGE)}
        if lacking := len(present - spent):
            lost_costs = "%s: lacks %d of the episodes: their tokens and costs are lost"
            log.warning(lost_costs, out / USAGE, lacking)
        ended = len(present)
        tick(ended)
        missing = [task for task in part.episodes() if task.key not in present]
        failures = _FailuresInARow(task.key for task in missing)
        for trajectory in workers.run(missing):
            used.append(usage_record(trajectory))
            key = f"{trajectory.question.id}#{trajectory.sample}"
            if trajectory.stop.infrastructure_failure:
                lost.append(trajectory.to_json())
                error = trajectory.provenance.get("error", trajectory.stop.value)
                failures.add(key, error)
            else:
                failures.add(key, None)
                record = _record(trajectory, part.whole)
                kept.append(record)
                right, scored = right + record["scores"]["em"], scored + 1
            ended += 1
            tick(ended, **{figure: right / max(1, scored)})
            if most_failures and failures.count >= most_failures:
                last = f"{failures.count} failures in a row, the last: {failures.last}"
                raise IncompleteError(last)
    return ended


class _FailuresInARow:
    """Counts infrastructure failures in a row, in question order: where episodes are played
    together, those that fail end before others."""

    def __init__(self, keys: Iterable[str]) -> None:
        self.count, self.last = 0, ""
        self._left, self._ended = deque(keys), dict[str, str | None]()

    def add(self, key: str, error: str | None) -> None:
        """Count an episode that ended; `error` says why it failed."""
        self._ended[key] = error
        while self._left and self._left[0] in self._ended:
            failure = self._ended.pop(self._left.popleft())
            self.count = 0 if failure is None else self.count + 1
            self.last = failure or self.last


def _record(trajectory: Trajectory, whole: bool) -> dict[str, Any]:
    scored = trajectory.with_scores(**score(trajectory))
    return _lean(scored).to_json() if whole else SampledEpisode.of(scored).to_json()


def _lean(trajectory: Trajectory) -> Trajectory:
    """Drop clock readings and log-probabilities, whose last digits depend on the batch: the same
    run writes the same bytes."""
    turns = tuple(replace(turn, logprobs=None) for turn in trajectory.turns)
    return without_times(replace(trajectory, turns=turns))


def _settle(path: Path, keys: Iterable[str]) -> None:
    """Put the file in the order of these ids: episodes are appended as they end. What another pass
    wrote comes first."""
    order = {key: place for place, key in enumerate(keys)}
    places = [order.get(record["id"], -1) for record in read_jsonl(path)]
    if places != sorted(places):
        records = sorted(read_jsonl(path), key=lambda record: order.get(record["id"], -1))
        write_jsonl(path, records)


def _distinct(questions: Iterable[Question]) -> list[Question]:
    by_id: dict[str, Question] = {}
    for question in questions:
        if question.id in by_id:
            raise UserError(f"question id {question.id!r} appears twice: ids must be distinct")
        by_id[question.id] = question
    if not by_id:
        raise UserError("there are no questions to evaluate")
    return list(by_id.values())


def _describe(questions: Sequence[Question], workers: Workers) -> dict[str, Any]:
    environment = workers.environment
    digest = hashlib.sha256()
    for question in questions:
        # A graph may hold lone surrogates in names; strict UTF-8 would refuse to hash them.
        digest.update(dumps(question.to_json()).encode("utf-8", "surrogatepass"))
    return {
        "questions": len(questions),
        "questions_checksum": digest.hexdigest()[:16],
        "policy": workers.policy_name,
        **environment.provenance,
        "environment_settings": environment.config,
        "graph": environment.graph.checksum,
    }
