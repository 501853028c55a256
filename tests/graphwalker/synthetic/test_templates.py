"""GraphWalk's graphs, mazes and questions: their shape, and answers of another engine."""

import hashlib
import random
import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from graphwalker.answers.kinds import PathAnswer
from graphwalker.answers.rows import Rows
from graphwalker.datasets.base import load_questions
from graphwalker.errors import UserError
from graphwalker.graphs.base import Direction
from graphwalker.graphs.open import open_graph
from graphwalker.graphs.property.mazes import WALL_DISTANCE, Maze
from graphwalker.synthetic.graphs import PAIRS, GraphSize, distinct_nonwords, random_graph, size_of
from graphwalker.synthetic.sets import QUESTIONS, make_graph_set, make_maze_set, random_maze
from support import kuzu_graph

WORDS = Path("/usr/share/dict/words")


def test_the_answers_are_those_of_another_engine(tmp_path):
    make_graph_set(size_of(60), 1, 5, tmp_path / "set", each=2)
    assert kuzu_graph.check(tmp_path / "set", tmp_path) > 15


def test_a_graph_has_the_numbers_of_its_size():
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


def test_names_are_no_words():
    fresh = distinct_nonwords(random.Random(0))
    made = [fresh() for _ in range(5000)]
    assert len(set(made)) == 5000 and all(re.fullmatch(r"[a-z]{4,8}", word) for word in made)
    assert all(any(pair in word for pair in PAIRS) for word in made)
    if WORDS.is_file():  # Debian's wamerican
        known = {word.strip().lower() for word in WORDS.read_text(encoding="utf-8").splitlines()}
        assert not known & set(made)


def test_the_same_seed_gives_the_same_bytes_and_a_longer_set_begins_alike(tmp_path):
    for name, graphs in (("a", 2), ("b", 2), ("c", 3)):
        make_graph_set(size_of(40), graphs, 7, tmp_path / name)
    a, b, c = ((tmp_path / name / "graphs.jsonl").read_text() for name in "abc")
    assert a == b and c.startswith(a) and c != a
    questions = load_questions(tmp_path / "a" / QUESTIONS)
    assert len(questions) == 24 and len({q.structure for q in questions}) == 12
    assert all(isinstance(q.gold, Rows) and q.gold.texts() for q in questions)


def test_graph_0_of_seed_0_is_the_one_that_it_always_was(tmp_path):
    make_graph_set(size_of(40), 1, 0, tmp_path)
    digest = hashlib.sha256((tmp_path / "graphs.jsonl").read_bytes()).hexdigest()
    assert digest.startswith("2cd072cf47aae331")


def test_an_export_is_read_by_graph_build(tmp_path):
    from graphwalker.graphs.build.build import build_graph

    make_graph_set(size_of(40), 1, 7, tmp_path / "set", export=True)
    build_graph([], tmp_path / "graph", property_files=[tmp_path / "set/neo4j/g0000.jsonl"])
    built: Any = open_graph(tmp_path / "graph")
    member: Any = open_graph(tmp_path / "set")
    assert built.schema() == member.member("g0000").schema()


def test_what_cannot_be_made_is_said(tmp_path):
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
def test_a_damaged_set_names_its_line(tmp_path, line, message):
    (tmp_path / "graphs.jsonl").write_text(line + "\n")
    with pytest.raises(UserError, match=message):
        opened: Any = open_graph(tmp_path)
        opened.member("x")


ROWS = ["S.#", "#..", "..G"]


def test_a_maze_is_what_its_drawing_says():
    maze = Maze.parse(ROWS)
    assert (maze.start, maze.goal, maze.walls) == (0, 8, frozenset({2, 3}))
    assert maze.draw() == ROWS and maze.shortest() in ([0, 1, 4, 5, 8], [0, 1, 4, 7, 8])
    assert maze.open_beside(4) == [1, 5, 7] and list(maze.beside(0)) == [1, 3]


def test_a_maze_as_a_graph_has_walls_distances_and_marks():
    graph = Maze.parse(ROWS).graph()
    marks = {"mark_order": -1, "marked": False}
    assert graph.node_properties("4") == {"euclidean_distance": 1.41, "key": 4, **marks}
    assert graph.node_properties("3") == {"euclidean_distance": WALL_DISTANCE, "key": 3}
    assert {e.id for e in graph.neighbors("4", "ADJACENT", Direction.OUT)} == {"5", "7"}
    assert {e.id for e in graph.neighbors("4", "ADJACENT", Direction.IN)} == {"1", "3"}
    assert len(graph.edges) == 12


@pytest.mark.parametrize("size", [6, 10, 20])
def test_every_maze_has_a_way_of_the_wanted_length(size):
    steps = 5 if size == 6 else 15
    for number in range(20):
        maze = random_maze(size, random.Random(number), steps=steps)
        path = maze.shortest()
        assert len(maze.walls) == size**2 // 2
        assert path[0] == maze.start and path[-1] == maze.goal and len(path) > steps
        assert all(b in maze.open_beside(a) for a, b in pairwise(path))


def test_what_no_maze_has_is_said():
    for size, walls, steps, message in (
        (3, 0.5, 15, "lower steps"),
        (10, 1.0, 5, "share of walls below 1"),
        (6, 0.5, 17, "lower the walls or the steps"),
    ):
        with pytest.raises(UserError, match=message):
            random_maze(size, random.Random(0), walls, steps)


def test_a_set_of_mazes_is_the_same_for_a_seed_and_its_questions_check_any_path(tmp_path):
    for name, count in (("a", 3), ("b", 5)):
        make_maze_set(10, count, 4, tmp_path / name)
    a, b = ((tmp_path / name / "graphs.jsonl").read_text() for name in "ab")
    assert b.startswith(a)
    graphs: Any = open_graph(tmp_path / "a")
    for question in load_questions(tmp_path / "a" / QUESTIONS):
        gold = question.gold
        assert isinstance(gold, PathAnswer) and gold.compare(gold.nodes)["path_ratio"] == 1.0
        assert gold.fault([gold.nodes[0], *gold.nodes]) != ""
        detour = [*gold.nodes[:2], *gold.nodes[:2], *gold.nodes[2:]]
        assert gold.fault(detour) == ""
        assert len(graphs.member(question.facets["graph"]).nodes) == 100
