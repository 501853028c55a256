"""The oracle and the baselines without a model; both turn pages where the tools have them."""

import pytest

from graphwalker.agents.environment import Environment, EnvironmentConfig
from graphwalker.agents.policies import load_policy, refuse_without_model
from graphwalker.agents.rollout import rollout
from graphwalker.answers.kinds import Absent
from graphwalker.errors import UserError
from graphwalker.graphs.base import Direction, Entity
from graphwalker.graphs.memory import MemoryGraph
from graphwalker.oracle.oracle import OraclePolicy
from graphwalker.policies.config import PolicyConfig
from graphwalker.query.constraint import Constraint
from graphwalker.query.query import Branch, Hop, Query
from graphwalker.question import Answer, Question
from graphwalker.ranking.learned.ranker import write_ranker
from graphwalker.ranking.learned.train import QuestionFile, train_ranker
from graphwalker.scoring import score
from graphwalker.serve.ask import ask, outspoken
from support.toy import HUB, toy_graph

VERRIA = Entity(HUB, "Verria")
GRAPH = toy_graph()
CITIZENS = Hop("people.person.nationality", Direction.IN)
QUESTION = Question(
    "q",
    "Whose nationality is Verria?",
    (VERRIA,),
    tuple(Answer(e.name, e.id) for e in GRAPH.step(HUB, CITIZENS.relation, CITIZENS.direction)),
    query=Query((Branch(VERRIA, (CITIZENS,)),)),
)


def environment(**settings):
    return Environment(GRAPH, EnvironmentConfig(**{"preset": "graphwalker-wide", **settings}))


def play(model, question=QUESTION, **settings):
    there = environment(**settings)
    policy = load_policy(PolicyConfig(model=model), environment=there)
    (done,) = rollout([question], there, policy)
    return done


def play_plain(model, question=None):
    return play(model, question or EVE, preset="graphwalker")


def test_the_wide_preset_has_defaults_of_its_own():
    config = environment().config
    assert (config.ranker, config.triples_per_relation, config.max_turns) == ("stems", 20, 15)
    written = EnvironmentConfig(preset="graphwalker-wide", ranker="bm25").model_dump()
    assert EnvironmentConfig(**written).ranker == "bm25"
    assert "ranker" not in EnvironmentConfig().model_dump()


def test_the_oracle_wins_where_list_and_result_are_longer_than_a_page():
    done = play("oracle", top_relations=1, triples_per_relation=5, max_turns=20)
    assert len(QUESTION.answers) > 15 and score(done)["em"] == 1.0
    pages = [turn.action["arguments"].get("page") for turn in done.turns[:-1]]
    assert {2, 3, 4} <= set(pages)


def play_counting(query, gold=None, **settings):
    there = environment(max_turns=20, **settings)
    policy = OraclePolicy(GRAPH, there.protocol, speaker=there.speaker, counts_steps=True)
    question = Question("q", "Who?", query.topics, query=query, gold=gold)
    (done,) = rollout([question], there, policy)
    return done


def walk(topic, *hops, constraint=None):
    return Query(
        (Branch(Entity(topic, GRAPH.name(topic)), tuple(map(Hop, hops))),), constraint=constraint
    )


def test_what_each_page_of_a_step_gave_is_said_to_be_of_that_step():
    assert QUESTION.query
    done = play_counting(QUESTION.query, top_relations=1, triples_per_relation=5)
    found = [turn.thought for turn in done.turns if "(step 1 of 1)." in turn.thought]
    assert len(found) == sum(bool(turn.triples) for turn in done.turns) > 3


def test_the_way_back_from_another_policys_turns_says_how_many_steps_it_takes():
    there = environment()
    policy = OraclePolicy(GRAPH, there.protocol, speaker=there.speaker, counts_steps=True)
    assert QUESTION.query
    plan = policy.continue_from(QUESTION, play_counting(QUESTION.query).turns[:1])
    assert "It takes one step." in next(plan)[0]


def test_to_compare_values_is_a_step_of_its_own():
    eldest = Constraint("people.person.date_of_birth", "date", "lowest")
    done = play_counting(walk("m.0eve", "people.person.parents", constraint=eldest))
    said = " ".join(turn.thought for turn in done.turns)
    assert "It takes two steps." in done.turns[0].thought
    assert said.index("(step 1 of 2)") < said.index("1961-08-04 (step 2 of 2)")


def test_no_step_ends_at_a_cvt_node():
    spouse = walk("m.0ada", "people.person.spouse_s..people.marriage.spouse")
    done = play_counting(spouse, preset="search-on-graph")
    assert ["(step 1 of 1)" in turn.thought for turn in done.turns] == [False, False, True]


