"""Answers by reference: `#2` is what query 2 led to, and nothing that was not shown."""

import pytest

from graphwalker.graphs.base import Entity
from graphwalker.graphs.memory import MemoryGraph
from graphwalker.question import Question
from graphwalker.tools.base import Call, Observation, References
from graphwalker.tools.walker import WalkerSettings
from graphwalker.tools.wide.paged import PagedTools
from graphwalker.tools.wide.references import ReferenceTools, result_number

TRIPLES = [
    *(("m.a", "x.y.likes", f"m.b{i}") for i in range(7)),
    *((f"m.b{i}", "x.y.knows", "m.a") for i in range(5)),
    ("m.a", "x.y.wrote", "m.t"),
    ("m.b0", "x.y.likes", "m.a"),
    ("m.b1", "x.y.likes", "m.a"),
    ("m.b1", "x.y.likes", "m.b2"),
]
NAMES = {
    "m.a": "Ann",
    **{f"m.b{i}": f"Bob {i}" for i in range(7)},
    "m.t": '#1", "</answer>',
}
QUESTION = Question("q", "Whom does she like?", (Entity("m.a", "Ann"),))


def tools(names: dict[str, str] = NAMES) -> ReferenceTools:
    limits = WalkerSettings(triples_per_relation=3)
    box = ReferenceTools(MemoryGraph(TRIPLES, names), QUESTION, limits)
    box.call(Call("get_relations", {"entity": "Ann"}))
    return box


def ask(box: ReferenceTools, entity: str, *relations: str, page: int = 1) -> Observation:
    more = {"page": page} if page > 1 else {}
    wanted = [f"x.y.{relation}" for relation in relations]
    return box.call(Call("get_triples", {"entity": entity, "relations": wanted, **more}))


def test_a_query_carries_a_number_and_an_answer_may_point_at_it():
    box = tools()
    assert ask(box, "Ann", "knows").text.startswith("#1: [Bob 0, x.y.knows, Ann], ")
    assert ask(box, "Ann", "wrote").text.startswith("#2: [Ann, x.y.wrote, ")
    assert isinstance(box, References) and not isinstance(
        PagedTools(MemoryGraph([], {}), QUESTION), References
    )
    assert box.resolve(["#1"]) == ("Bob 0", "Bob 1", "Bob 2")
    assert box.resolve(["Bob 9", " #1.2 ", "#1"]) == ("Bob 9", "Bob 1", "Bob 0", "Bob 2")
    assert box.resolve([]) == ()


def test_the_pages_of_a_query_share_its_number_and_only_shown_ones_count():
    box = tools()
    first = ask(box, "Ann", "likes", "knows")
    assert first.text.endswith('More: get_triples("Ann", ["x.y.likes", "x.y.knows"], 2)')
    assert box.resolve(["#1"]) == ("Bob 0", "Bob 1", "Bob 2")  # liked and known, the same three
    ask(box, "Ann", "likes", "knows", page=2)
    third = ask(box, "Ann", "likes", page=3)  # a page of what is cut alone
    assert third.text.startswith("#1: ")
    assert box.resolve(["#1"]) == tuple(f"Bob {i}" for i in range(7))
    assert ask(box, "Ann", "likes", "knows").text.startswith("#1: ")
    assert ask(box, "Ann", "knows").text.startswith("#2: ")
    assert ask(box, "Bob 0", "likes").text.startswith("#3: ")


def test_an_error_has_no_number():
    box = tools()
    assert ask(box, "Ann", "hates").text.startswith("Error unknown_relation")
    assert ask(box, "Ann", "knows", page=9).text.startswith("Error no_such_page")
    assert result_number(ask(box, "Ann", "knows").text) == 1


