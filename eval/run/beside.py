"""What stands beside an agent's figures: baselines without a model, and the environment's ceiling.

In the run's folder: `baselines/NAME/`, an evaluation run of each on the same questions;
`ceiling.jsonl`, what holds of each question; `beside.json`, the summary.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from eval.run.evaluate import Progress, evaluate
from graphwalker.agents.environment import Environment
from graphwalker.agents.policies import load_policy
from graphwalker.ceilings.ceiling import ceiling, reaches
from graphwalker.errors import UserError
from graphwalker.files import digest, read_json, write_json, write_jsonl
from graphwalker.oracle.baselines import BASELINES
from graphwalker.policies.base import Policy
from graphwalker.policies.config import PolicyConfig
from graphwalker.question import Question

Beside = Literal["auto", "always", "never"]
"""`auto`: where it costs next to nothing, that is without an endpoint or a chat model to ask."""
BESIDE, CEILING, FOLDER = "beside.json", "ceiling.jsonl", "baselines"


def write_beside(
    out: Path,
    questions: Sequence[Question],
    environment: Environment,
    *,
    baselines: str = "",
    ceilings: str = "",
    seed: int = 0,
    max_tokens: int = 512,
    unresolved: int = 0,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Run the baselines and the ceiling of a run in `out`; what is there already stays.

    `baselines` and `ceilings` are reasons for which they are left out, `""` for none; `unresolved`
    counts the questions that were dropped before. Returns what `beside.json` holds. Raises
    `GraphError` when the graph fails.
    """
    why = _unplayable(environment)
    baselines, ceilings = baselines or why, ceilings or why
    names: list[str] = []
    for name, policy in {} if baselines else _playable(environment):
        folder = out / FOLDER / name
        evaluate(
            questions,
            environment,
            policy,
            folder,
            seed=seed,
            max_tokens=max_tokens,
            progress=progress,
        )
        names.append(name)
    record: dict[str, Any] = {"baselines": names, "ceiling": None}
    if unresolved:
        record["set_aside"] = unresolved
    if baselines:
        record["no_baselines"] = baselines
    if ceilings:
        record["no_ceiling"] = ceilings
    else:
        record["ceiling"] = _ceiling(out, questions, environment, progress)
    write_json(out / BESIDE, record)
    return record


def read_beside(out: Path) -> dict[str, Any]:
    """Read what `write_beside` wrote; `{}` for none."""
    path = out / BESIDE
    return read_json(path, "delete it; the same command makes it again") if path.is_file() else {}


def left_out(choice: Beside, costly: str) -> str:
    """Return why something is left out, `""` where it is not; `costly`: why it would cost much."""
    if choice == "never":
        return "not asked for"
    return costly if choice == "auto" else ""


def _playable(environment: Environment) -> list[tuple[str, Policy]]:
    found: list[tuple[str, Policy]] = []
    for name in BASELINES:
        try:
            found.append((name, load_policy(PolicyConfig(model=name), environment=environment)))
        except UserError:  # it needs what this environment lacks: `linear` a trained ranker
            continue
    if "linear" in dict(found):  # a trained ranker's first relation: the same choice
        found = [(name, policy) for name, policy in found if name != "first-relation"]
    return found


def _unplayable(environment: Environment) -> str:
    if environment.speaker is None:
        return f"not computable: the preset {environment.name} has no tools that a rule can call"
    return ""


def _ceiling(
    out: Path, questions: Sequence[Question], environment: Environment, progress: Progress | None
) -> Mapping[str, Any]:
    known, path = read_beside(out).get("ceiling"), out / CEILING
    if known and path.is_file() and known.get("digest") == digest(path):
        return known
    total = len(questions)

    def tick(done: int) -> None:
        if progress:
            progress(done, total)

    found = list(reaches(questions, environment, tick))
    write_jsonl(path, [one.to_json() for one in found])
    return {**ceiling(found), "digest": digest(path)}
