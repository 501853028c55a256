"""The strict metrics mean what their definitions say."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphwalker.graphs.base import Entity
from graphwalker.question import Answer, Question
from graphwalker.scoring import GoldSet, compare, is_right, normalise, pass_at_k, score
from graphwalker.trajectory import StopReason, Trajectory, Turn


def episode(answer, gold, ids=(), shown=(), errors=("",), stop=StopReason.ANSWERED):
    question = Question("q", "Who?", (), tuple(gold))
    turns = [Turn((), "", shown=tuple(shown))] + [Turn((), "", error=e) for e in errors]
    return Trajectory(question, "a", "p", tuple(turns), answer, stop, tuple(ids))


def compare_names(predicted, gold):
    return compare([Entity("", name) for name in predicted], map(Answer, gold))


@pytest.mark.parametrize(
    ("predicted", "gold", "em", "p", "r"),
    [
        (["A"], ["A"], 1, 1, 1),
        (["a", " A "], ["A"], 1, 1, 1),
        (["A", "X"], ["A"], 0, 0.5, 1),
        (["A"], ["A", "B"], 0, 1, 0.5),
        ([], [], 1, 1, 1),
        ([], ["A"], 0, 0, 0),
        (["A"], [], 0, 0, 0),
        ([""], [""], 0, 0, 0),
        (["New\u00a0York"], ["new  york"], 1, 1, 1),
        (["Cafe\u0301"], ["Café"], 1, 1, 1),
        (["The A"], ["A"], 0, 0, 0),
        (["['A']"], ["A"], 0, 0, 0),
    ],
)
def test_set_metrics(predicted, gold, em, p, r):
    found = compare_names(predicted, gold)
    assert (found["em"], found["precision"], found["recall"]) == (em, p, r)
    assert found["f1"] == (2 * p * r / (p + r) if p + r else 0)


def test_an_alias_counts_as_its_entity():
    scores = score(episode(("NYC", "New York"), [Answer("New York", "", ("NYC",))]))
    assert scores["em"] == scores["precision"] == 1.0


def test_ids_decide_where_both_sides_have_them():
    gold = [Answer("Springfield", "m.1")]
    assert score(episode(("Springfield",), gold, ["m.2"]))["em"] == 0.0
    assert score(episode(("Springfield (m.1)",), gold, ["m.1"]))["em"] == 1.0
    assert score(episode(("springfield",), gold, [""]))["em"] == 1.0


@pytest.mark.parametrize(
    ("node", "gold"),
    [("1.70", "1.7"), ("402762", "402,762"), ("true", "yes"), ("1961-08-04", "August 4, 1961")],
)
def test_a_value_that_is_a_node_of_the_graph_means_what_the_gold_value_means(node, gold):
    """A table of triples makes nodes of its values, so they have ids."""
    assert compare([Entity(node, node)], [Answer(gold)])["em"] == 1.0
    assert compare([Entity(node, node)], [Answer(gold, "m.1")])["em"] == 0.0


def test_gold_namesakes_must_both_be_found():
    gold = [Answer("A", "m.1"), Answer("A", "m.2")]
    assert score(episode(("A",), gold, ["m.1"]))["recall"] == 0.5
    assert score(episode(("A", "A (m.2)"), gold, ["m.1", "m.2"]))["em"] == 1.0


def test_no_answer_scores_zero_even_without_gold():
    scores = score(episode(None, [], stop=StopReason.MAX_TURNS))
    assert scores["em"] == scores["f1"] == scores["grounded"] == 0.0


def test_retrieval_is_by_entity_not_by_substring():
    gold = [Answer("Oslo", "m.1"), Answer("Bergen", "m.2")]
    near = score(episode(("Oslo",), gold, shown=[Entity("m.9", "Oslo City Hall")]))
    some = score(episode(("Oslo",), gold, shown=[Entity("m.1", "Oslo")]))
    every = score(episode(None, gold, shown=[Entity("m.1", "O"), Entity("m.2", "B")]))
    assert [s["retrieval_any"] for s in (near, some, every)] == [0.0, 1.0, 1.0]
    assert [s["retrieval_all"] for s in (near, some, every)] == [0.0, 0.0, 1.0]


def test_an_answer_not_seen_in_any_observation_is_not_grounded():
    gold, seen = [Answer("A", "m.1")], [Entity("m.1", "A")]
    assert score(episode(("A",), gold, ["m.1"], seen))["grounded"] == 1.0
    assert score(episode(("A",), gold, ["m.1"]))["grounded"] == 0.0
    assert score(episode(("A", "B"), gold, ["m.1", ""], seen))["grounded"] == 0.0


def test_recovery_needs_an_error_and_a_right_answer():
    gold = [Answer("A")]
    clean = score(episode(("A",), gold))
    recovered = score(episode(("A",), gold, errors=("unknown_relation",)))
    lost = score(episode(("X",), gold, errors=("unknown_relation",)))
    assert [s["had_error"] for s in (clean, recovered, lost)] == [0.0, 1.0, 1.0]
    assert [s["recovered"] for s in (clean, recovered, lost)] == [0.0, 1.0, 0.0]


def test_an_infrastructure_failure_has_no_score():
    with pytest.raises(ValueError, match="graph_error"):
        score(episode(None, [], stop=StopReason.GRAPH_ERROR))


def test_pass_at_k_equals_drawing_without_replacement():
    rng = random.Random(0)
    right = [True] * 3 + [False] * 7
    drawn = sum(any(rng.sample(right, 4)) for _ in range(20_000)) / 20_000
    assert pass_at_k(10, 3, 4) == pytest.approx(drawn, abs=0.01)


NAMES = st.sampled_from(
    ["Oslo", " oslo", "ＯＳＬＯ", "Bergen", "Straße", "STRASSE", "Cafe\u0301", "Café"]
)


@given(st.lists(NAMES), st.lists(NAMES))
def test_names_alone_are_compared_as_sets_of_normal_forms(predicted, gold):
    p, g = set(map(normalise, predicted)), set(map(normalise, gold))
    found = compare_names(predicted, gold)
    assert found["em"] == (p == g)
    assert found["precision"] == (len(p & g) / len(p) if p else not g)
    assert found["recall"] == (len(p & g) / len(g) if g else not p)


IDS = st.sampled_from(["", "m.1", "m.2", '"1961"'])
ANSWERS = st.builds(Answer, NAMES, IDS, st.lists(NAMES, max_size=1).map(tuple))


@given(st.lists(st.builds(Entity, IDS, NAMES), max_size=4), st.lists(ANSWERS, max_size=4))
def test_a_hit_is_the_same_id_or_without_one_the_same_name(predictions, gold):
    def same(entity, answer):
        if entity.id.startswith("m") and answer.id.startswith("m"):
            return entity.id == answer.id
        names = {normalise(name) for name in (answer.name, *answer.aliases)}
        return normalise(entity.name) in names

    distinct = GoldSet.of(gold)
    found = compare(predictions, distinct)
    # Answers of one id are one answer, under the names of the first of them.
    first = {a.id if a.id.startswith("m") else normalise(a.name): a for a in reversed(gold)}
    hits = [[same(entity, answer) for answer in first.values()] for entity in predictions]
    assert found["hit_any"] == any(map(any, hits))
    assert found["hits1"] == (bool(hits) and any(hits[0]))
    assert is_right(predictions, gold) == (found["em"] == 1.0)
    all_right = all(map(any, hits))
    all_found = all(any(row[i] for row in hits) for i in range(len(first)))
    assert found["em"] == (all_right and all_found)


@pytest.mark.parametrize(
    ("n", "c", "k"), [(8, 0, 0), (8, 4, 9), (4, 1, 8), (8, 9, 1), (8, -1, 1), (8, 4, -1)]
)
def test_pass_at_k_is_not_defined_outside_its_samples(n, c, k):
    with pytest.raises(ValueError, match=f"pass@{k} is not defined"):
        pass_at_k(n, c, k)


def test_wrong_entities_of_one_name_are_wrong_one_by_one():
    predictions = [Entity("m.1", "Al"), Entity("m.8", "Bo"), Entity("m.9", "Bo")]
    assert compare(predictions, [Answer("Al", "m.1")])["precision"] == 1 / 3
