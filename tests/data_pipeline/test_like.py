"""Walks like a benchmark's questions: what `like=FILE` sets, and what comes of it."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from data_pipeline.config import SynthConfig
from data_pipeline.like import apply_like, usual_most
from data_pipeline.seeds.shares import HopShares, read_shares, write_shares
from data_pipeline.splits import TRAIN, SplitConfig, Splits
from data_pipeline.synthesize import make_questions, make_walks
from graphwalker.errors import UserError
from graphwalker.graphs.base import Direction, Entity
from graphwalker.graphs.open import open_graph
from graphwalker.query.query import Branch, Hop, Query, execute


@pytest.fixture(scope="module")
def exam(world: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("exam")
    config = SynthConfig(count=60, seed=4, mix={"1-hop": 5.0, "2-hop": 1.0}, split="any")
    make_questions(world / "graph", config, out)
    return out / "questions.jsonl"


def records(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.open(encoding="utf-8")]


def relations(file: Path) -> set[str]:
    hops = (h for r in records(file) for b in r["query"]["branches"] for h in b["hops"])
    return {hop.lstrip("~") for hop in hops}


def test_like_sets_the_mix_the_answers_the_seeds_and_the_predicates(exam, graph, tmp_path):
    config = apply_like(SynthConfig(like=str(exam)), open_graph(graph), tmp_path)
    assert config.mix == {"1-hop": 50.0, "2-hop": 10.0}
    assert config.max_answers == usual_most([len(r["answers"]) for r in records(exam)])
    topics = {topic["id"] for record in records(exam) for topic in record["topic_entities"]}
    assert topics <= set(Path(config.seeds_file).read_text().split())


def test_one_question_of_few_with_hundreds_of_answers_sets_no_bound(exam, graph, tmp_path):
    rows = records(exam)[:5]
    rows[0]["answers"] = [{"id": f"m.{n}", "name": str(n)} for n in range(300)]
    (tmp_path / "few.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    config = SynthConfig(like=str(tmp_path / "few.jsonl"), count=4)
    card = make_questions(graph, config, tmp_path / "q")
    most = max(len(row["answers"]) for row in rows[1:])
    assert card["like"]["max_answers"] == most
    assert f"at most {most} answers" in (tmp_path / "q/README.md").read_text()


def test_questions_whose_answer_the_graph_lacks_set_nothing(exam, graph, tmp_path):
    row = records(exam)[0]
    absent = {"id": "a", "structure": "absent", "answers": [], "gold": {"kind": "absent"}}
    both = tmp_path / "both.jsonl"
    both.write_text(exam.read_text() + json.dumps({**row, **absent}) + "\n")
    config = apply_like(SynthConfig(like=str(both)), open_graph(graph), tmp_path)
    assert config.mix == {"1-hop": 50.0, "2-hop": 10.0}


def test_what_is_set_by_hand_wins_over_like(exam, graph, tmp_path):
    by_hand = SynthConfig(like=str(exam), mix={"2-hop": 1.0}, max_answers=2)
    config = apply_like(by_hand, open_graph(graph), tmp_path)
    assert config.mix == {"2-hop": 1.0} and config.max_answers == 2
    assert config.predicates_file


def test_walks_like_a_file_take_its_hops_and_the_card_says_how_many(exam, graph, tmp_path):
    card = make_questions(graph, SynthConfig(like=str(exam), count=80, seed=7), tmp_path / "q")
    shares = read_shares(str(tmp_path / "q/like/predicates.txt"))
    assert shares is not None
    known = {way.relation for ways in shares.spellings.values() for way in ways}
    assert relations(tmp_path / "q/questions.jsonl") <= known
    assert card["like"]["hops"] == len(shares.weights)
    assert card["like"]["seen_1_times"] > 0.8
    stored = (tmp_path / "q/config.yaml").read_text()
    assert "1-hop: 50.0" in stored and "like/seeds.txt" in stored


def test_the_same_command_resumes_and_any_number_of_workers_makes_the_same(exam, graph, tmp_path):
    for folder, count, workers in (("a", 10, 1), ("b", 10, 2), ("a", 10, 1)):
        config = SynthConfig(like=str(exam), count=count, workers=workers)
        make_walks(graph, config, tmp_path / folder)
    assert (tmp_path / "a/walks.jsonl").read_bytes() == (tmp_path / "b/walks.jsonl").read_bytes()


def test_a_file_whose_questions_have_no_query_is_refused(graph, tmp_path):
    entity = open_graph(graph).entity_at(0)
    topic = {"id": entity.id, "name": entity.name}
    answer = {"id": "y", "name": "Y"}
    record = {"id": "1", "question": "Who?", "topic_entities": [topic], "answers": [answer]}
    (tmp_path / "bare.jsonl").write_text(json.dumps(record))
    with pytest.raises(UserError, match="none of its 1 questions has a query"):
        make_walks(graph, SynthConfig(like=str(tmp_path / "bare.jsonl")), tmp_path / "out")


def test_rare_hops_have_three_records_and_the_others_share_the_rest():
    shares = HopShares({Hop("a"): 90.0, Hop("b"): 8.0, Hop("c"): 1.0, Hop("d"): 1.0}, {})
    assert shares.quotas(100) == {"a": 87, "b": 8, "c": 3, "d": 3}
    assert shares.quotas(4) == {"a": 1, "b": 1, "c": 1, "d": 1}


def test_shares_are_read_as_they_were_written_and_a_hop_is_its_inverse(tmp_path):
    shares = HopShares({Hop("capital"): 3.0}, {Hop("capital"): Hop("capital_of", Direction.IN)})
    write_shares(tmp_path / "p.txt", shares)
    read = read_shares(str(tmp_path / "p.txt"))
    assert read and read.weights == shares.weights and read.spellings == shares.spellings
    (tmp_path / "p.txt").write_text("capital\tmany\n")
    with pytest.raises(UserError, match="line 1: write a hop"):
        read_shares(str(tmp_path / "p.txt"))


def one_hop(topic: str, relation: str) -> Query:
    return Query((Branch(Entity(topic, topic), (Hop(relation),)),))


def test_no_relation_is_held_out_from_questions_of_one_hop():
    splits = Splits(SplitConfig(entity_share=0.0, path_share=0.5))
    for relation in map(str, range(30)):
        found = [splits.of(one_hop(topic, relation)) for topic in map(str, range(40))]
        assert 5 < found.count(TRAIN) < 35


def test_the_frontier_limit_is_of_steps_between_topic_and_answers(graph):
    opened = open_graph(graph)
    entities = map(opened.entity_at, range(opened.size))
    queries = (one_hop(entity.id, "film.director.film") for entity in entities)
    query = next(q for q in queries if len(execute(opened, q).answers) > 2)
    longer = replace(query, tail=(Hop("film.film.genre"),))
    assert execute(opened, query).widest == 1
    assert execute(opened, longer).widest == len(execute(opened, query).answers)
