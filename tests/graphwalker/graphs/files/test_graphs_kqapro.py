"""KQA Pro's kb.json becomes a graph: concepts, values with units, qualifiers, directions."""

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from graphwalker.cli.app import app
from graphwalker.errors import UserError
from graphwalker.graphs.base import Direction
from graphwalker.graphs.build.build import build_graph
from graphwalker.graphs.open import open_graph


def text(value: str) -> dict[str, Any]:
    return {"type": "string", "value": value}


def number(value: float, unit: str = "1") -> dict[str, Any]:
    return {"type": "quantity", "value": value, "unit": unit}


WED = {"start time": [{"type": "year", "value": 1990}], "place": [text("Kestia")]}
KB: dict[str, Any] = {
    "concepts": {
        "Q5": {"name": "human", "instanceOf": ["Q9"]},
        "Q9": {"name": "being", "instanceOf": []},
    },
    "entities": {
        "Q1": {
            "name": "Ana Ewers",
            "instanceOf": ["Q5"],
            "attributes": [
                {"key": "height", "value": number(165.0, "centimetre"), "qualifiers": {}},
                {"key": "date of birth", "value": {"type": "date", "value": "1961/08/04"},
                 "qualifiers": {}},
                {"key": "followers", "value": number(1200), "qualifiers":
                 {"point in time": [{"type": "year", "value": 2020}]}},
            ],
            "relations": [
                {"predicate": "spouse", "object": "Q2", "direction": "forward", "qualifiers": WED},
                {"predicate": "member of", "object": "Q3", "direction": "forward",
                 "qualifiers": {}},
            ],
        },
        "Q2": {
            "name": "Ben Orlov",
            "instanceOf": ["Q5"],
            "attributes": [],
            "relations": [
                {"predicate": "spouse", "object": "Q1", "direction": "backward",
                 "qualifiers": WED},
            ],
        },
        "Q3": {"name": "Quiet Choir", "instanceOf": ["Q9"], "attributes": [], "relations": []},
    },
}  # fmt: skip
"""Five records in the published form."""


def built(folder: Path, kb: dict[str, Any], **layout: Any):
    (folder / "kb.json").write_text(json.dumps(kb, **layout), encoding="utf-8")
    build_graph([folder / "kb.json"], folder / "g", progress=lambda text: None)
    return open_graph(folder / "g")


def ends(graph, entity: str, relation: str, direction: Direction = Direction.OUT) -> list[str]:
    return [end.name for end in graph.step(entity, relation, direction)]


@pytest.mark.parametrize("layout", [{}, {"indent": 1}])
def test_relations_have_the_direction_of_their_mark_and_stand_once(tmp_path: Path, layout) -> None:
    graph = built(tmp_path, KB, **layout)
    assert ends(graph, "Q1", "spouse") == ["Ben Orlov"] and ends(graph, "Q2", "spouse") == []
    assert ends(graph, "Q3", "member of", Direction.IN) == ["Ana Ewers"]
    assert graph.types("Q1") == ["entity", "human"]
    assert ends(graph, "Q5", "instance of") == ["being"]


def test_values_keep_their_units_and_dates(tmp_path: Path) -> None:
    graph = built(tmp_path, KB)
    assert ends(graph, "Q1", "height") == ["165 centimetre"]
    assert ends(graph, "Q1", "date of birth") == ["1961-08-04"]
    assert ends(graph, "Q1", "followers") == ["1200"]


def test_qualifiers_are_hops_through_a_node_without_a_name(tmp_path: Path) -> None:
    graph = built(tmp_path, KB)
    assert ends(graph, "Q1", "spouse..start time") == ["1990"]
    assert ends(graph, "Q1", "spouse..value") == ["Ben Orlov"]
    assert ends(graph, "Q1", "followers..point in time") == ["2020"]
    assert graph.resolve("statement/1") == []


def test_the_file_is_given_to_the_command_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "kb.json").write_text(json.dumps(KB))
    typed = ["graph", "build", f"{tmp_path}/kb.json", "--out", f"{tmp_path}/g"]
    assert CliRunner().invoke(app, typed).exit_code == 0
    assert ends(open_graph(tmp_path / "g"), "Q1", "height") == ["165 centimetre"]


def changed(**entity: Any) -> dict[str, Any]:
    return {**KB, "entities": {**KB["entities"], "Q4": {"name": "X", "instanceOf": [], **entity}}}


@pytest.mark.parametrize(
    ("kb", "fault"),
    [
        (changed(relations=[{"predicate": "knows", "object": "Q7", "direction": "forward"}]),
         r"kb\.json: entities, 'Q4', relations\[0\]: 'Q7' is no entity and no concept"),
        (changed(relations=[{"predicate": "knows", "object": "Q1", "direction": "up"}]),
         "direction must be forward or backward, not 'up'"),
        (changed(attributes=[{"key": "age", "value": {"type": "int", "value": 3}}]),
         r"attributes\[0\]: a value has a type of string, quantity, date, year"),
        (changed(name=7), "field 'name' must be a str"),
        ({**KB, "rules": {}}, "field 'rules' is not in KQA Pro's kb.json"),
    ],
)  # fmt: skip
def test_what_is_not_of_the_form_is_named_by_its_place(tmp_path: Path, kb, fault: str) -> None:
    with pytest.raises(UserError, match=fault):
        built(tmp_path, kb)
    assert not (tmp_path / "g").exists()
