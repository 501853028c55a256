"""Certificates: SPARQL that gives the same answers, and records that are executed again."""

import copy
import gzip
import json
from collections import Counter
from pathlib import Path

import pytest
from typer.testing import CliRunner

from data_pipeline.certificates import has_shortcut
from data_pipeline.collect import collect_experts
from data_pipeline.config import ExpertConfig, SynthConfig
from data_pipeline.synthesize import make_walks, synthesize
from data_pipeline.verification.verify import verify_file
from graphwalker.cli.app import app, run
from graphwalker.errors import UserError
from graphwalker.files import read_jsonl, write_jsonl
from graphwalker.graphs.base import Direction, Entity
from graphwalker.graphs.open import open_graph
from graphwalker.query.query import Branch, Hop, Query, execute
from graphwalker.query.sparql import render
from graphwalker.world.generate import make_world
from support.backends import compiled, in_memory, write
from support.oxigraph import load_store, node_id
from support.sparql_endpoint import serve
from support.toy import TOY_NAMES, TOY_TRIPLES, TOY_TYPES

STORED = "x.y.spouse..x.marriage.of"
# A pair that is stored as such beside its halves; names that name nothing; a loop through a CVT.
MIXED = (
    [
        ("m.a", "x.y.spouse", "m.cvt1"),
        ("m.cvt1", "x.marriage.of", "m.a"),
        ("m.cvt1", "x.marriage.of", "m.b"),
        ("m.a", STORED, "m.c"),
        ("m.b", "x.y.spouse", "m.cvt2"),
        ("m.cvt2", "x.marriage.of", "m.c"),
        ("m.cvt2", "x.marriage.of", "m.named_by_id"),
        ("m.a", "x.y.mixed", "m.cvt1"),
        ("m.a", "x.y.mixed", "m.b"),
        ("m.a", "x.y.mixed", "m.named_by_id"),
        ("m.a", "x.y.mixed", '"1999"^^<http://www.w3.org/2001/XMLSchema#gYear>'),
    ],
    {"m.a": 'Ann "A"', "m.b": "Bob", "m.c": "Cy", "m.named_by_id": "m.0abc"},
    {},
)


