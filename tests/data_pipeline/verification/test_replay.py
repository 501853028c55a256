"""Trajectories are played again, and every change in a file is found."""

import json

import pytest
from test_verify import verify

from data_pipeline.config import ExpertConfig, SynthConfig
from data_pipeline.experts.experts import make_experts
from data_pipeline.synthesize import synthesize
from data_pipeline.verification.verify import verify_file
from graphwalker.files import write_jsonl
from graphwalker.graphs.open import open_graph


def guess(record, everywhere=True, context=False):
    turn = record["turns"][1]
    if everywhere:
        turn["completion"] = turn["completion"].replace(turn["thought"], "I guess.")
    turn["thought"] = "I guess."
    if context:
        record["turns"][2]["context"] = turn["context"]


CHANGES = {
    "an observation": lambda r: r["turns"][1].update(observation="Nothing."),
    "a context": lambda r: guess(r, context=True),
    "the thought alone": lambda r: guess(r, everywhere=False),
    "a thought everywhere": guess,
    "the question": lambda r: r["question"].update(question="Really?"),
    "what is hidden": lambda r: r["turns"][1].update(hidden=99),
}
"""What changes a trajectory in one place."""


def changed(line, how):
    record = json.loads(line)
    CHANGES[how](record)
    return json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode()


REASONS = ("observation", "context", "thought", "digest", "context", "hidden")


@pytest.mark.parametrize(("how", "reason"), [*zip(CHANGES, REASONS, strict=True)])
def test_a_change_in_a_trajectory_is_found_and_named(how, reason, made, world, tmp_path, capsys):
    lines = (made / "graphsynth.jsonl").read_bytes().splitlines()
    lines[4] = changed(lines[4], how)
    path = tmp_path / "t.jsonl"
    path.write_bytes(b"\n".join(lines) + b"\n")
    assert verify(path, "--graph", world / "graph") == 1
    assert capsys.readouterr().out.startswith(f"{path}: line 5 (")
    verdict = verify_file(open_graph(world / "graph"), path)
    assert [(f.line, f.reason) for f in verdict.first] == [(5, f"{reason} differs")]


def test_two_overwritten_bytes_are_found_wherever_they_are(made, world, tmp_path):
    whole = (made / "questions.jsonl").read_bytes()
    start, end = whole.index(b"\n") + 1, whole.index(b"\n", whole.index(b"\n") + 1)
    for place in range(start + 3, end - 2, 101):
        for found in (b"zz", b"\xff\xff"):
            path = tmp_path / "q.jsonl"
            path.write_bytes(whole[:place] + found + whole[place + 2 :])
            verdict = verify_file(open_graph(world / "graph"), path, replay=False)
            assert [f.line for f in verdict.first] == [2], (place, found)


def test_a_file_is_replayed_in_the_environment_of_its_run(world, tmp_path, capsys):
    config = SynthConfig(count=6, mix={"2-hop": 1}, environment={"top_relations": 4})
    synthesize(world / "graph", config, tmp_path / "made")
    path, moved = tmp_path / "made" / "graphsynth.jsonl", tmp_path / "moved.jsonl"
    assert verify(path, "--graph", world / "graph") == 0
    moved.write_bytes(path.read_bytes())
    assert verify(moved, "--graph", world / "graph") == 0  # its records name the limits
    old = [json.loads(line) for line in path.read_text().splitlines()]
    for record in old:
        del record["digest"]
        assert json.loads(record["provenance"].pop("limits")) == {"top_relations": 4}
    write_jsonl(moved, old)
    assert verify(moved, "--graph", world / "graph") == 1
    told = capsys.readouterr()
    assert "context differs" in told.out  # it tells how many relations are listed
    assert "no run.json beside the file" in told.err
    assert verify(moved, "--graph", world / "graph", "environment.top_relations=4") == 0
    assert verify(moved, "--graph", world / "graph", "--no-replay") == 0


def test_expert_trajectories_with_errors_replay(made, world, tmp_path):
    config = ExpertConfig(count=10, mix={}, error_rate=1.0)
    make_experts(world / "graph", config, made / "questions.jsonl", tmp_path)
    verdict = verify_file(open_graph(world / "graph"), tmp_path / "graphroll.jsonl")
    assert (verdict.failed, verdict.replayed, verdict.digests) == (0, 10, 10)
