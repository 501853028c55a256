"""Statistics of a corpus: the paper beside it, figures that are XML, one line for a fault."""

from xml.etree import ElementTree

import pytest

from data_pipeline.config import SynthConfig
from data_pipeline.stats_figures import bars
from data_pipeline.stats_report import TABLE_6, beside, report
from data_pipeline.synthesize import make_questions
from graphwalker.errors import UserError
from graphwalker.graphs.synthetic import make_world


def test_the_papers_own_mix_differs_by_nothing():
    assert beside(TABLE_6)["largest_difference"] == 0.0


def test_a_mix_is_told_beside_the_table_of_its_structures():
    found = beside({"3-hop": 1, "4-hop": 1, "5-hop": 1, "2I": 1, "IP": 1, "PI": 1})
    assert found["table"] == "Table 7"
    assert found["shares"]["5-hop"] == [16.67, 10.19]


def test_a_report_has_tables_and_figures_that_can_be_drawn(tmp_path):
    make_world(1000, 0, tmp_path)
    make_questions(tmp_path / "graph", SynthConfig(count=10, mix={"2-hop": 1}), tmp_path / "q")
    stats = report(tmp_path / "q" / "questions.jsonl", tmp_path / "stats")
    assert stats["structures"] == {"2-hop": 10} and stats["paper"] == {}
    assert "| 2-hop | 10 | 100.0% |" in (tmp_path / "stats" / "stats.md").read_text()
    dots = ElementTree.parse(tmp_path / "stats" / "map.svg").findall(".//{*}circle")
    assert len(dots) == 11  # one each, and the legend
    for name in ("structures", "hops", "most_used_relations"):
        assert ElementTree.parse(tmp_path / "stats" / f"{name}.svg").findall(".//{*}rect")


def test_names_are_escaped_in_figures():
    assert "<b>" not in bars("<b>", {"<b>&": 1})


def test_other_records_are_told_in_one_line(tmp_path):
    path = tmp_path / "x.jsonl"
    path.write_text('{"a": 1}\n')
    with pytest.raises(UserError, match="neither questions nor trajectories"):
        report(path, tmp_path / "out")
    path.write_text("")
    with pytest.raises(UserError, match="no records"):
        report(path, tmp_path / "out")
