"""What the viewer draws: the triples of the turns, the gold path, the packed archive."""

from dataclasses import replace
from pathlib import Path

import pytest

from eval.report.archive import CHUNK, WalkArchive, pack, unpack
from eval.report.published import load_published, published_record
from eval.report.report import StageResult, write_report
from eval.run.records import Run
from graphwalker.errors import UserError
from graphwalker.graphs.base import Entity
from graphwalker.query.constraint import Constraint
from graphwalker.query.query import Hop, Query
from graphwalker.scoring import score
from graphwalker.tools.base import ShownTriple
from graphwalker.trajectory import Trajectory
from graphwalker.viewer.gold import UNKNOWN, in_words
from graphwalker.viewer.record import walk_record
from graphwalker.viewer.subgraph import MOST_LINKS, Link, label, walk_graph
from support.viewer_toy import HOSTILE, look, query, spoil, step, toy_runs, walked


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    return toy_runs(tmp_path_factory.mktemp("runs"))


def test_of_tools_and_files_without_triples_no_path_is_drawn_and_the_page_says_so() -> None:
    turn = step("Ann", "knows", "Ann knows two people.", ["Ann", "Bo", "Cy"])
    walk = walked([turn], query("Ann", "knows"), ["Ann"], ["Bo"])
    assert not walk_graph(walk).links and walk_graph(walk).focus == ("Ann",)
    assert "holds no triples" in walk_record(walk)["note"]
    known = walked([step("Ann", "r", "[Ann, r, Bo]")], query("Ann", "r"), ["Ann"], ["Bo"])
    assert walk_record(known)["note"] == ""


def test_a_walk_along_the_gold_path_is_all_gold() -> None:
    turns = [look("Ann"), step("Ann", "r", "[Ann, r, Bo]"), step("Bo", "s", "[Cy, s, Bo]")]
    graph = walk_graph(walked(turns, query("Ann", "r", "~s"), ["Ann"], ["Cy"], ["cy"]))
    assert graph.links == (Link("Ann", "r", "Bo", 2, True), Link("Cy", "s", "Bo", 3, True))
    assert graph.nodes == {"Ann": "t", "Bo": "", "Cy": "ga"}
    assert graph.focus == ("Ann", "Ann", "Bo")


def test_what_the_walk_never_saw_of_the_gold_path_is_drawn_as_missing() -> None:
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


def test_a_side_way_that_leads_to_no_answer_is_not_on_the_path() -> None:
    turns = [step("Eve", "r", "[Eve, r, Ada], [Eve, r, Tom]"), step("Ada", "s", "[Ada, s, End]")]
    graph = walk_graph(walked(turns, query("Eve", "r", "s"), ["Eve"], ["End"]))
    assert {x.tail: x.gold for x in graph.links} == {"Ada": True, "Tom": False, "End": True}


def test_the_other_side_s_relation_counts_as_the_same_hop() -> None:
    turns = [step("Ann", "children", "[Bo, children, Ann]")]
    gold = query("Ann", "parents")
    graph = walk_graph(walked(turns, gold, ["Ann"], ["Bo"], path=["~children"]))
    assert graph.links == (Link("Bo", "children", "Ann", 1, True),)


def test_branches_meet_before_the_tail() -> None:
    branches = (*query("Ann", "r").branches, *query("Bo", "r").branches)
    gold = Query(branches, tail=(Hop("s"),))
    turns = [step("Ann", "r", "[Ann, r, Mia], [Ann, r, Max]"), step("Bo", "r", "[Bo, r, Mia]")]
    graph = walk_graph(walked(turns, gold, ["Ann", "Bo"], ["End"]))
    assert [(x.head, x.tail, x.turn) for x in graph.links if x.gold] == [
        ("Ann", "Mia", 1), ("Bo", "Mia", 2), ("Mia", "End", 0),
    ]  # fmt: skip
    assert in_words(gold) == ["Ann → r", "Bo → r", "where they meet → s"]


