"""One text opens any graph: folder, endpoint, recording, and what a user's own factory makes."""

import json
import os
import re
import subprocess
import sys

import networkx
import pyoxigraph
import pytest
from typer.testing import CliRunner

from graphwalker.cli.app import app
from graphwalker.errors import GraphError, UserError
from graphwalker.graphs.adapters.networkx import from_networkx
from graphwalker.graphs.base import Direction, Entity
from graphwalker.graphs.conformance import check_graph
from graphwalker.graphs.memory import MemoryGraph
from graphwalker.graphs.open import open_graph
from graphwalker.graphs.sparql.terms import RDF_TYPE, RDFS_LABEL
from graphwalker.graphs.views.settings import GraphLayers, with_layers
from support.paths import ROOT
from support.sparql_endpoint import serve
from support.toy import TOY_NAMES

MODULE = """
import networkx
from graphwalker.graphs.base import Direction, Entity, KnowledgeGraph

FACTS = [("ada", "born in", "oslo"), ("bo", "born in", "oslo"), ("oslo", "lies in", "norway")]
nothing = None

def make():
    graph = networkx.MultiDiGraph()
    for head, relation, tail in FACTS:
        graph.add_edge(head, tail, key=relation)
    graph.nodes["ada"]["name"] = "Ada Lovelace"
    return graph

class Dicts(KnowledgeGraph):
    def resolve(self, name):
        return [Entity(name, name)] if any(name in (h, t) for h, _, t in FACTS) else []
    def name(self, entity_id):
        return entity_id if self.resolve(entity_id) else ""
    def relations(self, entity_id, direction):
        near = 0 if direction is Direction.OUT else 2
        found = [fact[1] for fact in FACTS if fact[near] == entity_id]
        return [(relation, found.count(relation)) for relation in sorted(set(found))]
    def neighbors(self, entity_id, relation, direction, limit=None):
        near, far = (0, 2) if direction is Direction.OUT else (2, 0)
        ends = {fact[far] for fact in FACTS if (fact[near], fact[1]) == (entity_id, relation)}
        return [Entity(end, end) for end in sorted(ends)][:limit]
"""


@pytest.fixture
def module(tmp_path, monkeypatch):
    name = f"mygraph_{tmp_path.name}"
    (tmp_path / f"{name}.py").write_text(MODULE)
    monkeypatch.chdir(tmp_path)
    return name


def test_a_graph_of_four_methods_keeps_every_rule(module):
    graph = open_graph(f"{module}:Dicts")
    assert list(check_graph(graph, [Entity("ada", "ada"), Entity("oslo", "oslo")])) == []
    assert graph.count("oslo", "born in", Direction.IN) == 2
    assert (graph.size, graph.relation_ids(), graph.checksum) == (0, [], "")


def test_what_is_no_graph_is_named(module):
    with pytest.raises(UserError, match="gave NoneType; return a KnowledgeGraph"):
        open_graph(f"{module}:nothing")


def test_an_edge_without_a_relation_is_named():
    with pytest.raises(UserError, match=r"the edge 'a' -> 'b' has no relation"):
        from_networkx(networkx.DiGraph([("a", "b")]))


def test_an_undirected_edge_holds_both_ways():
    graph = networkx.Graph()
    graph.add_edge("a", "b", relation="knows")
    found = from_networkx(graph)
    assert [e.id for way in Direction for e in found.neighbors("b", "knows", way)] == ["a", "a"]


def test_info_and_search_take_any_graph(module):
    described = CliRunner().invoke(app, ["graph", "info", f"{module}:make", "--json"])
    assert json.loads(described.output)["entities"] == 4
    found = CliRunner().invoke(app, ["graph", "search", f"{module}:make", "ada lovelace"])
    assert found.output == "1.00\tada\tAda Lovelace\n"


def test_two_views_of_one_endpoint_share_no_answers(toy_store, tmp_path):
    """The same address and folder of the cache, but other vocabularies: other names."""
    with serve(toy_store) as address:
        cache = tmp_path / "cache"
        assert open_graph(address, cache_dir=cache).name("m.0ada") == TOY_NAMES["m.0ada"]
        assert open_graph(address, cache_dir=cache, wikidata=True).name("m.0ada") == ""
        assert open_graph(address, cache_dir=cache).name("m.0ada") == TOY_NAMES["m.0ada"]