@pytest.fixture(scope="module")
def world(tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("world")
    make_world(1000, 0, out)
    return out


@pytest.fixture(scope="module")
def made(world, tmp_path_factory) -> Path:
    """A small GraphSynth whose records hold their query in SPARQL, too."""
    out = tmp_path_factory.mktemp("made")
    mix = {"1-hop": 1, "2-hop": 2, "3-hop": 2, "2I": 2, "PI": 1, "IP": 1}
    synthesize(world / "graph", SynthConfig(count=27, mix=mix, sparql=True), out)
    return out


@pytest.fixture(scope="module")
def store(world):
    return load_store(sorted(world.glob("*.nt*")))


def ask(store, sparql):
    return {node_id(row["x"]) for row in store.query(sparql)}


def ids(entities):
    return {entity.id for entity in entities}


def test_the_sparql_of_every_record_gives_its_answers_on_another_store(made, store):
    structures = Counter()
    for record in read_jsonl(made / "questions.jsonl"):
        assert ask(store, record["query"]["sparql"]) == {a["id"] for a in record["answers"]}
        structures[record["structure"]] += 1
    assert structures == {"1-hop": 3, "2-hop": 6, "3-hop": 6, "2I": 6, "PI": 3, "IP": 3}


def test_walks_without_a_schema_render_to_the_same_answers(made, store, world):
    flattened = 0
    for record in read_jsonl(made / "walks.jsonl"):
        query = Query.from_json(record["query"])
        assert ask(store, render(query)) == {a["id"] for a in record["answers"]}
        flattened += any(
            ".." in relation for relation in Query.from_json(record["query"]).relations
        )
    assert flattened > 0


@pytest.mark.parametrize("schema", [True, False])
@pytest.mark.parametrize("relation", ["x.y.spouse", "x.marriage.of", "x.y.mixed", STORED])
@pytest.mark.parametrize("direction", list(Direction))
@pytest.mark.parametrize("topic", ["m.a", "m.b", "m.c", "m.cvt1"])
def test_a_hop_means_the_same_in_sparql(topic, relation, direction, schema, tmp_path):
    graph, store = in_memory(*MIXED), load_store([write(tmp_path, *MIXED)])
    query = Query((Branch(Entity(topic, ""), (Hop(relation, direction),)),))
    known = {r for _, r, _ in MIXED[0]} if schema else None
    assert ask(store, render(query, known)) == ids(execute(graph, query).answers)


def test_hostile_ids_cannot_leave_their_iri():
    for hostile in ("m.1> ?p ?o } #", "m.1 m.2", 'm."', "", "_:b"):
        with pytest.raises(UserError, match="cannot be an IRI"):
            render(Query((Branch(Entity(hostile), (Hop("a.b"),)),)))
        with pytest.raises(UserError, match="cannot be an IRI"):
            render(Query((Branch(Entity("m.1"), (Hop(hostile),)),)))


def test_sparql_is_stored_only_where_asked_for(world, tmp_path):
    make_walks(world / "graph", SynthConfig(count=3, mix={"2-hop": 1}), tmp_path)
    assert all("sparql" not in row["query"] for row in read_jsonl(tmp_path / "walks.jsonl"))


def test_a_hop_inside_a_conjunction_that_changes_nothing_is_a_shortcut():
    facts = [("m.t1", "p.p.p", "m.u"), ("m.u", "q.q.q", "m.x"), ("m.u", "q.q.q", "m.y")]
    facts += [("m.t2", "s.s.s", "m.x"), ("m.t2", "s.s.s", "m.w")]
    names = {node: node[2:].upper() for node in ("m.t1", "m.t2", "m.u", "m.w", "m.x", "m.y", "m.z")}
    needed = Query(
        (
            Branch(Entity("m.t1", "T1"), (Hop("p.p.p"), Hop("q.q.q"))),
            Branch(Entity("m.t2", "T2"), (Hop("s.s.s"),)),
        )
    )
    graph = in_memory(facts, names, {})
    assert not has_shortcut(graph, needed, execute(graph, needed))
    graph = in_memory([*facts, ("m.t1", "q.q.q", "m.x"), ("m.t1", "q.q.q", "m.z")], names, {})
    assert has_shortcut(graph, needed, execute(graph, needed))


@pytest.mark.parametrize("name", ["walks", "questions", "graphsynth"])
def test_every_record_that_was_made_holds(name, made, world):
    verdict = verify_file(open_graph(world / "graph"), made / f"{name}.jsonl", max_answers=5)
    assert verdict.records >= 27 and verdict.failed == 0


def tampered(record, how):
    """The question record, damaged in one place."""
    record = copy.deepcopy(record)
    branch = record["query"]["branches"][0]
    match how:
        case "topic entity unknown":
            branch["topic"]["id"] = record["topic_entities"][0]["id"] = "m.0nobody"
        case "topic entity renamed":
            branch["topic"]["name"] = "Someone Else"
        case "relation unknown":
            branch["hops"][0] = "no.such.relation"
        case "answers differ":
            record["answers"].append({"id": "m.0nobody", "name": "No One", "aliases": []})
        case "answer in question":
            record["question"] += f" Is it {record['answers'][0]['name']}?"
        case "structure differs":
            record["structure"] = "5-hop"
        case "sparql differs":
            record["query"]["sparql"] += " LIMIT 1"
        case "no query":
            record["query"] = {}
        case "malformed":
            del branch["hops"]
    return record


FAULTS = (
    "topic entity unknown",
    "topic entity renamed",
    "relation unknown",
    "answers differ",
    "answer in question",
    "structure differs",
    "sparql differs",
    "no query",
    "malformed",
)


def test_a_query_without_branches_is_no_query(made, world, tmp_path):
    records = list(read_jsonl(made / "walks.jsonl"))[:1]
    records[0]["query"]["branches"] = []
    write_jsonl(tmp_path / "w.jsonl", records)
    verdict = verify_file(open_graph(world / "graph"), tmp_path / "w.jsonl")
    assert [failure.reason for failure in verdict.first] == ["no query"]


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
    reasons = [failure.reason for failure in verdict.first]
    assert reasons == [
        "trajectory answers differ",
        "episode failed",
        "answer not shown",
        "shown entity unknown",
        "relation unknown",
    ]


def test_a_walk_over_a_relation_without_facts_says_where_it_ends(tmp_path):
    path = write(tmp_path / "toy", TOY_TRIPLES, TOY_NAMES, TOY_TYPES)
    record = shortcut_record()
    record["query"]["branches"][1]["hops"] = ["film.film.genre"]
    write_jsonl(tmp_path / "q.jsonl", [record])
    verdict = verify_file(compiled(path), tmp_path / "q.jsonl")
    assert verdict.first[0].detail.startswith("nothing over film.film.genre from m.0lang here; ")


def test_a_walk_that_stood_elsewhere_does_not_hold(made, world, tmp_path):
    records = list(read_jsonl(made / "walks.jsonl"))
    records[0]["visited"][0][-1] = {"id": "m.0nobody", "name": "No One"}
    write_jsonl(tmp_path / "w.jsonl", records)
    verdict = verify_file(open_graph(world / "graph"), tmp_path / "w.jsonl")
    assert [failure.reason for failure in verdict.first] == ["visited entity not there"]


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
        },
    }  # fmt: skip


