"""`graphwalker compare`: several runs in one table and one page, run first where they are named."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from eval.analysis.comparison import compare_runs, figures_tables, read_runs
from eval.report.archive import unpack
from eval.report.comparison import pack_walks, write_page
from eval.run.records import read_run, tool_calls
from graphwalker.cli.app import app
from graphwalker.errors import IncompleteError
from graphwalker.files import read_json, write_jsonl
from graphwalker.graphs.base import Entity
from graphwalker.query.query import Branch, Hop, Query
from graphwalker.question import Answer, Question
from graphwalker.trajectory import StopReason, Trajectory, Turn
from support.toy import TOY_NAMES

EVIL = '<script>alert(1)</script>"&\u202e'
EVE = Entity("m.0eve", TOY_NAMES["m.0eve"])
BIRTHPLACE = Question(
    "q1",
    "Where was she born?",
    (EVE,),
    (Answer("Springfield", "m.0city1"),),
    query=Query((Branch(EVE, (Hop("people.person.place_of_birth"),)),)),
)


def told(*args: str) -> str:
    result = CliRunner().invoke(app, list(args))
    assert not result.exception, result.output
    return result.stdout


def walk(agent: str, answer: str, name: str = "q1", **change) -> Trajectory:
    question = replace(BIRTHPLACE, id=name, text=f"Where? {EVIL}")
    calls = {"tool": "look", "arguments": {"entity": EVIL}, "further": [{"tool": "look"}]}
    turns = (
        Turn((), "c", EVIL, calls, f"{EVIL} seen", shown=(Entity("m.0city1", "Springfield"),)),
        Turn((), "c", "", {"answer": [answer]}),
    )
    usage = {"prompt_tokens": 100.0, "completion_tokens": 10.0, "cost": 0.5, "seconds": 2.0}
    made = Trajectory(question, agent, "m", turns, (answer,), StopReason.ANSWERED, usage=usage)
    return replace(made, **change)


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    """Two agents on the same questions: one is right where the other is wrong, one failed."""
    a = [walk("a", "Springfield", f"q{k}") for k in range(4)]
    b = [walk("b", "Oslo", f"q{k}") for k in range(3)]
    b.append(walk("b", "Oslo", "q3", stop=StopReason.POLICY_ERROR))
    for name, walks in {"a": a, "b": b}.items():
        write_jsonl(tmp_path / f"{name}.jsonl", (one.to_json() for one in walks))
    return [tmp_path / "a.jsonl", tmp_path / "b.jsonl"]


def test_one_table_holds_accuracy_costs_and_failures(files: list[Path]) -> None:
    result = compare_runs(read_runs(files))
    a, b = result["runs"]
    assert (a["em"], b["em"], a["failures"], b["failures"]) == (1.0, 0.0, 0, 1)
    assert (a["turns"], a["tool_calls"], a["prompt_tokens"]) == (2.0, 2.0, 100.0)
    assert (a["completion_tokens"], a["cost"], a["cost_total"], a["seconds"]) == (10, 0.5, 2.0, 2.0)
    (pair,) = result["pairs"]
    assert (pair["questions"], pair["won"], pair["lost"], pair["em"]) == (3, 0, 3, -1.0)
    assert pair["em_interval"][0] <= -0.99
    assert tool_calls(walk("a", "x")) == 2  # those of one message are counted one by one
    made = json.loads(told("compare", *map(str, files), "--json"))
    assert len(made["losses"]) == 3 and made["p"] == pytest.approx(0.25)


QUESTIONS = [replace(BIRTHPLACE, id=f"q{k}", text=f"Where {k}?") for k in range(4)]
RIGHT, WRONG = "Springfield", "Oslo"
FORMS = {
    "ours.jsonl": lambda q, name: {"id": q.id, "predictions": [name]},
    "plain.jsonl": lambda q, name: {"id": q.id, "prediction": name},
    "rog.jsonl": lambda q, name: {"id": q.id, "prediction": [name], "ground_truth": [RIGHT]},
    "gcr.jsonl": lambda q, name: {
        "id": q.id,
        "prediction": [f"# Reasoning Path: x # Answer: {name}"],
    },
    "gnn-rag.info": lambda q, name: {"question": q.text, "cand": [[name, 0.9]], "answers": [RIGHT]},
    "tog.jsonl": lambda q, name: {"question": q.text, "results": f"It is {{{name}}}."},
    "kg-r1.jsonl": lambda q, name: {"uid": q.id, "response": f"<answer>{name}</answer>"},
}


@pytest.fixture
def systems(tmp_path: Path) -> list[Path]:
    """A question file, and systems in every form: each is right on all questions but the first."""
    write_jsonl(tmp_path / "q.jsonl", (q.to_json() for q in QUESTIONS))
    given = {q.id: RIGHT if number else WRONG for number, q in enumerate(QUESTIONS)}
    for name, form in FORMS.items():
        write_jsonl(tmp_path / name, (form(q, given[q.id]) for q in QUESTIONS))
    rows = "".join(f"{q.id},{given[q.id]}\n" for q in QUESTIONS)
    (tmp_path / "table.csv").write_text(f"id,prediction\n{rows}")
    walks = [walk("agent", given[q.id], q.id, question=q) for q in QUESTIONS]
    write_jsonl(tmp_path / "walks.jsonl", (one.to_json() for one in walks))
    return [tmp_path / name for name in (*FORMS, "table.csv", "walks.jsonl")]


def test_predictions_of_every_form_compare_with_each_other_and_with_runs(
    systems: list[Path],
) -> None:
    result = compare_runs(read_runs(systems, questions=systems[0].parent / "q.jsonl"))
    assert [row["em"] for row in result["runs"]] == [0.75] * len(systems)
    assert all(pair["em"] == 0 and pair["questions"] == 4 for pair in result["pairs"])
    assert {row.get("grounded") for row in result["runs"][:-1]} == {None}
    assert result["runs"][-1]["turns"] == 2.0


def test_missing_questions_count_0_unless_they_are_dropped(systems: list[Path]) -> None:
    ours, questions = systems[0], systems[0].parent / "q.jsonl"
    lines = ours.read_text().splitlines(keepends=True)
    extra = json.dumps({"id": "q9", "predictions": ["x"]}) + "\n"
    ours.write_text("".join([lines[2], lines[1], lines[1], extra]))
    run, _ = read_runs([ours, systems[-1]], questions=questions)
    (row, _) = compare_runs([run, read_runs([systems[-1]], questions=questions)[0]])["runs"]
    assert (row["em"], row["questions"], row["missing_ids"]) == (0.5, 4, ["q0", "q3"])
    assert (row["unknown_ids"], row["doubled_ids"], row["reordered"]) == (["q9"], ["q1"], True)
    (short,) = read_runs([ours], questions=questions, drop=True)
    assert len(short.scored_episodes) == 2 and "2 of 4 questions" in short.complaint
    assert "are left out" in short.complaint
    assert short.complaint in figures_tables(compare_runs([short]))[0].note


def test_an_incomplete_system_ends_the_command_with_3(systems: list[Path]) -> None:
    systems[0].write_text(systems[0].read_text().splitlines(keepends=True)[0])
    command = ["compare", str(systems[0]), str(systems[1]), "--questions", "q.jsonl", "--json"]
    command[4] = str(systems[0].parent / "q.jsonl")
    done = CliRunner().invoke(app, command)
    assert isinstance(done.exception, IncompleteError) and "q1, q2, q3" in str(done.exception)


def test_costs_are_set_against_those_of_another_agent_by_domain_and_level(tmp_path: Path) -> None:
    for name, cost, seconds in (("graphrunner", 0.25, 1.0), ("graph-cot", 1.0, 5.0)):
        usage = {"cost": cost, "seconds": seconds, "prompt_tokens": 0.0}
        walks = [walk(name, "Springfield", f"q{k}", usage=usage) for k in range(2)]
        levels = [{"domain": "legal", "level": level} for level in ("easy", "hard")]
        asked = zip(walks, levels, strict=True)
        walks = [replace(w, question=replace(w.question, facets=level)) for w, level in asked]
        write_jsonl(tmp_path / f"{name}.jsonl", (one.to_json() for one in walks))
    files = [str(tmp_path / f"{name}.jsonl") for name in ("graphrunner", "graph-cot")]
    rows = json.loads(told("compare", *files, "--json"))["ratios"]
    assert [row["group"] for row in rows] == ["all", "domain legal", "level easy", "level hard"]
    assert all((row["cost"], row["seconds"], row["turns"]) == (4.0, 5.0, 1.0) for row in rows)
    assert rows[0]["prompt_tokens"] is None and rows[0]["base"] == "graph-cot"
    assert "4.00 ×" in told("compare", *files, "--out", str(tmp_path / "out"))
    assert "4.00 ×" in (tmp_path / "out/compare.html").read_text(encoding="utf-8")
    turned = json.loads(told("compare", *files, "--base", "graphrunner", "--json"))["ratios"]
    assert turned[0]["cost"] == 0.25


def test_a_terminal_shows_whole_names_beside_many_columns(files: list[Path]) -> None:
    shown = told("compare", *map(str, files))
    heads = [line.split() for line in shown.splitlines() if line.startswith("Agent ")]
    assert [head[1] for head in heads] == ["EM", "Turns"] and "Prompt" in heads[1]
    assert all(len(line) <= 80 for line in shown.splitlines())


def test_the_page_escapes_what_models_write_and_begins_where_they_differ(
    files: list[Path], tmp_path: Path
) -> None:
    runs = read_runs(files)
    write_page(tmp_path / "page.html", runs, compare_runs(runs))
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "<script>alert" not in text and "\u202e" not in text
    assert not re.search(r"""(?:src|href)=["']?(?:https?:)?//""", text)
    table = unpack(dict(pack_walks(runs).parts())["rows"])
    scores = zip(*([row and row[1] for row in run["rows"]] for run in table["runs"]), strict=True)
    differ = [None not in pair and pair[0] != pair[1] for pair in scores]
    assert differ == sorted(differ, reverse=True) and any(differ)


