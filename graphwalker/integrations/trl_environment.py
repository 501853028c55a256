"""The tools of a preset as TRL's `environment_factory`, with our score as the reward.

    from graphwalker.integrations.trl_environment import environment_factory, question_rows
    factory = environment_factory("runs/demo/world/graph", preset="graphwalker-wide")
    rows = Dataset.from_list(question_rows("runs/demo/rl/questions.jsonl"))
    GRPOTrainer(model, train_dataset=rows, environment_factory=factory).train()

TRL needs a chat template with tools: SmolLM2 takes `trl/chat_templates/qwen2_5.jinja`.
Source: TRL 1.16, where the interface is experimental. https://huggingface.co/docs/trl
"""

import inspect
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from graphwalker.agents.environment import EnvironmentConfig
from graphwalker.datasets.base import load_questions
from graphwalker.datasets.grounding import ground
from graphwalker.errors import GraphWalkerError
from graphwalker.integrations.external_episode import ExternalEpisode, check_reward
from graphwalker.integrations.tool_schemas import ToolSchema, object_schema, tool_schemas
from graphwalker.protocols.base import FinalAnswer
from graphwalker.question import Question
from graphwalker.tools.base import Call
from graphwalker.tools.namebook import topics_shown

TASK = (
    "Answer from the knowledge graph alone: look with the tools, then give the names of all "
    "answers with the tool `answer`."
)
OVER = "The episode is over: no further call is answered."
ONE_ANSWER = "No calls are left: call `answer` now."
_ANSWERS = {"type": "array", "items": {"type": "string"}, "description": "Names of all answers."}
ANSWER = ToolSchema(
    "answer", "Give the final answer.", object_schema({"answers": _ANSWERS}, ["answers"])
)
_TYPES = {"string": str, "integer": int, "number": float, "boolean": bool, "array": list[str]}


def environment_factory(
    graph: Any, config: EnvironmentConfig | None = None, *, reward: str = "em", **settings: Any
) -> Callable[[], Any]:
    """Return what `GRPOTrainer(environment_factory=...)` takes: a class whose instances play one
    question each, with the tools of the preset and `answer` as methods. `graph` is a graph, or what
    `open_graph` takes; `settings` are those of `environment`, in place of `config`.

    An infrastructure failure raises `GraphError` in `get_reward`: no rollout is scored for it.
    Raises `UserError` for a preset without tools and for an unknown `reward`.
    """
    from graphwalker.api.environment import ScriptEnvironment

    environment = ScriptEnvironment(graph, config or EnvironmentConfig(**settings))
    check_reward(reward)

    class GraphWalkerTools:
        """One rollout. TRL calls `reset` with a row of the data set, then the other methods."""

        def __init__(self) -> None:
            self._episode: ExternalEpisode | None = None
            self._failure: GraphWalkerError | None = None

        def reset(self, question: str = "", **_row: Any) -> str:
            """Begin the episode of a question, a JSON record of ours."""
            self._failure = None
            (entry,) = ground([Question.from_json(json.loads(question))], environment.graph)
            self._episode = self._run(lambda: ExternalEpisode(environment, entry, reward))
            return f"\nEntities: {topics_shown(environment.toolbox(entry))}"

        def get_reward(self) -> float:
            """Return the reward of the rollout, 0 for one that gave no answer."""
            if self._failure is not None:
                raise self._failure
            return self._episode.reward if self._episode else 0.0

        def _call(self, tool: str, arguments: Mapping[str, Any]) -> str:
            episode = self._episode
            if episode is None or episode.done:
                return OVER
            self._run(lambda: episode.play(_completion(environment.protocol, tool, arguments)))
            if episode.done:
                return "Done." if tool == ANSWER.name else OVER
            return "\n".join([episode.observation, *([ONE_ANSWER] if episode.is_forced else [])])

        def _run(self, step: Callable[[], Any]) -> Any:
            """TRL shows the model what a tool raises and continues: keep it for the reward."""
            try:
                return step()
            except GraphWalkerError as error:
                self._failure = error
                raise

    for schema in (*tool_schemas(environment), ANSWER):
        setattr(GraphWalkerTools, schema.name, _method(schema))
    return GraphWalkerTools


def question_rows(
    questions: str | Path, limit: int | None = None, format: str = "auto"
) -> list[dict[str, Any]]:
    """Return the rows of a data set for GRPO: a prompt, and the question's record for `reset`.

    Raises `UserError` as `load_questions` does.
    """
    return [
        {
            "prompt": [{"role": "user", "content": f"{TASK}\nQuestion: {question.text}"}],
            "question": json.dumps(question.to_json(), ensure_ascii=False),
        }
        for question in load_questions(questions, limit, format)
    ]


def _completion(protocol: Any, tool: str, arguments: Mapping[str, Any]) -> str:
    """Return the call as the preset's agent writes it; what it cannot write is malformed."""
    try:
        if tool == ANSWER.name:
            names = arguments.get("answers", ())
            names = [names] if isinstance(names, str) else names
            return protocol.render("", FinalAnswer(tuple(dict.fromkeys(map(str, names)))))
        return protocol.render("", Call(tool, dict(arguments)))
    except (TypeError, ValueError):
        return json.dumps({tool: arguments}, ensure_ascii=False, default=str)


def _method(schema: ToolSchema) -> Callable[..., str]:
    """Make a method that transformers describes to the model by its docstring."""
    needed = schema.parameters["required"]
    lines, parameters = [schema.description, "", "Args:"], list[inspect.Parameter]()
    for name, about in sorted(
        schema.parameters["properties"].items(), key=lambda one: one[0] not in needed
    ):
        kinds = about["type"] if isinstance(about["type"], list) else [about["type"]]
        kind: Any = _TYPES[kinds[0]]
        for other in kinds[1:]:
            kind |= _TYPES[other]
        choices = f" (choices: {json.dumps(about['enum'])})" if "enum" in about else ""
        lines.append(f"    {name}: {' '.join(about['description'].split())}{choices}")
        default = inspect.Parameter.empty if name in needed else None
        annotation = kind if name in needed else kind | None
        parameters.append(
            inspect.Parameter(
                name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation
            )
        )

    def call(self: Any, **arguments: Any) -> str:
        given = {name: value for name, value in arguments.items() if value is not None}
        return self._call(schema.name, given)

    itself = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    call.__name__ = call.__qualname__ = schema.name
    call.__doc__ = "\n".join(lines)
    call.__annotations__ = {one.name: one.annotation for one in parameters} | {"return": str}
    call.__signature__ = inspect.Signature([itself, *parameters], return_annotation=str)  # pyright: ignore[reportFunctionMemberAccess]
    return call
