"""`graphwalker contamination`: is a corpus of questions too close to the test questions?"""

from pathlib import Path
from typing import Annotated, Any

import typer

from graphwalker.cli.shared import OutOption, load
from graphwalker.errors import UserError

app = typer.Typer()


@app.command()
def contamination(
    questions: Annotated[
        Path, typer.Option("--questions", help="The corpus: JSONL of questions or trajectories.")
    ],
    against: Annotated[
        list[Path], typer.Option("--against", help="Test questions, ours or published; repeatable.")
    ],
    out: OutOption,
    embedding: Annotated[
        str,
        typer.Option(
            "--embedding",
            help="tfidf, or a sentence-transformers model (folder or name); by default BGE-M3 "
            "where it is on this machine, else tfidf.",
        ),
    ] = "",
    threshold: Annotated[
        float, typer.Option("--threshold", help="Similarity from which a question is left out.")
    ] = 0.85,
    sweep: Annotated[
        str, typer.Option("--sweep", help="Similarities of the table, by commas.")
    ] = "0.80,0.85,0.90",
    jaccard: Annotated[
        float, typer.Option("--jaccard", help="Shared word trigrams that make a near copy.")
    ] = 0.6,
) -> None:
    """Compare a corpus with test questions: word by word, by trigrams, by embedding.

    Writes clean.jsonl and flagged.jsonl, the table of the thresholds and the picture of the CDF.

    Example: graphwalker contamination --questions runs/synth/questions.jsonl
    --against WebQSP.test.json --out runs/contamination
    """
    for name, value in (("--threshold", threshold), ("--jaccard", jaccard)):
        if not 0 < value <= 1:
            raise UserError(f"{name} {value:g}: a share from 0 to 1 is wanted")
    levels = _levels(sweep)
    rules = load("data_pipeline.contamination.check:Rules")(threshold, levels, jaccard)
    embedder = load("data_pipeline.contamination.embed:open_embedder")(embedding)
    check = load("data_pipeline.contamination.check:check")
    report: dict[str, Any] = check(questions, against, out, embedder, rules)
    shown = {
        "questions": report["count"],
        "against": ", ".join(f"{n}: {size:,}" for n, size in report["against"].items()),
        "embedding": report["embedding"],
        **{f"similarity >= {k}": counts["all"] for k, counts in report["thresholds"].items()},
        "the same words": sum(report["exact"].values()),
        "near copies": sum(report["ngram"].values()),
        "left out": report["flagged"],
        "written": str(out),
    }
    load("graphwalker.cli.console:facts")("contamination", shown)


def _levels(text: str) -> tuple[float, ...]:
    try:
        levels = tuple(float(part) for part in text.split(","))
    except ValueError:
        levels = ()
    if not levels or not all(0 < level <= 1 for level in levels):
        raise UserError(f"--sweep {text!r}: shares from 0 to 1 by commas, such as 0.80,0.85,0.90")
    return levels
