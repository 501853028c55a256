"""An oracle's run beside each published table: its own row reads 100 where the unit is percent, in
the right columns, over the right questions."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from eval.report.published import load_published, published_names
from graphwalker.cli.app import app
from graphwalker.files import read_jsonl, write_jsonl
from graphwalker.query.query import Branch, Query, parse_hop
from support.eval_toy import ROWS, make_toy, toy_questions
from support.yes_no_world import yes_no_records

DATASETS = ("cwq", "webqsp", "grailqa", "graphwalkerbench", "simplequestions", "qald9plus",
            "qald10", *(f"grbench/{part}" for part in ("dblp", "amazon", "biomedical", "legal",
                                                       "goodreads")))  # fmt: skip
SUMS = {"correct", "solved", "total", "tool_calls", "false_positives", "seconds"}


def run(*arguments: object) -> None:
    done = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert done.exit_code == 0, (done.output, done.exception)


def play(folder: Path, graph: Path, questions: Path, *settings: str) -> Path:
    asked = ("--graph", graph, "--questions", questions, "--model", "oracle")
    run("eval", *asked, "--out", folder, "baselines=never", "ceiling=never", *settings)
    return folder


def kgqa_records() -> Iterator[dict[str, Any]]:
    """Four questions under the name of each benchmark."""
    for question, row in list(zip(toy_questions(), ROWS, strict=True))[:4]:
        (topic,) = question.topic_entities
        query = Query((Branch(topic, tuple(map(parse_hop, row[3]))),))
        asked = question.to_json() | {"query": query.to_json()}
        for name in DATASETS:
            dataset, _, graph = name.partition("/")
            facets = {"graph": graph} if graph else {"level": "zero-shot"}
            more = {"id": f"{name}-{asked['id']}", "dataset": dataset, "facets": facets}
            yield {**asked, **more, "structure": ""}


def other_levels(records: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """The questions of GrailQA at a level that Table 3 does not have, and at none; no walk finds
    their gold."""
    for facets in ({"level": "i.i.d."}, {}):
        gold = {"answers": [{"id": "m.0none", "name": "Nowhere"}], "facets": facets}
        for one in (one for one in records if one["dataset"] == "grailqa"):
            yield {**one, **gold, "id": f"{facets}-{one['id']}"}


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A run of the oracle for each kind of table."""
    kinds = ("kgqa", "levels", "ark", "graphwalk", "maze")
    made = {kind: tmp_path_factory.mktemp(kind) for kind in kinds}
    folder, records = make_toy(made["kgqa"]), list(kgqa_records())
    write_jsonl(folder / "all.jsonl", records)
    write_jsonl(folder / "levels.jsonl", [*records, *other_levels(records)])
    play(folder / "run", folder / "graph", folder / "all.jsonl")
    play(made["levels"] / "run", folder / "graph", folder / "levels.jsonl")
    judged = [{"id": one["question"]["id"], "judge": True}
              for one in read_jsonl(folder / "run" / "predictions.jsonl")]  # fmt: skip
    write_jsonl(folder / "run" / "judged.jsonl", judged)
    ark = made["ark"]
    (ark / "CoLoTa_qa.json").write_text(json.dumps(yes_no_records(10)))
    run("dataset", "evidence", ark / "CoLoTa_qa.json", "--out", ark)
    more = ("environment.preset=chain-of-thought", "samples=3", "temperature=0.7")
    play(ark / "run", ark / "graph", ark / "questions.jsonl", *more)
    walk, maze = made["graphwalk"], made["maze"]
    run("graph", "synthetic", "--nodes", 100, "--graphs", 1, "--out", walk / "graphs")
    run("graph", "mazes", "--size", 6, "--count", 2, "--steps", 5, "--out", maze / "graphs")
    for one, preset in ((walk, "graphwalk"), (maze, "graphwalk-maze")):
        questions = one / "graphs" / "questions.jsonl"
        play(one / "run", one / "graphs", questions, f"environment.preset={preset}")
    return {kind: folder / "run" for kind, folder in made.items()}


