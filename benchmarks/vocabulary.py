"""How many words of real questions a made corpus never uses, topic names apart.

    python -m benchmarks.vocabulary --corpus bank=runs/synth/questions.jsonl
        --questions train.jsonl.gz [--questions test.jsonl.gz]

writes benchmarks/results/vocabulary.json. Each --corpus is NAME=FILE; give one beside the other
that was made with `styles.casual=0`, to see what the casual questions of the bank are worth.
"""

import argparse
import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from benchmarks.record import record
from graphwalker.datasets.base import load_questions
from graphwalker.question import Question

_WORD = re.compile(r"[a-z0-9]+")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--corpus", action="append", required=True, help="NAME=FILE")
    parser.add_argument("--questions", type=Path, action="append", required=True)
    parser.add_argument("--name", default="vocabulary", help="of the file of results")
    given = parser.parse_args()
    real = {path.name: load_questions(path) for path in given.questions}
    figures: dict[str, Any] = {}
    for text in given.corpus:
        name, _, file = text.partition("=")
        made = load_questions(Path(file))
        used = words_of(made)
        figures[name] = {
            "questions": len(made),
            "distinct_words": len(used),
            "one_hop_share": round(sum(q.structure == "1-hop" for q in made) / len(made), 3),
            "unseen_share": {file: unseen(rows, used) for file, rows in real.items()},
        }
    command = "python -m benchmarks.vocabulary --corpus NAME=FILE --questions FILE"
    print(record(given.name, figures, command).read_text(encoding="utf-8"))


def unseen(questions: Iterable[Question], used: Counter[str]) -> float:
    """The share of the questions' word tokens, topic names apart, that are not `used`."""
    words = words_of(questions)
    return round(sum(n for word, n in words.items() if word not in used) / words.total(), 4)


def words_of(questions: Iterable[Question]) -> Counter[str]:
    """Word tokens without the names of the topic entities, where the questions have them whole."""
    found: Counter[str] = Counter()
    for question in questions:
        text = question.text.lower().replace("’", "'")
        for name in sorted(
            (e.name.lower() for e in question.topic_entities), key=len, reverse=True
        ):
            text = text.replace(name, " ") if name else text
        found.update(_WORD.findall(text.replace("'s", " ")))
    return found


if __name__ == "__main__":
    main()
