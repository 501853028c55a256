"""Certificates: every record is executed and played again, and what does not hold is named."""

import copy
import gzip
import json

import pytest

from data_pipeline.config import ExpertConfig, SynthConfig
from data_pipeline.experts.experts import make_experts
from data_pipeline.jobs.ledger import FIELD
from data_pipeline.synthesize import synthesize
from data_pipeline.verification.verify import verify_file
from graphwalker.files import read_jsonl, write_jsonl
from graphwalker.graphs.open import open_graph
from support.backends import compiled, write
from support.commands import code
from support.oxigraph import load_store
from support.sparql_endpoint import serve
from support.toy import TOY_NAMES, TOY_TRIPLES, TOY_TYPES


def verify(*arguments):
    return code("verify", *arguments)


@pytest.mark.parametrize("name", ["walks", "questions", "graphsynth"])
def test_every_record_that_was_made_holds(name, made, world):
    verdict = verify_file(open_graph(world / "graph"), made / f"{name}.jsonl", max_answers=5)
    assert verdict.records >= 27 and verdict.failed == 0


def branch(record):
    return record["query"]["branches"][0]


FAULTS = {
    "topic entity unknown": lambda r: [
        one.update(id="m.0nobody") for one in (branch(r)["topic"], r["topic_entities"][0])
    ],
    "relation unknown": lambda r: branch(r)["hops"].__setitem__(0, "no.such.relation"),
    "answers differ": lambda r: r["answers"].append({"id": "m.0nobody", "name": "No One"}),
    "digest differs": lambda r: r.update(query={}),
    "malformed": lambda r: branch(r).pop("hops"),
}
"""What damages a question, by the reason that it is given; others stand in test_published.py."""


def tampered(record, how):
    record = copy.deepcopy(record)
    FAULTS[how](record)
    return record


@pytest.mark.parametrize("how", FAULTS)
def test_a_damaged_record_is_named_with_its_reason(how, made, world, tmp_path):
    records = list(read_jsonl(made / "questions.jsonl"))
    records[2] = tampered(records[2], how)
    write_jsonl(tmp_path / "q.jsonl", records)
    verdict = verify_file(open_graph(world / "graph"), tmp_path / "q.jsonl")
    assert [(f.line, f.id, f.reason) for f in verdict.first] == [(3, records[2]["id"], how)]


def test_a_trajectory_that_the_graph_does_not_bear_out_does_not_hold(made, world, tmp_path):
    records = list(read_jsonl(made / "graphsynth.jsonl"))
    records[0]["answer"], records[0]["answer_ids"] = ["No One"], [""]
    records[1]["stop"] = "graph_error"
    for turn in records[2]["turns"]:
        turn["shown"], turn["triples"] = [], []
    records[3]["turns"][1]["shown"][0]["id"] = "m.0nobody"
    records[4]["turns"][1]["action"]["arguments"]["relations"] = ["no.such.relation"]
    write_jsonl(tmp_path / "t.jsonl", records)
    verdict = verify_file(open_graph(world / "graph"), tmp_path / "t.jsonl")
    reasons = ["trajectory answers differ", "episode failed", "answer not shown"]
    reasons += ["shown entity unknown", "relation unknown"]
    assert [failure.reason for failure in verdict.first] == reasons


def test_a_wrong_episode_of_an_evaluation_holds_with_the_scores_that_it_earns(
    made, world, tmp_path
):
    records = list(read_jsonl(made / "graphsynth.jsonl"))[:3]
    for record, em in zip(records, (1.0, 0.0, 1.0), strict=True):
        record.pop(FIELD)
        record["scores"] = {"em": em}
    for record in records[1:]:
        record["answer"], record["answer_ids"] = ["No One"], [""]
    path = tmp_path / "predictions.jsonl"
    write_jsonl(path, records)
    graph = open_graph(world / "graph")
    data = verify_file(graph, path, replay=False)
    assert [one.reason for one in data.first] == ["trajectory answers differ"] * 2
    (tmp_path / "config.json").write_text("{}")
    verdict = verify_file(graph, path, replay=False)
    assert [(one.line, one.reason) for one in verdict.first] == [(3, "scores differ")]
    assert verdict.first[0].detail == "em is 1 in the record, 0 here"
    assert "(an evaluation writes none)" in verdict.notes[-1]


def test_questions_in_another_form_are_sent_to_the_command_that_writes_ours(world, tmp_path):
    write_jsonl(tmp_path / "q.jsonl", [{"id": "1", "question": "Who?", "answers": ["Ann"]}])
    verdict = verify_file(open_graph(world / "graph"), tmp_path / "q.jsonl")
    assert [(one.line, one.reason) for one in verdict.first] == [(1, "malformed")]
    assert any("dataset check FILE" in note for note in verdict.notes)


