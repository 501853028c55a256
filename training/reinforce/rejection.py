"""Rejection sampling: a model's episodes drawn question by question, and its successes kept."""

import json
import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from graphwalker.agents.environment import Environment
from graphwalker.agents.rollout import rollout, without_times
from graphwalker.errors import GraphWalkerError
from graphwalker.files import JsonlAppender, read_jsonl, write_jsonl
from graphwalker.policies.base import Policy, Sampling
from graphwalker.question import Question
from graphwalker.scoring import score
from graphwalker.trajectory import Trajectory
from training.reinforce.groups import chunks

log = logging.getLogger(__name__)

DRAWS, OWN = "draws.jsonl", "own.jsonl"
"""In the run folder: a line for each question, and the trajectories that are trained on."""


class DrawError(GraphWalkerError, RuntimeError):
    """The graph or the engine failed while episodes were drawn."""


@dataclass(frozen=True, slots=True)
class DrawRules:
    """Rules of drawing and keeping episodes. `RftConfig` documents each."""

    sampling: Sampling
    samples: int
    keep: int
    grounded: bool
    at_once: int


def draw(
    questions: Sequence[Question],
    environment: Environment,
    policy: Callable[[], Policy],
    rules: DrawRules,
    folder: Path,
) -> dict[str, int]:
    """Draw the questions that the folder has no draws of yet; returns counts over all of them.

    A killed run draws its last questions again, with the same result. Raises `DrawError` for a
    failure of the graph or the engine: what they did not do is no data.
    """
    done = _resume(folder)
    left = [question for question in questions if question.id not in done]
    if left:
        draws, own = JsonlAppender(folder / DRAWS), JsonlAppender(folder / OWN)
        engine, drawn = policy(), len(questions) - len(left)
        for some in chunks(left, max(1, rules.at_once // rules.samples)):
            episodes = list(
                rollout(
                    some, environment, engine, rules.sampling,
                    samples=rules.samples, concurrency=rules.at_once,
                )
            )  # fmt: skip
            for question, group in zip(some, chunks(episodes, rules.samples), strict=True):
                kept, line = _keep_successes(question, group, rules)
                for trajectory in kept:
                    own.append(trajectory.to_json())
                draws.append(line)
            drawn += len(some)
            log.info("drew %d of %d questions", drawn, len(questions))
        draws.close()
        own.close()
    lines = list(read_jsonl(folder / DRAWS))
    return {
        "questions": len(lines),
        "episodes": sum(line["of"] for line in lines),
        "right": sum(line["right"] for line in lines),
        "kept": sum(line["kept"] for line in lines),
        "never_right": sum(line["right"] == 0 for line in lines),
    }


def distinct(episodes: Iterable[Trajectory]) -> list[Trajectory]:
    """The first of those that took the same actions, in order."""
    found: dict[str, Trajectory] = {}
    for episode in episodes:
        found.setdefault(json.dumps([turn.action for turn in episode.turns]), episode)
    return list(found.values())


def as_demonstration(episode: Trajectory) -> Trajectory:
    """Drop token ids and mark refused actions as errors, so that no loss is on them."""
    refused = [
        {"turn": number, "kind": turn.error or "malformed", "slip": True}
        for number, turn in enumerate(episode.turns)
        if turn.error or "malformed" in turn.action
    ]
    turns = tuple(replace(turn, token_ids=None, logprobs=None) for turn in episode.turns)
    about = {**episode.provenance, "errors": refused}
    return without_times(replace(episode, turns=turns, provenance=about))


def _keep_successes(
    question: Question, group: Sequence[Trajectory], rules: DrawRules
) -> tuple[list[Trajectory], dict[str, Any]]:
    for episode in group:
        if episode.stop.infrastructure_failure:
            raise DrawError(
                f"{episode.id}: {episode.provenance.get('error', episode.stop.value)}; what is "
                "drawn is kept, the same command resumes"
            )
    scored = [episode.with_scores(**score(episode)) for episode in group]
    right = [e for e in scored if e.scores["em"] == 1.0]
    held = [e for e in right if e.scores["grounded"] or not rules.grounded]
    kept = [as_demonstration(e) for e in distinct(held)[: rules.keep]]
    line = {"question": question.id, "of": len(group), "right": len(right), "kept": len(kept)}
    return kept, line


def _resume(folder: Path) -> set[str]:
    """The questions that are drawn whole; what a killed run left of another one is dropped."""
    for name in (DRAWS, OWN):
        if (folder / name).is_file():
            JsonlAppender(folder / name).close()  # cuts a killed run's half line
    if not (folder / DRAWS).is_file():
        (folder / OWN).unlink(missing_ok=True)
        return set()
    done = {str(line["question"]) for line in read_jsonl(folder / DRAWS)}
    if (folder / OWN).is_file():
        own = [t for t in read_jsonl(folder / OWN) if t["question"]["id"] in done]
        write_jsonl(folder / OWN, own)
    return done