def test_a_branch_that_is_not_needed_is_a_shortcut_on_any_backend(tmp_path):
    path = write(tmp_path / "toy", TOY_TRIPLES, TOY_NAMES, TOY_TYPES)
    write_jsonl(tmp_path / "q.jsonl", [shortcut_record()])
    compiled(path)
    with serve(load_store([path])) as address:
        for spec in (str(path.parent / "graph"), address):
            result = CliRunner().invoke(
                app, ["verify", str(tmp_path / "q.jsonl"), "--graph", spec, "--json"]
            )
            found = json.loads(result.stdout)
            assert (found["failed"], found["first"][0]["reason"]) == (1, "shortcut")


def verify(*arguments):
    """Exit code of the command as the console script runs it."""
    return run(lambda: app(["verify", *map(str, arguments)], standalone_mode=False))


def test_the_command_exits_0_where_all_hold(made, world, capsys):
    assert verify(made / "graphsynth.jsonl", "--graph", world / "graph") == 0
    assert "all 27 records hold" in capsys.readouterr().out


def test_the_command_exits_1_with_the_first_ten(made, world, tmp_path, capsys):
    records = [tampered(r, "answers differ") for r in read_jsonl(made / "questions.jsonl")]
    (tmp_path / "q.jsonl.gz").write_bytes(
        gzip.compress("".join(json.dumps(record) + "\n" for record in records).encode())
    )
    assert verify(tmp_path / "q.jsonl.gz", "--graph", world / "graph") == 1
    told = capsys.readouterr()
    assert len(told.out.splitlines()) == 10
    assert told.out.startswith(
        f"{tmp_path / 'q.jsonl.gz'}: line 1 ({records[0]['id']}): answers differ: "
    )
    assert "27 of 27 records do not hold (27 answers differ)" in told.err


def test_more_answers_than_the_bound_do_not_hold(made, world, capsys):
    assert verify(made / "walks.jsonl", "--graph", world / "graph", "--max-answers", 1) == 1
    assert "too many answers" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("", "holds no records"),
        ('{"id": 1}\n', "line 1: neither a walk, nor a question, nor a trajectory"),
        ('{"question": \n', "not JSON"),
    ],
)
def test_a_file_of_other_records_is_exit_code_2(content, reason, world, tmp_path, capsys):
    path = tmp_path / "other.jsonl"
    path.write_text(content)
    assert verify(path, "--graph", world / "graph") == 2
    assert reason in capsys.readouterr().err


def test_no_relation_is_taken_by_more_than_its_share(world, tmp_path):
    config = SynthConfig(
        count=40, mix={"2-hop": 1}, max_relation_share=0.05, plausibility={"on": False}
    )
    make_walks(world / "graph", config, tmp_path)
    taken = Counter(
        r
        for row in read_jsonl(tmp_path / "walks.jsonl")
        for r in Query.from_json(row["query"]).relations
    )
    assert max(taken.values()) <= 5  # 5 % of 80 hops, and five uses at least
    dropped = Counter(row["reason"] for row in read_jsonl(tmp_path / "dropped.jsonl"))
    assert dropped["relation_share"] > 0


def test_an_endpoint_that_does_not_answer_is_no_verdict(made, capsys):
    address = "http://127.0.0.1:9/sparql"
    assert verify(made / "questions.jsonl", "--graph", address) == 2
    error = capsys.readouterr().err.strip().splitlines()[-1]
    assert address in error and "nothing was verified" in error


