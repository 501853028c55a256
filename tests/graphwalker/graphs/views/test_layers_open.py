"""Graphs by one text, and the layers that an environment names."""

import json

import pytest

from graphwalker.agents.environment import Environment, EnvironmentConfig
from graphwalker.config import load_config
from graphwalker.errors import UserError
from graphwalker.graphs.base import Direction
from graphwalker.graphs.open import is_endpoint, open_graph
from graphwalker.graphs.views.name_index import build_index, name_rows
from graphwalker.graphs.views.settings import GraphLayers, with_layers
from graphwalker.question import Question
from graphwalker.tools.base import Call
from graphwalker.tools.transcript import transcript
from support.backends import compiled, write
from support.oxigraph import load_store
from support.sparql_endpoint import serve
from support.toy import TOY_NAMES, TOY_TRIPLES, TOY_TYPES, toy_graph

INVERSES = (
    "people.person.children\tpeople.person.parents\nfilm.film.directed_by\tfilm.director.film\n"
)


@pytest.fixture
def toy_file(tmp_path):
    return write(tmp_path / "g", TOY_TRIPLES, TOY_NAMES, TOY_TYPES)


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


def test_a_folder_an_endpoint_and_a_recording_say_the_same(toy_file, tmp_path):
    compiled(toy_file)
    calls = tmp_path / "calls.jsonl"
    expected = said(open_graph(toy_file.parent / "graph", record=calls))
    with serve(load_store([toy_file])) as address:
        assert said(open_graph(address)) == expected
    assert said(open_graph(calls)) == expected == said(toy_graph())


def test_options_of_endpoints_are_for_endpoints(toy_file, tmp_path):
    assert is_endpoint("https://example.org/sparql")
    assert not is_endpoint("runs/graph")
    with pytest.raises(UserError, match="timeout_s, cache_dir is for endpoints"):
        open_graph(toy_file, cache_dir=tmp_path, timeout_s=1)
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
    assert [e.id for e in graph.neighbors("m.0eve", "people.person.parents", Direction.OUT)] == [
        "m.0tom"
    ]


def test_an_inverse_that_says_no_more_is_hidden_on_demand(schema):
    both = EnvironmentConfig(layers=GraphLayers(freebase_schema=schema))
    once = both.model_copy(update={"hide_inverse": True})
    repeated = {"film.film.directed_by", "people.person.parents"}
    assert repeated <= set(listed(Environment(toy_graph(), both)))
    assert set(listed(Environment(toy_graph(), both))) - repeated == set(
        listed(Environment(toy_graph(), once))
    )


def test_layers_of_two_worlds_are_not_mixed(schema):
    with pytest.raises(UserError, match="wikidata"):
        with_layers(toy_graph(), GraphLayers(wikidata=True, freebase_schema=schema))


def test_names_resolve_by_the_aliases_of_an_index(tmp_path):
    path = tmp_path / "names.sqlite"
    build_index(name_rows(toy_graph(), [("m.0ada", "The Great Ada")]), path)
    graph = with_layers(toy_graph(), GraphLayers(aliases=str(path)))
    assert [entity.id for entity in graph.resolve("the great ada")] == ["m.0ada"]


def test_the_index_of_another_graph_is_refused(toy_file):
    graph = compiled(toy_file)
    path = toy_file.parent / "names.sqlite"
    build_index(name_rows(toy_graph()), path, checksum="another")
    with pytest.raises(UserError, match="another graph"):
        with_layers(graph, GraphLayers(aliases=str(path)))
