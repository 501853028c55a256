"""An evaluation over an endpoint that holds nothing for a while: no answer of it is believed."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from eval.run.config import EvalConfig, run_eval
from eval.run.records import PREDICTIONS
from graphwalker.config import load_config
from graphwalker.errors import IncompleteError
from graphwalker.files import write_jsonl
from support.backends import to_ntriples
from support.eval_toy import toy_questions
from support.faulty_endpoint import FaultyEndpoint, faulty
from support.oxigraph import load_store
from support.toy import TOY_NAMES, TOY_TRIPLES, TOY_TYPES

EMPTY = (200, {"Content-Type": "application/sparql-results+json"},
         b'{"head": {"vars": []}, "results": {"bindings": []}}')  # fmt: skip
Play = Callable[[str], bytes]


@pytest.fixture
def endpoint(tmp_path: Path) -> Iterator[FaultyEndpoint]:
    lines = to_ntriples(TOY_TRIPLES, TOY_NAMES, TOY_TYPES)
    (tmp_path / "toy.nt").write_text(lines, encoding="utf-8")
    with faulty(load_store([tmp_path / "toy.nt"])) as running:
        yield running


@pytest.fixture
def play(endpoint: FaultyEndpoint, tmp_path: Path) -> Play:
    write_jsonl(tmp_path / "q.jsonl", [question.to_json() for question in toy_questions()])

    def run(name: str) -> bytes:
        paths = {"graph": endpoint.address, "questions": tmp_path / "q.jsonl"}
        settings = {**paths, "output_dir": tmp_path / name, "policy.model": "first-relation",
                    "graph_cache": tmp_path / "cache" / name, "retries": 0,
                    "failures_in_a_row": 2, "concurrency": 1}  # fmt: skip
        return (run_eval(load_config(EvalConfig, None, [f"{k}={v}" for k, v in settings.items()]))
                / PREDICTIONS).read_bytes()  # fmt: skip

    return run


def test_an_endpoint_that_is_empty_for_a_while_changes_no_answer(endpoint, play):
    expected = play("plain")
    endpoint.faults = [None] * 6 + [EMPTY] * 5
    assert play("while") == expected and not endpoint.faults


def test_one_that_stays_empty_ends_the_run_which_the_same_command_resumes(endpoint, play):
    expected = play("plain")
    endpoint.faults = [None] * 8 + [EMPTY] * 10_000
    with pytest.raises(IncompleteError, match="2 failures in a row"):
        play("stays")
    endpoint.faults = []
    assert play("stays") == expected
