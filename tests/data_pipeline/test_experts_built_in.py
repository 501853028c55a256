"""Experts without a model of their own: the oracle that errs, searched walks, the way back."""

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from data_pipeline.config import ExpertConfig, SynthConfig
from data_pipeline.experts.erring import DIRECTED_ERRORS
from data_pipeline.experts.experts import built_in, make_experts
from data_pipeline.experts.way_back import ways_back
from data_pipeline.synthesize import synthesize
from data_pipeline.wording.vocabulary import lexicon_of
from graphwalker.agents.environment import Environment, EnvironmentConfig
from graphwalker.agents.rollout import rollout, without_times
from graphwalker.config import parse_config
from graphwalker.datasets.own.searched import queries_to
from graphwalker.errors import UserError
from graphwalker.files import read_jsonl, read_records, write_jsonl
from graphwalker.graphs.base import Entity
from graphwalker.graphs.open import open_graph
from graphwalker.policies.scripted import ScriptedPolicy
from graphwalker.query.draft import Draft
from graphwalker.query.query import Branch, Query, execute, parse_hop
from graphwalker.question import Answer, Question, read_worded
from graphwalker.trajectory import Trajectory
from support.toy import toy_graph


@pytest.fixture(scope="module")
def corpus(exam) -> list[Question]:
    found = read_records(exam / "questions" / "questions.jsonl", read_worded)
    return [question for question in found if question.hops <= 2]


def made(exam: Path, out: Path, questions: list[Question], **values: Any) -> list[Trajectory]:
    out.mkdir(exist_ok=True)
    write_jsonl(out / "q.jsonl", [q.to_json() for q in questions])
    config = parse_config(ExpertConfig, {"count": len(questions), "mix": {}, **values}, "t")
    make_experts(exam / "graph", config, out / "q.jsonl", out / "made")
    return list(read_records(out / "made" / "graphroll.jsonl", Trajectory.from_json))


def one_way_episodes(exam, out, corpus, preset, **values):
    questions = [q for q in corpus if q.structure != "2I"][:40]
    environment = {"preset": preset, "max_turns": 12}
    return made(exam, out, questions, environment=environment, **values)


EXPLAINED = {
    "unknown_entity": "no entity has that name",
    "unknown_relation": "the entity has no such relation",
    "no_relations": "the entity has no relations",
    "no_triples": "nothing named is there",
}
"""What a thought says of an error."""


@pytest.mark.long
@pytest.mark.parametrize("preset", ["search-on-graph", "kg-r1", "graphwalker-code"])
def test_an_error_is_made_marked_and_put_right_by_the_next_turn(exam, corpus, tmp_path, preset):
    kept = one_way_episodes(exam, tmp_path, corpus, preset, error_rate=1.0)
    kinds = Counter(error["kind"] for one in kept for error in one.provenance["errors"])
    assert len(kinds) >= 3 and set(kinds) <= set(DIRECTED_ERRORS)
    for one in kept:
        assert one.agent == preset and one.scores["em"] == 1.0
        for error in one.provenance["errors"]:
            wrong, right = one.turns[error["turn"]], one.turns[error["recovered_at"]]
            assert error["slip"] and not right.error and wrong.action != right.action
            if error["kind"] == "misspelled_name":
                assert wrong.error == "unknown_entity"
            if wrong.error:
                assert EXPLAINED[wrong.error] in right.thought, wrong.error


def test_without_errors_it_is_the_oracle_and_a_seed_repeats_it(exam, corpus, tmp_path):
    plain = {"error_rate": 0.0, "plain_thoughts": True}
    honest = one_way_episodes(exam, tmp_path / "a", corpus, "kg-r1", **plain)
    assert not any(one.provenance["errors"] for one in honest)
    twice = [one_way_episodes(exam, tmp_path / name, corpus, "kg-r1", seed=3) for name in "bc"]
    assert twice[0] == twice[1] != honest


