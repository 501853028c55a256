"""The phrase bank of Wikidata reads as a phrase table, and every text of it can be said."""

import re
import tomllib
from importlib.resources import files
from typing import Any

from data_pipeline.wording.lexicon import parse_table
from data_pipeline.wording.vocabulary import labels_of
from graphwalker.graphs.memory import MemoryGraph
from graphwalker.query.query import Hop, parse_hop

PATH = files("data_pipeline.wording").joinpath("banks/wikidata.toml")
TABLE: dict[str, Any] = tomllib.loads(PATH.read_text(encoding="utf-8"))
ROWS: list[dict[str, Any]] = TABLE["relation"]


def test_every_property_reads_as_an_entry_in_the_directions_that_people_ask() -> None:
    entries = parse_table(TABLE)
    assert len({hop.relation for hop in entries}) >= 200
    assert entries[Hop("P57")].question_word == "Who" and Hop("P1082") in entries
    assert parse_hop("~P1082") not in entries  # what has a population of 4,711?
    assert entries[Hop("P26")] is entries[parse_hop("~P26")]
    assert entries[Hop("P1376")] is entries[parse_hop("~P36")]


def test_every_text_of_a_property_is_well_formed() -> None:
    for row in ROWS:
        for direction in {"out", "in"} & row.keys():
            texts = [text for form in row[direction].values() for text in form]
            assert len(texts) == len(set(texts))
            assert any(text.endswith("{x}") for text in row[direction]["phrase"])
            for text in texts:
                assert text.count("{x}") == 1 and not re.search(r"[_|]|  |\b(a|an|the) \{x\}", text)
                assert text.endswith("?") is (text in row[direction].get("question", ()))
                assert text.startswith("the ") is (text in row[direction]["phrase"])


def test_a_property_without_a_label_in_the_graph_has_its_usual_one() -> None:
    relations = ["http://www.wikidata.org/prop/direct/P749", "P287", "http://own.org/P287"]
    graph = MemoryGraph([("a", relation, "b") for relation in relations], {"P287": "plan of"})
    assert list(labels_of(graph, relations).values()) == [
        "parent organization",
        "plan of",
        "plan of",
    ]
