"""The reranker: a chat model over real HTTP chooses which relations every stage shows."""

import json
import re
from dataclasses import replace

import pytest

from data_pipeline.config import SynthConfig
from data_pipeline.synthesize import synthesize
from graphwalker.agents.environment import Environment, EnvironmentConfig
from graphwalker.agents.rollout import rollout
from graphwalker.config import load_config, parse_config
from graphwalker.errors import PolicyError, UserError
from graphwalker.files import read_records
from graphwalker.graphs.open import open_graph
from graphwalker.policies.base import Sampling
from graphwalker.policies.scripted import ScriptedPolicy
from graphwalker.question import Question
from graphwalker.tools.base import Call
from graphwalker.trajectory import StopReason, Trajectory
from support.chat_server import Act
from support.commands import command
from support.teacher_server import teach
from support.toy import toy_graph

NOWHERE = "http://127.0.0.1:9/v1"
ADA = Question("ada", "Who directed what?", (next(iter(toy_graph().resolve("Ada Mbeki"))),))


def backwards(number, prompt):
    """The model's own order: the last of the alphabet first."""
    listed = re.search(r"Relations:\n(.*)\n\nChoose", prompt, re.DOTALL)
    assert listed
    return Act(json.dumps(sorted(listed[1].splitlines(), reverse=True)))


def settings(url, cache, top=3, **more):
    about = {"base_url": url, "model": "tiny", "api_key_env": "", "cache_dir": str(cache)}
    patience = {"retries": 1, "backoff_s": 0.01, "timeout_s": 5}
    return {"top_relations": top, "reranker": {**about, **patience, **more}}


def environment(server, cache, **more):
    chosen = settings(server.url, cache, **more)
    return Environment(toy_graph(), parse_config(EnvironmentConfig, chosen, "test"))


def relations_of_ada(mood, cache, **more):
    with teach(mood) as server:
        tools = environment(server, cache, **more).toolbox(ADA)
        return tools.call(Call("get_relations", {"entity": "Ada Mbeki"})).relations


def bm25_of_ada(top=3):
    tools = Environment(toy_graph(), EnvironmentConfig(top_relations=top)).toolbox(ADA)
    return tools.call(Call("get_relations", {"entity": "Ada Mbeki"})).relations


def test_the_model_chooses_what_is_shown(tmp_path):
    every = bm25_of_ada(20)
    assert relations_of_ada(backwards, tmp_path) == tuple(sorted(every, reverse=True)[:3])


def test_invented_relations_are_left_out_and_bm25_fills_up(tmp_path):
    last = bm25_of_ada(20)[-1]
    answer = Act(f'```json\n["made.up.one", "{last}", "{last}",]\n```')
    assert relations_of_ada(lambda n, p: answer, tmp_path) == (last, *bm25_of_ada()[:2])


@pytest.mark.parametrize("text", ["I would take the first.", '{"a": 1}', "[" * 100_000])
def test_an_answer_without_a_known_relation_leaves_bm25s_order_and_is_told(text, tmp_path, caplog):
    assert relations_of_ada(lambda n, p: Act(text), tmp_path) == bm25_of_ada()
    assert "1 of 1 answers of tiny named no relation" in caplog.text


def test_one_call_is_paid_for_once_in_all_runs(tmp_path):
    with teach(backwards) as server:
        for _ in range(2):  # as two processes: neither knows of the other but by the disk
            tools = environment(server, tmp_path).toolbox(ADA)
            assert tools.call(Call("get_relations", {"entity": "Ada Mbeki"})).relations
        assert server.asked.total() == 1


def test_synthesis_shows_what_inference_shows(corpus, tmp_path):
    graph = corpus / "graph"
    with teach(backwards) as server:
        shown = settings(server.url, tmp_path / "cache", 4)
        data = {"count": 4, "mix": {"2-hop": 1, "2I": 1}, "environment": shown}
        config = parse_config(SynthConfig, data, "test")
        synthesize(graph, config, tmp_path / "synth")
        assert server.asked and max(server.asked.values()) == 1
    made = list(read_records(tmp_path / "synth/graphsynth.jsonl", Trajectory.from_json))
    script = {t.question.id: [turn.completion for turn in t.turns] for t in made}
    # The server is gone: at inference the same answers stand on disk.
    there = Environment(open_graph(graph), config.environment)
    again = rollout([t.question for t in made], there, ScriptedPolicy(script), Sampling())
    for before, after in zip(made, again, strict=True):
        assert [t.observation for t in before.turns] == [t.observation for t in after.turns]
        assert before.provenance["reranker"] == "tiny"


def test_the_cap_holds_and_the_call_is_no_observation(tmp_path):
    with pytest.raises(PolicyError, match=r"reranker: .*max_total_tokens=1500"):
        relations_of_ada(backwards, tmp_path, prices={"max_total_tokens": 1500})
    assert relations_of_ada(backwards, tmp_path, prices={"max_total_tokens": 5000})


def test_episodes_wait_for_the_server_side_by_side(tmp_path):
    def slow(number, prompt):
        return replace(backwards(number, prompt), delay_s=0.1)

    questions = [replace(ADA, id=f"q{n}", text=f"Who directed film {n}?") for n in range(6)]
    lines = ['<kg-query> get_relations("Ada Mbeki") </kg-query>', "<answer> [] </answer>"]
    with teach(slow) as server:
        place = environment(server, tmp_path, concurrency=4)
        script = ScriptedPolicy({question.id: lines for question in questions})
        done = list(rollout(questions, place, script, Sampling()))
        assert server.asked.total() == 6 and 1 < server.most_at_once <= 4
    assert [trajectory.question.id for trajectory in done] == [q.id for q in questions]
    assert all(trajectory.turns[0].observation for trajectory in done)


def test_a_dead_server_ends_an_episode_as_our_failure(tmp_path):
    config = parse_config(EnvironmentConfig, settings(NOWHERE, tmp_path), "test")
    script = {"ada": ['<kg-query> get_relations("Ada Mbeki") </kg-query>']}
    place = Environment(toy_graph(), config)
    (done,) = rollout([ADA], place, ScriptedPolicy(script), Sampling())
    assert done.stop is StopReason.POLICY_ERROR and not done.turns
    assert "no connection" in done.provenance["error"]


def test_a_dead_server_ends_synthesis_with_one_line(corpus, tmp_path, capsys):
    values = settings(NOWHERE, tmp_path / "cache")
    options = ["environment.top_relations=3"]
    options += [f"environment.reranker.{key}={value}" for key, value in values["reranker"].items()]
    where = ["synth", "--graph", corpus / "graph", "--out", tmp_path / "o", "--count", "3"]
    code, _, said = command(capsys, *where, *options)
    assert code == 2
    assert said.strip().endswith("what is made is kept, the same command resumes")
    assert said.strip().splitlines()[-1].startswith("error: reranker: ")


def test_without_a_reranker_settings_are_written_as_before():
    assert "reranker" not in EnvironmentConfig().model_dump(mode="json")
    wanted = ["reranker.base_url=http://127.0.0.1:8000/v1", "reranker.model=m"]
    chosen = load_config(EnvironmentConfig, None, wanted)
    assert chosen.model_dump(mode="json")["reranker"]["model"] == "m"
    with pytest.raises(UserError, match="needs both: base_url and model"):
        load_config(EnvironmentConfig, None, wanted[:1])
