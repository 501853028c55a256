"""`graphwalker dataset`: files of questions, ours and published, checked, counted, converted."""

from collections.abc import Mapping
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Argument, Option

from graphwalker.cli.shared import CommandOptions, JsonFlag, show, verb
from graphwalker.console import console
from graphwalker.errors import UserError

if TYPE_CHECKING:
    from graphwalker.datasets.base import Loaded

app = typer.Typer(help="Check, count and convert files of questions.", no_args_is_help=True)


SHOWN = 10
"""Questions that are shown as the graph has them."""


class Unanswered(StrEnum):
    """What to do with questions that have no gold answer."""

    ERROR = "error"
    DROP = "drop"
    KEEP = "keep"


@app.command()
def check(
    file: Annotated[Path, Argument(help="A published file, or ours; .gz too.")],
    format: Annotated[str, Option(help="A dataset's name, or auto: by its records.")] = "auto",
    out: Annotated[Path | None, Option(help="Also write it as our JSONL.")] = None,
    split: Annotated[str, Option(help="train, dev, test.")] = "",
    language: Annotated[str, Option(help="Language of the questions in QALD.")] = "en",
    topic_entities: Annotated[
        Path | None, Option(help="The same questions, with linked topics.")
    ] = None,
    answers: Annotated[Path | None, Option(help="The same questions, with answers or ids.")] = None,
    alone: Annotated[bool, Option("--alone", help="Do not read companion files.")] = False,
    unanswered: Annotated[
        Unanswered, Option(help="Questions without a gold answer: error, drop or keep.")
    ] = Unanswered.ERROR,
    whole: Annotated[bool, Option("--whole", help="Fail unless the file is complete.")] = False,
    graph: Annotated[str, Option(help="Find topics and answers in it, and show ten.")] = "",
    unresolved: Annotated[
        str, Option(help="What the graph does not settle: stop, drop, or the edited file.")
    ] = "stop",
    as_json: JsonFlag = False,
) -> None:
    """Check a file of questions; count it by split, type and level; convert it to our JSONL.

    Example: graphwalker dataset check WebQSP.test.json --out webqsp-test.jsonl

    Example: graphwalker dataset check own.csv --graph runs/graph --out own.jsonl
    """
    from graphwalker.datasets.base import Reading, load_dataset
    from graphwalker.datasets.summary import must_be_whole, summarise
    from graphwalker.files import write_jsonl
    from graphwalker.runs import locked_file, refuse_own_input

    if out is not None:
        refuse_own_input(out, file)
    reading = Reading(format, split, language, topic_entities, answers, alone, unanswered.value)
    loaded = load_dataset(file, reading)
    if whole:
        must_be_whole(loaded)
    if graph:
        folder = (out or file).parent
        loaded = _ground_and_show(loaded, graph, folder, unresolved)
    summary = summarise(loaded)
    if out is not None:
        with locked_file(out):
            write_jsonl(out, [question.to_json() for question in loaded.questions])
        summary["written"] = str(out)
    show(file.name, summary if as_json else _readable(summary), as_json)


def _ground_and_show(loaded: "Loaded", graph: str, folder: Path, unresolved: str) -> "Loaded":
    """Return the questions with the entities of a graph; ten of them are shown."""
    from graphwalker.datasets.grounding import ground, settle
    from graphwalker.graphs.open import open_graph

    opened = open_graph(graph)
    settled = settle(loaded.questions, opened, folder, unresolved, "--unresolved ")
    questions = ground(settled, opened)
    for question in questions[:SHOWN]:
        topics = ", ".join(f"{entity.name} ({entity.id})" for entity in question.topic_entities)
        answers = ", ".join(answer.name for answer in question.answers) or "no answer"
        console.note(f"{question.text}  {topics or 'no topic'} -> {answers}")
    return replace(loaded, questions=questions)


@app.command("list")
def list_all(as_json: JsonFlag = False) -> None:
    """Name every dataset whose published form can be read.

    Example: graphwalker dataset list
    """
    from graphwalker.datasets.catalogue import CATALOGUE

    rows = {b.name: {"title": b.title, "graph": b.graph, "source": b.url} for b in CATALOGUE}
    lines = {name: f"{row['title']}; graph: {row['graph']}" for name, row in rows.items()}
    show("Formats that can be read", rows if as_json else lines, as_json)


