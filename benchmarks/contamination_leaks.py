"""What contamination finds: 50 planted leaks of WebQSP's test questions, and what it finds wrongly.

    python -m benchmarks.contamination_leaks --graph runs/fb15k --data ../shared/data

Ten questions each are copied word by word, in another order of their words, with a letter changed,
in other words (written by hand, below), and about another topic entity. The last is no leak of a
fact. What is found wrongly is counted over 900 questions made from the same graph. `--data` holds
webqsp_on_fb15k/.
"""

import argparse
import random
import tempfile
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.record import record
from data_pipeline.config import SynthConfig
from data_pipeline.contamination.against import KINDS, TestFiles
from data_pipeline.contamination.config import ContaminationConfig
from data_pipeline.synthesize import make_questions
from data_pipeline.wording.lexicon import hand_written_inverses
from graphwalker.datasets.base import load_questions
from graphwalker.files import read_jsonl
from graphwalker.graphs.base import Entity
from graphwalker.question import Question

PARAPHRASES = {
    "WebQTest-77": "Which city is the seat of the Austrian government?",
    "WebQTest-403": "In what tongue do Turks talk to each other?",
    "WebQTest-540": "Which university did Favre attend?",
    "WebQTest-597": "Which genre is Mayer known for as a musician?",
    "WebQTest-649": "List the films that feature Gosling as an actor.",
    "WebQTest-738": "How is Japan ruled today?",
    "WebQTest-1041": "What money do the English pay with?",
    "WebQTest-1126": "San Diego belongs to which county?",
    "WebQTest-1501": "Name the city that houses the United Nations' headquarters.",
    "WebQTest-1870": "Which pictures did Carradine act in?",
}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--graph", required=True)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    folder = given.data / "webqsp_on_fb15k"
    test = folder / "test.jsonl.gz"
    config = ContaminationConfig(embedding="tfidf")
    check = TestFiles([test], config, hand_written_inverses().get)
    found = {
        kind: counted(check, [as_record(q) for q in leaks])
        for kind, leaks in planted(load_questions(test), random.Random(given.seed)).items()
    }
    with tempfile.TemporaryDirectory() as out:
        make_questions(given.graph, SynthConfig(count=900, seed=given.seed), Path(out))
        made = counted(check, list(read_jsonl(Path(out) / "questions.jsonl")))
    train = counted(check, [as_record(q) for q in load_questions(folder / "train.jsonl.gz")])
    figures = {
        "settings": config.model_dump(),
        "planted": found,
        "questions_made": made,
        "webqsp_train": train,
    }
    for name, counts in {**found, "made": made, "webqsp train": train}.items():
        print(f"{name:18} {counts}")
    record("contamination_leaks", figures, "python -m benchmarks.contamination_leaks", given.seed)


def planted(questions: list[Question], rng: random.Random) -> dict[str, list[Question]]:
    """Ten leaks of each kind."""
    known = {question.id: question for question in questions}
    chosen = [known[name] for name in PARAPHRASES]
    others = [q for q in questions if q.id not in PARAPHRASES]
    swapped = [swap(q, rng.choice(others).topic_entities[0]) for q in rng.sample(chosen, 10)]
    return {
        "exact": chosen,
        "word order": [replace(q, text=" ".join(shuffled(q.text.split(), rng))) for q in chosen],
        "one letter": [replace(q, text=misspelled(q.text, rng)) for q in chosen],
        "paraphrase": [replace(q, text=PARAPHRASES[q.id]) for q in chosen],
        "entity swapped": swapped,
    }


def shuffled(words: list[str], rng: random.Random) -> list[str]:
    return rng.sample(words, len(words))


def misspelled(text: str, rng: random.Random) -> str:
    place = rng.choice([i for i, letter in enumerate(text) if letter.isalpha()])
    letter = rng.choice([x for x in "abcdefghijklmnopqrstuvwxyz" if x != text[place]])
    return text[:place] + letter + text[place + 1 :]


def swap(question: Question, other: Entity) -> Question:
    """The question about another entity: its words stay, its fact does not."""
    name = question.topic_entities[0].name
    text = question.text
    for word in name.lower().split():
        text = text.replace(word, "\0", 1)
    text = " ".join(text.replace("\0", "", text.count("\0") - 1).split())
    return replace(
        question, text=text.replace("\0", other.name), topic_entities=(other,), answers=()
    )


def as_record(question: Question) -> dict[str, Any]:
    return {**question.to_json(), "query": question.annotations | question.to_json()["query"]}


def counted(check: TestFiles, records: list[dict[str, Any]]) -> dict[str, Any]:
    """How many records each measure finds alone, and how many any of them."""
    kinds = [check.kinds(row) for row in records]
    alone = Counter(kind for one in kinds for kind in one)
    without = sum(any(kind != "same_fact" for kind in one) for one in kinds)
    return {
        "questions": len(records),
        **{kind: alone[kind] for kind in KINDS},
        "by any measure of words": without,
        "by any": sum(map(bool, kinds)),
    }


if __name__ == "__main__":
    main()