def test_who_was_seen_to_list_no_such_relation_is_not_asked_for_it():
    triples = [("a", "owns", "b"), ("a", "owns", "c"), ("c", "made in", "d")]
    graph = MemoryGraph(triples, {"a": "Ana", "b": "Boat", "c": "Car", "d": "Denmark"})
    there = Environment(graph, EnvironmentConfig())
    query = Query((Branch(Entity("a", "Ana"), (Hop("owns"), Hop("made in"))),))
    policy = OraclePolicy(graph, there.protocol)
    (done,) = rollout([Question("q", "Where?", query.topics, query=query)], there, policy)
    assert done.answer == ("Denmark",) and not any(turn.error for turn in done.turns)


def test_a_question_that_the_graph_cannot_answer_is_counted_like_any_other():
    for hops, steps in ((1, "one step"), (2, "two steps")):
        path = ("people.person.parents", "film.film.genre")[-hops:]
        done = play_counting(walk("m.0eve", *path), gold=Absent())
        assert f"It takes {steps}." in done.turns[0].thought and done.answer == ()


def test_a_baseline_answers_with_all_pages_that_its_turns_have_room_for():
    few = play("first-relation", top_relations=20, triples_per_relation=3, max_turns=4)
    all_of_them = play("first-relation", triples_per_relation=3, max_turns=30)
    assert len(few.answer or ()) == 6 < len(all_of_them.answer or ())


def test_linear_plays_with_a_trained_ranker_only(tmp_path):
    with pytest.raises(UserError, match="graphwalker ranker train"):
        play("linear")

    def listed(entity_id):
        return tuple(sorted({r for d in Direction for r, _ in GRAPH.flat_relations(entity_id, d)}))

    files = [QuestionFile("q.jsonl", "", [QUESTION])]
    write_ranker(train_ranker(files, GRAPH, listed, folds=2), tmp_path / "r")
    done = play("linear", ranker=str(tmp_path / "r"))
    assert done.provenance["ranker_digest"] and done.answer


EVE = Question("q", "Who are Eve's parents?", (Entity("m.0eve", "Eve Mbeki-Lindqvist"),))


def test_the_first_relation_listed_is_taken_and_all_that_it_shows_is_the_answer():
    done = play_plain("first-relation")
    first = done.turns[0].listed[0].hops[0].relation
    assert done.turns[1].action["arguments"]["relations"] == [first]
    ends = {end.name for triple in done.turns[1].triples for end in (triple.head, triple.tail)}
    assert set(done.answer or ()) == ends - {"Eve Mbeki-Lindqvist"}


def test_a_random_relation_is_the_same_one_each_time():
    first, again = (play_plain("random-relation").turns[1].action for _ in "12")
    assert first == again


def test_a_question_without_a_topic_entity_is_answered_with_nothing():
    assert play_plain("first-relation", Question("q", "Who?", ())).answer == ()


def test_an_oracle_refuses_a_question_without_a_query():
    assert play_plain("oracle").stop.infrastructure_failure


def test_they_say_that_they_are_no_models():
    with pytest.raises(UserError, match="first-relation is a policy without a model"):
        refuse_without_model("first-relation", "training")


@pytest.mark.parametrize("preset", ["graphwalker", "graphwalker-wide", "kg-r1", "search-on-graph"])
def test_a_person_is_told_where_no_relation_has_a_word_of_the_question(preset):
    there = Environment(GRAPH, EnvironmentConfig(preset=preset))
    policy = load_policy(PolicyConfig(model="first-relation"), environment=there)
    done = ask("What colour is The Glass Harbor?", [], there, policy)
    assert done.answer == () and "No relation of The Glass Harbor" in done.turns[-1].completion
    assert "The nearest: film.film." in done.turns[-1].completion
    assert ask("Who directed The Glass Harbor?", [], there, policy).answer
    (scored,) = rollout([done.question], there, policy)  # of an evaluation
    assert scored.answer


def test_only_the_rule_over_words_asks_for_a_shared_word():
    rule = load_policy(PolicyConfig(model="first-relation"), environment=environment())
    drawn = load_policy(PolicyConfig(model="random-relation"), environment=environment())
    learned = environment(ranker="bm25-ids")
    learned.ranker = lambda question, entity, relations: relations
    assert outspoken(rule, environment()) is not rule
    assert outspoken(rule, learned) is rule and outspoken(drawn, environment()) is drawn


def test_no_hop_before_the_last_seeks_the_answer():
    ada = Entity("m.0ada", "Ada Mbeki")
    query = Query((Branch(ada, (Hop("film.director.film"), Hop("film.film.genre"))),))
    gold = (Answer("Drama", "m.0genre1"), Answer("Science Fiction", "m.0genre2"))
    done = play(
        "oracle", Question("q", "Which genre have films of Ada Mbeki?", (ada,), gold, query=query)
    )
    assert score(done)["em"] == 1.0
    assert "what leads to the answer" in done.turns[0].thought
