"""What the viewer draws: the triples of the turns, the gold path, the packed archive."""

from dataclasses import replace
from pathlib import Path

import pytest

from eval.report.archive import CHUNK, WalkArchive, pack, unpack
from eval.report.published import load_published, published_record
from eval.report.report import StageResult, write_report
from eval.run.records import Run
from graphwalker.agents.environment import Environment
from graphwalker.agents.rollout import rollout
from graphwalker.errors import UserError
from graphwalker.graphs.base import Direction, Entity
from graphwalker.graphs.memory import MemoryGraph
from graphwalker.oracle.oracle import OraclePolicy
from graphwalker.policies.base import Sampling
from graphwalker.query.constraint import Constraint
from graphwalker.query.query import Branch, Hop, Query
from graphwalker.question import Answer, Question
from graphwalker.scoring import score
from graphwalker.tools.base import ShownTriple
from graphwalker.trajectory import Trajectory
from graphwalker.viewer.gold import UNKNOWN, in_words
from graphwalker.viewer.record import walk_record
from graphwalker.viewer.subgraph import MOST_LINKS, Link, label, walk_graph
from support.viewer_toy import HOSTILE, look, query, spoil, step, toy_runs, walked


def test_of_tools_and_files_without_triples_no_path_is_drawn_and_the_page_says_so():
    turn = step("Ann", "knows", "Ann knows two people.", ["Ann", "Bo", "Cy"])
    walk = walked([turn], query("Ann", "knows"), ["Ann"], ["Bo"])
    assert not walk_graph(walk).links and walk_graph(walk).focus == ("Ann",)
    assert "holds no triples" in walk_record(walk)["note"]
    known = walked([step("Ann", "r", "[Ann, r, Bo]")], query("Ann", "r"), ["Ann"], ["Bo"])
    assert walk_record(known)["note"] == ""


def test_a_walk_along_the_gold_path_is_all_gold():
    turns = [look("Ann"), step("Ann", "r", "[Ann, r, Bo]"), step("Bo", "s", "[Cy, s, Bo]")]
    graph = walk_graph(walked(turns, query("Ann", "r", "~s"), ["Ann"], ["Cy"], ["cy"]))
    assert graph.links == (Link("Ann", "r", "Bo", 2, True), Link("Cy", "s", "Bo", 3, True))
    assert graph.nodes == {"Ann": "t", "Bo": "", "Cy": "ga"}
    assert graph.focus == ("Ann", "Ann", "Bo")


def test_what_a_call_says_besides_an_entity_is_no_node_and_an_id_is_its_entity():
    anchor = replace(look("Ann"), action={"tool": "anchor", "arguments": {"anchor": "Ann"}})
    chosen = step("Ann", "r", "[Ann, r, Bo]")
    chosen = replace(chosen, action={"tool": "relation", "arguments": {"relation": "r"}})
    summary = {"tool": "summary", "arguments": {"summary": "Ann has r Bo."}}
    by_id = replace(look("Bo"), action={"tool": "search", "arguments": {"entity": "m.Bo"}})
    turns = [anchor, chosen, replace(look("Ann"), action=summary), by_id]
    graph = walk_graph(walked(turns, query("Ann", "r"), ["Ann"], ["Bo"], ["Bo"]))
    assert graph.focus == ("Ann", "", "", "Bo") and [*graph.nodes] == ["Ann", "Bo"]


def test_what_the_walk_never_saw_of_the_gold_path_is_drawn_as_missing():
    turns = [step("Ann", "x", "[Ann, x, Dee]")]
    graph = walk_graph(walked(turns, query("Ann", "r", "~s"), ["Ann"], ["Cy"], ["Dee"]))
    unknown = f"{UNKNOWN}1"
    assert graph.links == (
        Link("Ann", "x", "Dee", 1),
        Link("Ann", "r", unknown, 0, True),
        Link("Cy", "s", unknown, 0, True),
    )
    assert graph.nodes[unknown] == "?" and label(unknown) == "?"
    assert (graph.nodes["Dee"], graph.nodes["Cy"]) == ("a", "g")


def test_a_side_way_that_leads_to_no_answer_is_not_on_the_path():
    turns = [step("Eve", "r", "[Eve, r, Ada], [Eve, r, Tom]"), step("Ada", "s", "[Ada, s, End]")]
    graph = walk_graph(walked(turns, query("Eve", "r", "s"), ["Eve"], ["End"]))
    assert {x.tail: x.gold for x in graph.links} == {"Ada": True, "Tom": False, "End": True}


