"""Contamination: how close each question of a corpus comes to any question of the test sets."""

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from data_pipeline.contamination.embed import Embedder, NgramIndex, nearest, normal
from data_pipeline.contamination.facts import KnownFacts, as_question
from data_pipeline.wording.lexicon import hand_written_inverses
from graphwalker.counts import number_of
from graphwalker.datasets.base import Reading, load_dataset
from graphwalker.errors import UserError
from graphwalker.files import read_jsonl, write_json, write_jsonl
from graphwalker.question import Question
from graphwalker.runs import one_writer, refuse_own_input

log = logging.getLogger(__name__)
CLEAN, FLAGGED = "clean.jsonl", "flagged.jsonl"

SWEEP = (0.80, 0.85, 0.90)
"""Cosine similarities of GraphWalker Table 5; from 0.85 the paper leaves a question out."""


@dataclass(frozen=True, slots=True)
class CloseRules:
    """From where on a question counts as seen."""

    threshold: float = 0.85
    """Cosine similarity from which a question is set aside from `clean.jsonl`."""
    sweep: tuple[float, ...] = SWEEP
    jaccard: float = 0.6
    """Share of word trigrams in common from which two questions are near copies."""


@dataclass(frozen=True, slots=True)
class Closest:
    """The nearest test question of one set to one question of the corpus."""

    similarity: float
    """By embedding; 0 without one."""
    text: str
    """The most alike test question, by embedding or else by word trigrams; `""` for none."""
    exact: bool
    jaccard: float
    """Share of word trigrams with the most alike test question; 0 below the rules' share."""
    fact: str
    """The test question that asks for the same fact; `""` where none does."""


TestSets = Mapping[str, Sequence[Question]]
"""Questions that must not have been trained on, by the names of their files."""


def write_check(
    questions: Path,
    against: Sequence[Path],
    out: Path,
    embedder: Embedder | None,
    rules: CloseRules,
) -> dict[str, Any]:
    """Compare the corpus (our JSONL, questions or trajectories) with every test set (any form).

    Writes flagged.jsonl (what was found to be too close, and to what), clean.jsonl (the rest of
    the corpus, its records as they were), similarities.jsonl, contamination.json and
    contamination.md (GraphWalker Table 5, where there is an embedder); returns what
    contamination.json holds. Raises `UserError` for a file that cannot be read, by name and record.
    """
    for name in (CLEAN, FLAGGED):
        refuse_own_input(out / name, questions, *against)
    records = list(_corpus(questions))
    sets = load_sets(against)
    texts = [_text(record) for record in records]
    found = {name: compare(records, texts, sets[name], embedder, rules) for name in sets}
    verdicts = [_verdict(r, i, found, rules) for i, r in enumerate(records)]
    report = _report(questions, sets, found, verdicts, embedder, rules)
    write_jsonl(out / FLAGGED, [v for v in verdicts if v["reasons"]])
    write_jsonl(out / "similarities.jsonl", verdicts)
    kept = (r for r, v in zip(records, verdicts, strict=True) if not v["reasons"])
    write_jsonl(out / CLEAN, kept)
    write_json(out / "contamination.json", report)
    (out / "contamination.md").write_text(markdown(report), encoding="utf-8")
    return report


check = one_writer("out")(write_check)
"""`write_check` in a folder that no other process writes."""


def load_sets(files: Sequence[Path]) -> TestSets:
    """Return the questions of published files or of ours; answers are not needed."""
    reading = Reading(unanswered="keep", alone=True)
    found = {file.name: load_dataset(file, reading).questions for file in files}
    if len(found) < len(files):
        raise UserError("two test files have the same name: rename one, rows go by file name")
    return found