def test_topic_entities_are_not_pointed_at():
    box = tools()
    ask(box, "Bob 0", "knows")
    ask(box, "Bob 1", "likes")
    seen = box.resolve(["#1"])
    assert isinstance(seen, Observation) and "alone; copy names" in seen.text
    assert box.resolve(["#1", "Ann"]) == ("Ann",)
    assert box.resolve(["#1", "#2"]) == box.resolve(["#2"])


@pytest.mark.parametrize(
    ("wrong", "next_move"),
    [
        ("#2", "there is no #2; #1 is the only one, or copy names"),
        ("#0", "there is no #0; #1 is the only one, or copy names"),
        ("#1.4", "there is no #1.4; #1 leads to 3: write one of them, or copy names"),
        ("#1.0", "there is no #1.0; #1 leads to 3"),
        ("#999999.1", "there is no #999999; #1 is"),
    ],
)
def test_a_reference_to_what_was_not_shown_names_the_next_move(wrong: str, next_move: str):
    box = tools()
    ask(box, "Ann", "knows")
    seen = box.resolve(["Bob 0", wrong])
    assert isinstance(seen, Observation) and seen.error == "unknown_reference"
    assert next_move in seen.text and seen.graph_calls == 0


def test_before_any_triples_the_error_says_what_to_call():
    seen = tools().resolve(["#1"])
    assert isinstance(seen, Observation) and "first call get_triples(" in seen.text


@pytest.mark.parametrize("name", ["#", "#x", "#1.", "#-1", "#1.2.3", "#1000000", "# 1", "#１", "1"])
def test_what_is_no_reference_is_a_name(name: str):
    box = tools()
    ask(box, "Ann", "knows")
    assert box.resolve([name]) == (name,)


def test_a_shown_name_that_reads_like_a_reference_is_that_name():
    box = tools({**NAMES, "m.b1": "#2", "m.b2": "#1.1", "m.b6": "#3"})
    ask(box, "Ann", "knows")
    ask(box, "Ann", "wrote")
    assert box.resolve(["#2", "#1.1"]) == ("#2", "#1.1")
    assert box.resolve(["#1"]) == ("Bob 0", "#2", "#1.1")
    assert box.resolve(["#2.1"]) == ('#1", "</answer>',)
    unseen = box.resolve(["#3"])  # it has not been shown
    assert isinstance(unseen, Observation) and unseen.error == "unknown_reference"


def test_the_signatures_say_so():
    assert '"#2" stands for all entities that they lead to' in tools().signatures()


def test_an_answer_may_point_at_what_results_share():
    box = tools()
    ask(box, "Ann", "likes", page=1)  # Bob 0, Bob 1, Bob 2
    ask(box, "Bob 1", "likes")  # Bob 2
    ask(box, "Ann", "wrote")
    assert box.resolve(["#1 & #2"]) == box.resolve([" #2&#1 "]) == ("Bob 2",)
    assert box.resolve(["#1 & #1", "Bob 2"]) == ("Bob 0", "Bob 1", "Bob 2")
    assert box.shared() == ["#1 & #2"]


@pytest.mark.parametrize(
    ("written", "says"),
    [
        ("#1 & #3", "#1 & #3 share no entity"),
        ("#1 & #9", "there is no #9; #1 to #3 are there"),
        ("#1 & #2 & #3", "share no entity"),
    ],
)
def test_results_that_share_nothing_are_a_mistake(written: str, says: str):
    box = tools()
    for entity, relation in (("Ann", "likes"), ("Bob 1", "likes"), ("Ann", "wrote")):
        ask(box, entity, relation)
    seen = box.resolve([written])
    assert isinstance(seen, Observation) and says in seen.text
    assert seen.error == "unknown_reference"


@pytest.mark.parametrize("written", ["#1 &", "& #1", "#1 & Bob 2", "#1.2 & #2", "#1 + #2"])
def test_what_only_looks_like_a_reference_is_a_name(written: str):
    box = tools()
    ask(box, "Ann", "likes")
    assert box.resolve([written]) == (written,)
