"""The papers' tables load, their figures agree with one another, damaged files are refused."""

import pytest

from eval.report.published import load_published, published_names
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
    tables = {"graphwalker-table2", "graphwalker-table3", "graphwalker-table4"}
    assert tables | {"graphwalker-table8"} <= set(published_names())


@pytest.mark.parametrize("name", published_names())
def test_every_table_loads_and_names_its_source(name):
    table = load_published(name)
    assert table.source.rpartition("Table ")[2]
    assert all(len(row.values) == len(table.columns) for row in table.rows)
    assert any(value is not None for row in table.rows for value in row.values.values())


def test_accuracy_is_the_share_correct_but_for_the_one_misprint_that_is_noted():
    table = load_published("graphwalk-table2")
    off = [
        row.label
        for row in table.rows
        if abs(row.values["accuracy"] - row.values["correct"] / 1.2) > 0.006
    ]
    assert off == ["in context (gpt-4.1-mini)"]
    assert "17.7" in table.notes[0]


def test_an_unknown_name_lists_the_known_ones():
    with pytest.raises(UserError, match=r"no published table .*graphwalker-table2"):
        load_published("graphwalker-table99")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("[1.5]", "[1.5, 2]", "2 cells for 1 columns"),
        ("[1.5]", '["n/a"]', "neither a number"),
        ("[1.5]", "[true]", "neither a number"),
        ('title = "t"', "", "'title': Field required"),
        ('title = "t"', "title = 3", "'title': Input should be a valid string"),
        ('unit = "percent"', "unit = ", "not TOML"),
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