def test_the_other_side_s_relation_counts_as_the_same_hop():
    turns = [step("Ann", "children", "[Bo, children, Ann]")]
    gold = query("Ann", "parents")
    graph = walk_graph(walked(turns, gold, ["Ann"], ["Bo"], path=["~children"]))
    assert graph.links == (Link("Bo", "children", "Ann", 1, True),)


def test_branches_meet_before_the_tail():
    branches = (*query("Ann", "r").branches, *query("Bo", "r").branches)
    gold = Query(branches, tail=(Hop("s"),))
    turns = [step("Ann", "r", "[Ann, r, Mia], [Ann, r, Max]"), step("Bo", "r", "[Bo, r, Mia]")]
    graph = walk_graph(walked(turns, gold, ["Ann", "Bo"], ["End"]))
    assert [(x.head, x.tail, x.turn) for x in graph.links if x.gold] == [
        ("Ann", "Mia", 1), ("Bo", "Mia", 2), ("Mia", "End", 0),
    ]  # fmt: skip
    assert in_words(gold) == ["Ann → r", "Bo → r", "where they meet → s"]


def test_a_constraint_draws_the_values_that_decide():
    gold = query("Ann", "child", constraint=Constraint("born", "date", "lowest"))
    turns = [
        step("Ann", "child", "[Ann, child, Bo], [Ann, child, Cy], [Ann, child, Di]"),
        step("Bo", "born", "[Bo, born, 1990], [Ann, born, 1950]"),
        step("Cy", "born", "[Cy, born, 1985]"),
    ]
    graph = walk_graph(walked(turns, gold, ["Ann"], ["Cy"]))
    assert [(x.head, x.relation, label(x.tail), x.turn) for x in graph.links if x.gold] == [
        ("Ann", "child", "Cy", 1), ("Bo", "born", "1990", 2), ("Cy", "born", "1985", 3),
        ("Di", "born", "?", 0),
    ]  # fmt: skip
    assert in_words(gold) == ["Ann → child", "of these → born: lowest"]


def test_a_longer_walk_only_adds_nodes_so_a_live_drawing_stays_as_it_was():
    turns = [look("Zoe"), step("Zoe", "r", "[Bo, r, Zoe]"), step("Bo", "s", "[Bo, s, Cy]")]
    drawn = [list(walk_graph(walked(turns[:n], None, ["Ann"], [])).nodes) for n in (1, 2, 3)]
    assert drawn == [["Ann", "Zoe"], ["Ann", "Zoe", "Bo"], ["Ann", "Zoe", "Bo", "Cy"]]


def test_a_drawing_has_an_end_and_keeps_the_gold_path():
    text = ", ".join(f"[Ann, r, N{i}]" for i in range(MOST_LINKS + 9))
    turns = [step("Ann", "r", text), step("Ann", "s", "[Ann, s, Bo]")]
    graph = walk_graph(walked(turns, query("Ann", "s"), ["Ann"], ["Bo"]))
    assert len(graph.links) == MOST_LINKS
    assert graph.links[-1] == Link("Ann", "s", "Bo", 2, True)


def test_gold_is_recognised_by_its_id_under_the_name_that_was_shown():
    ann, bo = Entity("m.Ann", "Ann"), Entity("m.Bo", "Bo (m.Bo)")
    turn = step("Ann", "r", "[Ann, r, Bo (m.Bo)]")
    turn = replace(turn, shown=(ann, bo), triples=(ShownTriple(ann, "r", bo),))
    graph = walk_graph(walked([turn], query("Ann", "r"), ["Ann"], ["Bo"]))
    assert graph.links == (Link("Ann", "r", "Bo (m.Bo)", 1, True),)


def test_a_record_has_no_character_that_html_cannot_hold():
    text = str(walk_record(spoil(scored_walk())))
    assert "\x00" not in text and "\u202e" not in text and "\N{REPLACEMENT CHARACTER}" in text


def test_packed_text_can_end_no_element_and_comes_back():
    packed = pack(f'["{HOSTILE[:10]}"]')
    assert set(packed).isdisjoint("<>&\"'") and unpack(packed) == [HOSTILE[:10]]


