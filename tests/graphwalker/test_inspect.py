"""An Inspect AI run with its own mock model, and a run of ours as its log."""

import pytest

pytest.importorskip("inspect_ai", reason="pip install 'graphwalker-kgqa[inspect]'")

import inspect_ai
import tiktoken
from inspect_ai.log import read_eval_log
from inspect_ai.model import ModelOutput, get_model

from data_pipeline.export import export
from graphwalker.agents.rollout import rollout
from graphwalker.files import write_jsonl
from graphwalker.integrations.inspect_task import kgqa
from graphwalker.policies.base import Sampling
from support.preset_worlds import player, world_of
from support.scripted_play import PRESETS, environment_of, play_by_hand, scripts


class Bytes:
    """In place of OpenAI's encoding, which is fetched: Inspect counts the mock's tokens by it."""

    def encode(self, text, **_):
        return list(text.encode())


@pytest.fixture
def graph(toy_folder, monkeypatch):
    monkeypatch.setattr(tiktoken, "get_encoding", lambda _name: Bytes())
    return str(toy_folder)


def run(task, lines, folder):
    replies = [ModelOutput.from_content("mock", line) for line in lines]
    model = get_model("mockllm/model", custom_outputs=replies)
    return inspect_ai.eval(
        task, model=model, max_samples=1, display="none", log_dir=str(folder), fail_on_error=True
    )[0]


@pytest.mark.parametrize("preset", PRESETS)
def test_a_run_of_inspect_has_the_scores_of_playing_by_hand(preset, graph, tmp_path):
    environment = environment_of(preset)
    plays = list(scripts(environment, len(world_of(preset).questions)))
    write_jsonl(tmp_path / "q.jsonl", [question.to_json() for question, _ in plays])
    by_hand = [play_by_hand(environment, question, lines) for question, lines in plays]
    pairs = zip(plays, by_hand, strict=True)
    written = [line for (_, lines), one in pairs for line in lines[: len(one.observations)]]
    task = kgqa(graph, str(tmp_path / "q.jsonl"), {"preset": preset})
    log = run(task, written, tmp_path / "log")
    assert log.status == "success", log.error
    scores = {one.id: one.scores["our_scores"] for one in log.samples}
    found = [scores[question.id] for question, _ in plays]
    assert [one.value["em"] for one in found] == [one.reward for one in by_hand]
    assert [one.explanation for one in found] == [f"stop: {one.stop}" for one in by_hand]


def test_trajectories_become_a_log(tmp_path):
    environment = environment_of("graphwalker")
    questions = world_of("graphwalker").questions
    plays = list(rollout(questions, environment, player(environment), Sampling()))
    write_jsonl(tmp_path / "predictions.jsonl", [one.to_json() for one in plays])
    done = export(tmp_path / "predictions.jsonl", "inspect", tmp_path / "out")
    log = read_eval_log(str(done.file))
    assert done.rows == len(plays) == log.results.completed_samples
    assert {one.name: one.metrics["mean"].value for one in log.results.scores}["em"] == 1.0
    assert log.samples[0].messages[-1].text == plays[0].turns[-1].completion
