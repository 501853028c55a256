"""Our questions, agents and scores as an Inspect AI task.

    inspect eval graphwalker/kgqa --model openai/gpt-4o-mini \\
      -T graph=runs/demo/world/graph -T questions=runs/demo/test/questions.jsonl

From a checkout, name this file: `graphwalker/integrations/inspect_task.py@kgqa`.

The agent of the preset speaks to the model as in `eval`, word for word, so any preset will do.
Source: Inspect AI 0.3.285. https://inspect.aisi.org.uk
"""

# inspect_ai is not there where types are checked: what comes of it has none.
# pyright: basic
# pyright: reportMissingImports=false

from functools import partial
from typing import Any

from anyio.to_thread import run_sync

from graphwalker.agents.environment import EnvironmentConfig
from graphwalker.api.environment import ScriptEnvironment
from graphwalker.datasets.base import load_questions
from graphwalker.datasets.grounding import ground
from graphwalker.errors import lacks_extra
from graphwalker.integrations.external_episode import ExternalEpisode
from graphwalker.policies.base import Completion
from graphwalker.policies.chat.stops import finish_text
from graphwalker.question import Question
from graphwalker.scoring import SHOWN
from graphwalker.trajectory import Message

try:
    from inspect_ai import Task, task
    from inspect_ai.dataset import Sample
    from inspect_ai.model import (
        ChatMessage,
        ChatMessageAssistant,
        ChatMessageSystem,
        ChatMessageUser,
        get_model,
    )
    from inspect_ai.scorer import Score, Scorer, Target, mean, scorer, stderr
    from inspect_ai.solver import Generate, Solver, TaskState, solver
except ImportError:
    raise lacks_extra("the Inspect task needs", "inspect") from None


@task
def kgqa(graph: str, questions: str, environment: dict[str, Any] | None = None) -> Task:
    """Questions over a graph. `environment` holds settings of `environment`, such as `preset`."""
    config = EnvironmentConfig(**(environment or {}))
    world = ScriptEnvironment(graph, config)
    samples = [
        Sample(
            id=question.id,
            input=question.text,
            target=[answer.name for answer in question.answers],
            metadata={"question": question.to_json()},
        )
        for question in ground(load_questions(questions), world.graph)
    ]
    return Task(
        name=f"graphwalker-{world.name}", dataset=samples, solver=walk(world), scorer=our_scores()
    )


@solver
def walk(environment: ScriptEnvironment) -> Solver:
    """Play the episode of a sample. An infrastructure failure is the sample's error, no score."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        question = Question.from_json(state.metadata["question"])
        episode = await run_sync(ExternalEpisode, environment, question)
        while not episode.done:
            state.messages = [chat_message(one) for one in episode.conversation]
            stops = list(episode.stop_strings)
            # No stop strings are sent: a server would cut a model that reasons at the first one.
            state.output = await get_model().generate(state.messages)
            state.messages.append(state.output.message)
            finish = "length" if state.output.stop_reason in ("max_tokens", "model_length") else ""
            text = finish_text(state.output.completion, stops, finish or "stop")
            await run_sync(partial(episode.play, Completion(text, finish or "stop")))
        assert episode.trajectory is not None
        state.store.set("trajectory", episode.trajectory.to_json())
        return state

    return solve


@scorer(metrics={name: [mean(), stderr()] for name in SHOWN})
def our_scores() -> Scorer:
    """Return our strict scores of the finished episode."""

    async def score(state: TaskState, target: Target) -> Score:
        record = state.store.get("trajectory")
        answer = record["answer"]
        return Score(
            value={name: record["scores"][name] for name in SHOWN},
            answer=None if answer is None else ", ".join(answer),
            explanation=f"stop: {record['stop']}",
        )

    return score


def chat_message(message: Message) -> ChatMessage:
    """Return our message as Inspect's."""
    kinds = {"system": ChatMessageSystem, "user": ChatMessageUser}
    return kinds.get(message.role, ChatMessageAssistant)(content=message.content)