def test_a_constraint_draws_the_values_that_decide() -> None:
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


def test_a_longer_walk_only_adds_nodes_so_a_live_drawing_stays_as_it_was() -> None:
    turns = [look("Zoe"), step("Zoe", "r", "[Bo, r, Zoe]"), step("Bo", "s", "[Bo, s, Cy]")]
    drawn = [list(walk_graph(walked(turns[:n], None, ["Ann"], [])).nodes) for n in (1, 2, 3)]
    assert drawn == [["Ann", "Zoe"], ["Ann", "Zoe", "Bo"], ["Ann", "Zoe", "Bo", "Cy"]]


def test_a_drawing_has_an_end_and_keeps_the_gold_path() -> None:
    text = ", ".join(f"[Ann, r, N{i}]" for i in range(MOST_LINKS + 9))
    turns = [step("Ann", "r", text), step("Ann", "s", "[Ann, s, Bo]")]
    graph = walk_graph(walked(turns, query("Ann", "s"), ["Ann"], ["Bo"]))
    assert len(graph.links) == MOST_LINKS
    assert graph.links[-1] == Link("Ann", "s", "Bo", 2, True)


def test_gold_is_recognised_by_its_id_under_the_name_that_was_shown() -> None:
    ann, bo = Entity("m.Ann", "Ann"), Entity("m.Bo", "Bo (m.Bo)")
    turn = step("Ann", "r", "[Ann, r, Bo (m.Bo)]")
    turn = replace(turn, shown=(ann, bo), triples=(ShownTriple(ann, "r", bo),))
    graph = walk_graph(walked([turn], query("Ann", "r"), ["Ann"], ["Bo"]))
    assert graph.links == (Link("Ann", "r", "Bo (m.Bo)", 1, True),)


def test_a_record_has_no_character_that_html_cannot_hold() -> None:
    text = str(walk_record(spoil(scored_walk())))
    assert "\x00" not in text and "\u202e" not in text and "\N{REPLACEMENT CHARACTER}" in text


def test_packed_text_can_end_no_element_and_comes_back() -> None:
    packed = pack(f'["{HOSTILE[:10]}"]')
    assert set(packed).isdisjoint("<>&\"'") and unpack(packed) == [HOSTILE[:10]]


def scored_walk() -> Trajectory:
    walk = walked([step("Ann", "r", "[Ann, r, Bo]")], query("Ann", "r"), ["Ann"], ["Bo"], ["Bo"])
    return walk.with_scores(**score(walk))


def test_an_archive_finds_every_walk_of_every_run_again() -> None:
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


def test_a_published_table_stands_beside_the_runs_and_says_so(
    runs: list[Path], tmp_path: Path
) -> None:
    stages = [StageResult(run.name, run) for run in runs]
    report = write_report(tmp_path, stages, published=["graphwalker-table2"])
    (table,) = report["published"]
    assert table["rows"][-1]["values"]["cwq_em"] == 79.6
    assert [row["questions"] for row in table["ours"]] == [0, 0]  # toy questions are not CWQ
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "not measured here" in page and "arXiv:2603.28533v1, Table 2" in page
    assert "79.6" in (tmp_path / "report.md").read_text(encoding="utf-8")


def test_our_row_is_scored_by_the_column_s_own_metric() -> None:
    walk = scored_walk()
    asked = replace(walk.question, dataset="cwq")
    lax = replace(walk, question=asked, answer=("the town of Bo", "Rome"))
    run = Run(Path("run"), [lax], [], [])
    ours = published_record(load_published("graphwalker-table2"), [("run", run)])["ours"][0]
    assert ours["questions"] == 1
    assert ours["values"]["cwq_em"] == 100.0 and ours["values"]["webqsp_em"] is None


def test_an_unknown_published_table_is_refused_before_any_run_is_read(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="graphwalker-table2"):
        write_report(tmp_path, [StageResult("x", tmp_path / "none")], published=["table9"])
