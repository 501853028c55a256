"""Names: ambiguity is told, aliases resolve, people find what they cannot spell."""

import pytest
from typer.testing import CliRunner

from graphwalker.cli.app import app
from graphwalker.errors import UserError
from graphwalker.graphs.base import Entity
from graphwalker.graphs.memory import MemoryGraph
from graphwalker.graphs.views.name_index import (
    AliasedGraph,
    build_index,
    name_rows,
    open_index,
)
from graphwalker.question import Question
from graphwalker.serve.ask import find_topic
from graphwalker.tools.base import Call
from graphwalker.tools.walker import WalkerTools
from support.backends import compiled_tsv
from support.toy import TOY_NAMES, TOY_TRIPLES, toy_graph

ADA = Entity("m.0ada", "Ada Mbeki")


@pytest.fixture
def toy_index():
    return build_index(name_rows(toy_graph(), [("m.0ada", "The Great Ada"), ("m.0land", "ADA")]))


def relations_of(name, graph=None):
    tools = WalkerTools(graph or toy_graph(), Question("q", "Which film?", (ADA,)))
    return tools, tools.call(Call("get_relations", {"entity": name}))


def test_an_ambiguous_name_is_said_to_be_one():
    tools, seen = relations_of("Springfield")
    note = seen.text.splitlines()[-1]
    assert note == (
        "Note: 3 entities match that name; this is Springfield, "
        "others are Springfield (m.0film3), springfield"
    )
    assert [e.id for e in seen.shown] == ["m.0film3", "m.0city3"]
    assert tools.entity_id("Springfield") == "m.0city1"


def test_a_name_is_told_ambiguous_once():
    tools, _ = relations_of("Springfield")
    assert "Note" not in tools.call(Call("get_relations", {"entity": "Springfield"})).text


def test_the_best_known_of_equal_names_comes_first_and_the_order_is_stable():
    found = [entity.id for entity in toy_graph().resolve("springfield")]
    assert found == ["m.0city3", "m.0city1", "m.0film3"]
    assert [e.id for e in toy_graph().resolve("Springfield")] == [
        "m.0city1",
        "m.0film3",
        "m.0city3",
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ada mbekki", "m.0ada"),
        ("Zoe O'Hara", "m.0zoe"),
        ('bob "bee" jr', "m.0bob"),
        ("night agin", "m.0film2"),
        ("ve", "m.0land"),
    ],
)
def test_a_search_finds_what_is_spelled_wrong(toy_index, text, expected):
    assert toy_index.search(text, 1)[0].entity.id == expected


@pytest.mark.parametrize(
    "text", ["", "   ", '"', '" OR "x', "')--", "*", "\x00", "a\x00yz", "\ud800abc", "a" * 9000]
)
def test_no_text_breaks_a_search(toy_index, text):
    assert isinstance(toy_index.search(text), list)


def test_a_search_says_which_alias_it_found(toy_index):
    hit = toy_index.search("The Great Ada", 1)[0]
    assert (hit.entity, hit.alias, hit.score) == (ADA, "The Great Ada", 1.0)


def test_an_index_is_written_whole_and_read_back(tmp_path):
    path = tmp_path / "names.sqlite"
    build_index(name_rows(toy_graph()), path, checksum="abc")
    assert open_index(path, "abc").search("tom lindq", 1)[0].entity.id == "m.0tom"
    assert [p.name for p in tmp_path.iterdir()] == ["names.sqlite"]
    with pytest.raises(UserError, match="another graph"):
        open_index(path, "def")


def test_a_file_that_is_no_index_is_refused_by_name(tmp_path):
    path = tmp_path / "names.sqlite"
    with pytest.raises(UserError, match="no such index"):
        open_index(path)
    path.write_text("not a database, but long enough to be looked at as one")
    with pytest.raises(UserError, match="not an index"):
        open_index(path)


def test_an_unknown_topic_is_answered_with_names_that_look_like_it():
    with pytest.raises(UserError, match=r"did you mean Ada Mbeki"):
        find_topic(toy_graph(), "Ada Mbekki")


def test_an_ambiguous_topic_is_told_and_an_id_settles_it():
    told = []
    assert find_topic(toy_graph(), "Springfield", told.append).id == "m.0city1"
    assert "names 3 entities" in told[0]
    assert "m.0film3, film.film" in told[0]
    told.clear()
    assert find_topic(toy_graph(), "/m/0film3", told.append).id == "m.0film3"
    assert told == []


def test_people_index_and_search_a_graph_from_the_command_line(tmp_path):
    compiled_tsv(tmp_path, TOY_TRIPLES, TOY_NAMES)
    run = CliRunner().invoke
    graph = str(tmp_path / "graph")
    before = run(app, ["graph", "search", graph, "glas harbor", "--limit", "1"])
    assert run(app, ["graph", "index", graph]).exit_code == 0
    after = run(app, ["graph", "search", graph, "glas harbor", "--limit", "1"])
    assert before.output == after.output == "0.81\tm.0film1\tThe Glass Harbor\n"


def test_aliases_come_from_the_graph_too():
    graph = MemoryGraph([("m.1", "common.topic.alias", '"Bobby"@en')], {"m.1": "Robert"})
    assert AliasedGraph(graph, build_index(name_rows(graph))).resolve("bobby")[0].id == "m.1"


def test_names_resolve_by_alias_after_names(toy_index):
    graph = AliasedGraph(toy_graph(), toy_index)
    assert graph.resolve("the great ada") == [ADA]
    assert graph.resolve("Ada Mbeki") == [ADA]
    assert graph.resolve("nobody at all") == []
    assert graph.resolve("") == []
