"""The oracle walks straight; the expert errs, sees it, goes back, and is kept only when right."""

from dataclasses import replace
from pathlib import Path

import pytest

from data_pipeline.config import ExpertConfig, SynthConfig
from data_pipeline.experts.experts import built_in, make_experts
from data_pipeline.synthesize import synthesize
from data_pipeline.wording.vocabulary import lexicon_of
from graphwalker.errors import UserError
from graphwalker.files import read_records
from graphwalker.graphs.base import Entity
from graphwalker.query.draft import Draft
from graphwalker.query.query import Branch, Query, execute, parse_hop
from graphwalker.question import Answer, Question
from graphwalker.trajectory import Trajectory
from support.toy import toy_graph

GRAPH = toy_graph()
SPOUSE = "people.person.spouse_s..people.marriage.spouse"


def ask(topic: str, hops: list[str], readings: dict[str, list[str]] | None = None) -> Question:
    """A question over the toy graph; `readings` adds what the phrase of a hop may mean as well."""
    start = Entity(topic, GRAPH.name(topic))
    query = Query((Branch(start, tuple(map(parse_hop, hops))),))
    meanings = tuple(
        (parse_hop(hop), *map(parse_hop, (readings or {}).get(hop, ()))) for hop in hops
    )
    phrases = tuple(f"the <{hop}> of {{x}}" for hop in hops)
    draft = Draft("Which one?", (phrases,), (), (meanings,))
    answers = tuple(Answer(e.name, e.id) for e in execute(GRAPH, query).answers)
    asked = Question("toy", "Which one?", (start,), answers, query=query, wording=draft)
    return replace(asked, relation_path=query.path)


def expert(question: Question, seed: int, error_rate: float = 0.0) -> Trajectory:
    made = built_in(GRAPH, ExpertConfig(seed=seed, error_rate=error_rate), lexicon_of(GRAPH))
    return next(made.episodes([question]))


PARENT = {"people.person.parents": ["people.person.place_of_birth", "people.person.nationality"]}


def test_an_expert_recovers_from_a_wrong_reading_by_what_the_graph_shows():
    question = ask("m.0eve", ["people.person.parents", SPOUSE], readings=PARENT)
    runs = [expert(question, seed) for seed in range(20)]
    assert all(run.scores["em"] == 1.0 for run in runs)
    erring = [run for run in runs if run.provenance["errors"]]
    assert 5 < len(erring) < 20
    for run in erring:
        assert {e["kind"] for e in run.provenance["errors"]} == {"dead_end"}
        assert all(e["recovered"] for e in run.provenance["errors"])
        assert any("Dead end" in t.thought or "lists nothing" in t.thought for t in run.turns)


def test_every_kind_of_injected_error_happens_and_is_put_right():
    question = ask("m.0film1", ["film.film.directed_by", "people.person.place_of_birth"])
    runs = [expert(question, seed, error_rate=1.0) for seed in range(60)]
    errors = [e for run in runs for e in run.provenance["errors"]]
    assert {e["kind"] for e in errors} == {
        "wrong_relation",
        "dead_end",
        "wrong_entity",
        "misspelled_name",
        "unlisted_relation",
        "foreign_relation",
    }
    assert all(run.scores["em"] == 1.0 for run in runs)
    for run in runs:
        for error in run.provenance["errors"]:
            turn = run.turns[error["turn"]]
            garbled = error["kind"] == "misspelled_name"
            assert turn.action["tool"] == ("get_relations" if garbled else "get_triples")
            assert turn.error == "unknown_entity" or not garbled
            if error["kind"] == "unlisted_relation":
                assert turn.error == "not_listed_yet"
            if error["kind"] == "foreign_relation":
                assert turn.error == "unknown_relation"


def test_an_expert_does_not_read_the_gold_hops():
    hops = ["people.person.parents", SPOUSE]
    question = ask("m.0eve", hops, readings=PARENT)
    runs = [expert(question, seed) for seed in range(5)]
    draft = question.wording
    for order in ([1, 0, 2], [2, 1, 0]):  # the true reading first, as a draft has it, or not
        parents = tuple(draft.readings[0][0][i] for i in order)
        shuffled = replace(draft, readings=((parents, draft.readings[0][1]),))
        asked = replace(question, wording=shuffled)
        assert [expert(asked, seed).turns for seed in range(5)] == [run.turns for run in runs]


def run_experts(exam: Path, out: Path, **settings) -> dict:
    config = ExpertConfig(**{"count": 30, **settings})
    return make_experts(exam / "graph", config, exam / "questions" / "questions.jsonl", out)


def test_most_trajectories_err_and_recover_by_default(exam, tmp_path):
    card = run_experts(exam, tmp_path)
    rows = list(read_records(tmp_path / "graphroll.jsonl", Trajectory.from_json))
    assert card["share_with_an_error"] >= 0.6 and len(card["errors"]) >= 4
    for row in rows:
        wrong = {error["turn"] for error in row.provenance["errors"]}
        for error in row.provenance["errors"]:
            assert error["recovered"] and error["turn"] < error["recovered_at"] < len(row.turns)
            assert error["recovered_at"] not in wrong
    injected, honest = card["injected_errors"], card["honest_errors"]
    assert injected + honest == sum(card["errors"].values())


@pytest.mark.long
def test_experts_resume_to_the_same_bytes_with_any_number_of_workers(exam, tmp_path):
    one, two = tmp_path / "one", tmp_path / "two"
    run_experts(exam, one)
    run_experts(exam, two, workers=2)
    whole = (one / "graphroll.jsonl").read_bytes()
    assert (two / "graphroll.jsonl").read_bytes() == whole
    attempts = (two / "attempts.jsonl").read_bytes()
    (two / "attempts.jsonl").write_bytes(attempts[:-700])
    run_experts(exam, two)
    assert (two / "graphroll.jsonl").read_bytes() == whole
    assert (two / "datacard.json").read_bytes() == (one / "datacard.json").read_bytes()


def test_a_structure_without_questions_is_reported_before_any_work(exam, tmp_path):
    with pytest.raises(UserError, match=r"no 5-hop questions in it.*mix=\{\}"):
        run_experts(exam, tmp_path, mix={"5-hop": 1})
    assert not list(tmp_path.iterdir())  # another run may take the folder


@pytest.mark.long
def test_datasets_reads_graphsynth_and_graphroll_together_in_either_order(exam, tmp_path):
    from datasets import load_dataset

    config = SynthConfig(count=10, seed=2, mix={"2-hop": 2, "2I": 1})
    synthesize(exam / "graph", config, tmp_path / "synth")
    run_experts(exam, tmp_path / "roll", count=10, tries=3)
    files = [str(tmp_path / name) for name in ("synth/graphsynth.jsonl", "roll/graphroll.jsonl")]
    for given in (files, files[::-1]):
        rows = load_dataset("json", data_files=given, split="train", cache_dir=str(tmp_path))
        assert len(rows) == 20
