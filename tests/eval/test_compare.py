"""Analysis of runs, and their comparison in one table and one page."""

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from eval.analysis.analysis import _cost_cell, analyse, number_of_answers
from eval.analysis.comparison import compare_runs, figures_tables, pairs_table, read_runs
from eval.analysis.error_kinds import KINDS, error_class, error_kind, taxonomy, walked_relations
from eval.report.archive import unpack
from eval.report.comparison import pack_walks, write_page
from eval.run.evaluate import evaluate
from eval.run.records import read_run, tool_calls
from graphwalker.agents.environment import Environment
from graphwalker.agents.rollout import rollout
from graphwalker.cli.app import app
from graphwalker.errors import IncompleteError, UserError
from graphwalker.files import read_json, write_jsonl
from graphwalker.graphs.base import Entity
from graphwalker.graphs.memory import MemoryGraph
from graphwalker.policies.base import Sampling
from graphwalker.policies.scripted import ScriptedPolicy
from graphwalker.protocols.base import FinalAnswer
from graphwalker.protocols.tags import TagProtocol
from graphwalker.query.query import Branch, Hop, Query
from graphwalker.question import Answer, Question
from graphwalker.tools.base import Call
from graphwalker.tools.walker import EXAMPLES
from graphwalker.trajectory import StopReason, Trajectory, Turn
from support.commands import run as told
from support.eval_toy import toy_environment, toy_questions, trained_script, untrained_script
from support.poison import refusal
from support.toy import TOY_NAMES

NAMES = {"m.a": "A", "m.b": "B", "m.c": "C", "m.d": "D", "m.e": "E"}
FACTS = [("m.a", "x.x.to", "m.b"), *(("m.b", "x.x.on", end) for end in ("m.c", "m.d"))]
GRAPH = MemoryGraph([*FACTS, ("m.a", "x.x.off", "m.e")], NAMES)
TOPIC, GOLD = Entity("m.a", "A"), (Answer("C", "m.c"), Answer("D", "m.d"))
ASKED = Query((Branch(TOPIC, (Hop("x.x.to"), Hop("x.x.on"))),))
QUESTION = Question(
    "q", "Where to?", (TOPIC,), GOLD, hops=2, query=ASKED, relation_path=("x.x.to/~x.x.no",)
)
say = TagProtocol(EXAMPLES).render


def look(name: str) -> str:
    return say("", Call("get_relations", {"entity": name}))


def step(name: str, relation: str) -> str:
    return say("", Call("get_triples", {"entity": name, "relations": [relation]}))


def give(*names: str) -> str:
    return say("", FinalAnswer(names))


TO = (look("A"), step("A", "x.x.to"))
ON = (*TO, look("B"), step("B", "x.x.on"))
OFF = (look("A"), step("A", "x.x.off"))


def walk(*lines: str, question: Question = QUESTION, **settings: int) -> Trajectory:
    environment = Environment(GRAPH, toy_environment().config.model_copy(update=settings))
    policy = ScriptedPolicy({"q": lines})
    (done,) = rollout([question], environment, policy, Sampling(), retries=0)
    return done


@pytest.mark.parametrize(
    ("kind", "lines"),
    [
        ("", (*ON, give("C", "D"))),
        ("malformed", ("hm", "hm", "hm")),
        ("ungrounded", (*TO, give("Z"))),
        ("ungrounded", (give("C", "D", "Z"),)),
        ("partial answer set", (*ON, give("C"))),
        ("partial answer set", (*ON, give("C", "D", "B"))),
        ("wrong entity", (*ON, give("B"))),
        ("wrong entity", (*ON, give())),
        ("stopped early", (*TO, give("B"))),
        ("stopped early", (*TO, give())),
        ("wrong relation", (*OFF, give("E"))),
        ("wrong relation", (*TO, *OFF, give("E"))),
    ],
)
def test_an_error_has_one_kind(kind: str, lines: tuple[str, ...]) -> None:
    assert error_kind(walk(*lines)) == kind


def test_an_empty_answer_is_no_hallucination() -> None:
    assert error_class(walk(*TO, give())) == "reasoning"
    assert error_class(walk(*TO, give("Z"))) == "hallucination"


def test_a_spent_budget_is_the_kind_of_what_it_cut_short() -> None:
    assert error_kind(walk(*TO, give("B"), max_turns=2)) == "budget"
    assert error_kind(walk(*TO, look("B"), max_turns=2)) == "budget"
    assert error_kind(walk(*ON, give("C"), max_turns=4)) == "partial answer set"