def test_a_server_that_a_job_starts_again_on_another_node_is_the_same_graph(toy_store, tmp_path):
    file = tmp_path / "virtuoso.address"
    for _ in ("one node", "another"):
        with serve(toy_store) as address:
            file.write_text(f"{address}\n")
            assert open_graph(file).checksum == "virtuoso.address#"


def serve_facts(lines):
    store = pyoxigraph.Store()
    store.load("\n".join(lines).encode(), format=pyoxigraph.RdfFormat.N_TRIPLES)
    return serve(store)


def test_an_endpoint_of_other_rdf_than_freebases_has_its_labels_and_types():
    facts = [f'<urn:x:ada> <{RDFS_LABEL}> "Ada"@en .', f"<urn:x:ada> <{RDF_TYPE}> <urn:x:Person> ."]
    with serve_facts([*facts, "<urn:x:ada> <urn:x:knows> <urn:x:ada> ."]) as address:
        graph, ada = open_graph(address), Entity("urn:x:ada", "Ada")
        assert graph.resolve("Ada") == [ada] and graph.types(ada.id) == ["urn:x:Person"]
        assert graph.relations(ada.id, Direction.OUT) == [("urn:x:knows", 1)]


def test_an_endpoint_without_names_is_refused_with_the_way_out():
    refused = pytest.raises(UserError, match="no entity is named there")
    with serve_facts(["<urn:x:a> <urn:x:called> <urn:x:b> ."]) as address, refused:
        open_graph(address)


def test_labels_of_a_graphml_file_are_relations_and_its_edge_ids_are_not(tmp_path):
    for ids in (("0", "1", "2"), ("e0", "e1", "e2")):
        edges = zip("aba", "bca", ids, [{"label": "knows"}] * 3, strict=True)
        networkx.write_graphml(networkx.MultiDiGraph(list(edges)), tmp_path / "g.graphml")
        read = networkx.read_graphml(tmp_path / "g.graphml", force_multigraph=True)
        assert from_networkx(read).relation_ids() == ["knows"]


def test_info_of_a_dead_endpoint_fails():
    with pytest.raises(GraphError, match="Connection refused"):
        open_graph("http://127.0.0.1:9/sparql", attempts=1).info()


def test_a_file_is_a_graph_that_says_once_what_was_understood(tmp_path, monkeypatch, caplog):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "t.jsonl").write_text('["Ana", "knows", "Ben"]\n["Ben", "knows", "Cleo"]\n')
    assert open_graph(tmp_path / "t.jsonl").size == 3
    assert f"read {tmp_path}/t.jsonl: 3 entities, 1 relation, 2 triples" in caplog.text
    assert caplog.text.count("fact: ") == 2 and "fact: Ana | knows | Ben" in caplog.text
    caplog.clear()
    assert open_graph(tmp_path / "t.jsonl").size == 3 and not caplog.text


def test_files_take_names_types_and_columns_behind_them(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    for name, text in (
        ("a.csv", "rel,src,dst\nknows,Q1,Q2\n"),
        ("b.csv", "rel,src,dst\nknows,Q2,Q3\n"),
        ("n.tsv", "Q1\tAna\nQ2\tBen\nQ3\tCleo\n"),
        ("t.tsv", "Q1\tperson\n"),
    ):
        (tmp_path / name).write_text(text)
    with pytest.raises(
        UserError, match=r"Add --columns src,rel,dst .*'a\.csv\?columns=src,rel,dst"
    ):
        open_graph("a.csv")
    graph = open_graph("a.csv,b.csv?names=n.tsv&types=t.tsv&columns=src,rel,dst")
    assert [end.name for end in graph.neighbors("Q2", "knows", Direction.OUT)] == ["Cleo"]
    assert graph.types("Q1") == ["person"]
    with pytest.raises(UserError, match="no option nams; there are names"):
        open_graph("a.csv?nams=n.tsv")


ASKED = {
    "a.csv": "src,rel,dst\nAna,knows,Ben\nBen,likes,Ana\n",
    "wide.csv": "who,how,whom,at\nAna,is_in,Ben,x\nBen,is_in,Ana,y\n",
    "b.jsonl": '{"a": "Ana", "b": "knows", "c": "Ben"}\n',
    "c.csv": "person,knows\nAna,Ben|Cleo\n",
}


@pytest.mark.parametrize(("name", "text"), ASKED.items())
def test_each_text_that_an_error_offers_for_a_graph_opens_it(tmp_path, monkeypatch, name, text):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / name).write_text(text)
    with pytest.raises(UserError) as told:
        open_graph(name)
    offered = re.findall(rf"'({name}\?[^']+)'", str(told.value))
    assert offered and all(text.count("=") == 1 for text in offered)
    for spec in offered:
        assert open_graph(spec.replace("HEAD,RELATION,TAIL", "who,how,whom")).size


