"""Questions that bring their own graphs: each is asked of its own, in every form of file."""

import gc
import json
import logging

import pytest

from data_pipeline.config import ExpertConfig
from data_pipeline.experts.experts import make_experts
from data_pipeline.verification.verify import verify_file
from eval.run.config import EvalConfig, run_eval
from graphwalker.agents.environment import Environment, EnvironmentConfig
from graphwalker.agents.rollout import rollout
from graphwalker.ceilings.ceiling import ceiling, known_topics, reaches
from graphwalker.config import read_settings
from graphwalker.datasets.base import load_dataset, load_questions
from graphwalker.datasets.grounding import refuse_unknown_topics
from graphwalker.datasets.own_graphs import QuestionGraphs
from graphwalker.datasets.queries import resolve
from graphwalker.errors import UserError
from graphwalker.files import read_jsonl
from graphwalker.graphs.base import Direction, Entity
from graphwalker.graphs.memory import MemoryGraph
from graphwalker.graphs.open import open_graph
from graphwalker.graphs.views.sets import MEMBERS_KEPT
from graphwalker.graphs.views.settings import GraphLayers
from graphwalker.oracle.baselines import FirstRelation
from graphwalker.oracle.oracle import OraclePolicy
from graphwalker.policies.config import PolicyConfig
from graphwalker.question import Question
from support import own_graphs
from support.own_graphs import FORMS, brought, union, write_rog


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def facts_by_name(graph):
    return {(fact.head.name, fact.relation, fact.tail.name) for fact in graph}


def test_every_form_gives_the_same_questions_each_with_its_own_triples(tmp_path):
    many = brought(12)
    for form, write in FORMS.items():
        (tmp_path / form).mkdir()
        path = write(many, tmp_path / form)
        loaded = load_dataset(path)
        assert (loaded.dataset, len(loaded.questions)) == ("webqsp", 12), form
        graph = open_graph(str(path))
        for question, given in zip(loaded.questions, many, strict=True):
            assert [topic.name for topic in question.topic_entities] == [given.topic], form
            assert [answer.name for answer in question.answers] == given.answers, form
            assert question.annotations["relation_path"] == given.path, form
            member = graph.for_question(question)
            assert facts_by_name(member) == facts_by_name(union([given])), form
            assert member.resolve(given.topic)[0].id == question.topic_entities[0].id, form


def episodes(graph, questions, policy):
    environment = Environment(graph)
    player = policy(environment.graph, environment.protocol)
    return [
        [(turn.completion, turn.observation) for turn in run.turns]
        for run in rollout(questions, environment, player)
    ]


def test_episodes_on_own_graphs_are_those_on_the_union_of_them(tmp_path):
    many = brought(6)
    for form, write in FORMS.items():
        (tmp_path / form).mkdir()
        path = write(many, tmp_path / form)
        own, questions = open_graph(str(path)), load_questions(path)
        named = [
            Question(q.id, q.text, (Entity(given.topic, given.topic),), q.answers)
            for q, given in zip(questions, many, strict=True)
        ]
        first = episodes(own, questions, FirstRelation)
        assert first == episodes(union(many), named, FirstRelation), form
        assert episodes(own, resolve(questions, own).questions, OraclePolicy), form


def test_no_more_graphs_stay_in_memory_than_are_kept_for_any_number_of_questions(tmp_path):
    def count_graphs():
        gc.collect()
        return sum(type(one) is MemoryGraph for one in gc.get_objects())

    path = write_rog(brought(2 * MEMBERS_KEPT), tmp_path)
    graph, before = open_graph(str(path)), count_graphs()
    for question in load_questions(path):
        assert graph.for_question(question).size
    assert count_graphs() - before <= MEMBERS_KEPT


def test_an_evaluation_of_the_file_over_itself_plays_its_gold_paths(tmp_path):
    for form, model, right in (("RoG in Parquet", "oracle", 6), ("GNN-RAG", "first-relation", 4)):
        path, out = FORMS[form](brought(6), tmp_path), tmp_path / form
        given = {"graph": str(path), "questions": str(path), "policy": {"model": model}}
        run_eval(EvalConfig.model_validate({**given, "output_dir": str(out)}))
        runs = list(read_jsonl(out / "predictions.jsonl"))
        assert sum(run["scores"]["em"] for run in runs) == right, form
        found = json.loads((out / "beside.json").read_text())["ceiling"]
        assert found["winnable"] == found["gold_relation_listed"] == 1.0