def test_a_walk_over_a_relation_without_facts_says_where_it_ends(tmp_path):
    path = write(tmp_path / "toy", TOY_TRIPLES, TOY_NAMES, TOY_TYPES)
    record = shortcut_record()
    record["query"]["branches"][1]["hops"] = ["film.film.genre"]
    write_jsonl(tmp_path / "q.jsonl", [record])
    verdict = verify_file(compiled(path), tmp_path / "q.jsonl")
    assert verdict.first[0].detail.startswith("nothing over film.film.genre from m.0lang here; ")


def shortcut_record():
    """Films of Ada, met with what belongs to Verria's language: the second branch is idle."""
    hops = [
        ("m.0ada", "Ada Mbeki", "film.director.film"),
        ("m.0lang", "Verrian", "~film.film.language"),
    ]
    return {
        "id": "toy/1",
        "question": "Which film did Ada Mbeki direct in Verrian?",
        "topic_entities": [{"id": i, "name": n} for i, n, _ in hops],
        "answers": [
            {"id": "m.0film1", "name": "The Glass Harbor"},
            {"id": "m.0film2", "name": "Night, Again"},
        ],
        "structure": "2I",
        "query": {
            "branches": [{"topic": {"id": i, "name": n}, "hops": [hop]} for i, n, hop in hops],
            "tail": [],
            "said": {
                "phrases": [["the film of {x}"], ["the film in {x}"]],
                "readings": [[[hop]] for _, _, hop in hops],
                "tail_phrases": [],
                "tail_readings": [],
            },
        },
    }  # fmt: skip


def test_a_branch_that_is_not_needed_is_a_shortcut_on_any_backend(tmp_path, capsys):
    path = write(tmp_path / "toy", TOY_TRIPLES, TOY_NAMES, TOY_TYPES)
    write_jsonl(tmp_path / "q.jsonl", [shortcut_record()])
    compiled(path)
    with serve(load_store([path])) as address:
        for spec in (str(path.parent / "graph"), address):
            verify(tmp_path / "q.jsonl", "--graph", spec, "--json")
            found = json.loads(capsys.readouterr().out)
            assert (found["failed"], found["first"][0]["reason"]) == (1, "shortcut")


def test_the_command_exits_1_with_the_first_ten(made, world, tmp_path, capsys):
    records = [tampered(r, "answers differ") for r in read_jsonl(made / "questions.jsonl")]
    path = tmp_path / "q.jsonl.gz"
    path.write_bytes(gzip.compress("".join(json.dumps(r) + "\n" for r in records).encode()))
    assert verify(path, "--graph", world / "graph") == 1
    told = capsys.readouterr()
    assert len(told.out.splitlines()) == 10
    assert told.out.startswith(f"{path}: line 1 ({records[0]['id']}): answers differ: ")
    assert "27 of 27 records do not hold (27 answers differ)" in told.err


def test_records_of_another_graph_are_told_as_such(made, tmp_path, capsys):
    path = write(tmp_path / "toy", TOY_TRIPLES, TOY_NAMES, TOY_TYPES)
    compiled(path)
    assert verify(made / "questions.jsonl", "--graph", path.parent / "graph") == 1
    assert "no topic entity of the records: is it their graph?" in capsys.readouterr().err


def test_a_file_of_other_records_is_exit_code_2(world, tmp_path, capsys):
    path = tmp_path / "other.jsonl"
    for content, reason in (
        ("", "holds no records"),
        ('{"id": 1}\n', "line 1: neither a walk, nor a question, nor a trajectory"),
        ('{"question": \n', "not JSON"),
        ("question,answer\n", "`graphwalker dataset check FILE --graph G --out OURS.jsonl` writes"),
    ):
        path.write_text(content)
        assert verify(path, "--graph", world / "graph") == 2
        assert reason in capsys.readouterr().err


def test_a_corpus_of_an_earlier_format_is_refused_by_its_version(made, world, tmp_path, capsys):
    records = [{**record, "version": 1} for record in read_jsonl(made / "graphsynth.jsonl")]
    write_jsonl(tmp_path / "early.jsonl", records)
    assert verify(tmp_path / "early.jsonl", "--graph", world / "graph") == 2
    (line,) = capsys.readouterr().err.strip().splitlines()
    assert "format version 1, where this graphwalker reads version 2" in line


def test_records_that_stand_twice_do_not_hold(made, world, tmp_path):
    records = list(read_jsonl(made / "questions.jsonl"))
    write_jsonl(tmp_path / "doubled.jsonl", [*records, *records[:4]])
    verdict = verify_file(open_graph(world / "graph"), tmp_path / "doubled.jsonl")
    assert (verdict.failed, dict(verdict.reasons)) == (4, {"id again": 4})


