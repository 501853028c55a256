"""The report of contamination: the table of the thresholds, then copies."""

from collections.abc import Mapping
from html import escape
from typing import Any

from graphwalker.counts import number_of


def markdown(report: Mapping[str, Any]) -> str:
    """Return the counts and shares in the form of GraphWalker Table 5, then copies and n-grams."""
    names = ["all", *report["against"]]
    total = report["count"]
    lines = [
        f"# Contamination of {_cell(report['questions'])}",
        "",
        f"{number_of(total, 'question')} against "
        + ", ".join(f"{_cell(n)} ({size:,})" for n, size in report["against"].items())
        + ".",
    ]
    if report["embedding"]:
        head = " | ".join(map(_cell, names))
        lines += ["", f"Similarity: cosine of `{report['embedding']}`."]
        lines += ["", f"| at least | {head} |", f"| --- |{' ---: |' * len(names)}"]
    for level, counts in report["thresholds"].items():
        lines.append(f"| {level} | " + " | ".join(_share(counts[n], total) for n in names) + " |")
    lines += ["", "| found by | " + " | ".join(map(_cell, names[1:])) + " |"]
    lines.append(f"| --- |{' ---: |' * (len(names) - 1)}")
    titles = {
        "exact": "same words",
        "ngram": f"word trigrams {report['jaccard']:g}",
        "same_fact": "same fact",
    }
    for row, title in titles.items():
        cells = " | ".join(_share(report[row][name], total) for name in names[1:])
        lines.append(f"| {title} | {cells} |")
    lines += [
        "",
        f"{number_of(report['flagged'], 'question is', 'questions are')} set aside from "
        f"clean.jsonl (similarity from "
        f"{report['threshold']:g}, the same words, trigrams, or the same "
        "fact); flagged.jsonl names them.",
        "",
    ]
    return "\n".join(lines)


def _share(count: int, total: int) -> str:
    return f"{count / total:.2%} ({count:,})" if total else "0"


def _cell(text: str) -> str:
    return escape(str(text)).replace("|", "\\|")
