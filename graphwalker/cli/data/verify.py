"""Checks of data: `verify` and `contamination`; and `seeds`, where walks may start."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Argument, Option

from graphwalker.cli.shared import CommandOptions, JsonFlag, verb
from graphwalker.console import console
from graphwalker.counts import number_of
from graphwalker.errors import GraphError, GraphWalkerError, UserError

if TYPE_CHECKING:
    from data_pipeline.verification.verify import FileVerdict

app = typer.Typer()


@verb(app, "graph!", "trust")
def verify(
    given: CommandOptions,
    file: Annotated[Path, Argument(help="Walks, questions or trajectories (JSONL).")],
    max_answers: Annotated[int | None, Option(min=1, help="Most answers of a question.")] = None,
    replay: Annotated[bool, Option(help="Make the calls of trajectories again.")] = True,
    as_json: JsonFlag = False,
) -> None:
    """Execute every record of a data file again, and check that it holds.

    Checked are topic entities, relations, the full answer set, shortcuts, answers in questions,
    readings, that a trajectory ends with the answers (one of an evaluation: that it earns its
    scores), every observation of it (its calls are made again, in the environment of the run beside
    the file; environment.top_triples=... and its like name another), and that nothing was changed
    since the digests were written. Exit code 1, with the first ten records that do not hold, by
    file and line.

    Example: graphwalker verify runs/synth/graphsynth.jsonl --graph runs/graph
    """
    from data_pipeline.verification.verify import verify_file
    from graphwalker.demo.models import InEnvironment
    from graphwalker.graphs.open import open_graph

    settings = given.settings(InEnvironment)
    config = settings.environment
    opened = open_graph(given.graph, wikidata=config.layers.wikidata)
    typed = config.model_dump(exclude_unset=True)
    try:
        with console.progress("verify") as tick:
            verdict = verify_file(
                opened,
                file,
                max_answers,
                tick,
                replay=replay,
                environment=typed,
                trust=settings.trust,
            )
    except GraphError as error:  # exit code 1 is a verdict on the records: there is none
        raise UserError(f"{error}; nothing was verified, give a --graph that answers") from None
    _tell(verdict, file, given.graph, as_json)


def _tell(verdict: "FileVerdict", file: Path, graph: str, as_json: bool) -> None:
    """Print the verdict as lines or as JSON. Raises `GraphWalkerError` for one that is not good."""
    if as_json:
        console.echo(json.dumps({"file": str(file), "graph": graph, **verdict.to_json()}))
    else:
        for failure in verdict.first:
            console.echo(f"{file}: {failure}")
        for note in verdict.notes:
            console.note(f"{file}: {note}")
    if verdict.failed:
        reasons = ", ".join(f"{n} {reason}" for reason, n in sorted(verdict.reasons.items()))
        raise GraphWalkerError(
            f"{file}: {verdict.failed:,} of {number_of(verdict.records, 'record')} "
            f"{'does' if verdict.failed == 1 else 'do'} not hold ({reasons})"
        )
    if not as_json:
        speed = f"{verdict.seconds:.0f} s, {verdict.records / verdict.seconds:,.0f} a second"
        replayed = f"{verdict.replayed:,} replayed, " if verdict.trajectories else ""
        console.echo(
            f"{file}: all {number_of(verdict.records, 'record holds', 'records hold')} "
            f"({replayed}{verdict.digests:,} with digests; {speed})"
        )


@verb(app, "graph!", "questions!", "count", "trust", count="limit")
def ceiling(
    given: CommandOptions,
    model: Annotated[Path | None, Option(help="A model's folder: measure its environment.")] = None,
    per_record: Annotated[
        Path | None, Option(help="JSONL file for the result of each question.")
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Measure how many questions an environment lets anyone answer, whoever plays.

    Shares of the questions: every gold relation is listed; the gold relations, or any listed one,
    end at exactly the gold answers; all of them are shown (winnable).

    Example: graphwalker ceiling --graph runs/fb15k --questions test.jsonl.gz
    environment.top_relations=20
    """
    from graphwalker.agents.environment import Environment
    from graphwalker.agents.model_environment import environment_of
    from graphwalker.ceilings.ceiling import ceiling as shares
    from graphwalker.ceilings.ceiling import known_topics, reaches
    from graphwalker.datasets.base import load_questions
    from graphwalker.datasets.grounding import ground
    from graphwalker.demo.models import CeilingConfig
    from graphwalker.files import write_jsonl
    from graphwalker.graphs.open import open_graph

    config = given.settings(CeilingConfig)
    settings = config.environment
    if model:
        settings = environment_of(model, settings, config.trust)
    environment = Environment(open_graph(given.graph, wikidata=settings.layers.wikidata), settings)
    loaded = load_questions(given.questions, config.limit or None, config.questions_format)
    questions = ground(loaded, environment.graph)
    with console.progress("ceiling") as tick:
        found = list(reaches(questions, environment, lambda done: tick(done, len(questions))))
    if per_record is not None:
        write_jsonl(per_record, [one.to_json() for one in found])
    figures = shares(found)
    if not figures["winnable"] and not known_topics(questions, environment.graph):
        console.note(f"{given.graph} has no triple of any topic entity: is it the right graph?")
    if as_json:
        console.echo(json.dumps(figures))
        return
    shown = {key: "not computable" if v is None else v for key, v in figures.items()}
    console.facts(f"ceiling of {environment.name}", shown)