def compare(
    records: Sequence[Mapping[str, Any]],
    texts: Sequence[str],
    test: Sequence[Question],
    embedder: Embedder | None,
    rules: CloseRules,
) -> list[Closest]:
    """Return the nearest test question to each record and its text: by embedding, by word trigrams,
    word by word, and by the fact that is asked for."""
    test_texts = [question.text for question in test]
    exact = set(map(normal, test_texts))
    index = NgramIndex(test_texts)
    facts = KnownFacts(hand_written_inverses().get)
    for question in test:
        facts.add(question, question.id)
    alike = [index.nearest(text, rules.jaccard) for text in texts]
    similar = (
        nearest(embedder, texts, test_texts) if embedder else [(0.0, number) for _, number in alike]
    )
    return [
        Closest(
            round(similarity, 4),
            test_texts[number] if number >= 0 else "",
            normal(text) in exact,
            round(shared, 4),
            _fact(facts, record),
        )
        for record, text, (similarity, number), (shared, _) in zip(
            records, texts, similar, alike, strict=True
        )
    ]


def _fact(facts: KnownFacts, record: Mapping[str, Any]) -> str:
    try:
        return facts.find(as_question(record))
    except UserError:  # a text alone: no topic entities, nothing to compare
        return ""


def _corpus(path: Path) -> Iterator[dict[str, Any]]:
    for number, record in enumerate(read_jsonl(path), start=1):
        if not isinstance(_inner(record).get("question"), str):
            raise UserError(
                f"{path}: record {number} has no field 'question': "
                "the corpus is a JSONL file of our questions or trajectories"
            )
        yield record
    if not path.stat().st_size:
        raise UserError(f"{path}: holds no questions")


def _inner(record: Mapping[str, Any]) -> Mapping[str, Any]:
    nested = record.get("question")
    return nested if isinstance(nested, dict) else record


def _text(record: Mapping[str, Any]) -> str:
    return str(_inner(record)["question"])


def _verdict(
    record: Mapping[str, Any], number: int, found: Mapping[str, list[Closest]], rules: CloseRules
) -> dict[str, Any]:
    reasons: list[str] = []
    closest: dict[str, Any] = {}
    for name, rows in found.items():
        row = rows[number]
        closest[name] = {"similarity": row.similarity, "question": row.text}
        reasons += [f"{name}: the same question"] if row.exact else []
        if row.jaccard >= rules.jaccard:
            reasons.append(f"{name}: {row.jaccard:.2f} of the word trigrams")
        reasons += [f"{name}: the same fact as {row.fact}"] if row.fact else []
        if row.similarity >= rules.threshold:
            reasons.append(f"{name}: similarity {row.similarity:.2f}")
    inner = _inner(record)
    identity = str(record.get("id", inner.get("id", number + 1)))
    return {"id": identity, "question": _text(record), "reasons": reasons, "closest": closest}


def _overall(found: Mapping[str, list[Closest]]) -> list[float]:
    """Return the maximum over all test sets, of each question."""
    rows = ([row.similarity for row in rows] for rows in found.values())
    return [max(values) for values in zip(*rows, strict=True)]


def _report(
    questions: Path,
    sets: TestSets,
    found: Mapping[str, list[Closest]],
    verdicts: Sequence[Mapping[str, Any]],
    embedder: Embedder | None,
    rules: CloseRules,
) -> dict[str, Any]:
    overall = _overall(found)
    columns = {"all": overall, **{n: [row.similarity for row in r] for n, r in found.items()}}
    return {
        "questions": questions.name,
        "count": len(verdicts),
        "against": {name: len(questions) for name, questions in sets.items()},
        "embedding": embedder.name if embedder else "",
        "thresholds": {
            f"{level:.2f}": {
                name: sum(value >= level for value in values) for name, values in columns.items()
            }
            for level in (rules.sweep if embedder else ())
        },
        "exact": {n: sum(row.exact for row in rows) for n, rows in found.items()},
        "ngram": {n: sum(r.jaccard >= rules.jaccard for r in rows) for n, rows in found.items()},
        "same_fact": {n: sum(bool(row.fact) for row in rows) for n, rows in found.items()},
        "jaccard": rules.jaccard,
        "threshold": rules.threshold,
        "flagged": sum(bool(verdict["reasons"]) for verdict in verdicts),
    }


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
