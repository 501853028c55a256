"""GraphWalk's graphs and questions: their shape, and their answers by an engine of another make."""

import hashlib
import random
import re
from pathlib import Path
from typing import Any

import pytest

from graphwalker.answers.rows import Rows
from graphwalker.datasets.base import load_questions
from graphwalker.errors import UserError
from graphwalker.graphs.open import open_graph
from graphwalker.synthetic.graphs import PAIRS, GraphSize, distinct_nonwords, random_graph, size_of
from graphwalker.synthetic.sets import QUESTIONS, make_graph_set
from support import kuzu_graph

WORDS = Path("/usr/share/dict/words")


def test_the_answers_are_those_of_another_engine(tmp_path: Path) -> None:
    make_graph_set(size_of(60), 1, 5, tmp_path / "set", each=2)
    assert kuzu_graph.check(tmp_path / "set", tmp_path) > 15


def test_a_graph_has_the_numbers_of_its_size() -> None:
    for nodes in (100, 500):
        size = size_of(nodes)
        graph = random_graph(size, random.Random(0))
        schema = graph.schema()
        assert (len(graph.nodes), len(schema.labels)) == (nodes, size.classes)
        assert len(graph.edges) == round(1.5 * nodes)
        assert len({edge.type for edge in graph.edges}) == size.relationships
        means = [len(label.keys) - 1 for label in schema.labels]
        assert all(size.properties - 1 <= mean <= size.properties + 1 for mean in means)
        for label in schema.labels:
            for key in label.keys:
                assert key == "key" or len(graph.values(label.name, key)) <= size.pool
        assert all(node.properties["key"] == node.id for node in graph.nodes.values())


def test_names_are_no_words() -> None:
    fresh = distinct_nonwords(random.Random(0))
    made = [fresh() for _ in range(5000)]
    assert len(set(made)) == 5000 and all(re.fullmatch(r"[a-z]{4,8}", word) for word in made)
    assert all(any(pair in word for pair in PAIRS) for word in made)
    if WORDS.is_file():  # Debian's wamerican
        known = {word.strip().lower() for word in WORDS.read_text(encoding="utf-8").splitlines()}
        assert not known & set(made)


def test_the_same_seed_gives_the_same_bytes_and_a_longer_set_begins_alike(tmp_path: Path) -> None:
    for name, graphs in (("a", 2), ("b", 2), ("c", 3)):
        make_graph_set(size_of(40), graphs, 7, tmp_path / name)
    a, b, c = ((tmp_path / name / "graphs.jsonl").read_text() for name in "abc")
    assert a == b and c.startswith(a) and c != a
    questions = load_questions(tmp_path / "a" / QUESTIONS)
    assert len(questions) == 24 and len({q.structure for q in questions}) == 12
    assert all(isinstance(q.gold, Rows) and q.gold.texts() for q in questions)


def test_graph_0_of_seed_0_is_the_one_that_it_always_was(tmp_path: Path) -> None:
    make_graph_set(size_of(40), 1, 0, tmp_path)
    digest = hashlib.sha256((tmp_path / "graphs.jsonl").read_bytes()).hexdigest()
    assert digest.startswith("2cd072cf47aae331")


def test_an_export_is_read_by_graph_build(tmp_path: Path) -> None:
    from graphwalker.graphs.build.build import build_graph

    make_graph_set(size_of(40), 1, 7, tmp_path / "set", export=True)
    build_graph([], tmp_path / "graph", property_files=[tmp_path / "set/neo4j/g0000.jsonl"])
    built: Any = open_graph(tmp_path / "graph")
    member: Any = open_graph(tmp_path / "set")
    assert built.schema() == member.member("g0000").schema()


def test_what_cannot_be_made_is_said(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="more nodes or a higher density"):
        make_graph_set(GraphSize(4, 1, 1, 1, 1), 1, 0, tmp_path / "set")
    assert not (tmp_path / "set" / "graphs.jsonl").exists()
    with pytest.raises(UserError, match="fewer classes"):
        GraphSize(3, 4, 1, 1, 1)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", r"graphs.jsonl:1: not JSON"),
        ("[]", r"graphs.jsonl:1: a graph is a JSON object"),
        ("{}", r"graphs.jsonl:1: field 'name'"),
        ('{"name": "x"}', r"graphs.jsonl:1: field 'nodes' is missing"),
        ('{"name": "x", "nodes": [["a"]], "relationships": []}', "cannot be read"),
        ('{"name": "x", "nodes": [], "relationships": [["a", "R", "b", {}]]}', "has no node"),
        ('{"name": "x", "maze": ["S"]}', "one S and one G"),
        ('{"name": "x", "maze": ["S.", "G"]}', "n texts of n letters"),
    ],
)
def test_a_damaged_set_names_its_line(tmp_path: Path, line: str, message: str) -> None:
    (tmp_path / "graphs.jsonl").write_text(line + "\n")
    with pytest.raises(UserError, match=message):
        opened: Any = open_graph(tmp_path)
        opened.member("x")
