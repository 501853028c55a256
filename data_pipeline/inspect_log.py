"""Trajectories as a log of Inspect AI, for its viewer and its `inspect log` commands."""

# inspect_ai is not there where types are checked: what comes of it has none.
# pyright: basic
# pyright: reportMissingImports=false

from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from statistics import fmean
from typing import Any

from graphwalker.errors import lacks_extra
from graphwalker.scoring import SHOWN, score
from graphwalker.trajectory import Message, Trajectory


def write_inspect_log(trajectories: Iterable[Trajectory], out: Path, name: str) -> tuple[int, int]:
    """Write `out` (a .json or .eval file); return how many samples it has and how many of them are
    infrastructure failures, which have an error in place of scores."""
    try:
        from inspect_ai.log import (
            EvalConfig,
            EvalDataset,
            EvalLog,
            EvalMetric,
            EvalResults,
            EvalScore,
            EvalSpec,
            write_eval_log,
        )
    except ImportError:
        raise lacks_extra("--to inspect needs", "inspect") from None
    rows = list(trajectories)
    samples = [_sample(one) for one in rows]
    scored = [one.scores["ours"].value for one in samples if one.scores]
    scores = [
        EvalScore(name=metric, scorer="our_scores", scored_samples=len(scored), metrics=found)
        for metric in SHOWN
        if scored
        for found in [{"mean": EvalMetric(name="mean", value=fmean(one[metric] for one in scored))}]
    ]
    log = EvalLog(
        status="success",
        eval=EvalSpec(
            created=datetime.now(UTC).isoformat(),
            task=f"graphwalker-{rows[0].agent}" if rows else "graphwalker",
            dataset=EvalDataset(name=name, samples=len(samples)),
            model=rows[0].policy if rows else "none",
            config=EvalConfig(),
        ),
        results=EvalResults(
            total_samples=len(samples), completed_samples=len(scored), scores=scores
        ),
        samples=samples,
    )
    write_eval_log(log, str(out))
    return len(samples), len(samples) - len(scored)


def _sample(trajectory: Trajectory) -> Any:
    from inspect_ai.log import EvalError, EvalSample
    from inspect_ai.model import ModelOutput
    from inspect_ai.scorer import Score

    messages: list[Any] = [
        {"role": message.role, "content": message.content}
        for turn in trajectory.turns
        for message in (*turn.context, Message("assistant", turn.completion))
    ]
    last = trajectory.turns[-1].completion if trajectory.turns else ""
    answer = None if trajectory.answer is None else ", ".join(trajectory.answer)
    scores, error = None, None
    if trajectory.stop.infrastructure_failure:
        why = str(trajectory.provenance.get("error") or trajectory.stop.value)
        error = EvalError(message=why, traceback=why, traceback_ansi=why)
    else:
        found = score(trajectory)
        value = {name: found[name] for name in SHOWN}
        stop = f"stop: {trajectory.stop.value}"
        scores = {"ours": Score(value=value, answer=answer, explanation=stop)}
    return EvalSample(
        id=trajectory.question.id,
        epoch=trajectory.sample + 1,
        input=trajectory.question.text,
        target=[one.name for one in trajectory.question.answers],
        messages=messages,
        output=ModelOutput.from_content(trajectory.policy, last),
        scores=scores,
        error=error,
        metadata={"turns": len(trajectory.turns), "structure": trajectory.question.structure},
    )