@verb(app, "graph!", "questions!", "out!", file="File for the result.")
def resolve(
    given: CommandOptions,
    layout: Annotated[str, Option("--format", help="A dataset's name, or auto.")] = "auto",
    exact: Annotated[
        bool, Option("--exact", help="Write only questions whose query finds the gold set.")
    ] = False,
    with_query: Annotated[
        bool, Option("--with-query", help="Write only questions that have a query.")
    ] = False,
    as_json: JsonFlag = False,
) -> None:
    """Give questions with a gold relation path a query that can be executed on the graph.

    Where the file does not mark inverse relations (`~`), the graph decides. --out is a file in our
    JSONL; gold answers stay as they are, and each record says what its query finds.

    Example: graphwalker dataset resolve --graph runs/graph --questions q.jsonl --out typed.jsonl
    """
    from graphwalker.datasets.base import load_questions
    from graphwalker.datasets.grounding import ground
    from graphwalker.datasets.queries import EQUAL, EXECUTED, REASONS, resolve
    from graphwalker.demo.models import InEnvironment
    from graphwalker.files import write_jsonl
    from graphwalker.graphs.open import open_graph
    from graphwalker.graphs.views.settings import with_layers
    from graphwalker.runs import locked_file, refuse_own_input

    refuse_own_input(given.out, given.questions)
    layers = given.settings(InEnvironment).environment.layers
    with locked_file(given.out):
        graph = with_layers(open_graph(given.graph, wikidata=layers.wikidata), layers)
        found = resolve(ground(load_questions(given.questions, format=layout), graph), graph)
        kept = [
            question
            for question in found.questions
            if (question.query is not None or not with_query)
            and (question.annotations.get(EXECUTED) == EQUAL or not exact)
        ]
        write_jsonl(given.out, [question.to_json() for question in kept])
    summary: dict[str, Any] = {**found.summary(), "written": len(kept), "file": str(given.out)}
    if as_json:
        show("", summary, as_json)
        return
    for reason, count in summary["no_query"].items():
        console.note(f"{count:,} without a query: {reason}: {REASONS[reason]}")
    rows = {"what the queries find": _line(summary["executed"])}
    numbers = {key: summary[key] for key in ("questions", "with_query", "written", "file")}
    show(given.questions.name, {**numbers, **rows}, as_json)


@verb(app, "graph!", "out!", "count", file="File for the result.", count="limit")
def audit(
    given: CommandOptions,
    file: Annotated[Path, Argument(help="Questions: ours, or as published.")],
    tools: Annotated[
        bool, Option("--tools/--no-tools", help="Check whether the tools lead to the answers.")
    ] = True,
    as_json: JsonFlag = False,
) -> None:
    """Execute the gold queries of a benchmark on a graph, and check its questions.

    Gold SPARQL (extra `sparql`; an endpoint runs it itself), s-expressions and relation paths are
    compared with the gold answers. --out is a JSONL with a record for each question; the same
    command resumes it.

    Example: graphwalker dataset audit WebQSP.test.json --graph runs/graph --out audit.jsonl
    """
    from graphwalker.agents.environment import Environment
    from graphwalker.audit.audit import audit as audit_all
    from graphwalker.audit.audit import summarise_audit
    from graphwalker.datasets.base import Reading, load_dataset
    from graphwalker.datasets.grounding import ground
    from graphwalker.demo.models import CeilingConfig
    from graphwalker.graphs.open import open_graph
    from graphwalker.runs import locked_file, refuse_own_input

    refuse_own_input(given.out, file)
    config = given.settings(CeilingConfig)
    settings = config.environment
    environment = Environment(open_graph(given.graph, wikidata=settings.layers.wikidata), settings)
    reading = Reading(config.questions_format, unanswered="keep")
    loaded = load_dataset(file, reading, config.limit or None)
    with locked_file(given.out), console.progress("audit") as tick:
        questions = ground(loaded.questions, environment.graph)
        played = environment if tools and not environment.graph.is_remote else None
        total = len(questions)
        records = audit_all(
            questions, environment.graph, given.out, played, lambda done: tick(done, total)
        )
    summary = summarise_audit(records)
    if as_json:
        show("", summary, as_json)
        return
    verdicts, why = summary.pop("verdicts"), summary.pop("why")
    rows = {name: f"{count:,} ({count / max(1, total):.1%})" for name, count in verdicts.items()}
    read = {"gold from": _line(summary.pop("gold from"))}
    if played is None:
        summary["unwinnable"] = "not looked at"
    show(f"audit of {file.name}", {**rows, **read, **summary, "written": str(given.out)})
    for reason, count in why.items():
        console.note(f"{count:,} times: {reason}")


