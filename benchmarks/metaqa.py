"""MetaQA's questions split by topic entity, for `benchmarks.backbone`.

    python -m benchmarks.metaqa --questions 1hop.jsonl 2hop.jsonl 3hop.jsonl --out runs/metaqa
    python -m benchmarks.backbone --train runs/metaqa/train.jsonl --test runs/metaqa/test.jsonl ...

The published splits share topics. Here a topic and all of its questions lie on one side, by its
SHA-256: four fifths train. Each side takes its first questions of each file, evenly spread.
"""

import argparse
import hashlib
from pathlib import Path

from eval.run.evaluate import spread
from graphwalker.console import console
from graphwalker.datasets.base import load_questions
from graphwalker.files import write_jsonl
from graphwalker.question import Question

TRAIN = (120, 240, 180)
"""Questions of one, two and three hops: a longer walk has more to teach, and costs more."""


def is_test(question: Question) -> bool:
    """Return whether the topic of a question lies on the side of the test."""
    name = question.topic_entities[0].name
    return int(hashlib.sha256(name.encode()).hexdigest(), 16) % 5 == 0


def main() -> None:
    """Write both sides."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--questions", nargs=3, required=True, help="of one, two and three hops")
    parser.add_argument("--train", nargs=3, type=int, default=TRAIN, help="how many of each")
    parser.add_argument("--test", type=int, default=100, help="how many of each")
    parser.add_argument("--out", type=Path, default=Path("runs/metaqa"))
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    sides: dict[str, list[Question]] = {"train": [], "test": []}
    for path, count in zip(given.questions, given.train, strict=True):
        loaded = load_questions(path)
        held = [question for question in loaded if is_test(question)]
        rest = [question for question in loaded if not is_test(question)]
        sides["train"] += spread(rest, count)
        sides["test"] += spread(held, given.test)
    for name, questions in sides.items():
        write_jsonl(given.out / f"{name}.jsonl", [question.to_json() for question in questions])
        console.facts(name, {"questions": len(questions)})


if __name__ == "__main__":
    main()