REFUSED = {
    "f.tsv?header=maybe": "header=maybe: give yes or no",
    "f.tsv,none.tsv": r"none\.tsv: no such file",
    "f.tsv?names=names.csv": r"names\.csv: no names; .*csv:1: expected id<TAB>name, found no",
    "f.tsv?types=names.csv": r"names\.csv: no types; .*csv:1: expected id<TAB>type, found no",
    "localhost:8890/sparql": "the address of an endpoint begins with http://",
}


@pytest.mark.parametrize(("spec", "why"), REFUSED.items())
def test_a_text_that_names_no_graph_says_what_is_wrong(tmp_path, monkeypatch, spec, why):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "f.tsv").write_text("Q1\tknows\tQ2\n")
    (tmp_path / "names.csv").write_text("id,name\nQ1,Ana\n")
    with pytest.raises(UserError, match=why):
        open_graph(spec)


def test_a_file_of_any_name_is_compiled_and_prose_offers_no_option(tmp_path, monkeypatch, caplog):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (file := tmp_path / "what?.tsv").write_text("Q1\tP1\tQ2\nQ2\tP1\tQ3\n")
    assert open_graph(file).size == 3
    open_graph(file.rename(tmp_path / "f.tsv").__str__() + "?columns=table")
    assert "--columns names them" in caplog.text and "columns=names" not in caplog.text


def test_an_empty_file_of_json_lines_is_said_to_be_empty(tmp_path):
    (tmp_path / "t.jsonl").touch()
    with pytest.raises(UserError, match="the file is empty"):
        open_graph(tmp_path / "t.jsonl").resolve("Ana")


def test_a_graph_of_wikidata_without_its_layer_is_told_of_it(tmp_path, caplog):
    relation = "http://www.wikidata.org/prop/direct/P19"
    plain = MemoryGraph([("Q1", relation, "Q2")], {})
    with_layers(plain, GraphLayers())
    assert f"addresses of Wikidata ({relation}): layers.wikidata=true" in caplog.text
    caplog.clear()
    with_layers(plain, GraphLayers(wikidata=True))
    assert not caplog.text


PAGE = (ROOT / "docs" / "your-graph.md").read_text(encoding="utf-8")


BLOCKS = re.findall(r"```(\w*)\n(.*?)```", PAGE, flags=re.DOTALL)


def write_files(folder):
    for language, text in BLOCKS:
        if language == "python":
            name = text.partition("\n")[0].removeprefix("# ")
            (folder / name).write_text(text, encoding="utf-8")


def run(folder, *words):
    paths = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH", ""))))
    done = subprocess.run(
        [sys.executable, *words],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": paths},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_networkx_graph_of_the_page_opens(tmp_path, monkeypatch):
    write_files(tmp_path)
    monkeypatch.chdir(tmp_path)
    graph = open_graph("my_graph:make")
    (alien,) = graph.resolve("Alien")
    assert graph.flat_relations(alien.id, Direction.OUT) == [("cast..actor", 1), ("directed by", 1)]


@pytest.mark.long
def test_the_class_of_the_page_conforms_and_makes_questions(tmp_path, monkeypatch):
    write_files(tmp_path)
    monkeypatch.chdir(tmp_path)
    graph = open_graph("my_backend:Times")
    assert list(check_graph(graph, [graph.entity_at(index) for index in (0, 40)])) == []
    (commands,) = [t for kind, t in BLOCKS if kind == "bash" and "my_backend" in t]
    for line in commands.splitlines():
        words = [word.strip('"') for word in re.findall(r'"[^"]*"|\S+', line)]
        run(tmp_path, "-m", *words)
    made = (tmp_path / "runs" / "times" / "graphsynth.jsonl").read_text()
    assert made.count("\n") == 4