def test_without_a_gold_path_the_number_of_calls_decides() -> None:
    bare = replace(QUESTION, query=None)
    assert error_kind(walk(*TO, give("B"), question=bare)) == "stopped early"
    assert error_kind(walk(*TO, *OFF, give("B"), question=bare)) == "wrong relation"
    unknown = replace(bare, hops=0)
    assert error_kind(walk(*TO, give("B"), question=unknown)) == "not reached"
    assert error_kind(walk(*ON, give("B"), question=unknown)) == "wrong entity"


def test_an_inverse_relation_is_on_the_gold_path() -> None:
    asked = Query((Branch(TOPIC, (Hop("x.x.ot"),)),))
    other = replace(QUESTION, query=asked, relation_path=("~x.x.to",), answers=GOLD[1:])
    assert error_kind(walk(*TO, give("B"), question=other)) == "wrong entity"


def test_relations_that_were_refused_or_begin_anothers_id_were_not_walked() -> None:
    both = say("", Call("get_triples", {"entity": "A", "relations": ["x.x.t", "x.x.to"]}))
    for lines in ((step("A", "x.x.none"), *TO), (look("A"), both)):
        assert walked_relations(walk(look("A"), *lines, give("B"))) == ("x.x.to",)


def test_kinds_sum_to_the_wrong_answers_and_infrastructure_failures_have_none() -> None:
    done = [walk(*ON, give("C", "D")), walk(*TO, give("B")), walk(*OFF, give("E")), walk(*TO)]
    assert done[-1].stop is StopReason.POLICY_ERROR
    table = taxonomy(done)
    assert list(table) == list(KINDS) and sum(row["count"] for row in table.values()) == 2
    assert table["stopped early"]["share"] == 0.5
    assert table["wrong relation"]["examples"] == ["q#0"]


def test_the_commands_print_tables_and_json(tmp_path: Path) -> None:
    def evaluated(name: str, script: Any, samples: int = 0) -> Path:
        about = (toy_questions(), toy_environment(), ScriptedPolicy(script))
        return evaluate(*about, tmp_path / name, samples=samples)

    a, b = evaluated("a", untrained_script()), evaluated("b", trained_script(), samples=2)
    assert json.loads(told("analyse", b, "--json"))["wrong"] == 2
    compared = json.loads(told("compare", a, b, "--json"))
    assert len(compared["wins"]) == 6 and compared["p"] == pytest.approx(2 / 2**6)
    assert told("analyse", b) and told("compare", a, b, "--list", 2)
    with pytest.raises(UserError, match="no scored episode"):
        analyse(evaluated("none", {}))


def test_predictions_without_walks_are_sent_to_score(tmp_path: Path) -> None:
    (tmp_path / "p.jsonl").write_text('{"id": "q", "predictions": ["x"], "answers": ["x"]}\n')
    assert "graphwalker score" in refusal("analyse", str(tmp_path / "p.jsonl"))


def test_costs_are_whole_numbers_and_overlapping_seconds_have_no_sum() -> None:
    row = {"name": "turns", "total": 5400.0}
    assert _cost_cell(row, "total").text == "5,400"
    assert _cost_cell({**row, "name": "seconds"}, "total").text == "–"


def test_questions_are_grouped_by_their_number_of_answers() -> None:
    for count, label in {0: "(none)", 1: "1", 3: "2-3", 4: "4-10", 11: "11+"}.items():
        answers = tuple(Answer(str(i)) for i in range(count))
        assert number_of_answers(replace(QUESTION, answers=answers)) == label


EVIL = '<script>alert(1)</script>"&\u202e'
EVE = Entity("m.0eve", TOY_NAMES["m.0eve"])
BORN = Query((Branch(EVE, (Hop("people.person.place_of_birth"),)),))
BIRTHPLACE = Question(
    "q1", "Where was she born?", (EVE,), (Answer("Springfield", "m.0city1"),), query=BORN
)


def episode(agent: str, answer: str, name: str = "q1", **change) -> Trajectory:
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
    a = [episode("a", "Springfield", f"q{k}") for k in range(4)]
    b = [episode("b", "Oslo", f"q{k}") for k in range(3)]
    b.append(episode("b", "Oslo", "q3", stop=StopReason.POLICY_ERROR))
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
    assert tool_calls(episode("a", "x")) == 2  # those of one message are counted one by one
    made = json.loads(told("compare", *map(str, files), "--json"))
    assert len(made["losses"]) == 3 and made["p"] == pytest.approx(0.25)


