"""`graphwalker ranker`: train, describe and measure what orders the relations of an entity."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Argument, Option

from graphwalker.cli.shared import JsonFlag, Out, Seed, show
from graphwalker.console import console
from graphwalker.console.endings import show_ending
from graphwalker.counts import number_of
from graphwalker.errors import UserError

if TYPE_CHECKING:
    from graphwalker.graphs.base import KnowledgeGraph
    from graphwalker.question import Question
    from graphwalker.ranking.learned.train import RelationsOf

app = typer.Typer(help="Train and measure rankers of an entity's relations.", no_args_is_help=True)

GraphName = Annotated[str, Option("--graph", help="The graph that the questions are about.")]
QuestionFiles = Annotated[
    list[Path], Option("--questions", help="Ours or a published file; repeatable.")
]
EnvironmentSettings = Annotated[
    list[str] | None,
    Argument(metavar="A.B=C", help="Settings of the environment that lists relations."),
]
WeightList = Annotated[
    list[float] | None,
    Option("--weight", help="How much an example of each --questions counts, in their order."),
]


@app.command()
def train(
    graph: GraphName,
    questions: QuestionFiles,
    out: Out,
    weight: WeightList = None,
    seed: Seed = 0,
    folds: Annotated[int, Option(min=2, max=20, help="Number of cross-validation folds.")] = 5,
    epochs: Annotated[int, Option(min=1, help="Passes over the examples.")] = 4,
    whole_relations: Annotated[
        float,
        Option(min=0, max=1, help="Share of relations that are held out with all their phrases."),
    ] = 0.0,
    settings: EnvironmentSettings = None,
) -> None:
    """Train a ranker from questions whose relations are known: their `query`, or `relation_path`.
    Of one's own questions with answers alone, the shortest walk to the answers counts.

    The folder is what `environment.ranker` takes. A question that was trained on is ranked by a
    model that has not seen it.

    Example: graphwalker ranker train --graph runs/graph --questions synth/questions.jsonl
    --weight 0.2 --questions train.jsonl --weight 1 --out runs/ranker
    """
    from graphwalker.files import digest
    from graphwalker.ranking.learned.ranker import write_ranker
    from graphwalker.ranking.learned.train import QuestionFile, train_ranker
    from graphwalker.runs import lock_folder

    weights = weight or [1.0] * len(questions)
    if len(weights) != len(questions):
        raise UserError(f"{len(weights)} of --weight for {len(questions)} of --questions")
    if min(weights) <= 0:
        raise UserError("--weight: give numbers above 0")
    opened, listed = _listing(graph, settings)
    files = [
        QuestionFile(str(path), digest(path), _load_grounded(path, opened), one)
        for path, one in zip(questions, weights, strict=True)
    ]
    with lock_folder(out), console.progress("training") as tick:
        made = train_ranker(
            files,
            opened,
            listed,
            folds=folds,
            epochs=epochs,
            whole_relations=whole_relations,
            seed=seed,
            tick=tick,
        )
        made = write_ranker(made, out)
    show(str(out), _facts(made.about.model_dump(), made.digest))
    setting = f"environment.ranker={out}"
    words = ("eval", "--graph", graph, "--questions", "test.jsonl", "--model", "linear")
    wide = ("--out", "runs/linear", "environment.preset=graphwalker-wide", setting)
    show_ending(out, (*words, *wide), examples=False)


@app.command()
def info(
    ranker: Annotated[Path, Argument(help="Folder of a trained ranker.")], as_json: JsonFlag = False
) -> None:
    """Show what a ranker was trained on, and check its files.

    Example: graphwalker ranker info runs/ranker
    """
    from graphwalker.ranking.learned.ranker import read_ranker

    found = read_ranker(ranker)
    rows = {**found.about.model_dump(mode="json"), "digest": found.digest}
    rows["known_questions"] = len(found.known.keys)
    show(str(ranker), rows if as_json else _facts(rows, found.digest), as_json)


@app.command("eval")
def evaluate(
    graph: GraphName,
    questions: QuestionFiles,
    ranker: Annotated[str, Option(help="A ranker's folder, bm25, stems, or module:NAME.")],
    as_json: JsonFlag = False,
    settings: EnvironmentSettings = None,
) -> None:
    """Measure how often the gold relation is among the first 1, 5, 10 and 20 listed.

    Example: graphwalker ranker eval --graph runs/graph --questions dev.jsonl --ranker bm25
    """
    from graphwalker.ranking.chat import RerankerConfig
    from graphwalker.ranking.learned.train import first_shares
    from graphwalker.ranking.load import load_ranker

    rank = load_ranker(ranker, RerankerConfig(), 20)
    opened, listed = _listing(graph, settings)
    found = {
        str(path): first_shares(_load_grounded(path, opened), opened, listed, rank)
        for path in questions
    }
    if not any(row["hops"] for row in found.values()):
        raise UserError("none of these questions has a query or relation_path")
    show(f"ranker {ranker}", found, as_json)


def _listing(spec: str, settings: list[str] | None) -> tuple["KnowledgeGraph", "RelationsOf"]:
    """Return the graph, and what an environment of these settings lists of an entity."""
    from graphwalker.agents.environment import EnvironmentConfig
    from graphwalker.config import load_config
    from graphwalker.graphs.open import open_graph
    from graphwalker.graphs.views.settings import with_layers
    from graphwalker.tools.listing import lister

    config = load_config(EnvironmentConfig, None, settings or [])
    opened = with_layers(open_graph(spec, wikidata=config.layers.wikidata), config.layers)
    listing = lister(opened, config)
    return opened, lambda entity_id: listing(entity_id).relations


def _load_grounded(path: Path, graph: "KnowledgeGraph") -> "list[Question]":
    """Return the questions of a file; own ones have the query that leads to their answers alone."""
    from graphwalker.datasets.base import load_questions
    from graphwalker.datasets.grounding import ground
    from graphwalker.datasets.loaders.other.own_questions import OWN
    from graphwalker.datasets.own.searched import with_searched_query

    questions = ground(load_questions(path, unanswered="keep"), graph)
    return [with_searched_query(q, graph) if q.dataset == OWN else q for q in questions]


def _facts(about: dict[str, Any], digest: str) -> dict[str, Any]:
    """Return the header for people: a line for each file."""
    sources = {
        source["file"]: f"{number_of(source['questions'], 'question')}, "
        f"{number_of(source['examples'], 'hop')}, {source['unlisted']:,} not listed, "
        f"weight {source['weight']:g}"
        for source in about["sources"]
    }
    kept = (
        "folds",
        "whole_relations",
        "epochs",
        "seed",
        "graph",
        "format_version",
        "known_questions",
    )
    return {**sources, **{key: about[key] for key in kept if key in about}, "digest": digest}