def test_a_way_through_a_node_without_a_name_is_one_hop_of_its_own_graph(tmp_path):
    many = brought(3)
    for given in many:
        given.path[:] = [own_graphs.SPOUSE, own_graphs.HELD]
        given.answers[:] = [f"Ben {given.id.removeprefix('WebQTest-')}"]
    path = write_rog(many, tmp_path)
    found = resolve(load_questions(path), open_graph(str(path)))
    assert found.counts == {"equal": 3}
    query = found.questions[0].query
    hops = query.branches[0].hops if query else ()
    assert [str(hop) for hop in hops] == ["people.person.spouse_s..people.marriage.spouse"]


def test_demonstrations_on_own_graphs_verify(tmp_path):
    path = write_rog(brought(9), tmp_path)
    config = ExpertConfig(policy=PolicyConfig(model="oracle"), mix={}, count=6)
    make_experts(str(path), config, path, tmp_path / "experts")
    made = tmp_path / "experts" / "graphroll.jsonl"
    verdict = verify_file(open_graph(str(path)), made)
    assert (verdict.records, verdict.replayed, verdict.failed) == (6, 6, 0), verdict.first


def test_ceilings_and_known_topics_are_of_each_question_s_graph(tmp_path):
    path = write_rog(brought(12), tmp_path)
    questions, environment = load_questions(path), Environment(open_graph(str(path)))
    assert known_topics(questions, environment.graph) == 12
    assert ceiling(reaches(questions, environment))["winnable"] == 1.0


def test_graph_questions_names_the_files_of_training_and_dev_questions(tmp_path):
    given = ["graph=questions", "questions=a.jsonl", "evaluation.questions=b.jsonl"]
    assert read_settings(None, given)["graph"] == "a.jsonl,b.jsonl"
    (tmp_path / "b").mkdir()
    paths = write_rog(brought(2), tmp_path), write_rog(brought(4)[2:], tmp_path / "b")
    graph = open_graph(",".join(map(str, paths)))
    assert isinstance(graph, QuestionGraphs) and graph.info()["questions"] == 4
    assert graph.holds("WebQTest-3") and not graph.holds("WebQTest-4")


def test_other_questions_than_those_of_the_file_are_refused_by_name(tmp_path):
    path = write_rog(brought(2), tmp_path)
    others = [Question("q-9", "who?", (Entity("a", "a"),), ())]
    with pytest.raises(UserError, match=r"holds no graph 'q-9'.* are these its questions"):
        refuse_unknown_topics(others, open_graph(str(path)), str(path))
    with pytest.raises(UserError, match=r"rog_test.jsonl: has no graph of the question 'q-9'"):
        open_graph(str(path)).for_question(others[0])


def test_what_is_wrong_with_a_graph_is_named_with_its_record(tmp_path):
    many = brought(3)
    for fault in (["a", "b"], []):
        many[1].graph[:] = [fault]
        with pytest.raises(UserError, match="record 2: field 'graph' must be a list of"):
            open_graph(str(write_rog(many, tmp_path)))
    path = own_graphs.write_gnn_rag(brought(2), tmp_path)
    (tmp_path / "relations.txt").write_text("one\n")
    with pytest.raises(UserError, match=r"record 1: entry \d is not in .*relations.txt"):
        open_graph(str(path))


def test_indices_without_names_beside_them_are_warned_of(tmp_path, caplog):
    path = own_graphs.write_gnn_rag(brought(2), tmp_path)
    (tmp_path / "entities_names.json").unlink()
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    for row in rows:
        row["answers"] = [{"kb_id": "m.1", "text": None}]
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    with caplog.at_level(logging.WARNING):
        open_graph(str(path))
    assert "put entities_names.json beside" in caplog.text


def test_layers_lie_over_every_graph_of_the_set(tmp_path):
    path = write_rog(brought(2), tmp_path)
    settings = EnvironmentConfig(layers=GraphLayers(hidden_share=1.0))
    graph = Environment(open_graph(str(path)), settings).graph
    (question, _) = load_questions(path)
    assert graph.for_question(question).relations("Ana 0", Direction.OUT) == []
