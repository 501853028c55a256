"""Mazes: always a way through, of at least so many steps, the same for a seed."""

import random
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from graphwalker.answers.kinds import PathAnswer
from graphwalker.datasets.base import load_questions
from graphwalker.errors import UserError
from graphwalker.graphs.base import Direction
from graphwalker.graphs.open import open_graph
from graphwalker.graphs.property.mazes import WALL_DISTANCE, Maze
from graphwalker.synthetic.sets import QUESTIONS, make_maze_set, random_maze

ROWS = ["S.#", "#..", "..G"]


def test_a_maze_is_what_its_drawing_says() -> None:
    maze = Maze.parse(ROWS)
    assert (maze.start, maze.goal, maze.walls) == (0, 8, frozenset({2, 3}))
    assert maze.draw() == ROWS
    assert maze.shortest() in ([0, 1, 4, 5, 8], [0, 1, 4, 7, 8])
    assert maze.open_beside(4) == [1, 5, 7] and list(maze.beside(0)) == [1, 3]


def test_a_maze_as_a_graph_has_walls_distances_and_marks() -> None:
    graph = Maze.parse(ROWS).graph()
    assert graph.node_properties("4") == {
        "euclidean_distance": 1.41,
        "key": 4,
        "mark_order": -1,
        "marked": False,
    }
    assert graph.node_properties("3") == {"euclidean_distance": WALL_DISTANCE, "key": 3}
    assert {e.id for e in graph.neighbors("4", "ADJACENT", Direction.OUT)} == {"5", "7"}
    assert {e.id for e in graph.neighbors("4", "ADJACENT", Direction.IN)} == {"1", "3"}
    assert len(graph.edges) == 12


@pytest.mark.parametrize("size", [6, 10, 20])
def test_every_maze_has_a_way_of_the_wanted_length(size: int) -> None:
    steps = 5 if size == 6 else 15
    for number in range(20):
        maze = random_maze(size, random.Random(number), steps=steps)
        path = maze.shortest()
        assert len(maze.walls) == size**2 // 2
        assert path[0] == maze.start and path[-1] == maze.goal and len(path) > steps
        assert all(b in maze.open_beside(a) for a, b in pairwise(path))


def test_what_no_maze_has_is_said() -> None:
    for size, walls, steps, message in (
        (3, 0.5, 15, "lower steps"),
        (10, 1.0, 5, "share of walls below 1"),
        (6, 0.5, 17, "lower the walls or the steps"),
    ):
        with pytest.raises(UserError, match=message):
            random_maze(size, random.Random(0), walls, steps)


def test_a_set_of_mazes_is_the_same_for_a_seed_and_its_questions_check_any_path(
    tmp_path: Path,
) -> None:
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