@verb(app, "questions!", "out!", settings=False)
def contamination(
    given: CommandOptions,
    against: Annotated[list[Path], Option(help="Test questions, ours or published; repeatable.")],
    embedding: Annotated[
        str, Option(help="A sentence model. Default: BGE-M3 where it is, else none.")
    ] = "",
    threshold: Annotated[float, Option(help="Similarity that sets a question aside.")] = 0.85,
    sweep: Annotated[str, Option(help="Thresholds of the table.")] = "0.80,0.85,0.90",
    jaccard: Annotated[float, Option(help="Share of word trigrams that makes a near copy.")] = 0.6,
) -> None:
    """Compare a corpus with test questions: by words, by embedding, by their facts.

    Writes clean.jsonl and flagged.jsonl, and a table over thresholds.

    Example: graphwalker contamination --questions runs/synth/questions.jsonl
    --against WebQSP.test.json --out runs/contamination
    """
    from data_pipeline.contamination.check import CloseRules, check
    from data_pipeline.contamination.embed import open_embedder

    for name, value in (("--threshold", threshold), ("--jaccard", jaccard)):
        if not 0 < value <= 1:
            raise UserError(f"{name} {value:g}: a share from 0 to 1 is wanted")
    rules = CloseRules(threshold, _levels(sweep), jaccard)
    report = check(given.questions, against, given.out, open_embedder(embedding), rules)
    shown = {
        "questions": report["count"],
        "against": ", ".join(f"{n}: {size:,}" for n, size in report["against"].items()),
        "embedding": report["embedding"] or "none",
        **{f"similarity >= {k}": counts["all"] for k, counts in report["thresholds"].items()},
        "the same words": sum(report["exact"].values()),
        "near copies by words": sum(report["ngram"].values()),
        "the same fact": sum(report["same_fact"].values()),
        "set aside": report["flagged"],
        "written": str(given.out),
    }
    console.facts("contamination", shown)


def _levels(text: str) -> tuple[float, ...]:
    try:
        levels = tuple(float(part) for part in text.split(","))
    except ValueError:
        levels = ()
    if not levels or not all(0 < level <= 1 for level in levels):
        raise UserError(f"--sweep {text!r}: shares from 0 to 1 by commas, such as 0.80,0.85,0.90")
    return levels


@verb(app, "graph", "out!", settings=False)
def seeds(
    given: CommandOptions,
    files: Annotated[
        list[Path] | None, Argument(help="Training files with SPARQL, or whitelists (ids, IRIs).")
    ] = None,
    entities: Annotated[
        int | None, Option(min=1, help="Maximum number of entities to take from a schema.")
    ] = None,
) -> None:
    """Find predicates and seed entities for walks, and write predicates.txt and seeds.txt.

    They are read from the SPARQL of CWQ, WebQSP and GrailQA training files, or from whitelists
    (with --graph, those that it has), or with --graph alone from its schema.

    Example: graphwalker seeds WebQSP.train.json --graph runs/graph --out runs/seeds, then
    graphwalker synth --graph runs/graph --out runs/synth predicates_file=runs/seeds/predicates.txt
    seeds_file=runs/seeds/seeds.txt
    """
    from data_pipeline.seeds.files import known_to, read_seeds, schema_seeds, write_seeds
    from graphwalker.graphs.open import open_graph
    from graphwalker.runs import lock_folder

    graph = given.get("graph")
    opened = open_graph(graph) if graph else None
    set_aside: dict[str, int] = {}
    if files:
        if entities is not None:
            raise UserError("--entities is for a graph's schema: do not give files with it")
        with console.progress("seeds") as tick:
            found = read_seeds(files, tick)
        if opened is not None:
            found, set_aside = known_to(opened, found)
    elif opened is not None:
        found = schema_seeds(opened, entities)
    else:
        raise UserError("give training files, whitelists, or --graph for a graph's schema")
    with lock_folder(given.out):
        card = write_seeds(given.out, found, set_aside)
    console.facts("seeds", {key: value for key, value in card.items() if isinstance(value, int)})
