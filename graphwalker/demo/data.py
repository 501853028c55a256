"""The data of the demo that no command makes: its tiny model, and its test questions."""

from collections.abc import Iterable
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING

from graphwalker.agents.environment import EnvironmentConfig
from graphwalker.errors import UserError
from graphwalker.files import read_records
from graphwalker.graphs.base import KnowledgeGraph
from graphwalker.graphs.browse import shown_relations
from graphwalker.trajectory import Trajectory

if TYPE_CHECKING:
    from training.tiny.config import TinyModelConfig

TEXTS = 2000
"""Trajectories that the tokenizer learns its words from."""


def make_tiny_model(
    config: "TinyModelConfig",
    corpus: Path,
    graph: KnowledgeGraph,
    out: Path,
    environment: EnvironmentConfig | None = None,
    texts: Iterable[str] = (),
) -> Path:
    """Write the model to the folder `out`, unless it is there. Its tokenizer learns the words of
    the trajectories in `corpus`, of `texts` and of the graph's names."""
    from training.tiny.make import conversation_texts, make_tiny

    shown = islice(read_records(corpus, Trajectory.from_json), TEXTS)
    names = (graph.entity_at(number).name for number in range(graph.size))
    words = chain(conversation_texts(shown), texts)
    relations = shown_relations(graph)
    return make_tiny(config, words, relations, out, names, environment)


def merge_tests(train_files: Iterable[Path], test_files: Iterable[Path], out: Path) -> None:
    """Write one test file without questions in the words of a training question, which ask about a
    namesake of its topic. Raises where a test question leaks into training."""
    from data_pipeline.splits import check_leakage
    from graphwalker.datasets.base import load_questions
    from graphwalker.files import write_jsonl

    train = [question for file in train_files for question in load_questions(file)]
    texts = {question.text.casefold() for question in train}
    found = (question for file in test_files for question in load_questions(file))
    test = [question for question in found if question.text.casefold() not in texts]
    check_leakage(train, test)
    write_jsonl(out, [question.to_json() for question in test])


def check_benchmarks(trained: Path, benchmarks: dict[str, str]) -> None:
    """Raise `UserError` where a benchmark cannot be read, or where the questions of GRPO, which
    come from elsewhere, hold one of its questions."""
    from graphwalker.datasets.base import load_questions

    tests = {name: load_questions(path) for name, path in benchmarks.items()}
    own = trained.is_file() and tests
    texts = {q.text.casefold() for q in load_questions(trained)} if own else set[str]()
    for name, questions in tests.items():
        shared = [q.text for q in questions if q.text.casefold() in texts]
        if shared:
            raise UserError(
                f"grpo.questions={trained}: benchmarks.{name} has {len(shared)} of its questions, "
                f"such as {shared[0]!r}; train on others"
            )
