"""Random mazes with a way through them, and their questions (GraphWalk, section 3)."""

import random
from collections.abc import Mapping

from graphwalker.answers.kinds import PathAnswer
from graphwalker.errors import UserError
from graphwalker.graphs.base import Entity
from graphwalker.graphs.property.mazes import Maze
from graphwalker.question import Question

WALLS, STEPS = 0.5, 15
"""Share of walls, and the fewest steps of the shortest path: the paper's numbers."""
TRIES = 20_000
"""Grids drawn before a size, a share of walls and a length are said not to go together; with the
paper's numbers about one in ten fits."""


def random_maze(size: int, rng: random.Random, walls: float = WALLS, steps: int = STEPS) -> Maze:
    """A maze whose shortest path has at least so many steps. Raises `UserError`."""
    if size < 2 or not 0 <= walls < 1 or steps < 1:
        raise UserError("a maze has at least 2 cells a side, a share of walls below 1, and a path")
    closed = round(walls * size**2)
    if steps >= size**2 - closed:
        raise UserError(f"no path of {steps} steps fits {size**2 - closed} open cells: lower steps")
    for _ in range(TRIES):
        shut = frozenset(rng.sample(range(size**2), closed))
        start = rng.choice([cell for cell in range(size**2) if cell not in shut])
        before = Maze(size, shut, start, start).steps_from(start)
        far = [cell for cell, count in _lengths(before).items() if count >= steps]
        if far:
            return Maze(size, shut, start, rng.choice(far))
    raise UserError(
        f"{TRIES} grids of {size} x {size} with {walls:.0%} walls had no path of {steps} steps: "
        "lower the walls or the steps"
    )


def maze_question(question_id: str, maze: Maze, facets: Mapping[str, str]) -> Question:
    """Right is any path; the shortest is asked for, and its ratio is reported."""
    ends = [Entity(str(cell), str(cell)) for cell in (maze.start, maze.goal)]
    path = [str(cell) for cell in maze.shortest()]
    edges = tuple((str(a), str(b)) for a, b in maze.edges())
    return Question(
        id=question_id,
        text=f"Find the shortest path from cell {maze.start} to cell {maze.goal}.",
        topic_entities=tuple(ends),
        dataset="graphwalk-maze",
        structure="maze",
        hops=len(path) - 1,
        annotations={"maze": maze.draw()},
        facets={"size": f"{maze.size}x{maze.size}", **facets},
        gold=PathAnswer(tuple(path), edges),
    )


def _lengths(before: Mapping[int, int]) -> dict[int, int]:
    """Steps from the start by cell; `before` is in the order of distance."""
    found: dict[int, int] = {}
    for cell, previous in before.items():
        found[cell] = 0 if cell == previous else found[previous] + 1
    return found
