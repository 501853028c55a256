"""`graphwalker dataset` as a user meets it, and the published files where they are at hand."""

import json
import re

import pytest

from eval.run.config import EvalConfig, run_eval
from eval.run.records import read_run
from eval.score.metrics import METRICS
from graphwalker.config import load_config
from graphwalker.datasets.base import load_dataset, load_questions
from graphwalker.datasets.catalogue import dataset
from graphwalker.datasets.grounding import ground
from graphwalker.errors import UserError
from graphwalker.graphs.base import Entity
from graphwalker.graphs.build.build import build_graph
from graphwalker.graphs.memory import MemoryGraph
from graphwalker.question import Answer, Question
from support import dataset_toys as toys
from support.chat_server import Act, serve
from support.commands import command
from support.paths import DATA, ROOT

CONFIGS = sorted((ROOT / "configs/benchmarks").glob("*.yaml"))
PUBLISHED = {
    "formats/colota_qa.json": ("colota", 30),
    "formats/cwq_test_answer_mids.json": ("cwq", 30),
    "formats/cwq_test_topic_entities.json": ("cwq", 30),
    "formats/grailqa_dev_topic_entities.json": ("grailqa", 30),
    **{f"formats/grbench_{name}.jsonl": ("grbench", 20)
       for name in ("amazon", "biomedical", "dblp", "goodreads", "legal")},
    "formats/qald_10.json": ("qald10", 20),
    "formats/qald_10_topic_entities.json": ("qald10", 20),
    "formats/simplequestions_test.txt": ("simplequestions", 30),
    "formats/simplequestions_topic_entities.json": ("simplequestions", 30),
    "formats/strategyqa_dev.json": ("strategyqa", 10),
    "formats/webqsp_test.json": ("webqsp", 30),
    "metaqa/qa_1hop_dev.jsonl.gz": ("metaqa", 9454),
    "pathquestion/PQ-2H.txt.gz": ("pathquestion", 1908),
    "webqsp_on_fb15k/test.jsonl.gz": ("ours", 522),
}  # fmt: skip
"""Heads of published files, and three that were rebuilt whole."""


def test_the_command_counts_and_converts(tmp_path, capsys):
    path = toys.write(tmp_path / "WebQSP.test.json", toys.FILES["webqsp"][1])
    out = tmp_path / "out" / "questions.jsonl"
    code, printed, _ = command(capsys, "dataset", "check", str(path), "--out", str(out), "--json")
    summary = json.loads(printed)
    assert (code, summary["questions"], summary["dataset"]) == (0, 2, "webqsp")
    assert summary["answers"] == {"id and name": 2, "date, number or text": 1}
    assert load_questions(out) == load_questions(path)
    code, printed, _ = command(capsys, "dataset", "check", str(path))
    assert code == 0 and "1-hop: 2" in printed and "test: 2" in printed  # the table is for people


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["none.json"], "none.json: no such file"),
        (["FILE", "--whole"], "not a whole published file"),
        (["FILE", "--format", "webqps"], "no question format is named 'webqps'"),
        (["FILE", "--answers", "none.json"], "none.json: no such file"),
        (["FILE", "--out", "FILE"], "is the file that is read; choose another --out"),
    ],
)
def test_a_mistake_is_answered_with_the_next_move(tmp_path, capsys, arguments, message):
    path = toys.write(tmp_path / "cwq_dev.json", toys.CWQ)
    words = [a.replace("FILE", str(path)) for a in arguments]
    code, _, err = command(capsys, "dataset", "check", *words)
    assert code == 2 and message in err and err.count("\n") == 1


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.stem)
def test_every_config_of_a_benchmark_is_ready_but_for_its_model(path):
    config = load_config(EvalConfig, path, ["policy.model=m", "policy.format=chatml"])
    assert config.questions_format == dataset(config.questions_format).name
    assert config.output_dir == f"runs/{path.stem}"
    head = path.read_text(encoding="utf-8")
    named = re.search(r"--metrics (\S+)", head)
    assert named and set(named[1].split(",")) <= set(METRICS)
    with pytest.raises(UserError, match="policy is required"):
        load_config(EvalConfig, path, [])


def test_every_benchmark_has_a_config():
    covered = {load_config(EvalConfig, p, ["policy.model=m"]).questions_format for p in CONFIGS}
    assert covered == set(toys.FILES) - {"ours", "own", "lcquad2", "mintaka", "kqapro"}


def test_a_graph_fills_in_names_and_ids_that_a_dataset_lacks():
    graph = MemoryGraph([("m.1", "r", "m.2")], names={"m.1": "Anna Brand", "m.2": "Velin"})
    bare = Question("q", "?", (Entity("m.1"), Entity("", "Velin"), Entity("", "Atlantis")))
    given = Question(
        "p", "?", (Entity("m.1", "Anna"),), (Answer("", "m.2"), Answer("1999", '"1999"'))
    )
    first, second = ground([bare, given], graph)
    assert first.topic_entities == (
        Entity("m.1", "Anna Brand"),
        Entity("m.2", "Velin"),
        Entity("", "Atlantis"),
    )
    assert second.topic_entities == given.topic_entities
    assert second.answers == (Answer("Velin", "m.2"), Answer("1999", '"1999"'))


def test_the_list_names_every_format(capsys):
    code, printed, _ = command(capsys, "dataset", "list", "--json")
    assert code == 0 and set(json.loads(printed)) == set(toys.FILES)


@pytest.mark.parametrize("name", PUBLISHED)
def test_every_published_file_loads(name):
    path = DATA / name
    if not path.is_file():
        pytest.skip(f"{path} is not there; GRAPHWALKER_DATA names the folder")
    loaded = load_dataset(path)
    assert (loaded.dataset, len(loaded.questions)) == PUBLISHED[name]
    assert load_questions(path, format=loaded.dataset) == loaded.questions
    assert all(q.hops for q in loaded.questions) or not name.startswith(("metaqa", "pathq"))


def test_a_published_file_is_evaluated_without_conversion(tmp_path):
    (tmp_path / "kb.tsv").write_text("anna_brand\tspouse\tivo_tal\nanna_brand\tplace\tvelin\n")
    build_graph([tmp_path / "kb.tsv"], tmp_path / "graph")
    file = toys.write(tmp_path / "PQ-2H.txt", toys.PATHQUESTION)
    with serve(Act('<think> Near. </think>\n<answer> ["velin"] </answer>')) as server:
        given = [f"graph={tmp_path / 'graph'}", f"questions={file}", "policy.model=toy",
                 f"output_dir={tmp_path / 'run'}", f"policy.api.base_url={server.url}",
                 "environment.preset=io-prompt", "environment.prompt=io"]  # fmt: skip
        folder = run_eval(
            load_config(EvalConfig, ROOT / "configs/benchmarks/pathquestion.yaml", given)
        )
    first, second = read_run(folder).trajectories
    assert (first.scores["em"], second.scores["em"]) == (0.0, 1.0)
    assert first.question.id == "pathquestion-2-hop-0"
    assert second.question.topic_entities[0].id == "anna_brand"
