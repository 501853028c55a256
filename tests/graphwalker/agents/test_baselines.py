"""The baseline configs: Table 2's rows of vanilla models, each loadable and each what it says."""

from pathlib import Path

import pytest

from eval.run.config import EvalConfig, run_eval
from eval.run.records import read_run
from graphwalker.agents.environment import Environment
from graphwalker.config import load_config
from graphwalker.files import write_jsonl
from graphwalker.graphs.cache.recording import RecordedGraph
from support.chat_server import Act, serve
from support.eval_toy import toy_questions
from support.paths import ROOT
from support.toy import toy_graph

CONFIGS = sorted((ROOT / "configs/baselines").glob("*.yaml"))
PATHS = ("graph=g", "questions=q", "output_dir=o")


PRESETS = {"io": "io-prompt", "agent": "graphwalker", "chain": "chain-of-thought", "kg": "kg-r1"}


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.stem)
def test_a_baseline_loads_and_is_the_agent_of_its_name(path: Path) -> None:
    config = load_config(EvalConfig, path, PATHS)
    kind = path.stem.partition("-")[0]
    assert config.environment.preset == PRESETS.get(kind, kind)
    assert (config.policy.api is None) == ("qwen" in path.stem or "llama" in path.stem)
    if config.policy.api is not None:
        assert config.policy.api.prices.max_total_tokens > 0 and config.policy.api.is_private


def test_a_baseline_runs_against_a_server_and_keeps_its_costs(tmp_path: Path) -> None:
    recording = tmp_path / "graph.jsonl"
    recorded = Environment(RecordedGraph(toy_graph(), recording))
    for question in toy_questions():
        recorded.toolbox(question)
    questions = tmp_path / "questions.jsonl"
    write_jsonl(questions, [question.to_json() for question in toy_questions()])
    with serve(Act('<think> Easy. </think>\n<answer> ["Tom Lindqvist"]')) as server:
        overrides = [
            f"graph={recording}",
            f"questions={questions}",
            f"output_dir={tmp_path / 'run'}",
            f"policy.api.base_url={server.url}",
        ]
        path = next(path for path in CONFIGS if path.stem == "io-gpt-4o-mini")
        folder = run_eval(load_config(EvalConfig, path, overrides))
    found = read_run(folder)
    assert [t.scores["em"] for t in found.trajectories] == [1.0] + [0.0] * 7
    assert found.config["api"] == server.url and len(server.requests) == 8
    spent = (folder / "spent.json").read_text(encoding="utf-8")
    assert '"requests": 8' in spent and '"prompt_tokens": 80' in spent
