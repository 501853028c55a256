"""An evaluation takes a published file as it is, over a compiled graph and a real HTTP policy."""

import pytest

from eval.run.config import EvalConfig, run_eval
from eval.run.records import read_run
from graphwalker.config import load_config
from graphwalker.graphs.build.build import build_graph
from support import dataset_toys as toys
from support.chat_server import Act, serve
from support.paths import ROOT

CONFIG = ROOT / "configs/benchmarks/pathquestion.yaml"
FACTS = "anna_brand\tspouse\tivo_tal\nivo_tal\tparents\ttal_(poet)\nanna_brand\tplace\tvelin\n"


@pytest.fixture(scope="module")
def graph(tmp_path_factory):
    folder = tmp_path_factory.mktemp("graph")
    (folder / "kb.tsv").write_text(FACTS)
    build_graph([folder / "kb.tsv"], folder / "graph")
    return folder / "graph"


def config(graph, questions, out, url, *more):
    given = [
        f"graph={graph}",
        f"questions={questions}",
        f"output_dir={out}",
        f"policy.api.base_url={url}",
        "policy.model=toy",
        "environment.preset=io-prompt",
        "environment.prompt=io",
        *more,
    ]
    return load_config(EvalConfig, CONFIG, given)


def test_a_published_file_is_evaluated_without_conversion(graph, tmp_path):
    questions = toys.write(tmp_path / "PQ-2H.txt", toys.PATHQUESTION)
    with serve(Act('<think> Near. </think>\n<answer> ["velin"] </answer>')) as server:
        folder = run_eval(config(graph, questions, tmp_path / "run", server.url))
    found = read_run(folder)
    assert [t.scores["em"] for t in found.trajectories] == [0.0, 1.0]
    assert found.trajectories[0].question.id == "pathquestion-2-hop-0"
    assert found.trajectories[1].question.topic_entities[0].id == "anna_brand"


def test_ids_without_names_are_named_by_the_graph(graph, tmp_path):
    record = toys.OURS[0] | {
        "topic_entities": [{"id": "", "name": "anna_brand"}],
        "answers": [{"id": "velin", "name": ""}],
    }
    questions = toys.write(tmp_path / "q.jsonl", [record])
    with serve(Act('<think> Near. </think>\n<answer> ["velin"] </answer>')) as server:
        run = config(graph, questions, tmp_path / "run", server.url, "questions_format=ours")
        question = read_run(run_eval(run)).trajectories[0].question
    assert (question.topic_entities[0].id, question.answers[0].name) == ("anna_brand", "velin")
