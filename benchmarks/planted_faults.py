"""What the filters catch of planted faults, and how far they agree with people.

    graphwalker questions --graph runs/fb15k --count 4000 --seed 5 --out runs/q4k
    python -m benchmarks.planted_faults --graph runs/fb15k --questions runs/q4k/questions.jsonl \
        --data ../shared/data --labels benchmarks/results/reading-*.json [judge=transformers:FOLDER]

Faults of six kinds are planted in questions made from the graph. Beside the reader stand the checks
of the surface alone. Real people's questions (WebQSP's training questions, with `--data`) say what
the reader makes of words that are not the phrase bank's: how many it drops, and how often it
prefers the walk that is meant to one whose relation was swapped for another of the same entity.
Labels are JSON files with objects of `question` and `label`; those of questions in the file are
compared. A judge is measured on `--judged` faults of each kind.
"""

import argparse
import random
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.record import RESULTS, record
from data_pipeline.config import SamplingConfig
from data_pipeline.reading.config import ReaderConfig
from data_pipeline.reading.corpus import CorpusReader, ReadingSource
from data_pipeline.reading.faults import Faults
from data_pipeline.reading.labels import read_labels
from data_pipeline.teacher.client import Chats, Unusable
from data_pipeline.teacher.judge import Judge
from data_pipeline.teacher.teacher import open_judge
from data_pipeline.wording.composition.questions import ProgrammaticTeacher
from data_pipeline.wording.quality import surface
from data_pipeline.wording.vocabulary import lexicon_of
from graphwalker.agents.environment import EnvironmentConfig
from graphwalker.config import load_config
from graphwalker.datasets.base import load_questions
from graphwalker.errors import UserError
from graphwalker.graphs.base import Direction, Entity
from graphwalker.graphs.open import open_graph
from graphwalker.query.draft import plain_wording
from graphwalker.query.query import Branch, Hop, Query, execute
from graphwalker.question import Question
from graphwalker.tools.listing import lister

Finds = Callable[[Question], bool]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--graph", required=True)
    parser.add_argument("--questions", type=Path, required=True)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--labels", type=Path, nargs="*", default=[])
    parser.add_argument("--judged", type=int, default=10, help="Faults of each kind for a judge.")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=RESULTS)
    parser.add_argument("settings", nargs="*", help="judge=..., as `graphwalker filter` takes it.")
    given = parser.parse_args()
    graph = open_graph(given.graph)
    source = ReadingSource(graph, lister(graph, EnvironmentConfig()), lexicon_of(graph))
    questions = load_questions(given.questions)
    labels = {text: one for path in given.labels for text, one in read_labels(path).items()}
    figures: dict[str, Any] = {"questions": len(questions), "lose": {}}
    for lose in (0.05, 0.1):
        reader = CorpusReader(questions, source, ReaderConfig(enabled=True, lose=lose), given.seed)
        found = reader.card(labels)["reader"]
        if given.data:
            found["webqsp_train"] = people(reader, source, given.data, given.seed)
        figures["lose"][str(lose)] = found
        print(lose, found)
    figures["surface checks alone"] = measured(
        lambda q: bool(surface(q.text, _query(q), (), ())), source, questions, 50, given.seed
    )
    print("surface", figures["surface checks alone"])
    if given.settings:
        config = load_config(SamplingConfig, None, given.settings)
        with (
            tempfile.TemporaryDirectory() as out,
            closing(Chats.open(config.teacher, config.judge, Path(out))) as chats,
        ):
            judge = open_judge(config.teacher, config.judge, chats)
            if judge is None:
                raise UserError("name a judge: judge=transformers:FOLDER, or judge.base_url=...")
            finds = partial(too_low, judge, source)
            figures["judge"] = measured(finds, source, questions, given.judged, given.seed)
        print("judge", figures["judge"])
    given.out.mkdir(parents=True, exist_ok=True)
    record("planted_faults", figures, "python -m benchmarks.planted_faults", given.seed, given.out)