@pytest.mark.parametrize("preset", ["graphwalker-wide", "kg-r1"])
def test_thoughts_count_the_steps_of_a_question_if_asked(exam, corpus, tmp_path, preset):
    counted = {"error_rate": 0.0, "count_steps": True}
    kept = one_way_episodes(exam, tmp_path / "a", corpus, preset, **counted)
    for one in kept:
        said = " ".join(turn.thought for turn in one.turns)
        steps = len(one.question.query.all_hops) if one.question.query else 0
        assert f"It takes {('one step', 'two steps')[steps - 1]}." in one.turns[0].thought
        assert f"(step {steps} of {steps})" in said
        assert steps == 1 or said.index("(step 1 of 2)") < said.index("(step 2 of 2)")
    assert {1, 2} <= {one.question.hops for one in kept}
    silent = one_way_episodes(exam, tmp_path / "b", corpus, preset, error_rate=0.0)
    assert actions(silent) == actions(kept) and "step" not in silent[0].turns[0].thought


def test_errors_that_the_tools_do_not_allow_are_refused_by_name(exam, corpus, tmp_path):
    with pytest.raises(UserError, match="kg-r1 allow none of dead_end; these can be made: wrong_s"):
        one_way_episodes(exam, tmp_path, corpus, "kg-r1", injected_errors=["dead_end"])


def actions(trajectories: list[Trajectory]) -> list[list[dict]]:
    return [[turn.action for turn in t.turns] for t in trajectories]


def test_searched_queries_have_exactly_the_answers_and_hold_the_gold_one(exam, corpus) -> None:
    graph, hits = open_graph(exam / "graph"), 0
    for question in corpus:
        found = list(queries_to(graph, question, 2))
        gold = {answer.id for answer in question.answers}
        assert found
        assert all({e.id for e in execute(graph, query).answers} == gold for query in found)
        assert len({sum(len(b.hops) for b in query.branches) for query in found}) == 1
        assert question.query
        hits += question.query.key in {query.key for query in found}
    assert hits >= 0.9 * len(corpus)  # what is left has a shorter walk to the same entities


@pytest.mark.long
def test_neither_words_nor_query_of_a_question_are_read(exam, corpus, tmp_path) -> None:
    gone = {"query": None, "wording": None, "relation_path": ()}
    bare = [replace(q, text=f"Zork {n}?", **gone) for n, q in enumerate(corpus)]
    plain = {"plain_thoughts": True}
    whole = made(exam, tmp_path / "a", corpus, searched=2, **plain)
    searched = made(exam, tmp_path / "b", bare, searched=2, **plain)
    # Which relations a list shows first goes by the question's words; what is taken does not.
    assert actions(searched) == actions(whole)
    assert len(whole) == len(corpus) and all(t.scores["em"] == 1.0 for t in whole)
    assert whole == made(exam, tmp_path / "c", corpus, searched=2, **plain, workers=2)


def test_a_question_without_a_walk_is_dropped(exam, corpus, tmp_path) -> None:
    nobody = replace(corpus[0], answers=(*corpus[0].answers, Answer("No such", "m.none")))
    kept = made(exam, tmp_path / "a", [*corpus[:3], replace(nobody, id="lost")], searched=2)
    assert [t.question.id for t in kept] == [q.id for q in corpus[:3]]
    dropped = list(read_jsonl(tmp_path / "a" / "made" / "dropped.jsonl"))
    assert [(line["id"], line["reason"]) for line in dropped] == [("lost#0", "gave_up")]


def run_way_back(exam: Path, out: Path, **settings) -> dict:
    policy = {"model": "random-relation"}
    given = {"count": 20, "mix": {}, "policy": policy, "way_back": True, **settings}
    config = parse_config(ExpertConfig, given, "t")
    return make_experts(exam / "graph", config, exam / "questions" / "questions.jsonl", out)