def kind_of(name: str) -> str:
    """Which of the runs has the questions of a table."""
    if name in ("graphwalk-table1", "graphwalker-table3"):
        return "maze" if name == "graphwalk-table1" else "levels"
    return {"ark": "ark", "graphwalk": "graphwalk"}.get(name.partition("-")[0], "kgqa")


def row_of(runs: dict[str, Path], name: str, out: Path) -> dict[str, Any]:
    run("report", runs[kind_of(name)], "--out", out, "--published", name)
    (table,) = json.loads((out / "report.json").read_text())["published"]
    return table["ours"][0]


@pytest.mark.parametrize("name", published_names())
def test_the_oracle_reads_100_percent_beside_every_published_table(name, runs, tmp_path):
    table = load_published(name)
    values = row_of(runs, name, tmp_path)["values"]
    units = {column.key: table.unit_of(column) for column in table.columns}
    deviations = {column.key for column in table.columns if column.over == "sd"}
    percent = {key for key, unit in units.items() if unit == "percent"} - deviations
    shares = {key for key, unit in units.items() if unit == "share"}
    sizes = {key for key in values if key.rpartition("_")[2] in ("150", "200", "500")}
    assert {values[key] for key in percent - sizes} <= {100.0}
    assert {values[key] for key in shares - sizes} <= {1.0}
    assert {values[key] for key in sizes} <= {None}  # graphs of 100 nodes alone were played
    assert {values[key] for key in deviations} <= {0.0}
    assert "measured here" in (tmp_path / "report.html").read_text()


def test_the_page_of_grailqa_holds_its_zero_shot_questions_alone(runs, tmp_path):
    ours = row_of(runs, "graphwalker-table3", tmp_path)
    assert (ours["questions"], ours["left_out"]) == (8, 8)  # 4 of GrailQA and 4 of the bench
    assert "8 of other parts of the dataset left out" in (tmp_path / "report.md").read_text()


def test_the_page_of_ark_says_how_many_runs_were_sampled_and_how(runs, tmp_path):
    ours = row_of(runs, "ark-v1-table3", tmp_path)
    assert (ours["runs"], ours["temperature"]) == (3, 0.7)
    assert "3 sampled runs at temperature 0.7" in (tmp_path / "report.md").read_text()


def test_without_samples_the_columns_of_sampled_runs_are_empty(runs, tmp_path):
    bare = tmp_path / "bare"
    bare.mkdir()
    (bare / "predictions.jsonl").write_bytes((runs["ark"] / "predictions.jsonl").read_bytes())
    values = row_of({"ark": bare}, "ark-v1-table3", tmp_path / "out")["values"]
    assert {values[key] for key in values if key.startswith("t07")} == {None}
    assert values["t0_overall"] == 100.0


def test_graphwalk_s_totals_are_sums_of_questions_calls_and_false_positives(runs, tmp_path):
    values = row_of(runs, "graphwalk-table2", tmp_path)["values"]
    assert (values["correct"], values["false_positives"]) == (12.0, 0.0)
    walks = read_jsonl(runs["graphwalk"] / "predictions.jsonl")
    actions = [turn["action"] for walk in walks for turn in walk["turns"]]
    calls = sum(1 + len(one.get("further", ())) for one in actions if "tool" in one)
    assert values["tool_calls"] == calls > 0


def test_each_category_of_graphwalk_has_its_own_column(runs, tmp_path):
    values = row_of(runs, "graphwalk-table3", tmp_path)["values"]
    assert values.pop("total") == 12.0 and set(values.values()) == {1.0}


def test_a_maze_has_its_solved_mazes_its_calls_and_its_seconds(runs, tmp_path):
    values = row_of(runs, "graphwalk-table1", tmp_path)["values"]
    assert values["solved"] == 2.0 and values["tool_calls"] > 1 and values["seconds"] >= 0


def test_the_search_on_graph_table_says_which_questions_its_ablations_take():
    notes = " ".join(load_published("search-on-graph-table1").notes)
    assert "first 20 %" in notes
