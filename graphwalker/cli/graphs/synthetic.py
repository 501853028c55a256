"""`graphwalker graph synthetic` and `graph mazes`: graphs without meaning, and their questions."""

from typing import Annotated

import typer
from typer import Option

from graphwalker.cli.shared import Out, Seed, show

app = typer.Typer()


@app.command()
def synthetic(
    out: Out,
    nodes: Annotated[int, Option(min=2, help="Nodes of a graph.")] = 100,
    graphs: Annotated[int, Option(min=1, help="Graphs.")] = 10,
    each: Annotated[int, Option(min=1, help="Questions of each template a graph.")] = 1,
    classes: Annotated[int | None, Option(min=1, help="Node labels.")] = None,
    types: Annotated[int | None, Option(min=1, help="Types of relationship.")] = None,
    properties: Annotated[int | None, Option(min=1, help="Mean properties of a class.")] = None,
    values: Annotated[int | None, Option(min=1, help="Values of a property.")] = None,
    density: Annotated[float | None, Option(help="Relationships for each node.")] = None,
    words: Annotated[
        int | None,
        Option(min=1, help="Number of non-words that names come from. [default: ten million]"),
    ] = None,
    export: Annotated[
        bool, Option("--export", help="Also write each graph as Neo4j exports it.")
    ] = False,
    seed: Seed = 0,
) -> None:
    """Make random property graphs and GraphWalk's 12 kinds of questions.

    Defaults are the paper's: for up to 100 nodes 4 classes, 2 types of relationship, 3 properties
    and 5 values a property; for more nodes 8, 4, 6 and 10; 1.5 relationships for each node.

    Example: graphwalker graph synthetic --nodes 100 --graphs 10 --out runs/synthetic-100
    """
    from graphwalker.synthetic.graphs import size_of
    from graphwalker.synthetic.sets import make_graph_set

    given = {
        "classes": classes,
        "relationships": types,
        "properties": properties,
        "pool": values,
        "density": density,
        "words": words,
    }
    size = size_of(nodes, **{name: value for name, value in given.items() if value is not None})
    show(str(out), make_graph_set(size, graphs, seed, out, each, export))


@app.command()
def mazes(
    out: Out,
    size: Annotated[int, Option(min=2, help="Cells a side.")] = 10,
    count: Annotated[int, Option(min=1, help="Mazes.")] = 100,
    walls: Annotated[float, Option(min=0, max=1, help="Share of walls.")] = 0.5,
    steps: Annotated[int, Option(min=1, help="Fewest steps of the shortest path.")] = 15,
    seed: Seed = 0,
) -> None:
    """Make random mazes that have a way through, and a question about each.

    Example: graphwalker graph mazes --size 10 --count 100 --out runs/mazes
    """
    from graphwalker.synthetic.sets import make_maze_set

    show(str(out), make_maze_set(size, count, seed, out, walls, steps))