def test_what_a_weak_policy_gets_wrong_is_kept_with_the_way_back(exam, tmp_path):
    card = run_way_back(exam, tmp_path)
    rows = list(read_records(tmp_path / "graphroll.jsonl", Trajectory.from_json))
    assert len(rows) == card["count"] == 20
    assert all(row.scores["em"] == row.scores["grounded"] == 1.0 for row in rows)
    joined = [row for row in rows if "way_back" in row.provenance]
    assert card["way_back"] == len(joined) > 15
    assert card["honest_errors"] == sum(card["errors"].values()) > 10
    assert card["injected_errors"] == 0
    for row in joined:
        for error in row.provenance["errors"]:
            assert error["turn"] < row.provenance["way_back"] <= error["recovered_at"]
        assert row.policy == "random-relation+oracle"


def test_another_concurrency_and_a_kill_give_the_same_file(exam, tmp_path):
    run_way_back(exam, tmp_path / "a", concurrency=64)
    run_way_back(exam, tmp_path / "b", concurrency=1)
    one, other = (tmp_path / name / "graphroll.jsonl" for name in "ab")
    assert one.read_bytes() == other.read_bytes()
    whole = one.read_bytes()
    one.write_bytes(whole[: len(whole) // 2])
    run_way_back(exam, tmp_path / "a")
    assert one.read_bytes() == whole


def test_turns_are_repeated_word_for_word_and_no_call_is_made_twice(exam, corpus):
    graph = open_graph(exam / "graph")
    environment = Environment(graph, EnvironmentConfig())
    question = next(q for q in corpus if q.structure == "2-hop")
    topic = question.topic_entities[0].name
    script = [
        f"Hm. <kg-query> get_relations({json.dumps(topic)}) </kg-query>",
        '<kg-query> get_relations("Nobody At All") </kg-query>',
        '<answer> ["no idea"] </answer>',
    ]
    policy = ScriptedPolicy({question.id: script})
    (failed,) = map(without_times, rollout([question], environment, policy))
    back = next(iter(ways_back(failed, environment, seed=0)))
    assert [turn.completion for turn in back.turns[:2]] == script[:2]
    shown = ([turn.observation for turn in one.turns[:2]] for one in (back, failed))
    assert next(shown) == next(shown)
    calls = [json.dumps(turn.action) for turn in back.turns]
    assert len(set(calls)) == len(calls)
    assert "wrong" in back.turns[2].thought or "failed" in back.turns[2].thought
    assert set(back.answer or ()) == {entity.name for entity in question.answers}


def test_an_episode_without_a_call_has_no_way_back(exam, corpus):
    environment = Environment(open_graph(exam / "graph"), EnvironmentConfig())
    policy = ScriptedPolicy({corpus[0].id: ['<answer> ["no idea"] </answer>']})
    (failed,) = rollout(corpus[:1], environment, policy)
    assert not list(ways_back(failed, environment, seed=0))


def test_a_policy_does_not_search() -> None:
    with pytest.raises(UserError, match="searched is the built-in expert's"):
        parse_config(ExpertConfig, {"searched": 1, "policy": {"model": "x"}}, "t")


def test_a_preset_that_it_cannot_play_is_named_with_the_way_out(exam, corpus, tmp_path):
    with pytest.raises(UserError, match=r"does not play graphwalk: set policy.model=oracle"):
        made(exam, tmp_path, corpus[:2], environment={"preset": "graphwalk"})


def test_a_mix_may_have_the_types_of_any_file():
    assert parse_config(ExpertConfig, {"mix": {"composition": 1, "absent": 1}}, "t").mix


def test_steps_are_not_asked_for_of_thoughts_that_a_policy_words():
    asked = {"count_steps": True, "policy": {"model": "oracle"}}
    for more in ({}, {"referenced": True}):
        with pytest.raises(UserError, match="count_steps: a policy words its thoughts itself"):
            parse_config(ExpertConfig, {**asked, **more}, "t")
    assert parse_config(ExpertConfig, {**asked, "way_back": True}, "t").count_steps


GRAPH = toy_graph()
SPOUSE = "people.person.spouse_s..people.marriage.spouse"


def ask(topic: str, hops: list[str], readings: dict[str, list[str]] | None = None) -> Question:
    """A question over the toy graph; `readings` adds what the phrase of a hop may mean as well."""
    start = Entity(topic, GRAPH.name(topic))
    query = Query((Branch(start, tuple(map(parse_hop, hops))),))
    also = readings or {}
    meanings = tuple((parse_hop(hop), *map(parse_hop, also.get(hop, ()))) for hop in hops)
    phrases = tuple(f"the <{hop}> of {{x}}" for hop in hops)
    draft = Draft("Which one?", (phrases,), (), (meanings,))
    answers = tuple(Answer(e.name, e.id) for e in execute(GRAPH, query).answers)
    asked = Question("toy", "Which one?", (start,), answers, query=query, wording=draft)
    return replace(asked, relation_path=query.path)


def expert(question: Question, seed: int, error_rate: float = 0.0) -> Trajectory:
    made = built_in(GRAPH, ExpertConfig(seed=seed, error_rate=error_rate), lexicon_of(GRAPH))
    return next(made.episodes([question]))


def test_a_query_that_leads_nowhere_on_this_graph_is_no_crash():
    question = ask("m.0film1", ["film.film.no_such", "film.film.directed_by"])
    for seed in range(20):
        assert expert(question, seed, error_rate=1.0).answer in (None, ())


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
    kinds = ("wrong_relation", "dead_end", "wrong_entity", "misspelled_name")
    assert {e["kind"] for e in errors} == {*kinds, "unlisted_relation", "foreign_relation"}
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


def test_a_single_word_is_misspelled_and_no_other_name():
    question = ask("m.0film1", ["film.film.country", "location.country.capital"])
    runs = [expert(question, seed, error_rate=1.0) for seed in range(120)]
    errors = [(run, error) for run in runs for error in run.provenance["errors"]]
    of_verria = [
        (error["what"], run.turns[error["turn"]])
        for run, error in errors
        if error["kind"] == "misspelled_name" and " " not in error["what"]
    ]
    assert of_verria
    for what, turn in of_verria:
        assert what != "Verria" and sorted(what) == sorted("Verria") and what in turn.thought


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


def run_erring(exam: Path, out: Path, **settings) -> dict:
    config = ExpertConfig(**{"count": 30, **settings})
    return make_experts(exam / "graph", config, exam / "questions" / "questions.jsonl", out)


def test_most_trajectories_err_and_recover_by_default(exam, tmp_path):
    card = run_erring(exam, tmp_path)
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
    run_erring(exam, one)
    run_erring(exam, two, workers=2)
    whole = (one / "graphroll.jsonl").read_bytes()
    assert (two / "graphroll.jsonl").read_bytes() == whole
    attempts = (two / "attempts.jsonl").read_bytes()
    (two / "attempts.jsonl").write_bytes(attempts[:-700])
    run_erring(exam, two)
    assert (two / "graphroll.jsonl").read_bytes() == whole
    assert (two / "datacard.json").read_bytes() == (one / "datacard.json").read_bytes()


def test_a_structure_without_questions_is_reported_before_any_work(exam, tmp_path):
    with pytest.raises(UserError, match=r"no 5-hop questions in it.*mix=\{\}"):
        run_erring(exam, tmp_path, mix={"5-hop": 1})
    assert not list(tmp_path.iterdir())  # another run may take the folder


@pytest.mark.long
def test_datasets_reads_graphsynth_and_graphroll_together_in_either_order(exam, tmp_path):
    from datasets import load_dataset

    config = SynthConfig(count=10, seed=2, mix={"2-hop": 2, "2I": 1})
    synthesize(exam / "graph", config, tmp_path / "synth")
    run_erring(exam, tmp_path / "roll", count=10, tries=3)
    files = [str(tmp_path / name) for name in ("synth/graphsynth.jsonl", "roll/graphroll.jsonl")]
    for given in (files, files[::-1]):
        rows = load_dataset("json", data_files=given, split="train", cache_dir=str(tmp_path))
        assert len(rows) == 20
