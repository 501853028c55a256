"""The layers that an environment names; names: ambiguous ones are told, aliases resolve."""

import json

import pytest
from typer.testing import CliRunner

from graphwalker.agents.environment import Environment, EnvironmentConfig
from graphwalker.cli.app import app
from graphwalker.config import load_config
from graphwalker.errors import UserError
from graphwalker.graphs.base import Direction, Entity
from graphwalker.graphs.memory import MemoryGraph
from graphwalker.graphs.open import is_endpoint, open_graph
from graphwalker.graphs.views.name_index import AliasedGraph, build_index, name_rows, open_index
from graphwalker.graphs.views.settings import GraphLayers, with_layers
from graphwalker.question import Question
from graphwalker.serve.ask import find_topic
from graphwalker.tools.base import Call
from graphwalker.tools.transcript import transcript
from graphwalker.tools.walker import WalkerTools
from support.backends import compiled_tsv
from support.sparql_endpoint import serve
from support.toy import TOY_NAMES, TOY_TRIPLES, toy_graph

INVERSES = """people.person.children\tpeople.person.parents
film.film.directed_by\tfilm.director.film
"""


@pytest.fixture
def schema(tmp_path):
    (tmp_path / "reverse_properties.tsv").write_text(INVERSES)
    (tmp_path / "cvt_types.txt").write_text("people.marriage\n")
    return str(tmp_path)


def said(graph):
    ada = graph.resolve("Ada Mbeki")[0]
    return [seen for _, seen in transcript(graph, ada)]


def listed(environment):
    ada = toy_graph().resolve("Ada Mbeki")[0]
    tools = environment.toolbox(Question("q", "Who?", (ada,)))
    return tools.call(Call("get_relations", {"entity": "Ada Mbeki"})).relations


def test_a_folder_an_endpoint_and_a_recording_say_the_same(toy_folder, toy_store, tmp_path):
    calls = tmp_path / "calls.jsonl"
    expected = said(open_graph(toy_folder, record=calls))
    with serve(toy_store) as address:
        assert said(open_graph(address)) == expected
    assert said(open_graph(calls)) == expected == said(toy_graph())


def test_options_of_endpoints_are_for_endpoints(toy_lines, tmp_path):
    assert is_endpoint("https://example.org/sparql") and not is_endpoint("runs/graph")
    with pytest.raises(UserError, match="timeout_s, cache_dir is for endpoints"):
        open_graph(toy_lines, cache_dir=tmp_path, timeout_s=1)
    with pytest.raises(UserError, match="no-such-graph"):
        open_graph(tmp_path / "no-such-graph")


def test_an_environment_lays_the_layers_that_its_config_names(tmp_path):
    (tmp_path / "p.json").write_text(json.dumps(["film.director.film"]))
    overrides = [f"layers.predicates={tmp_path / 'p.json'}"]
    config = load_config(EnvironmentConfig, None, overrides)
    assert listed(Environment(toy_graph(), config)) == ("film.director.film",)
    config = load_config(EnvironmentConfig, None, ["layers.hidden_share=1"])
    assert listed(Environment(toy_graph(), config)) == ()


def test_hidden_triples_take_their_inverse_along_where_the_schema_knows_it(tmp_path, schema):
    (tmp_path / "crucial.tsv").write_text("m.0ada\tpeople.person.children\tm.0eve\n")
    layers = GraphLayers(hidden_triples=str(tmp_path / "crucial.tsv"), freebase_schema=schema)
    graph = with_layers(toy_graph(), layers)
    parents = graph.neighbors("m.0eve", "people.person.parents", Direction.OUT)
    assert [entity.id for entity in parents] == ["m.0tom"]


def test_an_inverse_that_says_no_more_is_hidden_on_demand(schema):
    both = EnvironmentConfig(layers=GraphLayers(freebase_schema=schema))
    once = both.model_copy(update={"hide_inverse": True})
    repeated = {"film.film.directed_by", "people.person.parents"}
    shown, shown_once = (set(listed(Environment(toy_graph(), one))) for one in (both, once))
    assert repeated <= shown and shown - repeated == shown_once


def test_layers_of_two_worlds_are_not_mixed(schema):
    with pytest.raises(UserError, match="wikidata"):
        with_layers(toy_graph(), GraphLayers(wikidata=True, freebase_schema=schema))


def test_the_index_of_another_graph_is_refused(toy_folder, tmp_path):
    graph, path = open_graph(toy_folder), tmp_path / "names.sqlite"
    build_index(name_rows(toy_graph()), path, checksum="another")
    with pytest.raises(UserError, match="another graph"):
        with_layers(graph, GraphLayers(aliases=str(path)))


ADA = Entity("m.0ada", "Ada Mbeki")


@pytest.fixture
def toy_index():
    return build_index(name_rows(toy_graph(), [("m.0ada", "The Great Ada"), ("m.0land", "ADA")]))


def relations_of(name, graph=None):
    tools = WalkerTools(graph or toy_graph(), Question("q", "Which film?", (ADA,)))
    return tools, tools.call(Call("get_relations", {"entity": name}))


def test_an_ambiguous_name_is_said_to_be_one():
    tools, seen = relations_of("Springfield")
    told = "3 entities match that name; this is Springfield, others are Springfield (m.0film3), "
    assert seen.text.splitlines()[-1] == f"Note: {told}springfield"
    assert [e.id for e in seen.shown] == ["m.0film3", "m.0city3"]
    assert tools.entity_id("Springfield") == "m.0city1"


def test_a_name_is_told_ambiguous_once():
    tools, _ = relations_of("Springfield")
    assert "Note" not in tools.call(Call("get_relations", {"entity": "Springfield"})).text


def test_the_best_known_of_equal_names_comes_first_and_the_order_is_stable():
    found = [entity.id for entity in toy_graph().resolve("springfield")]
    assert found == ["m.0city3", "m.0city1", "m.0film3"]
    found = [entity.id for entity in toy_graph().resolve("Springfield")]
    assert found == ["m.0city1", "m.0film3", "m.0city3"]


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
    assert "names 3 entities" in told[0] and "m.0film3, film.film" in told[0]
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


def test_names_resolve_by_alias_after_names(toy_index, tmp_path):
    build_index(name_rows(toy_graph(), [("m.0ada", "The Great Ada")]), tmp_path / "names.sqlite")
    layers = GraphLayers(aliases=str(tmp_path / "names.sqlite"))
    for graph in (AliasedGraph(toy_graph(), toy_index), with_layers(toy_graph(), layers)):
        assert graph.resolve("the great ada") == graph.resolve("Ada Mbeki") == [ADA]
        assert graph.resolve("nobody at all") == graph.resolve("") == []