@app.command()
def evidence(
    file: Annotated[Path, Argument(help="CoLoTa or CR-LT as published.")],
    out: Annotated[Path, Option(help="Folder for questions.jsonl, evidence.jsonl and graph/.")],
    triples: Annotated[
        list[Path] | None, Option(help="A larger graph's triples beside them; repeatable.")
    ] = None,
    names: Annotated[list[Path] | None, Option(help="Its names; repeatable.")] = None,
    as_json: JsonFlag = False,
) -> None:
    """Make a graph of the evidence of yes-no questions, and the questions that it can answer.

    Evidence counts if it names the question's topic; otherwise other records' evidence that begins
    there does. What is set aside is named. --triples adds distractors to the graph.

    Example: graphwalker dataset evidence CoLoTa_qa.json --out runs/colota
    """
    from graphwalker.datasets.base import load_dataset
    from graphwalker.datasets.evidence import graph_records, with_evidence
    from graphwalker.files import write_jsonl
    from graphwalker.graphs.build.build import build_graph

    loaded = load_dataset(file)
    found = with_evidence(loaded.questions)
    for line in found.unread:
        console.note(f"no triple: {line}")
    for question_id in found.foreign:
        console.note(f"{question_id}: set aside: no triple begins at its topic")
    if not found.usable:
        raise UserError(f"{file}: no question has evidence that names its topic")
    out.mkdir(parents=True, exist_ok=True)
    write_jsonl(out / "questions.jsonl", [question.to_json() for question in found.usable])
    write_jsonl(out / "evidence.jsonl", list(graph_records(found.usable)))
    built = build_graph(
        triples or [],
        out / "graph",
        names=names or None,
        property_files=[out / "evidence.jsonl"],
        progress=console.note,
    )
    summary = {
        "questions": len(found.usable),
        "records set aside": len(loaded.faulty),
        "texts that are no triples": len(found.unread),
        "evidence joined by the topic's name": len(found.joined),
        "questions without evidence": len(found.foreign),
        "graph": str(out / "graph"),
        "triples": built.get("triples", 0),
    }
    show(file.name, summary, as_json)


def _readable(summary: Mapping[str, Any]) -> dict[str, Any]:
    """Leave out empty entries; write counts on one line."""
    facets: Mapping[str, Mapping[str, int]] = summary["facets"]
    rows: dict[str, Any] = {
        **{key: summary[key] for key in ("dataset", "title", "form", "questions", "published")},
        "with": ", ".join(summary["with"]),
        "set aside, no answers": _first(summary["set_aside"]),
        "note": "; ".join(summary["notes"]),
        **{f"by {key}": _line(summary[key]) for key in ("split", "structure", "hops")},
        **{f"by {name}": _line(counts) for name, counts in facets.items()},
        "topic entities": _line(summary["topic_entities"]),
        "answers per question": _line(summary["answers_per_question"]),
        "answers": _line(summary["answers"]),
        "written": summary.get("written", ""),
    }
    return {key: value for key, value in rows.items() if value != ""}


def _line(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name}: {count:,}" for name, count in counts.items())


def _first(ids: list[str]) -> str:
    more = f" and {len(ids) - 5:,} more" if len(ids) > 5 else ""
    return ", ".join(ids[:5]) + more
