"""`import graphwalker as gw`, as a person at a prompt uses it."""

import json
import sys
from dataclasses import replace

import networkx
import pandas
import pytest

import graphwalker as gw
from graphwalker.errors import UserError
from graphwalker.integrations.external_episode import ExternalEpisode
from support.eval_toy import toy_environment, toy_questions, trained_script
from support.toy import TOY_NAMES, TOY_TRIPLES, toy_graph

ROWS = [("Ana", "knows", "Ben"), ("Ben", "lives in", "Oslo"), ("Ana", "lives in", "Oslo")]


def names_in(graph):
    return {(fact.head.name, fact.relation, fact.tail.name) for fact in graph}


def test_a_graph_gives_each_of_its_triples_once():
    graph = toy_graph()
    ids = [(fact.head.id, fact.relation, fact.tail.id) for fact in graph]
    assert sorted(ids) == sorted(set(TOY_TRIPLES)) and len(graph) == len(ids)
    assert repr(graph).startswith("MemoryGraph(entities=") and f"triples={len(ids)}" in repr(graph)


def test_an_entity_is_found_by_its_name_its_id_or_its_look():
    graph = toy_graph()
    (entity_id, name), *_ = TOY_NAMES.items()
    assert name in graph and entity_id in graph and "Nobody at all" not in graph
    assert graph[name] == graph[entity_id] != []
    assert graph[name][0] in graph and ("x", "y", "z") not in graph
    assert name in [entity.name for entity in graph.search(name[:-1])]
    assert graph.sample(3) == graph.sample(3) and len(graph.sample(3)) == 3
    with pytest.raises(KeyError, match="near: "):
        graph[name[:-1]]


def test_an_entity_alone_is_looked_up_in_both_directions():
    for graph in (toy_graph(), gw.Environment(toy_graph()).graph):
        for entity in graph.sample(9):
            facts = graph[entity]
            assert graph.triples(entity) == graph.triples(entity.id) == facts
            ends = {end for fact in facts for end in (fact.head, fact.tail)} - {entity}
            assert set(graph.neighbors(entity)) == ends
            assert sum(count for _, count in graph.relations(entity)) == len(facts)
            fact = facts[0]
            assert fact.tail in graph.neighbors(fact.head, fact.relation)
            assert fact.tail in graph.neighbors(fact.head, fact.relation, "out")
    with pytest.raises(KeyError, match="no such name"):
        graph.neighbors("Nobody at all")
    with pytest.raises(UserError, match="give Direction"):
        graph.neighbors(entity, fact.relation, "outgoing")


def test_a_graph_becomes_data_of_pytorch_geometric():
    pytest.importorskip("torch_geometric")
    data = gw.open_graph(ROWS).to_pyg()
    heads, tails = data.edge_index.tolist()
    facts = zip(heads, data.edge_type.tolist(), tails, strict=True)
    found = {(data.node_name[h], data.relations[r], data.node_name[t]) for h, r, t in facts}
    assert found == set(ROWS) and data.num_nodes == 3 and data.validate()


def test_what_goes_by_another_name_is_named():
    for name, known in {"Graph": "open_graph", "sft": "train", "load_agent": "load_policy"}.items():
        with pytest.raises(AttributeError, match=f"take graphwalker.{known}"):
            getattr(gw, name)
    assert gw.from_pandas is gw.open_graph


def test_questions_of_a_file_have_a_short_text_and_a_table(tmp_path):
    path = tmp_path / "q.jsonl"
    path.write_text("".join(json.dumps(q.to_json()) + "\n" for q in toy_questions()))
    questions = gw.load_dataset(path)
    assert questions == toy_questions() and len(repr(questions).splitlines()) == 5
    assert list(questions.to_pandas()["question"]) == [q.text for q in questions]


def test_one_graph_in_every_form_holds_the_same_names(tmp_path, monkeypatch):
    import rdflib

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    frame = pandas.DataFrame(ROWS, columns=["head", "relation", "tail"])
    edges = networkx.MultiDiGraph([(h, t, {"relation": r}) for h, r, t in ROWS])
    frame.to_csv(tmp_path / "own.csv", index=False)
    rdf, site = rdflib.Graph(), "http://x.org/"
    for row in ROWS:
        rdf.add(tuple(rdflib.URIRef(site + text.replace(" ", "_")) for text in row))
    rdf.serialize(str(tmp_path / "own.ttl"), format="turtle")
    graph = gw.open_graph(ROWS)
    forms = [frame, frame.rename(columns={"head": "subject"}), edges, graph, graph.to_pandas(),
             graph.to_networkx(), tmp_path / "own.csv", str(tmp_path / "own.csv")]  # fmt: skip
    assert all(names_in(gw.open_graph(form)) == set(ROWS) for form in forms)
    assert names_in(gw.build_graph(tmp_path / "own.csv", tmp_path / "graph")) == set(ROWS)
    assert len(gw.open_graph(rdf)) == len(gw.open_graph(tmp_path / "own.ttl")) == 3


@pytest.mark.parametrize("given", [3, None, [1, 2], [("a", "b")], ["abc"], b"x"])
def test_what_is_no_graph_is_a_type_error_that_says_so(given):
    with pytest.raises(TypeError, match="open_graph takes a path, an address, a DataFrame"):
        gw.open_graph(given)


def test_a_table_whose_columns_can_be_read_in_two_ways_is_refused():
    frame = pandas.DataFrame(ROWS, columns=["source", "relation", "target"])
    other_order = frame[["source", "target", "relation"]]
    assert names_in(gw.open_graph(other_order)) == names_in(gw.open_graph(frame)) == set(ROWS)
    with pytest.raises(UserError, match="which are head, relation, tail"):
        gw.open_graph(pandas.DataFrame(ROWS, columns=["a", "b", "c"]))
    with pytest.raises(UserError, match="1 rows without"):
        gw.open_graph(pandas.DataFrame([*ROWS, ("a", None, "b")]))


