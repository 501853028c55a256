"""The papers' tables load, their figures agree with one another, damaged files are refused."""

import pytest

from eval.report.published import load_published, published_names
from eval.score.metrics import METRICS
from graphwalker.errors import UserError

TOML = """
title = "t"
paper = "p"
source = "s"
unit = "percent"
metric = "em"
notes = []
columns = [{ key = "a", label = "A", dataset = "d", metric = "em" }]
rows = [{ group = "g", method = "m", backbone = "", cells = [1.5] }]
"""


def test_all_five_papers_are_there():
    papers = {name.rpartition("-table")[0] for name in published_names()}
    assert papers == {"graphwalker", "search-on-graph", "graphwalk", "graphrunner", "ark-v1"}
    with pytest.raises(UserError, match=r"no published table .*graphwalker-table2"):
        load_published("graphwalker-table99")


@pytest.mark.parametrize("name", published_names())
def test_every_table_names_its_source_and_holds_figures_of_metrics_by_our_names(name):
    table = load_published(name)
    assert table.source.rpartition("Table ")[2]
    assert all(len(row.values) == len(table.columns) for row in table.rows)
    figures = {key: table.column(key) for key in table.rows[0].values if key != "delta_em"}
    known = [value for column in figures.values() for value in column if value is not None]
    assert known and (table.unit != "percent" or all(0 <= value <= 100 for value in known))
    others = {"points", "seconds", "tool_calls"}
    assert {column.metric for column in table.columns} <= METRICS.keys() | others


def test_the_full_method_has_the_same_figures_in_three_tables():
    first = load_published("graphwalker-table2").rows[-1].values
    for name in ("graphwalker-table4", "graphwalker-table8"):
        values = load_published(name).rows[0].values
        assert {key: values[key] for key in first} == first
    without_rl = load_published("graphwalker-table4").rows[4].values
    sft = load_published("graphwalker-table2").rows[14].values
    assert {key: without_rl[key] for key in sft} == sft


def test_correct_answers_by_category_sum_to_the_totals_of_both_tables():
    *models, every = load_published("graphwalk-table3").rows
    for row in models:
        assert row.values["total"] == sum(row.values.values()) - row.values["total"]
    printed = {key: value for key, value in every.values.items() if key != "total"}
    assert printed == {key: sum(row.values[key] for row in models) for key in printed}
    totals = {(row.group, row.backbone): row.values["total"] for row in models}
    second = load_published("graphwalk-table2").rows
    assert totals == {(row.group, row.backbone): row.values["correct"] for row in second}


def test_a_hundred_nodes_have_the_same_figures_in_both_tables():
    second = {
        (row.group, row.backbone): row.values for row in load_published("graphwalk-table2").rows
    }
    for row in load_published("graphwalk-table4").rows:
        for key in ("accuracy", "precision", "recall", "f1", "false_positives"):
            assert row.values[f"{key}_100"] == second[row.group, row.backbone][key]


def test_accuracy_is_the_share_correct_but_for_the_one_misprint_that_is_noted():
    table = load_published("graphwalk-table2")
    off = [
        row.label
        for row in table.rows
        if abs(row.values["accuracy"] - row.values["correct"] / 1.2) > 0.006
    ]
    assert off == ["in context (gpt-4.1-mini)"]
    assert "17.7" in table.notes[0]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("[1.5]", "[1.5, 2]", "2 cells for 1 columns"),
        ("[1.5]", '["n/a"]', "neither a number"),
        ("[1.5]", "[true]", "neither a number"),
        ('title = "t"', "", "'title': Field required"),
        ('title = "t"', "title = 3", "'title': Input should be a valid string"),
        ('unit = "percent"', "unit = ", "not TOML"),
        ('unit = "percent"', 'unit = "percent (of 120)"', "'unit': Input should be 'percent'"),
        ('unit = "percent"', 'unit = "as labelled"', "each column needs one"),
        ("rows = [{", "rows = [] # {", "rows must be there"),
    ],
)
def test_a_damaged_table_is_refused_by_field(tmp_path, old, new, message):
    assert load_published_text(tmp_path, TOML).rows[0].values == {"a": 1.5}
    with pytest.raises(UserError, match=message):
        load_published_text(tmp_path, TOML.replace(old, new))


def load_published_text(folder, text):
    (folder / "x-table1.toml").write_text(text)
    return load_published("x-table1", folder)
