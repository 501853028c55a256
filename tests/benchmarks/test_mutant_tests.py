"""Verdicts on mutations: what a run that continues takes over, and the order of tests."""

from dataclasses import dataclass

from benchmarks.mutant_tests import LONG_S, Order, Verdict, Verdicts, digest


@dataclass
class Item:
    nodeid: str


def test_a_run_that_continues_tries_survivors_again_and_keeps_what_was_caught(tmp_path) -> None:
    kept = Verdicts(tmp_path / "v" / "verdicts.jsonl")
    kept.add(Verdict("one", digest("x > 1"), "tests/a.py::test_one", 1.0))
    kept.add(Verdict("two", digest("x > 2"), "", 1.0))
    again = Verdicts(tmp_path / "v" / "verdicts.jsonl")
    found = again.known("one", "x > 1")
    assert found and found.by == "tests/a.py::test_one"
    assert again.known("one", "y > 1") is None  # the code has changed since
    assert again.known("two", "x > 2") is None
    survived = again.known("two", "x > 2", may_survive=True)
    assert survived and not survived.caught
    again.add(Verdict("two", digest("x > 2"), "tests/a.py::test_two", 1.0))
    assert again.known("two", "x > 2")
    assert again.caught_at_first(["one", "two"]) == 1


def test_fast_files_come_first_and_long_tests_last() -> None:
    seconds = {"b.py::quick": 0.1, "b.py::long": 2 * LONG_S, "a.py::one": 0.3, "a.py::two": 0.4}
    items = [Item(name) for name in ("b.py::long", "b.py::quick", "a.py::one", "a.py::two")]
    Order(seconds).pytest_collection_modifyitems(items)
    names = [item.nodeid for item in items]
    assert names == ["a.py::one", "a.py::two", "b.py::quick", "b.py::long"]
