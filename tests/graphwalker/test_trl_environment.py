"""TRL's own GRPOTrainer with our tools as its environment, one step of a tiny random model."""

import json
from pathlib import Path

import pytest
import torch
import trl
from datasets import Dataset
from transformers import Qwen2Config, Qwen2ForCausalLM
from transformers.utils import get_json_schema

from graphwalker.agents.presets import presets
from graphwalker.errors import GraphError, UserError
from graphwalker.files import write_jsonl
from graphwalker.graphs.memory import MemoryGraph
from graphwalker.integrations import trl_environment
from graphwalker.integrations.trl_environment import ONE_ANSWER, OVER, environment_factory
from support.engine_toy import make_tokenizer
from support.grpo_toy import questions
from support.toy import TOY_NAMES, TOY_TRIPLES, TOY_TYPES, toy_graph

ASKED = questions()[0]
ROW = {"question": json.dumps(ASKED.to_json()), "prompt": []}
CALLS = ["<tool_call>", "</tool_call>", "<tool_response>", "</tool_response>"]


def begin_rollout(graph=None, **settings):
    tools = environment_factory(graph or toy_graph(), **settings)()
    return tools, tools.reset(**ROW)


def test_a_rollout_is_rewarded_by_our_score():
    tools, told = begin_rollout()
    assert told == "\nEntities: Ada Mbeki"
    assert begin_rollout(preset="search-on-graph")[1] == "\nEntities: {'Ada Mbeki': 'm.0ada'}"
    assert "people.person.children" in tools.get_relations(entity="Ada Mbeki")
    assert tools.get_reward() == 0.0
    tools.answer(answers=["Verria"])
    assert tools.get_reward() == 1.0 and tools.get_relations(entity="Ada Mbeki") == OVER


def test_the_last_turn_says_that_only_an_answer_is_left():
    tools, _ = begin_rollout(max_turns=1)
    assert tools.get_relations(entity="Ada Mbeki").endswith(ONE_ANSWER)
    assert tools.get_relations(entity="Ada Mbeki") == OVER and tools.get_reward() == 0.0


def test_a_call_that_cannot_be_written_is_a_mistake_of_the_model():
    for wrong in ({}, {"entity": 3}, {"entity": ["a"]}, {"more": "x"}, {"entity": None}):
        tools, _ = begin_rollout()
        assert tools.get_relations(**wrong).startswith("Error "), wrong


def test_an_outage_is_never_a_reward():
    class DownGraph(MemoryGraph):
        def relations_many(self, sides):
            raise GraphError("the endpoint is down")

    tools, _ = begin_rollout(DownGraph(TOY_TRIPLES, TOY_NAMES, TOY_TYPES))
    for step in (lambda: tools.get_relations(entity="Ada Mbeki"), tools.get_reward):
        with pytest.raises(GraphError, match="the endpoint is down"):
            step()


def test_every_tool_of_every_preset_has_a_schema():
    for name, preset in presets().items():
        try:
            kind = environment_factory(toy_graph(), preset=name)
        except UserError as error:
            assert "no tools to call one by one" in str(error)
            continue
        for tool in (*preset.calls, "answer"):
            function = get_json_schema(getattr(kind(), tool))["function"]
            assert function["name"] == tool and function["description"]


class ScriptedModel(Qwen2ForCausalLM):
    """Random weights; what it generates is written for it: a look, then an answer."""

    tokenizer, rights = None, 0

    def generate(self, input_ids=None, **_):
        rows = [self.tokenizer.encode(self._say(row)) for row in input_ids]
        end = self.tokenizer.eos_token_id
        width = max(map(len, rows)) + 1
        fill = self.tokenizer.pad_token_id
        rows = [[*row, end] + [fill] * (width - len(row) - 1) for row in rows]
        return torch.cat([input_ids, torch.tensor(rows)], 1)

    def _say(self, row):
        turn = self.tokenizer.decode(row).count("<tool_response>")
        if turn == 0:
            return render_call("get_relations", entity="Ada Mbeki")
        if turn > 1:
            return "Done."
        self.rights += 1
        return render_call("answer", answers=["Verria" if self.rights % 2 else "Nobody"])


def render_call(tool, **arguments):
    call = json.dumps({"name": tool, "arguments": arguments})
    return f"<tool_call>\n{call}\n</tool_call>"


def test_a_step_of_plain_trl(tmp_path, monkeypatch):
    monkeypatch.setenv("TRL_EXPERIMENTAL_SILENCE", "1")
    tokenizer = make_tokenizer()
    tokenizer.add_tokens(CALLS)
    template = Path(trl.__file__).parent / "chat_templates" / "qwen2_5.jinja"
    tokenizer.chat_template = template.read_text(encoding="utf-8")
    torch.manual_seed(0)
    size = {"hidden_size": 32, "intermediate_size": 64, "max_position_embeddings": 8192}
    heads = {"num_hidden_layers": 2, "num_attention_heads": 2, "num_key_value_heads": 2}
    model = ScriptedModel(Qwen2Config(vocab_size=len(tokenizer), **size, **heads))
    model.tokenizer = tokenizer
    write_jsonl(tmp_path / "q.jsonl", [ASKED.to_json()])
    trainer = trl.GRPOTrainer(
        model=model,
        args=trl.GRPOConfig(
            str(tmp_path / "out"), per_device_train_batch_size=4, num_generations=4, max_steps=1,
            max_completion_length=1024, logging_steps=1, report_to=[], use_cpu=True, bf16=False,
            save_strategy="no",
        ),
        train_dataset=Dataset.from_list(trl_environment.question_rows(tmp_path / "q.jsonl")),
        processing_class=tokenizer,
        environment_factory=environment_factory(toy_graph()),
    )  # fmt: skip
    trainer.train()
    log = trainer.state.log_history[0]
    assert log["rewards/GraphWalkerTools/mean"] == 0.5
    assert (log["tools/call_frequency"], log["tools/failure_frequency"]) == (2.0, 0.0)
