"""GraphWalk's maze: its tools, its oracle, and the baseline that sees the whole maze."""

from pathlib import Path
from typing import Any

import pytest

from graphwalker.agents.environment import Environment, EnvironmentConfig
from graphwalker.agents.published.graphwalk.maze import GRAPHWALK_MAZE, MazeOracle, MazeTools
from graphwalker.agents.rollout import rollout
from graphwalker.datasets.base import load_questions
from graphwalker.graphs.open import open_graph
from graphwalker.graphs.property.mazes import Maze
from graphwalker.policies.scripted import ScriptedPolicy
from graphwalker.scoring import score
from graphwalker.synthetic.sets import QUESTIONS, make_maze_set, maze_question
from graphwalker.tools.base import Call
from graphwalker.trajectory import Trajectory

MAZE = Maze.parse(["S.#.", "#...", "#.#.", "...G"])
QUESTION = maze_question("q", MAZE, {})


def tools() -> MazeTools:
    return MazeTools(MAZE.graph(), QUESTION)


def look(box: MazeTools, cell: Any, tool: str = "get_possible_next_cells") -> Any:
    return box.call(Call(tool, {"node_id": cell}))


def test_both_spellings_mark_a_cell_and_show_the_open_ones_beside() -> None:
    box = tools()
    first = look(box, "0")
    assert first.text == (
        "Open cells beside 0: 1 (euclidean_distance 3.61, marked false, mark_order -1)"
    )
    second = look(box, 1, "get_next_possible_cells")
    assert "0 (euclidean_distance 4.24, marked true, mark_order 0)" in second.text
    assert "5 (euclidean_distance 2.83, marked false" in second.text
    assert box.marks == [0, 1] and {entity.name for entity in second.shown} == {"0", "1", "5"}


@pytest.mark.parametrize(
    ("cell", "kind"),
    [("2", "wall"), (99, "unknown_cell"), ("x", "unknown_cell"), ("-1", "unknown_cell"),
     ("9" * 5000, "unknown_cell"), (1.5, "bad_arguments"), (True, "bad_arguments")],
)  # fmt: skip
def test_walls_and_unknown_cells_are_refused_and_not_marked(cell: Any, kind: str) -> None:
    box = tools()
    seen = look(box, cell)
    assert seen.error == kind and len(seen.text) < 200 and box.marks == []


def test_the_connected_path_uses_visited_cells_alone() -> None:
    box = tools()
    path = Call("get_connected_path", {})
    assert box.call(path).error == "no_path"
    for cell in (0, 1, 5, 9, 6):
        look(box, cell)
    assert box.call(path).text.endswith("[0, 1, 5, 6]")
    look(box, 15)
    assert box.call(path).error == "no_path"
    look(box, 11)
    look(box, 7)
    assert box.call(path).text.endswith("[0, 1, 5, 6, 7]")


def run(environment: Environment, questions: Any, policy: Any) -> list[Trajectory]:
    return list(rollout(questions, environment, policy))


@pytest.mark.long
@pytest.mark.parametrize(("size", "turns"), [(10, 60), (20, 210)])
def test_the_oracle_finds_the_way_through_every_maze(tmp_path: Path, size: int, turns: int) -> None:
    make_maze_set(size, 10, 1, tmp_path)
    questions = load_questions(tmp_path / QUESTIONS)
    config = EnvironmentConfig(preset="graphwalk-maze", max_turns=turns)
    environment = Environment(open_graph(tmp_path), config)
    assert all(map(GRAPHWALK_MAZE.oracle.plays, questions))
    made = run(environment, questions, MazeOracle(environment))
    scores = [score(t) for t in made]
    assert [s["em"] for s in scores] == [1.0] * 10 and all(s["path_ratio"] >= 1 for s in scores)
    assert all(s["grounded"] == 1.0 for s in scores)
    assert all(t.answer_kind == "path" and not turn.restart for t in made for turn in t.turns)


def test_the_oracle_says_where_there_is_no_way() -> None:
    shut = Maze.parse(["S.#", "..#", "##G"])
    question = maze_question("q", Maze.parse(["S.#", "...", "##G"]), {})
    environment = Environment(shut.graph(), EnvironmentConfig(preset="graphwalk-maze"))
    (made,) = run(environment, [question], MazeOracle(environment))
    assert made.answer == () and score(made)["em"] == 0.0


def test_without_tools_the_drawn_maze_stands_in_the_prompt() -> None:
    config = EnvironmentConfig(preset="graphwalk-maze", options={"tools": False})
    policy = ScriptedPolicy({"q": ["[0, 1, 5, 6, 7, 11, 15]"]})
    (made,) = run(Environment(MAZE.graph(), config), [QUESTION], policy)
    shown = made.turns[0].context[0].content
    assert "|  S |  1 |  # |  3 |" in shown and "|  # |  5 |  6 |  7 |" in shown
    assert score(made)["em"] == score(made)["path_ratio"] == 1.0
    world = Environment(MAZE.graph(), config)
    (played,) = run(world, [QUESTION], MazeOracle(world))
    assert score(played)["em"] == 1.0 and len(played.turns) == 1
