"""The oracle of `graphwalker-frontier`: a hop from a result is one call, and replays."""

from data_pipeline.demonstrators.error_labels import labelled
from data_pipeline.verification.replay import Replayer
from eval.viewer.subgraph import walk_graph
from graphwalker.agents.environment import Environment, EnvironmentConfig
from graphwalker.agents.rollout import rollout
from graphwalker.ceilings.ceiling import reach_of
from graphwalker.graphs.base import Direction, Entity
from graphwalker.graphs.memory import MemoryGraph
from graphwalker.policies.config import PolicyConfig
from graphwalker.policies.load import load_policy
from graphwalker.query.query import Branch, Hop, Query, execute
from graphwalker.question import Answer, Question
from graphwalker.scoring import score
from graphwalker.trajectory import Trajectory

GRAPH = MemoryGraph(
    [
        *(("m.x", "film.made", f"m.f{i}") for i in range(4)),
        *((f"m.f{i}", "film.genre", f"m.g{i % 3}") for i in range(4)),
        ("m.f0", "film.actor", "m.p"),
        ("m.f2", "film.actor", "m.q"),
        ("m.f9", "film.actor", "m.q"),
        ("m.x", "film.friend", "m.q"),
    ],
    {
        "m.x": "Xenia",
        **{f"m.f{i}": f"Film {i}" for i in range(10)},
        **{f"m.g{i}": f"Genre {i}" for i in range(3)},
        "m.p": "Pia",
        "m.q": "Quin",
    },
)  # fmt: skip
XENIA, QUIN = Entity("m.x", "Xenia"), Entity("m.q", "Quin")
MADE, GENRE = Hop("film.made"), Hop("film.genre")
CAST = Hop("film.actor", Direction.IN)
CHAIN = Query((Branch(XENIA, (MADE, GENRE)),))


def played(*branches: Branch, tail: tuple[Hop, ...] = (), **settings: object) -> Trajectory:
    config = EnvironmentConfig(preset="graphwalker-frontier", **settings)  # type: ignore[arg-type]
    there, query = Environment(GRAPH, config), Query(branches, tail)
    answers = tuple(Answer(e.name, e.id) for e in execute(GRAPH, query).answers)
    question = Question("q", "?", tuple(b.topic for b in branches), answers, query=query)
    policy = load_policy(PolicyConfig(model="oracle"), environment=there)
    return next(iter(rollout([question], there, policy)))


def calls(done: Trajectory) -> list[str]:
    return [
        turn.completion.rpartition("<kg-query> ")[2].partition(" </kg")[0] for turn in done.turns
    ]


def test_a_hop_from_four_films_is_one_look_and_one_query():
    done = played(Branch(XENIA, (MADE, GENRE)))
    assert calls(done)[2:4] == ['get_relations("#1")', 'get_triples("#1", ["film.genre"])']
    assert done.turns[-1].action == {"answer": ["#2"]} and score(done)["em"] == 1.0
    assert done.answer == ("Genre 0", "Genre 1", "Genre 2")


def test_its_pages_are_turned():
    done = played(Branch(XENIA, (MADE, GENRE)), options={"ends": 1})
    assert calls(done)[4:6] == [
        'get_triples("#1", ["film.genre"], 2)',
        'get_triples("#1", ["film.genre"], 3)',
    ]
    assert score(done)["em"] == 1.0


def test_what_is_less_than_a_result_is_walked_one_by_one():
    done = played(Branch(XENIA, (MADE,)), Branch(QUIN, (CAST,)), tail=(GENRE,))
    assert calls(done)[4:6] == ['get_relations("Film 2")', 'get_triples("Film 2", ["film.genre"])']
    assert score(done)["em"] == 1.0


def test_a_walk_replays_and_its_answer_is_resolved_again(tmp_path):
    done = played(Branch(XENIA, (MADE, GENRE)))
    assert not list(Replayer(GRAPH, tmp_path, {}).faults(done))


def test_a_result_that_a_later_call_starts_at_is_no_dead_end():
    done = played(Branch(XENIA, (MADE, GENRE)))
    assert labelled(done) == []


def test_the_viewer_draws_the_triples_and_no_node_for_the_reference():
    drawn = walk_graph(played(Branch(XENIA, (MADE, GENRE))))
    assert not [node for node in drawn.nodes if node.startswith("#")]


def test_the_wide_preset_walks_the_same_question_one_by_one():
    there, query = Environment(GRAPH, EnvironmentConfig(preset="graphwalker-wide")), CHAIN
    policy = load_policy(PolicyConfig(model="oracle"), environment=there)
    done = next(iter(rollout([Question("q", "?", (XENIA,), query=query)], there, policy)))
    assert calls(done)[-2] == 'get_triples("Film 3", ["film.genre"])'


def test_its_ceiling_counts_a_hop_from_a_result_as_one_call():
    answers = tuple(Answer(f"Genre {i}", f"m.g{i}") for i in range(3))
    question = Question("q", "?", (XENIA,), answers, query=CHAIN)
    for preset, calls, won in (("frontier", 4, True), ("frontier", 3, False), ("wide", 5, False)):
        config = EnvironmentConfig(preset=f"graphwalker-{preset}", max_turns=calls)
        reach = reach_of(question, Environment(GRAPH, config))
        assert (reach.all_answers_by_gold, reach.winnable) == (won, won), (preset, calls)


def test_its_ceiling_uses_no_result_of_another_walk():
    query = Query((Branch(XENIA, (MADE,)), Branch(QUIN, (CAST,))), (GENRE,))
    answers = tuple(Answer(e.name, e.id) for e in execute(GRAPH, query).answers)
    question = Question("q", "?", (XENIA, QUIN), answers, query=query)
    for calls, won in ((6, True), (5, False)):
        config = EnvironmentConfig(preset="graphwalker-frontier", max_turns=calls)
        assert reach_of(question, Environment(GRAPH, config)).all_answers_by_gold == won


# --- pointing


def completions(done: Trajectory) -> str:
    return "\n".join(turn.completion for turn in done.turns)


def test_an_oracle_that_points_names_nothing():
    done = played(Branch(XENIA, (MADE, GENRE)), options={"pointing": True})
    assert calls(done)[:2] == ['get_relations("#0.1")', 'get_triples("#0.1", ["film.made"])']
    assert calls(done)[2:4] == ['get_relations("#1")', 'get_triples("#1", ["film.genre"])']
    assert done.turns[-1].action == {"answer": ["#2"]} and score(done)["em"] == 1.0
    assert not any(name in completions(done) for name in ("Xenia", "Film", "Genre"))


def test_it_starts_at_a_result_of_one_entity_and_points_at_places_of_a_part():
    alone = played(
        Branch(QUIN, (Hop("film.friend", Direction.IN), MADE)), options={"pointing": True}
    )
    assert calls(alone)[2] == 'get_relations("#1")' and "Xenia" not in completions(alone)
    shared = (Branch(XENIA, (MADE,)), Branch(QUIN, (CAST,)))
    both = played(*shared, options={"pointing": True})
    assert both.turns[-1].action == {"answer": ["#1 & #2"]} and score(both)["em"] == 1.0
    assert both.turns[-1].thought.endswith(("What both share.", "what both results share."))
    part = played(*shared, tail=(GENRE,), options={"pointing": True})
    assert calls(part)[4:6] == ['get_relations("#1.3")', 'get_triples("#1.3", ["film.genre"])']
    assert score(part)["em"] == 1.0 and "Film" not in completions(part)
