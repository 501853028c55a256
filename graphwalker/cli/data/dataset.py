"""`graphwalker benchmark`: check a file of questions, count it, convert it to our JSONL."""

import json
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from graphwalker.cli.shared import load
from graphwalker.errors import UserError

app = typer.Typer()


class Unanswered(StrEnum):
    """What to do with questions that have no gold answer."""

    ERROR = "error"
    DROP = "drop"
    KEEP = "keep"


FormatOption = Annotated[
    str, typer.Option("--format", help="A benchmark's name, or auto: by the first records.")
]


@app.command()
def benchmark(
    file: Annotated[Path | None, typer.Argument(help="A published file, or ours; .gz too.")] = None,
    format: FormatOption = "auto",
    out: Annotated[Path | None, typer.Option("--out", help="Write our JSONL there.")] = None,
    split: Annotated[str, typer.Option("--split", help="train, dev, test.")] = "",
    language: Annotated[str, typer.Option("--language", help="Of the wording, in QALD.")] = "en",
    topic_entities: Annotated[
        Path | None, typer.Option("--topic-entities", help="The same questions with linked topics.")
    ] = None,
    answers: Annotated[
        Path | None, typer.Option("--answers", help="The same questions with answers or their ids.")
    ] = None,
    alone: Annotated[
        bool, typer.Option("--alone", help="Do not read companions that lie beside the file.")
    ] = False,
    unanswered: Annotated[
        Unanswered, typer.Option("--unanswered", help="Questions without a gold answer.")
    ] = Unanswered.ERROR,
    whole: Annotated[
        bool, typer.Option("--whole", help="Fail unless the counts are the published ones.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the counts as JSON.")] = False,
    list_all: Annotated[bool, typer.Option("--list", help="Name every known benchmark.")] = False,
) -> None:
    """Check a file of questions, count it by split, type and level, convert it to our JSONL.

    Example: graphwalker benchmark WebQSP.test.json --out webqsp-test.jsonl
    """
    if list_all:
        _list(as_json)
        return
    if file is None:
        raise UserError("name a file of questions, or --list for the formats that can be read")
    reading = load("graphwalker.datasets.base:Reading")(
        format, split, language, topic_entities, answers, alone, unanswered.value
    )
    loaded = load("graphwalker.datasets.base:load_benchmark")(file, reading)
    if whole:
        load("graphwalker.datasets.summary:must_be_whole")(loaded)
    summary: dict[str, Any] = load("graphwalker.datasets.summary:summarise")(loaded)
    if out is not None:
        records = [question.to_json() for question in loaded.questions]
        load("graphwalker.files:write_jsonl")(out, records)
        summary["written"] = str(out)
    if as_json:
        typer.echo(json.dumps(summary, ensure_ascii=False, indent=1))
    else:
        load("graphwalker.cli.console:facts")(file.name, _readable(summary))


def _list(as_json: bool) -> None:
    known = load("graphwalker.datasets.catalogue:CATALOGUE")
    rows = {b.name: {"title": b.title, "graph": b.graph, "source": b.url} for b in known}
    if as_json:
        typer.echo(json.dumps(rows, ensure_ascii=False, indent=1))
        return
    lines = {name: f"{row['title']}; graph: {row['graph']}" for name, row in rows.items()}
    load("graphwalker.cli.console:facts")("Formats that can be read", lines)


def _readable(summary: Mapping[str, Any]) -> dict[str, Any]:
    """Without empty entries; counts on one line."""
    facets: Mapping[str, Mapping[str, int]] = summary["facets"]
    rows: dict[str, Any] = {
        **{key: summary[key] for key in ("benchmark", "title", "form", "questions", "published")},
        "with": ", ".join(summary["with"]),
        "left out, no answers": _first(summary["left_out"]),
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
