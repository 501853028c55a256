"""Questions and turns: typed in memory, the same JSON in files; what a turn says is data."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphwalker.errors import UserError
from graphwalker.graphs.base import Direction, Entity
from graphwalker.graphs.memory import MemoryGraph
from graphwalker.query.query import Branch, Hop, Query, spellings
from graphwalker.question import Question, query_and_wording
from graphwalker.tools.base import Listed, ShownTriple
from graphwalker.tools.namebook import NameBook
from graphwalker.tools.walker import Page
from graphwalker.trajectory import StopReason, Trajectory, Turn

ANN, BO = Entity("m.a", "Ann"), Entity("m.b", "Bo")
BRANCHES = [{"topic": {"id": "m.a", "name": "Ann"}, "hops": ["parents", "~child"]}]
SAID = {
    "phrases": [["the parents of {x}", "has {x} as child"]],
    "tail_phrases": [],
    "readings": [[["parents", "~child"], ["~child"]]],
    "tail_readings": [],
}
QUERIES: list[dict[str, Any]] = [
    {},
    {"sparql": "SELECT", "webqsp_id": "w"},
    {"parses": [{"answers": ["m.b"]}]},
    {"branches": BRANCHES, "tail": []},
    {"branches": BRANCHES, "tail": [], "path": ["parents/~child"], "said": SAID},
    {
        "branches": BRANCHES,
        "tail": ["in"],
        "constraint": {"relation": "born", "kind": "date", "operator": "highest"},
        "path": ["parents/~child", "in", "born highest"],
        "sparql": "SELECT ?x",
        "said": {**SAID, "constraint": "is the youngest"},
        "scores": {"relevance": 4.0},
    },
]


def record(query):
    rest = {"dataset": "", "structure": "", "hops": 0, "split": ""}
    topics = [{"id": "m.a", "name": "Ann"}]
    return {"id": "q", "question": "Who?", "topic_entities": topics, "answers": [], **rest,
            "query": query}  # fmt: skip


@pytest.mark.parametrize("query", QUERIES)
def test_a_question_is_written_as_it_was_read(query):
    question = Question.from_json(record(query))
    assert json.dumps(question.to_json()) == json.dumps(record(query))
    assert (question.query is not None) == ("branches" in query)
    assert (question.wording is not None) == ("said" in query)


def test_a_query_that_is_none_is_named():
    with pytest.raises(UserError, match="no field 'topic'"):
        Question.from_json(record({"branches": [{"hops": ["r"]}]}))
    with pytest.raises(UserError, match="q has no query and phrases"):
        query_and_wording(Question.from_json(record({"branches": BRANCHES})))


def test_each_branch_knows_the_inverse_spelling_of_its_own_hops():
    query = Query((Branch(ANN, (Hop("x"),)), Branch(BO, (Hop("parents"),))), (Hop("a/b"),))
    first, second, tail = spellings(query, ["x", "~children", "a/b"])
    assert first == ((Hop("x"),),) and tail == ((Hop("a/b"),),)
    assert second == ((Hop("parents"), Hop("children", Direction.IN)),)


NAME = st.text(min_size=1, max_size=12).filter(str.strip)


@settings(max_examples=60, deadline=None)
@given(NAME, st.lists(NAME, min_size=1, max_size=4), st.sampled_from(["r", "a, [b]", "http://x/y"]))
def test_what_a_page_shows_is_data_in_the_turn_s_record(head, tails, relation):
    book = NameBook(MemoryGraph([], {}))
    page = Page(book, 0)
    start = Entity("m.0", book.show(Entity("m.0", head)))
    ends = [Entity(f"m.{i}", name) for i, name in enumerate(tails, start=1)]
    page.add(start, relation, Direction.OUT, ends, len(ends))
    page.add(start, relation, Direction.IN, ends, len(ends) + 3)
    shown = [page.shown[end.id] for end in ends]
    expected = [ShownTriple(start, relation, end) for end in shown]
    expected += [ShownTriple(end, relation, start) for end in shown]
    assert page.triples == expected and page.hidden == 3
    turn = Turn(
        (), "", shown=tuple(page.shown.values()), triples=tuple(page.triples), hidden=3,
        listed=(Listed("m.0", (Hop(relation), Hop(relation, Direction.IN))),),
    )  # fmt: skip
    walk = Trajectory(Question("q", "?", ()), "a", "p", (turn,), None, StopReason.ANSWERED)
    assert Trajectory.from_json(json.loads(json.dumps(walk.to_json()))) == walk
