"""Sets of synthetic graphs or mazes on disk, each with the questions about it."""

import random
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from graphwalker.answers.kinds import PathAnswer
from graphwalker.errors import UserError
from graphwalker.files import dumps, whole_file
from graphwalker.graphs.base import Entity
from graphwalker.graphs.property.mazes import Maze
from graphwalker.graphs.property.memory import MemoryPropertyGraph
from graphwalker.graphs.property.sets import SET_FILE, graph_record
from graphwalker.question import Question
from graphwalker.runs import one_writer
from graphwalker.synthetic.graphs import GraphSize, random_graph
from graphwalker.synthetic.patterns import Pattern
from graphwalker.synthetic.templates import TEMPLATES, Instance

WALLS, STEPS = 0.5, 15
"""Share of walls, and the fewest steps of the shortest path: the paper's numbers."""
TRIES = 20_000
"""Grids drawn before a size, a share of walls and a length are said not to go together; with the
paper's numbers about one in ten fits."""


def random_maze(size: int, rng: random.Random, walls: float = WALLS, steps: int = STEPS) -> Maze:
    """Return a maze whose shortest path has at least so many steps. Raises `UserError`."""
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


QUESTIONS = "questions.jsonl"
DRAWS = 50
"""Graphs drawn in one place until each template has a question with an answer."""
Member = tuple[dict[str, Any], list[Question]]


@one_writer("out")
def make_graph_set(
    size: GraphSize, graphs: int, seed: int, out: Path, each: int = 1, export: bool = False
) -> dict[str, Any]:
    """OUT/graphs.jsonl and OUT/questions.jsonl: `graphs` graphs with `each` questions of each of
    the 12 templates. Graph 7 of a seed is the same in a set of any length. `export` writes
    OUT/neo4j/NAME.jsonl besides, as Neo4j exports them. Raises `UserError`."""
    if graphs < 1 or each < 1 or seed < 0:
        raise UserError("give at least one graph, one question a template, and a seed from 0 on")

    def members() -> Iterator[Member]:
        for number in range(graphs):
            name = f"g{number:04}"
            graph, instances = answerable_graph(size, seed, number, each)
            facets = {"graph": name, "nodes": str(size.nodes)}
            counts = dict.fromkeys((template.name for template in TEMPLATES), 0)
            questions: list[Question] = []
            for one in instances:
                kind = one.template.name
                questions.append(one.question(f"{name}/{kind}/{counts[kind]}", facets))
                counts[kind] += 1
            if export:
                _export(out / "neo4j" / f"{name}.jsonl", graph)
            yield graph_record(name, graph), questions

    return {"seed": seed, "nodes": size.nodes, **_write(out, members())}


@one_writer("out")
def make_maze_set(
    size: int, mazes: int, seed: int, out: Path, walls: float = WALLS, steps: int = STEPS
) -> dict[str, Any]:
    """OUT/graphs.jsonl and OUT/questions.jsonl: a question a maze. Raises `UserError`."""
    if mazes < 1 or seed < 0:
        raise UserError("give at least one maze, and a seed from 0 on")

    def members() -> Iterator[Member]:
        for number in range(mazes):
            name = f"m{number:05}"
            rng = random.Random(f"{seed}/maze/{size}/{walls}/{steps}/{number}")
            maze = random_maze(size, rng, walls, steps)
            question = maze_question(name, maze, {"graph": name})
            yield {"name": name, "maze": maze.draw()}, [question]

    return {"seed": seed, "size": size, **_write(out, members())}


def answerable_graph(
    size: GraphSize, seed: int, number: int, each: int = 1
) -> tuple[MemoryPropertyGraph, list[Instance]]:
    """Graph `number` of a seed with `each` different questions of every template. Raises
    `UserError` for a size at which that was not found."""
    missing: set[str] = set()
    # Without a pool of words a size is written as it was before there were any: the same graphs.
    drawn = str(size) if size.words else str(size).replace(", words=0", "")
    for draw in range(DRAWS):
        rng = random.Random(f"{seed}/graph/{drawn}/{number}/{draw}")
        graph = random_graph(size, rng)
        pattern, instances = Pattern.of(graph), list[Instance]()
        for template in TEMPLATES:
            found: dict[str, Instance] = {}
            for _ in range(4 * each):
                one = template.instance(pattern, rng)
                if one is None or len(found) == each:
                    break
                found.setdefault(one.cypher, one)
            if len(found) < each and not _is_scarce(template.name, each, len(found)):
                missing.add(template.name)
                break
            instances += found.values()
        else:
            return graph, instances
    raise UserError(
        f"{DRAWS} graphs of {size.nodes} nodes had no {each} questions with answers of each "
        f"template (missing: {', '.join(sorted(missing))}): give more nodes or a higher density"
    )


def _is_scarce(template: str, each: int, found: int) -> bool:
    """Return whether a graph has so few types of relationship that fewer questions will do."""
    return each > 1 and found > 0 and template in ("relationship_count", "most_relationships")


def _write(out: Path, members: Iterator[Member]) -> dict[str, int]:
    graphs = questions = 0
    with whole_file(out / SET_FILE) as kept, whole_file(out / QUESTIONS) as kept_questions:
        for record, found in members:
            kept.write(dumps(record) + "\n")
            kept_questions.writelines(dumps(question.to_json()) + "\n" for question in found)
            graphs, questions = graphs + 1, questions + len(found)
    return {"graphs": graphs, "questions": questions}


def _export(path: Path, graph: MemoryPropertyGraph) -> None:
    with whole_file(path) as out:
        for node in graph.nodes.values():
            labels, known = list(node.labels), dict(node.properties)
            record = {"type": "node", "id": node.id, "labels": labels, "properties": known}
            out.write(dumps(record) + "\n")
        for edge in graph.edges:
            ends = {"start": {"id": edge.start}, "end": {"id": edge.end}}
            record = {
                "type": "relationship",
                "label": edge.type,
                "properties": dict(edge.properties),
            }
            out.write(dumps({**record, **ends}) + "\n")
