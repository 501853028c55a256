"""The node index: nodes by name, by part of a name, misspelt, by what their values say."""

import pytest

from graphwalker.errors import UserError
from graphwalker.graphs.build.build import build_graph
from graphwalker.graphs.memory import MemoryGraph
from graphwalker.graphs.open import open_graph
from graphwalker.ranking.nodes.index import open_node_index
from support.toy import toy_graph

FACTS = [
    ("p1", "title", '"Deep walks on graphs"'),
    ("p1", "abstract", '"We sample paths and train embeddings."'),
    ("p2", "abstract", '"Rivers carve valleys over many years."'),
    ("p3", "abstract", '"Paths in a garden."'),
]
NAMES = {"p1": "Deep walks on graphs", "p2": "Valleys", "p3": "Garden"}
GRAPH = MemoryGraph(FACTS, NAMES, {"p1": ["paper"], "p2": ["paper"], "p3": ["book"]})


@pytest.mark.parametrize("kind", ["bm25", "tfidf"])
def test_a_part_of_the_name_or_a_value_finds_the_node(kind):
    index = open_node_index(GRAPH, kind)
    assert index.search("walks on graph")[0].entity.id == "p1"
    assert index.search("rivers and years")[0].entity.id == "p2"
    assert [hit.entity.id for hit in index.search("paths", "book")] == ["p3"]
    assert index.search("paths", "no such label") == []
    assert index.search("zzz qqq") == [] and index.search("") == []


def test_a_misspelt_name_is_found_by_its_letters():
    index = open_node_index(toy_graph(), "tfidf")
    assert index.search("Tom Lindqist")[0].entity.name == "Tom Lindqvist"


def test_the_index_stands_beside_a_compiled_graph_until_the_graph_changes(tmp_path):
    facts, names = tmp_path / "t.tsv", tmp_path / "n.tsv"
    names.write_text("a\tAlpha node\nb\tBeta node\n")
    for tail in ("b", "a"):
        facts.write_text(f"a\tr\t{tail}\n")
        build_graph([facts], tmp_path / "g", names=names)
        index = open_node_index(open_graph(tmp_path / "g"), "bm25")
        assert index.search("beta")[0].entity.id == "b"
    kept = sorted((tmp_path / "g").glob("nodes-bm25-*.npz"))
    assert len(kept) == 2
    before = [path.stat().st_mtime_ns for path in kept]
    open_node_index(open_graph(tmp_path / "g"), "bm25")
    assert [path.stat().st_mtime_ns for path in kept] == before


def test_a_damaged_index_is_made_again(tmp_path, caplog):
    open_node_index(GRAPH, "bm25", tmp_path)
    (path,) = tmp_path.iterdir()
    path.write_bytes(b"PK broken")
    assert open_node_index(GRAPH, "bm25", tmp_path).search("valley")[0].entity.id == "p2"
    assert "it is made again" in caplog.text


def test_an_unknown_kind_is_named():
    with pytest.raises(UserError, match="choose one of bm25, tfidf, embed:MODEL"):
        open_node_index(GRAPH, "glove")
    with pytest.raises(UserError, match=r"/no/such/folder.*(could be loaded|needs sentence-)"):
        open_node_index(GRAPH, "embed:/no/such/folder")


def test_embeddings_of_a_model_on_disk_find_what_words_do_not(tmp_path):
    models = pytest.importorskip("sentence_transformers")
    words = pytest.importorskip("sentence_transformers.sentence_transformer.modules")
    vocabulary = ["deep", "walks", "on", "graphs", "valleys", "garden", "rivers", "carve"]
    bag = words.BoW(vocab=vocabulary)
    models.SentenceTransformer(modules=[bag], device="cpu").save(str(tmp_path / "model"))
    index = open_node_index(GRAPH, f"embed:{tmp_path / 'model'}", tmp_path / "kept")
    assert index.search("rivers carve")[0].entity.id == "p2"
    assert list((tmp_path / "kept").glob("nodes-embed-*.npz"))


def test_nodes_of_that_very_name_come_alone():
    hits = open_node_index(toy_graph(), "bm25").nearest("Springfield")
    assert {hit.entity.id for hit in hits} == {"m.0film3", "m.0city1"}
