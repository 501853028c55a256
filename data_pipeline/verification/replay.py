"""Replay: the calls of a trajectory made again, in the environment that it was made in."""

import json
import logging
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from graphwalker.agents.base import Log
from graphwalker.agents.environment import (
    Environment,
    EnvironmentConfig,
    read_recorded,
    settings_named,
)
from graphwalker.config import parse_config
from graphwalker.files import read_json
from graphwalker.graphs.base import KnowledgeGraph
from graphwalker.graphs.views.settings import GraphLayers
from graphwalker.policies.base import Completion
from graphwalker.tools.own import changed_tools
from graphwalker.trajectory import Trajectory, Turn
from graphwalker.trust import check_trust

log = logging.getLogger(__name__)

RUN = "run.json"
"""What the run of a folder was made from, its environment among it."""
CUT_OFF = "Error malformed: your message was cut off"


class Replayer:
    """Environments of one graph, as the trajectories of one file need them."""

    def __init__(
        self, graph: KnowledgeGraph, file: Path, given: Mapping[str, Any], trust: Sequence[str] = ()
    ) -> None:
        """Take the limits of the tools from the run beside the file. `given` are settings of the
        environment that win over it.

        Raises `UserError` for settings that are none, and for names that a file may not choose
        (`graphwalker.trust`).
        """
        self._graph, self._file, self._given, self._trust = graph, file, dict(given), trust
        found, self.named_by = run_environment(file.parent)
        self.has_run = bool(found)
        """Whether a run beside the file names its environment."""
        reranker = {**found, **given}.get("reranker")
        self.asks_a_model = isinstance(reranker, Mapping) and bool(reranker.get("base_url"))
        """Whether a chat model chooses what is listed: replaying would ask, and pay, it again."""
        self._of_run = {} if self.asks_a_model else self._accept(found, file.parent / RUN)
        self._config({})
        self._known: dict[str, Environment] = {}

    def faults(self, trajectory: Trajectory) -> Iterator[tuple[str, str]]:
        """Yield what the environment shows otherwise than the record, turn by turn."""
        environment = self._environment(trajectory.provenance)
        about = environment.provenance
        version = trajectory.provenance.get("environment_version", about["environment_version"])
        for what, detail in _faults(environment, trajectory):
            if version != about["environment_version"]:
                now = about["environment_version"]
                detail += f" (made in version {version} of {environment.name}, this is {now})"
            yield what, detail

    def _environment(self, provenance: Mapping[str, Any]) -> Environment:
        names = settings_named(provenance)
        key = json.dumps(names, sort_keys=True)
        if key not in self._known:
            self._known[key] = made = Environment(self._graph, self._config(names))
            before, now = (read_recorded(one, "tools") for one in (provenance, made.provenance))
            for line in changed_tools(before, now):
                log.warning("%s: %s; what it shows may differ", self._file, line)
        return self._known[key]

    def _config(self, names: Mapping[str, Any]) -> EnvironmentConfig:
        own = {key: value for key, value in names.items() if key not in self._of_run}
        settings = {**self._accept(own, self._file), **self._of_run, **self._given}
        return parse_config(EnvironmentConfig, settings, self.named_by)

    def _accept(self, found: Mapping[str, Any], source: Path) -> dict[str, Any]:
        given, trust = self._given, self._trust
        return check_trust(
            EnvironmentConfig, found, source, given=given, trust=trust, prefix="environment."
        )


def run_environment(folder: Path) -> tuple[dict[str, Any], str]:
    """Return the settings of the environment of the run in a folder, and what they are named by;
    none where no run is written down there."""
    path = folder / RUN
    found = read_json(path).get("config", {}) if path.is_file() else {}
    if isinstance(found, dict) and isinstance(found.get("environment"), dict):
        return found["environment"], str(path)
    return {}, "the records' provenance and the defaults of its preset"


def layers_of(folder: Path) -> GraphLayers:
    """Return the layers under which the run in a folder showed its graph. Files that they name are
    left out: only a trusted folder may name them, and `Replayer` checks that."""
    found = run_environment(folder)[0].get("layers")
    known = cast("dict[str, Any]", found) if isinstance(found, dict) else {}
    own = {name: known[name] for name in ("wikidata", "statements") if known.get(name) is True}
    return GraphLayers(**own)


def _faults(environment: Environment, trajectory: Trajectory) -> Iterator[tuple[str, str]]:
    question, log = trajectory.question, Log()
    episode = environment.agent(question, environment.toolbox(question), log)
    ended, answer = False, None
    next(episode)
    for number, turn in enumerate(trajectory.turns):
        if ended:
            yield "episode ends earlier", f"turn {number + 1} comes after its end"
            break
        following = trajectory.turns[number + 1 : number + 2]
        try:
            episode.send(_completion(environment, turn, following))
        except StopIteration as end:
            ended, answer = True, end.value
        made = log.turns[number] if number < len(log.turns) else None
        yield from _differences(number + 1, turn, made)
    episode.close()
    names = None if answer is None else tuple(answer.names)
    if names != trajectory.answer:
        yield "answer differs", f"{names} in the last turn, {trajectory.answer} in the record"


def _completion(environment: Environment, turn: Turn, following: tuple[Turn, ...]) -> Completion:
    """Return what the policy wrote. How full its context was is not recorded: that the answer was
    asked for early shows in the message that follows."""
    force = environment.protocol.force()
    forced = any(m.content.endswith(force) for t in following for m in t.context)
    return Completion(
        turn.completion,
        "length" if turn.observation.startswith(CUT_OFF) else "stop",
        token_ids=turn.token_ids,
        logprobs=turn.logprobs,
        prompt_tokens=environment.config.max_context_tokens if forced else 0,
    )


def _differences(number: int, turn: Turn, made: Turn | None) -> Iterator[tuple[str, str]]:
    if made is None:
        yield "episode ends earlier", f"turn {number} is not reached"
        return
    for field in ("context", "thought", "action", "observation", "error", "shown"):
        here, there = getattr(made, field), getattr(turn, field)
        if here != there:
            yield f"{field} differs", f"turn {number}: {_first(field, here, there)}"
    for field in ("listed", "triples", "hidden"):
        if getattr(made, field) != getattr(turn, field):
            yield f"{field} differs", f"turn {number}: not what the observation says"


def _first(field: str, here: Any, there: Any) -> str:
    """Return the first place at which two values differ, each with some text around it."""
    if field == "context":
        here, there = ("\n".join(m.content for m in messages) for messages in (here, there))
    if field == "shown":
        here, there = (", ".join(e.name or e.id for e in shown) for shown in (here, there))
    one, other = str(here), str(there)
    same = next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), None)
    start = max(0, (min(len(one), len(other)) if same is None else same) - 20)
    return f"{other[start : start + 60]!r} in the record, {one[start : start + 60]!r} here"