def scored_walk():
    walk = walked([step("Ann", "r", "[Ann, r, Bo]")], query("Ann", "r"), ["Ann"], ["Bo"], ["Bo"])
    return walk.with_scores(**score(walk))


def test_an_archive_finds_every_walk_of_every_run_again():
    walk = scored_walk()
    long = replace(walk.turns[0], observation="x" * 5000)
    ids = [f"q{i}" for i in range(60)]
    archive = WalkArchive()
    for name in ("a", "b"):
        archive.open_run(name)
        for i in ids if name == "a" else ids[::-1]:
            asked = replace(walk.question, id=i, text=f"{name} {i}")
            turn = replace(long, thought=f"{name} {i}")
            archive.add(replace(walk, question=asked, turns=(turn,)))
    parts = dict(archive.parts())
    table = unpack(parts["rows"])
    assert [row[0] for row in table["questions"]] == ids
    assert len(parts) > 2 * 60 * 5000 / CHUNK
    for place, run in enumerate(table["runs"]):
        for question, (*_, chunk, at) in zip(ids, run["rows"], strict=True):
            found = unpack(parts[f"walks-{place}-{chunk}"])[at]
            assert found["turns"][0]["thought"] == f"{run['name']} {question}"


def test_a_published_table_stands_beside_the_runs_and_says_so(tmp_path):
    stages = [StageResult(run.name, run) for run in toy_runs(tmp_path)]
    report = write_report(tmp_path, stages, published=["graphwalker-table2"])
    (table,) = report["published"]
    assert table["rows"][-1]["values"]["cwq_em"] == 79.6
    assert [row["questions"] for row in table["ours"]] == [0, 0]  # toy questions are not CWQ
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "not measured here" in page and "arXiv:2603.28533v1, Table 2" in page
    assert "79.6" in (tmp_path / "report.md").read_text(encoding="utf-8")


def test_our_row_is_scored_by_the_column_s_own_metric():
    walk = scored_walk()
    asked = replace(walk.question, dataset="cwq")
    lax = replace(walk, question=asked, answer=("the town of Bo", "Rome"))
    run = Run(Path("run"), [lax], [], [])
    ours = published_record(load_published("graphwalker-table2"), [("run", run)])["ours"][0]
    assert ours["questions"] == 1
    assert ours["values"]["cwq_em"] == 100.0 and ours["values"]["webqsp_em"] is None


def test_an_unknown_published_table_is_refused_before_any_run_is_read(tmp_path):
    with pytest.raises(UserError, match="graphwalker-table2"):
        write_report(tmp_path, [StageResult("x", tmp_path / "none")], published=["table9"])


IDS = (
    "http://example.org/property#bornIn", "http://www.wikidata.org/prop/direct/P19",
    "born: in, [about] the year", 'the "other" name', "in", "to", "by", "Mitglied von",
)  # fmt: skip


ANN, OSLO, NORWAY = "http://x/Ann", "http://x/Oslo", "http://x/Norway"


NAMES = {ANN: "Ann", OSLO: "Oslo", NORWAY: "Norway"}


def played(query, answer, *triples):
    graph = MemoryGraph([*triples, (ANN, "ins", NORWAY)], NAMES)
    gold = (Answer(NAMES.get(answer, answer), answer if answer in NAMES else ""),)
    question = Question("q", "Which?", query.topics, gold, query=query)
    environment = Environment(graph)
    oracle = OraclePolicy(graph, environment.protocol, speaker=environment.preset.speaker)
    (done,) = rollout([question], environment, oracle, Sampling())
    return done


@pytest.mark.parametrize("relation", IDS)
@pytest.mark.parametrize("direction", Direction)
def test_a_question_without_phrases_is_played_and_drawn(relation, direction):
    hops = (Hop(relation, direction), Hop("next"))
    first = (ANN, relation, OSLO) if direction is Direction.OUT else (OSLO, relation, ANN)
    query = Query((Branch(Entity(ANN, "Ann"), hops),))
    done = played(query, NORWAY, first, (OSLO, "next", NORWAY))
    assert score(done)["em"] == 1.0 and not any(turn.error for turn in done.turns)
    assert Trajectory.from_json(done.to_json()) == done
    record = walk_record(done)
    assert record["note"] == ""
    assert [(link[1], link[4]) for link in record["links"]] == [(relation, 1), ("next", 1)]