def test_agents_are_run_first_each_in_a_folder_of_its_own(tmp_path: Path) -> None:
    graph = "support.toy:toy_graph"
    write_jsonl(tmp_path / "q.jsonl", [BIRTHPLACE.to_json()])
    options = ["--graph", graph, "--questions", str(tmp_path / "q.jsonl")]
    out = ["--out", str(tmp_path / "out")]
    agents = "graphwalker,search-on-graph,kg-r1=first-relation"
    command = ["compare", "--agents", agents, *options, "--model", "oracle", *out, "--json"]
    made = json.loads(told(*command))
    assert [row["name"] for row in made["runs"]] == ["graphwalker", "search-on-graph", "kg-r1"]
    assert [row["policy"] for row in made["runs"]] == ["oracle", "oracle", "first-relation"]
    assert made["runs"][1]["em"] == 1.0 and made["runs"][1]["tool_calls"] == 1.0
    assert len(made["pairs"]) == 3
    assert "search-on-graph" in (tmp_path / "out/compare.html").read_text(encoding="utf-8")
    settings = read_json(tmp_path / "out/kg-r1/config.json")
    assert "kg-r1" in json.dumps(settings)
    assert json.loads(told(*command))["pairs"] == made["pairs"]  # resumes: nothing is run again


@pytest.mark.parametrize(
    ("args", "reason"),
    [
        (["a"], "two or more runs"),
        (["--agents", "graphwalkr", "--model", "oracle", "--out", "o"], "graphwalker"),
        (["--agents", "graphwalker", "--out", "o"], "has no model"),
        (["--agents", "graphwalker=oracle", "a", "b"], "not both"),
        (["a.jsonl", "b.jsonl", "--base", "c"], "--base c: compared are a, b"),
    ],
)
def test_what_cannot_be_compared_is_named(
    files: list[Path], monkeypatch: pytest.MonkeyPatch, args: list[str], reason: str
) -> None:
    monkeypatch.chdir(files[0].parent)
    result = CliRunner().invoke(app, ["compare", *args])
    assert reason in str(result.exception)


@pytest.mark.parametrize("workers", [1, 2])
def test_the_oracle_of_an_evaluation_thinks_in_the_words_of_the_phrase_bank(
    tmp_path: Path, workers: int
) -> None:
    write_jsonl(tmp_path / "q.jsonl", [BIRTHPLACE.to_json()])
    words = (f"questions={tmp_path / 'q.jsonl'}", f"output_dir={tmp_path}", f"workers={workers}")
    told("eval", "graph=support.toy:toy_graph", "policy.model=oracle", *words)
    (done,) = read_run(tmp_path).trajectories
    assert any("birthplace" in turn.thought for turn in done.turns), done.turns