def test_a_question_may_be_written_by_hand():
    given, topics = ["Ana", gw.Entity("b", "Ben")], (gw.Entity("", "Ana"), gw.Entity("b", "Ben"))
    question = gw.Question("who?", given, ["x"])
    gold = (gw.Answer("x"),)
    assert question == gw.Question(id="who?", text="who?", topic_entities=topics, answers=gold)
    assert question.question == "who?" == replace(question, answers=()).text
    assert question == gw.Question(question="who?", topic_entities=given, answers="x")
    assert gw.Question("q1", "who?", ["Ana"], ["x"]).answers == (gw.Answer("x"),)
    with pytest.raises(TypeError, match=r"Question\(text, names of topic entities"):
        gw.Question("who?", 3, 4)
    with pytest.raises(TypeError, match="names in lists"):
        gw.Question("who?", "Ana", "x")


def test_an_environment_played_by_hand_shows_what_a_policy_sees():
    question = next(q for q in toy_questions() if q.id == "q02")
    environment = gw.Environment(toy_graph(), toy_environment().config)
    *turns, last = trained_script()["q02"]
    with pytest.raises(TypeError, match="call reset"):
        environment.step("x")
    assert question.text in environment.reset(question)
    seen = [environment.step(text) for text in turns]
    done = environment.step(last)
    assert isinstance(done, gw.Trajectory) and done.scores["em"] == 1
    assert [turn.observation for turn in done.turns[:-1]] == seen
    assert len(done) == len(turns) + 1 and done[0] == done.turns[0]
    assert done.messages == done.conversation() and done.steps == done.turns
    assert tuple(done.answers) == done.answer and done.to_dict() == done.to_json()
    assert len(repr(done)) < 300 and question.text in repr(done)
    assert repr(environment).startswith("Environment(graphwalker, MemoryGraph(")


def test_topic_entities_that_are_names_get_their_ids():
    environment = gw.Environment(toy_graph())
    question = gw.Question("Who made The Glass Harbor?", ["The Glass Harbor"], ["Ada Mbeki"])
    rule = gw.load_policy("first-relation", environment)
    (played,) = gw.rollout(iter([question]), environment, rule)
    (evaluated,) = gw.evaluate([question], environment, rule).trajectories
    assert played.question.topic_entities == (gw.Entity("m.0film1", "The Glass Harbor"),)
    assert played.answer == evaluated.answer and "The Glass Harbor" not in played.answer
    assert gw.ceiling([question], environment)["all_answers_by_any"] == 1
    assert ExternalEpisode(environment, question).question == played.question


def test_topic_entities_that_the_graph_does_not_have_are_refused():
    environment = gw.Environment(toy_graph())
    question = gw.Question("Who made it?", ["The Glas Harbor"], ["x"])
    rule = gw.load_policy("first-relation", environment)
    with pytest.raises(UserError, match="did you mean The Glass Harbor"):
        environment.reset(question)
    for call in (gw.rollout, gw.evaluate):
        with pytest.raises(UserError, match="the first 'The Glas Harbor'"):
            list(call([question], environment, rule))


def test_a_tool_is_a_method():
    environment = gw.Environment(toy_graph())
    name = next(iter(TOY_NAMES.values()))
    assert environment.tools == ("get_relations", "get_triples")
    relation = environment.get_relations(name).split(", ")[0]
    shown = environment.get_triples(name, relations=[relation])
    assert shown.startswith("[") and shown == environment.get_triples(name, [relation])
    with pytest.raises(AttributeError, match="no attribute or tool 'get_nothing'"):
        environment.get_nothing("x")


def test_an_evaluation_has_its_figures_a_table_files_and_a_page(tmp_path):
    environment, questions = gw.Environment(toy_graph()), toy_questions()[:4]
    done = gw.evaluate(questions, environment, gw.load_policy("first-relation", environment))
    assert done.em == done["em"] == done.figures["em"] and done.failures == 0
    frame = done.to_pandas()
    assert list(frame["id"]) == [question.id for question in questions] and "em" in frame
    with pytest.raises(KeyError, match="nothing; there are "):
        done["nothing"]
    saved = gw.load_trajectories(done.save(tmp_path / "run") / "predictions.jsonl")
    assert saved == list(done.trajectories)
    assert done.report(tmp_path / "page").read_text().startswith("<!")
    pair = gw.compare(done, done)["pairs"][0]
    assert pair == gw.compare(tmp_path / "run", done)["pairs"][0]


def test_long_calls_show_how_far_they_are(capsys, monkeypatch):
    monkeypatch.setattr("graphwalker.api.calls._LINE_EVERY_S", 1e-6)
    environment = gw.Environment(toy_graph())
    gw.evaluate(toy_questions()[:4], environment, gw.load_policy("first-relation", environment))
    assert " of 4, " in capsys.readouterr().err


def test_a_subgraph_holds_what_lies_around_its_entities_and_a_graph_counts_its_relations():
    graph = gw.open_graph(ROWS)
    assert names_in(graph.subgraph(["Ben"])) == names_in(graph.subgraph("Ben")) == set(ROWS[:2])
    assert names_in(graph.subgraph(["Ben"], hops=2)) == set(ROWS)
    frame = graph.describe()
    assert frame.loc["lives in", ["triples", "heads", "tails"]].tolist() == [2, 2, 1]


def test_without_pytorch_geometric_the_next_move_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch_geometric.data", None)
    with pytest.raises(UserError, match="pip install torch_geometric"):
        gw.open_graph(ROWS).to_pyg()
