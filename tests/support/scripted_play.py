"""Episodes of a scripted policy: right, wrong, lost, out of turns; and how each door plays them."""

import json
import random
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass

from graphwalker.agents.rollout import rollout
from graphwalker.api.environment import ScriptEnvironment
from graphwalker.policies.base import Sampling
from graphwalker.protocols.base import FinalAnswer
from graphwalker.tools.base import Call
from support.preset_worlds import player, world_of

PRESETS = ("graphwalker", "graphwalker-wide", "kg-r1")
WRONG = FinalAnswer(("Nobody",))


@dataclass(frozen=True)
class Outcome:
    """What a client sees of an episode, to be compared byte for byte."""

    observations: tuple[str, ...]
    reward: float
    stop: str


def environment_of(preset):
    return ScriptEnvironment(world_of(preset).graph, preset=preset)


def scripts(environment, count, seed=0):
    """`count` questions, each with the completions of a policy that does well or badly there."""
    rng = random.Random(seed)
    questions = world_of(environment.name).questions
    plays = rollout(questions, environment, player(environment), Sampling())
    right = {one.question.id: [turn.completion for turn in one.turns] for one in plays}
    write, most = environment.protocol.render, environment.config.max_turns
    for number in range(count):
        question = questions[number % len(questions)]
        lines = right[question.id]
        tool = next(iter(environment.preset.calls))
        lost = [write("", Call(tool, {"entity": f"Nowhere {rng.random()}"}))]
        first = lines[0]
        kinds = (
            lines,
            [*lines[:-1], write("", WRONG)],
            [*lost, *lines],
            [first] * (most + 1),
            [first] * most + [write("", FinalAnswer(tuple(a.name for a in question.answers)))],
        )
        yield question, kinds[(number // len(questions) + number) % len(kinds)]


def play_by_hand(environment, question, lines):
    environment.reset(question)
    seen = []
    for line in lines:
        step = environment.step(line)
        if not isinstance(step, str):
            last = step.turns[-1].observation
            return Outcome((*seen, last), step.scores["em"], step.stop.value)
        seen.append(step)
    raise AssertionError("the script ends before its episode")


def play_by_openenv(client, question, lines):
    client.reset(question=question.id)
    seen = []
    for line in lines:
        step = client.step(line)
        seen.append(step.observation["observation"])
        if step.done:
            return Outcome(tuple(seen), step.reward, step.observation["stop"])
    raise AssertionError("the script ends before its episode")


def play_by_trl(rollout_tools, environment, question, lines):
    """The same calls as TRL makes them; what it adds around an observation is taken off."""
    from graphwalker.integrations.trl_environment import ONE_ANSWER, OVER

    rollout_tools.reset(question=json.dumps(question.to_json()))
    seen = []
    for line in lines:
        _, action = environment.protocol.parse(line)
        if isinstance(action, FinalAnswer):
            shown = rollout_tools.answer(answers=list(action.names))
        else:
            shown = getattr(rollout_tools, action.tool)(**action.arguments)
        ended = rollout_tools._episode.done
        seen.append(
            "" if ended and shown in (OVER, "Done.") else shown.removesuffix(f"\n{ONE_ANSWER}")
        )
    end = rollout_tools._episode.trajectory
    return Outcome(tuple(seen), rollout_tools.get_reward(), end.stop.value)


@contextmanager
def environment_server(environment, questions, **limits):
    """An OpenEnv server in a thread; gives its address and its sessions."""

    from graphwalker.integrations.openenv_server import make_server
    from graphwalker.integrations.openenv_sessions import EpisodeSessions, SessionLimits
    from graphwalker.serve.guard import LOOPBACK
    from graphwalker.serve.server import listen

    sessions = EpisodeSessions(environment, questions, limits=SessionLimits(**limits))
    server = make_server(sessions, LOOPBACK)
    with listen("127.0.0.1", 0) as listening:
        thread = threading.Thread(target=server.run, args=([listening],), daemon=True)
        thread.start()
        while not server.started:
            time.sleep(0.01)
        yield f"http://127.0.0.1:{listening.getsockname()[1]}", sessions
        server.should_exit = True
        thread.join(10)
