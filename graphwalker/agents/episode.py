"""An episode: one question, one agent, one toolbox, driven completion by completion."""

import time
from typing import Any

from graphwalker.agents.base import AgentRun, Ask, EndsWithoutAnswer, Log
from graphwalker.agents.environment import Environment
from graphwalker.errors import FilteredError, GraphError, HopelessError, PolicyError
from graphwalker.policies.base import Completion
from graphwalker.protocols.base import FinalAnswer
from graphwalker.question import Question
from graphwalker.tools.base import ToolBox
from graphwalker.trajectory import StopReason, Trajectory, Turn


class Episode:
    """One rollout of one question, with its own tools. `ask`: what it waits for, or `None`."""

    def __init__(self, question: Question, sample: int, environment: Environment) -> None:
        self.key = f"{question.id}#{sample}"
        self.question = question
        self.stop: StopReason | None = None
        self.ask: Ask | None = None
        self._sample = sample
        self._environment = environment
        self._log = Log()
        self._agent: AgentRun | None = None
        self._tools: ToolBox | None = None
        self._answer: FinalAnswer | None = None
        self.failure: Exception | None = None
        """Why the graph or the policy failed, if one did."""
        self._prompt_tokens = 0
        self._completion_tokens = 0
        self._reasoning_tokens = 0
        self._cost = 0.0
        self._truncated_turns = 0
        self.cut_turns = 0
        """Turns that the token limit ended before their action."""
        self._started = time.perf_counter()
        self._advance(None)

    @property
    def turns(self) -> list[Turn]:
        return self._log.turns

    def feed(self, completion: Completion | PolicyError) -> None:
        """Continue with what the policy wrote, or end with its failure."""
        if isinstance(completion, Completion) and completion.context_full and not self.turns:
            completion = self._no_room(completion) or completion
        if isinstance(completion, PolicyError):
            if self._agent is not None:
                self._agent.close()
            self._end(StopReason.POLICY_ERROR, completion)
        else:
            self._prompt_tokens += completion.prompt_tokens + completion.lost_prompt_tokens
            self._completion_tokens += completion.completion_tokens or len(
                completion.token_ids or ()
            )
            self._reasoning_tokens += completion.reasoning_tokens
            self._cost += completion.cost
            self._truncated_turns += completion.truncated
            self._advance(completion)
            written = completion.finish == "length" and completion.text.strip()
            self.cut_turns += bool(written) and self.turns[-1].error == "malformed"

    def _no_room(self, completion: Completion) -> PolicyError | None:
        """Get the failure of a prompt that is longer than the context for its exemplars alone."""
        shown, tokens = len(self._environment.exemplars), completion.prompt_tokens
        line = (
            f"environment.exemplars={shown}: with them the prompt takes {tokens:,} tokens and "
            "leaves no room in the context; take fewer, or raise policy.max_context"
        )
        return HopelessError(line) if shown else None

    def trajectory(self, policy: str) -> Trajectory:
        """Return the finished record."""
        if self.stop is None:
            raise RuntimeError(f"episode {self.key} is not over")
        names, tools = None if self._answer is None else self._answer.names, self._tools
        provenance: dict[str, Any] = dict(self._environment.provenance)
        if self.failure is not None and str(self.failure):
            provenance["error"] = str(self.failure)
        if isinstance(self.failure, FilteredError):
            provenance["failure"] = "content_filter"
        return Trajectory(
            question=self.question,
            agent=self._environment.name,
            policy=policy,
            turns=tuple(self.turns),
            answer=names,
            stop=self.stop,
            answer_ids=tuple(tools.entity_id(name) for name in names or ()) if tools else (),
            sample=self._sample,
            usage=self._usage(),
            provenance=provenance,
            answer_kind="names" if self._answer is None else self._answer.kind,
        )

    def _advance(self, completion: Completion | None) -> None:
        pending = self.ask
        try:
            if completion is None or self._agent is None:
                self.ask = next(self._begin())
            else:
                self.ask = self._agent.send(completion)
        except (StopIteration, EndsWithoutAnswer) as end:
            self._answer = end.value if isinstance(end, StopIteration) else None
            self._end(_stop_reason(self._answer, pending, self.turns, completion))
        except GraphError as error:
            self._end(StopReason.GRAPH_ERROR, error)
        except PolicyError as error:  # of a reranker: a tool that asks a model
            self._end(StopReason.POLICY_ERROR, error)

    def _begin(self) -> AgentRun:
        """Fresh tools may ask the graph as they are made, so they are made where it may fail."""
        self._tools = self._environment.toolbox(self.question)
        self._agent = self._environment.agent(self.question, self._tools, self._log)
        return self._agent

    def _end(self, stop: StopReason, error: Exception | None = None) -> None:
        self.ask = None
        self.stop = stop
        self.failure = error
        self._seconds = time.perf_counter() - self._started

    def _usage(self) -> dict[str, float]:
        usage = {
            "turns": len(self.turns),
            "graph_calls": sum(turn.graph_calls for turn in self.turns),
            "prompt_tokens": self._prompt_tokens,
            "completion_tokens": self._completion_tokens,
            "seconds": round(self._seconds, 4),
        }
        rare = {
            "empty_turns": sum(not turn.completion.strip() for turn in self.turns),
            "cut_turns": self.cut_turns,
            "truncated_turns": self._truncated_turns,
            "reasoning_tokens": self._reasoning_tokens,
            "cost": round(self._cost, 9),
        }
        return usage | {name: value for name, value in rare.items() if value}


def _stop_reason(
    answer: FinalAnswer | None,
    pending: Ask | None,
    turns: list[Turn],
    completion: Completion | None,
) -> StopReason:
    forced = pending is not None and pending.forced
    if answer is not None:
        return StopReason.FORCED if forced else StopReason.ANSWERED
    cut = completion if completion is not None and completion.finish == "length" else None
    if cut is not None and (forced or not cut.text):  # the context is full
        return StopReason.LENGTH
    if turns and turns[-1].error == "malformed":
        return StopReason.MALFORMED
    return StopReason.LENGTH if cut else StopReason.MAX_TURNS
