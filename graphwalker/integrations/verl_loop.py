"""Our episodes as an agent loop of verl 0.9, which draws the tokens and trains on them.

`actor_rollout_ref.rollout.agent.agent_loop_config_path` names a file with the loop, and
`agent.default_agent_loop=graphwalker` takes it. `graphwalker export --to verl` makes the rows.

    - name: graphwalker
      _target_: graphwalker.integrations.verl_loop.GraphWalkerLoop
      graph: runs/graph
      environment: {preset: graphwalker-wide}

Source: https://verl.readthedocs.io/en/latest/advance/agent_loop.html
"""

# verl is not there where types are checked: what comes of it has none.
# pyright: basic
# pyright: reportMissingImports=false

import asyncio
import json
from functools import cache
from typing import Any
from uuid import uuid4

from graphwalker.agents.environment import EnvironmentConfig
from graphwalker.api.environment import ScriptEnvironment
from graphwalker.errors import GraphError, UserError
from graphwalker.integrations.external_episode import ExternalEpisode, check_reward
from graphwalker.integrations.token_episode import play_tokens
from graphwalker.question import Question
from graphwalker.tokens.auto import resolve_format
from graphwalker.tokens.formats import chat_format

try:
    from verl.experimental.agent_loop import AgentLoopBase, AgentLoopOutput
    from verl.experimental.agent_loop.agent_loop import AgentLoopMetrics
except ImportError:
    raise UserError("the agent loop needs verl 0.9: pip install 'verl>=0.9,<0.10'") from None

TRIES = 3
"""Tries of an episode whose graph fails. Then the step fails: no reward is made up."""


@cache
def _environment(graph: str, settings: str) -> ScriptEnvironment:
    """verl makes a loop for each row; the rows of a worker share the graph."""
    return ScriptEnvironment(graph, EnvironmentConfig(**json.loads(settings)))


class GraphWalkerLoop(AgentLoopBase):
    """One episode of a row."""

    def __init__(
        self,
        *args: Any,
        graph: str,
        environment: Any = None,
        reward: str = "em",
        format: str = "auto",
        max_tokens: int = 512,
        **kwargs: Any,
    ) -> None:
        """`max_tokens`: most tokens of a turn. `format`: the chat format, else the tokenizer's."""
        super().__init__(*args, **kwargs)
        settings = json.dumps(dict(environment or {}), default=dict, sort_keys=True)
        self._environment = _environment(graph, settings)
        self._reward, self._max_tokens = check_reward(reward), max_tokens
        self._format = chat_format(resolve_format(format, self.tokenizer, "the model"))

    async def run(self, sampling_params: dict[str, Any], **row: Any) -> AgentLoopOutput:
        """Play the row's question. Raises `GraphError` where the graph fails again and again."""
        record = row["extra_info"].get("record")
        if not record:
            raise UserError(
                "extra_info has no record: make the rows with graphwalker export --to verl"
            )
        question = Question.from_json(json.loads(record))
        for left in reversed(range(TRIES)):
            try:
                return await self._play(question, dict(sampling_params))
            except GraphError:
                if not left:
                    raise
        raise AssertionError

    async def _play(self, question: Question, sampling: dict[str, Any]) -> AgentLoopOutput:
        key = uuid4().hex
        is_sglang = self.rollout_config.name == "sglang"

        async def draw(ids: list[int], stops: Any, room: int) -> tuple[list[int], Any]:
            kept = {"no_stop_trim": True} if is_sglang else {"include_stop_str_in_output": True}
            limit = {"max_new_tokens" if is_sglang else "max_tokens": room}
            ending = {"stop": list(stops), **kept} if stops else {}
            out = await self.server_manager.generate(
                request_id=key, prompt_ids=ids, sampling_params={**sampling, **ending, **limit}
            )
            return list(out.token_ids), list(out.log_probs) if out.log_probs else None

        episode = await asyncio.to_thread(
            ExternalEpisode, self._environment, question, self._reward
        )
        most = self.rollout_config.response_length
        ids = await play_tokens(episode, self._format, self.tokenizer, draw, most, self._max_tokens)
        assert episode.trajectory is not None
        return AgentLoopOutput(
            prompt_ids=ids.prompt,
            response_ids=ids.response[:most],
            response_mask=ids.mask[:most],
            response_logprobs=ids.logprobs[:most] if ids.has_logprobs else None,
            reward_score=episode.reward,
            num_turns=2 * episode.steps,
            metrics=AgentLoopMetrics(),
            extra_fields={
                "turn_scores": [],
                "tool_rewards": [],
                "reward_extra_info": {"stop": episode.trajectory.stop.value},
            },
        )