def test_a_walk_that_stood_elsewhere_does_not_hold(made, world, tmp_path):
    records = list(read_jsonl(made / "walks.jsonl"))
    records[0]["visited"][0][-1] = {"id": "m.0nobody", "name": "No One"}
    write_jsonl(tmp_path / "w.jsonl", records)
    verdict = verify_file(open_graph(world / "graph"), tmp_path / "w.jsonl")
    assert [failure.reason for failure in verdict.first] == ["visited entity not there"]


def test_more_answers_than_the_bound_do_not_hold(made, world, capsys):
    assert verify(made / "walks.jsonl", "--graph", world / "graph", "--max-answers", 1) == 1
    assert "too many answers" in capsys.readouterr().err


def guess(record, everywhere=True, context=False):
    turn = record["turns"][1]
    if everywhere:
        turn["completion"] = turn["completion"].replace(turn["thought"], "I guess.")
    turn["thought"] = "I guess."
    if context:
        record["turns"][2]["context"] = turn["context"]


EDITS = {
    "an observation": lambda r: r["turns"][1].update(observation="Nothing."),
    "a context": lambda r: guess(r, context=True),
    "the thought alone": lambda r: guess(r, everywhere=False),
    "a thought everywhere": guess,
    "the question": lambda r: r["question"].update(question="Really?"),
    "what is hidden": lambda r: r["turns"][1].update(hidden=99),
}
"""What changes a trajectory in one place."""


def changed(line, how):
    record = json.loads(line)
    EDITS[how](record)
    return json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode()


REASONS = ("observation", "context", "thought", "digest", "context", "hidden")


@pytest.mark.parametrize(("how", "reason"), [*zip(EDITS, REASONS, strict=True)])
def test_a_change_in_a_trajectory_is_found_and_named(how, reason, made, world, tmp_path, capsys):
    lines = (made / "graphsynth.jsonl").read_bytes().splitlines()
    lines[4] = changed(lines[4], how)
    path = tmp_path / "t.jsonl"
    path.write_bytes(b"\n".join(lines) + b"\n")
    assert verify(path, "--graph", world / "graph") == 1
    assert capsys.readouterr().out.startswith(f"{path}: line 5 (")
    verdict = verify_file(open_graph(world / "graph"), path)
    assert [(f.line, f.reason) for f in verdict.first] == [(5, f"{reason} differs")]


def test_two_overwritten_bytes_are_found_wherever_they_are(made, world, tmp_path):
    whole = (made / "questions.jsonl").read_bytes()
    start, end = whole.index(b"\n") + 1, whole.index(b"\n", whole.index(b"\n") + 1)
    for place in range(start + 3, end - 2, 101):
        for found in (b"zz", b"\xff\xff"):
            path = tmp_path / "q.jsonl"
            path.write_bytes(whole[:place] + found + whole[place + 2 :])
            verdict = verify_file(open_graph(world / "graph"), path, replay=False)
            assert [f.line for f in verdict.first] == [2], (place, found)


def test_a_file_is_replayed_in_the_environment_of_its_run(world, tmp_path, capsys):
    config = SynthConfig(count=6, mix={"2-hop": 1}, environment={"top_relations": 4})
    synthesize(world / "graph", config, tmp_path / "made")
    path, moved = tmp_path / "made" / "graphsynth.jsonl", tmp_path / "moved.jsonl"
    assert verify(path, "--graph", world / "graph") == 0
    moved.write_bytes(path.read_bytes())
    assert verify(moved, "--graph", world / "graph") == 0  # its records name the limits
    old = [json.loads(line) for line in path.read_text().splitlines()]
    for record in old:
        del record["digest"]
        assert json.loads(record["provenance"].pop("limits")) == {"top_relations": 4}
    write_jsonl(moved, old)
    assert verify(moved, "--graph", world / "graph") == 1
    told = capsys.readouterr()
    assert "context differs" in told.out  # it tells how many relations are listed
    assert "no run.json beside the file" in told.err
    assert verify(moved, "--graph", world / "graph", "environment.top_relations=4") == 0
    assert verify(moved, "--graph", world / "graph", "--no-replay") == 0


def test_expert_trajectories_with_errors_replay(made, world, tmp_path):
    config = ExpertConfig(count=10, mix={}, error_rate=1.0)
    make_experts(world / "graph", config, made / "questions.jsonl", tmp_path)
    verdict = verify_file(open_graph(world / "graph"), tmp_path / "graphroll.jsonl")
    assert (verdict.failed, verdict.replayed, verdict.digests) == (0, 10, 10)
