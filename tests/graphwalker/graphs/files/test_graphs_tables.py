"""CSV tables of entities and of triples become graphs; what cannot be read is named by line."""

from pathlib import Path

import pytest

from graphwalker.errors import UserError
from graphwalker.graphs.base import Direction
from graphwalker.graphs.build.build import build_graph
from graphwalker.graphs.compiled.graph import CompiledGraph
from graphwalker.graphs.compiled.properties import open_compiled


def built(folder: Path, text: str) -> CompiledGraph:
    table = folder / "table.csv"
    table.write_text(text, encoding="utf-8")
    build_graph([table], folder / "graph")
    return open_compiled(folder / "graph")


def ends(graph: CompiledGraph, head: str, relation: str) -> list[str]:
    return [end.name for end in graph.step(head, relation, Direction.OUT)]


def test_a_row_is_an_entity_and_each_column_a_relation(tmp_path: Path) -> None:
    rows = '\ufeffperson,works_for,lives in\n"Brandt, Ben",Almera; Boreal,Varnholm\nAna,Almera,\n'
    graph = built(tmp_path, rows)
    assert ends(graph, "Brandt, Ben", "works_for") == ["Almera", "Boreal"]
    assert ends(graph, "Brandt, Ben", "lives in") == ["Varnholm"]
    assert [graph.types(head) for head in ("Ana", "Brandt, Ben")] == [["person"]] * 2
    assert graph.relations("Ana", Direction.OUT) == [("works_for", 1)]


@pytest.mark.parametrize("mark", [";", "\t"])
def test_a_header_without_commas_says_what_separates_the_columns(tmp_path: Path, mark: str) -> None:
    table = [
        ["person", "works_for", '"lives, in"'],
        ["Ana", "Almera, Inc.", '"Oslo;Rome"'],
        ["Ben", '"a\nb"', ""],
    ]
    graph = built(tmp_path, "".join(mark.join(row) + "\n" for row in table))
    assert ends(graph, "Ana", "works_for") == ["Almera, Inc."]
    assert ends(graph, "Ana", "lives, in") == ["Oslo", "Rome"]
    assert ends(graph, "Ben", "works_for") == ["a\nb"]


def test_a_bad_line_is_skipped_and_named(tmp_path: Path) -> None:
    graph = built(tmp_path, 'person,knows\nAna,Ben\nAna\n"Ana,Ben\n,Ben\n')
    assert ends(graph, "Ana", "knows") == ["Ben"]
    rejects = (tmp_path / "graph" / "rejects.tsv").read_text()
    assert "expected 2 columns, found 1" in rejects and "not a CSV record" in rejects
    assert "no value in the first column, person" in rejects


@pytest.mark.parametrize("header", ["", "person", "person,knows,knows", "person,,knows"])
def test_a_header_that_names_no_relations_is_refused(tmp_path: Path, header: str) -> None:
    with pytest.raises(UserError, match=r"table\.csv:1: a header of two columns or more"):
        built(tmp_path, f"{header}\nAna,Ben\n")