def changed(line, how):
    """The line of a trajectory, changed in one place."""
    record = json.loads(line)
    turn = record["turns"][1]
    match how:
        case "an observation":
            turn["observation"] += " "
        case "a thought":
            turn["completion"] = turn["completion"].replace(turn["thought"], "I guess.")
            turn["thought"] = "I guess."
            record["turns"][2]["context"] = turn["context"]
        case "the thought alone":
            turn["thought"] = "I guess."
        case "a thought everywhere":
            turn["completion"] = turn["completion"].replace(turn["thought"], "I guess.")
            turn["thought"] = "I guess."
        case "the question":
            record["question"]["question"] += " really?"
        case "what is hidden":
            turn["hidden"] = 99
    return json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode()


@pytest.mark.parametrize(
    ("how", "reason"),
    [
        ("an observation", "observation differs"),
        ("a thought", "context differs"),
        ("the thought alone", "thought differs"),
        ("a thought everywhere", "digest differs"),
        ("the question", "context differs"),
        ("what is hidden", "hidden differs"),
    ],
)
def test_a_change_in_a_trajectory_is_found_and_named(how, reason, made, world, tmp_path, capsys):
    lines = (made / "graphsynth.jsonl").read_bytes().splitlines()
    lines[4] = changed(lines[4], how)
    path = tmp_path / "t.jsonl"
    path.write_bytes(b"\n".join(lines) + b"\n")
    assert verify(path, "--graph", world / "graph") == 1
    assert capsys.readouterr().out.startswith(f"{path}: line 5 (")
    verdict = verify_file(open_graph(world / "graph"), path)
    assert [(f.line, f.reason) for f in verdict.first] == [(5, reason)]


def test_two_overwritten_bytes_are_found_wherever_they_are(made, world, tmp_path):
    whole = (made / "questions.jsonl").read_bytes()
    start, end = whole.index(b"\n") + 1, whole.index(b"\n", whole.index(b"\n") + 1)
    for place in range(start + 3, end - 2, 101):
        for found in (b"zz", b"\xff\xff"):
            path = tmp_path / "q.jsonl"
            path.write_bytes(whole[:place] + found + whole[place + 2 :])
            verdict = verify_file(open_graph(world / "graph"), path, replay=False)
            assert [f.line for f in verdict.first] == [2], (place, found)


def test_a_record_that_was_taken_out_is_seen_by_the_data_card(made, world, tmp_path):
    for name in ("questions.jsonl", "datacard.json"):
        (tmp_path / name).write_bytes((made / name).read_bytes())
    path, graph = tmp_path / "questions.jsonl", open_graph(world / "graph")
    assert verify_file(graph, path).failed == 0
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[1:]))
    assert [f.reason for f in verify_file(graph, path).first] == ["file differs from its data card"]


def test_a_file_without_digests_is_said_to_have_none(made, world, tmp_path, capsys):
    records = [dict(record) for record in read_jsonl(made / "graphsynth.jsonl")]
    for record in records:
        del record["digest"]
    write_jsonl(tmp_path / "t.jsonl", records)
    assert verify(tmp_path / "t.jsonl", "--graph", world / "graph") == 0
    told = capsys.readouterr()
    assert "27 records have no digest" in told.err
    assert "(27 replayed, 0 with digests; " in told.out


def test_a_file_is_replayed_in_the_environment_of_its_run(world, tmp_path, capsys):
    config = SynthConfig(count=6, mix={"2-hop": 1}, environment={"top_relations": 4})
    synthesize(world / "graph", config, tmp_path / "made")
    path, moved = tmp_path / "made" / "graphsynth.jsonl", tmp_path / "moved.jsonl"
    assert verify(path, "--graph", world / "graph") == 0
    moved.write_bytes(path.read_bytes())
    assert verify(moved, "--graph", world / "graph") == 1
    assert "context differs" in capsys.readouterr().out  # it tells how many relations are listed
    assert verify(moved, "--graph", world / "graph", "environment.top_relations=4") == 0
    assert verify(moved, "--graph", world / "graph", "--no-replay") == 0


def test_expert_trajectories_with_errors_replay(made, world, tmp_path):
    config = ExpertConfig(count=10, mix={}, error_rate=1.0)
    collect_experts(world / "graph", config, made / "questions.jsonl", tmp_path)
    verdict = verify_file(open_graph(world / "graph"), tmp_path / "graphroll.jsonl")
    assert (verdict.failed, verdict.replayed, verdict.digests) == (0, 10, 10)