QUESTIONS = [replace(BIRTHPLACE, id=f"q{k}", text=f"Where {k}?") for k in range(4)]
SPRINGFIELD, OSLO = "Springfield", "Oslo"
GCR = "# Reasoning Path: x # Answer: "
FORMS = {
    "ours.jsonl": lambda q, name: {"id": q.id, "predictions": [name]},
    "plain.jsonl": lambda q, name: {"id": q.id, "prediction": name},
    "rog.jsonl": lambda q, name: {"id": q.id, "prediction": [name], "ground_truth": [SPRINGFIELD]},
    "gcr.jsonl": lambda q, name: {"id": q.id, "prediction": [GCR + name]},
    "gnn-rag.info": lambda q, name: {
        "question": q.text,
        "cand": [[name, 0.9]],
        "answers": [SPRINGFIELD],
    },
    "tog.jsonl": lambda q, name: {"question": q.text, "results": f"It is {{{name}}}."},
    "kg-r1.jsonl": lambda q, name: {"uid": q.id, "response": f"<answer>{name}</answer>"},
}


@pytest.fixture
def systems(tmp_path: Path) -> list[Path]:
    """A question file, and systems in every form: each is right on all questions but the first."""
    write_jsonl(tmp_path / "q.jsonl", (q.to_json() for q in QUESTIONS))
    given = {q.id: SPRINGFIELD if number else OSLO for number, q in enumerate(QUESTIONS)}
    for name, form in FORMS.items():
        write_jsonl(tmp_path / name, (form(q, given[q.id]) for q in QUESTIONS))
    rows = "".join(f"{q.id},{given[q.id]}\n" for q in QUESTIONS)
    (tmp_path / "table.csv").write_text(f"id,prediction\n{rows}")
    walks = [episode("agent", given[q.id], q.id, question=q) for q in QUESTIONS]
    write_jsonl(tmp_path / "walks.jsonl", (one.to_json() for one in walks))
    return [tmp_path / name for name in (*FORMS, "table.csv", "walks.jsonl")]


def test_predictions_of_every_form_compare_with_each_other_and_with_runs(systems) -> None:
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
    questions = systems[0].with_name("q.jsonl")
    command = ["compare", *map(str, systems[:2]), "--questions", str(questions), "--json"]
    done = CliRunner().invoke(app, command)
    assert isinstance(done.exception, IncompleteError) and "q1, q2, q3" in str(done.exception)


def test_without_questions_runs_of_other_questions_and_other_gold_are_told(tmp_path: Path) -> None:
    paths = [tmp_path / "a.jsonl", tmp_path / "b.jsonl"]
    mine = [{"id": name, "predictions": ["x"], "answers": ["x"]} for name in ("q1", "q2", "q3")]
    write_jsonl(paths[0], mine)
    write_jsonl(paths[1], [mine[0], {**mine[1], "answers": ["y"]}])
    result = compare_runs(read_runs(paths))
    assert result["pairs"][0]["differing_ids"] == ["q2"]
    assert "same questions (a 3, b 2)" in figures_tables(result)[0].note
    assert "different gold answers for 1 questions (q2)" in pairs_table(result).note
    alike = compare_runs(read_runs([paths[0], paths[0]]))
    assert "same questions" not in figures_tables(alike)[0].note
    assert "gold" not in pairs_table(alike).note


def test_costs_are_set_against_those_of_another_agent_by_domain_and_level(tmp_path: Path) -> None:
    for name, cost, seconds in (("graphrunner", 0.25, 1.0), ("graph-cot", 1.0, 5.0)):
        usage = {"cost": cost, "seconds": seconds, "prompt_tokens": 0.0}
        walks = [episode(name, "Springfield", f"q{k}", usage=usage) for k in range(2)]
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


def test_the_page_escapes_what_models_write_and_begins_where_they_differ(files, tmp_path) -> None:
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
def test_what_cannot_be_compared_is_named(files, monkeypatch, args, reason) -> None:
    monkeypatch.chdir(files[0].parent)
    assert reason in refusal("compare", *args)


@pytest.mark.parametrize("workers", [1, 2])
def test_the_oracle_of_an_evaluation_thinks_in_the_words_of_the_phrase_bank(tmp_path, workers):
    write_jsonl(tmp_path / "q.jsonl", [BIRTHPLACE.to_json()])
    words = (f"questions={tmp_path / 'q.jsonl'}", f"output_dir={tmp_path}", f"workers={workers}")
    told("eval", "graph=support.toy:toy_graph", "policy.model=oracle", *words)
    (done,) = read_run(tmp_path).trajectories
    assert any("birthplace" in turn.thought for turn in done.turns), done.turns
