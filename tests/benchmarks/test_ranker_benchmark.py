"""The benchmark of rankers runs to a record with every ranker in it."""

import json
import sys
from pathlib import Path

import pytest

from graphwalker.files import write_jsonl
from graphwalker.graphs.base import Entity
from graphwalker.question import Answer, Question
from support.paths import ROOT

ADA = (Entity("m.0ada", "Ada Mbeki"),)
PATHS = {"who is her kid?": "people.person.children", "her movies?": "film.film.directed_by"}


@pytest.mark.slow
def test_every_ranker_is_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT))
    from benchmarks.ranker import main

    for name in ("synth", "train", "test"):
        questions = [
            Question(str(k), text, ADA, (Answer("x"),), annotations={"relation_path": [relation]})
            for k, (text, relation) in enumerate(PATHS.items())
        ]
        write_jsonl(tmp_path / f"{name}.jsonl", [question.to_json() for question in questions])
    files = [
        part for n in ("synth", "train", "test") for part in (f"--{n}", f"{tmp_path}/{n}.jsonl")
    ]
    given = ["--graph", "support.toy:toy_graph", *files, "--seeds", "3", "--synth-seeds", "3"]
    monkeypatch.setattr(sys, "argv", ["ranker", *given, "--results", str(tmp_path)])
    main()
    record = json.loads((tmp_path / "ranker.json").read_text())
    figures = record["figures"]
    assert len(figures) == 1 + 2 + 3 and record["seed"] == 3
    (trained,) = figures["trained, both"]
    assert trained["test"]["hops"] == 2 and trained["call_ms"] > 0