def measured(
    finds: Finds, source: ReadingSource, questions: Sequence[Question], count: int, seed: int
) -> dict[str, Any]:
    """What any filter finds: in `count` faults of each kind, and in six times as many questions as
    they were made."""
    teacher = ProgrammaticTeacher(source.lexicon, 0.0)
    faults = Faults(source.graph, source.listed, teacher, questions)
    caught: dict[str, float] = {}
    for kind in faults.kinds:
        pairs = list(faults.plant(kind, count, random.Random(f"{seed}/{kind}")))
        caught[kind] = round(sum(finds(spoiled) for _, spoiled in pairs) / len(pairs), 4)
    good = random.Random(seed).sample(list(questions), 6 * count)
    return {
        "planted_of_each": count,
        "caught": caught,
        "caught_overall": round(sum(caught.values()) / len(caught), 4),
        "share_dropped": round(sum(map(finds, good)) / len(good), 4),
    }


def too_low(judge: Judge, source: ReadingSource, question: Question) -> bool:
    """Whether the judge scores a question too low; one that it cannot score is not found."""
    query = _query(question)
    try:
        return not judge.verdict(question.text, query, execute(source.graph, query)).kept
    except Unusable:
        return False


def people(reader: CorpusReader, source: ReadingSource, data: Path, seed: int) -> dict[str, Any]:
    """Real questions of one hop: the share that is found wrong, and the share when the walk is
    another relation of the same entity with other answers."""
    rng = random.Random(seed)
    asked = list(real(source, load_questions(data / "webqsp_on_fb15k" / "train.jsonl.gz")))
    pairs = [(one, other) for one in asked if (other := other_walk(source, one, rng))]
    right = [reader.verdict(one) for one, _ in pairs]
    wrong = [reader.verdict(other) for _, other in pairs]
    in_order = sum(a[1] < b[1] for a, b in zip(right, wrong, strict=True))
    return {
        "questions": len(pairs),
        "share_dropped": round(sum(bool(fault) for fault, _ in right) / len(pairs), 4),
        "swapped_caught": round(sum(bool(fault) for fault, _ in wrong) / len(pairs), 4),
        "own_walk_preferred": round(in_order / len(pairs), 4),
    }


def real(source: ReadingSource, questions: Sequence[Question]) -> Iterator[Question]:
    """Questions of one hop as typed ones, their topic entity under the name in the text."""
    for question in questions:
        path = question.annotations.get("relation_path") or ()
        if len(path) != 1 or len(question.topic_entities) != 1:
            continue
        gold = {answer.id for answer in question.answers}
        topic = question.topic_entities[0]
        for direction in Direction:
            query = Query((Branch(topic, (Hop(path[0], direction),)),))
            if {entity.id for entity in execute(source.graph, query).answers} >= gold:
                yield as_typed(question, query)
                break


def as_typed(question: Question, query: Query) -> Question:
    """With its query, and the topic entity's name as it stands in the text."""
    topic = question.topic_entities[0]
    words = topic.name.lower().split()
    named = [word for word in question.text.rstrip("?").split() if word in words]
    name = " ".join(named) if " ".join(named) in question.text else ""
    return replace(
        question,
        text=question.text if name else f"{question.text.rstrip('? ')} {topic.name}?",
        topic_entities=(Entity(topic.id, name or topic.name),),
        query=query,
        wording=plain_wording(query),
    )


def other_walk(source: ReadingSource, question: Question, rng: random.Random) -> Question | None:
    """The same words, to be read as another relation."""
    query = _query(question)
    topic, (hop,) = query.branches[0].topic, query.branches[0].hops
    listing = source.listed(topic.id)
    answers = execute(source.graph, query).answers
    others = [one for one in listing.hops(listing.relations) if one.relation != hop.relation]
    for other in rng.sample(others, len(others)):
        wrong = Query((Branch(topic, (other,)),))
        if execute(source.graph, wrong).answers != answers:
            return replace(question, query=wrong, wording=plain_wording(wrong))
    return None


def _query(question: Question) -> Query:
    assert question.query is not None
    return question.query


if __name__ == "__main__":
    main()
