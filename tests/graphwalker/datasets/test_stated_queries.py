"""Gold queries of benchmarks' own fields: SPARQL, s-expressions, chains and types of questions."""

import pytest

from graphwalker.datasets.base import load_questions
from graphwalker.datasets.grounding import ground
from graphwalker.datasets.queries import resolve_one
from graphwalker.errors import UserError
from graphwalker.graphs.base import Entity
from graphwalker.graphs.memory import MemoryGraph
from graphwalker.query.stated import from_s_expression, walks
from graphwalker.question import Answer, Question
from support import dataset_toys as toys

ANA = "m.0ana"
NAMES = {ANA: "Ana", "m.0ben": "Ben", "m.0kes": "Kesterby", "m.0var": "Varn", "m.0cat": "Cat"}
GRAPH = MemoryGraph(
    [
        (ANA, "people.person.parents", "m.0ben"),
        ("m.0ben", "people.person.place_of_birth", "m.0var"),
        ("m.0ben", "people.person.children", ANA),
        ("m.0ben", "people.person.children", "m.0cat"),
        (ANA, "people.person.spouse_s", "m.0cvt"),
        ("m.0cvt", "people.marriage.spouse", "m.0kes"),
    ],
    NAMES,
)


def make_question(sparql, answers, topic=ANA):
    gold = tuple(Answer(NAMES[i], i) for i in answers.split())
    topics = (Entity(topic, NAMES[topic]),)
    return Question("q", "?", topics, gold, annotations={"sparql": sparql})


def path_of(question):
    query = resolve_one(question, GRAPH).query
    return query and " ".join(map(str, query.branches[0].hops))


def test_a_composition_of_cwq_is_its_walk():
    text = """PREFIX ns: <http://rdf.freebase.com/ns/>
    SELECT DISTINCT ?x WHERE { FILTER (?x != ns:m.0ana)
    FILTER (!isLiteral(?x) OR lang(?x) = '' OR langMatches(lang(?x), 'en'))
    ns:m.0ana ns:people.person.parents ?c .
    ?c ns:people.person.place_of_birth ?x . }"""
    path = "people.person.parents people.person.place_of_birth"
    assert path_of(make_question(text, "m.0var")) == path


def test_a_hop_back_keeps_its_direction_and_avoids_the_topic_that_a_filter_names():
    text = """SELECT ?x WHERE { ?c :people.person.children :m.0ana .
    ?c :people.person.children ?x . FILTER (?x != :m.0ana) }"""
    question = resolve_one(make_question(text, "m.0cat"), GRAPH)
    assert question.annotations["executed"] == "equal"
    assert question.query and question.query.avoids_topics
    path = "~people.person.children people.person.children"
    assert path_of(make_question(text, "m.0cat")) == path


def test_two_hops_through_a_node_without_a_name_are_one():
    text = """SELECT ?x WHERE { ns:m.0ana ns:people.person.spouse_s ?y .
    ?y ns:people.marriage.spouse ?x . FILTER(NOT EXISTS {?y ns:people.marriage.to ?t} || (1)) }"""
    path = "people.person.spouse_s..people.marriage.spouse"
    assert path_of(make_question(text, "m.0kes")) == path


def test_s_expressions_become_sparql():
    for text, part in (
        ("(AND a.b (JOIN c.d m.1))", "?x :type.object.type :a.b ."),
        ("(JOIN (R a.b.c) (JOIN d.e.f m.1))", "?v1 :a.b.c ?x ."),
        ("(COUNT (JOIN a.b.c m.1))", "SELECT (COUNT(DISTINCT ?x) AS ?n)"),
        ("(ARGMAX (JOIN a.b.c m.1) d.e.f)", "MAX(?v2) AS ?v3"),
        ('(AND a.b (ge c.d "5"^^<http://www.w3.org/2001/XMLSchema#int>))', '(?v1 >= "5"^^<'),
    ):
        assert part in from_s_expression(text)
    for text in ("(TC x y z)", "m.1", "(AND a", "(JOIN (JOIN a b) m.1)"):
        with pytest.raises(UserError):
            from_s_expression(text)


def test_a_chain_of_webqsp_is_a_gold_path(tmp_path):
    path = toys.write(tmp_path / "WebQSP.test.json", {"Questions": toys.WEBQSP})
    for question in load_questions(path):
        for parse in question.annotations["parses"]:
            parse["sparql"] = ""
        chain = question.annotations["parses"][0]["chain"]
        (topic, *_), (answer, *_) = question.topic_entities, question.answers
        graph = MemoryGraph([(topic.id, chain[0], answer.id)], {topic.id: "t", answer.id: "a"})
        (found,) = ground([question], graph)
        assert found.query and [str(hop) for hop in found.query.branches[0].hops] == chain[:1]


def test_the_type_of_a_metaqa_question_is_its_path(tmp_path):
    (tmp_path / "qa_test.txt").write_text("which films share the director of [A]\tB\n")
    (tmp_path / "qa_test_qtype.txt").write_text("movie_to_director_to_movie\n")
    (question,) = load_questions(tmp_path / "qa_test.txt")
    assert question.annotations["relation_path"] == ["directed_by", "~directed_by"]
    graph = MemoryGraph([(m, "directed_by", "D") for m in "AB"], {n: n for n in "ABD"})
    (found,) = ground([question], graph)
    assert found.annotations["executed"] == "equal" and found.query and found.query.avoids_topics


def test_walks_of_several_topics_meet_where_the_patterns_do():
    text = "SELECT ?x WHERE { ns:m.1 ns:a.b.c ?m . ns:m.2 ns:d.e.f ?m . ?m ns:g.h.i ?x . }"
    query = next(walks(text, [Entity("m.1"), Entity("m.2")]))
    hops = [[str(hop) for hop in branch.hops] for branch in query.branches]
    assert hops == [["a.b.c"], ["d.e.f"]] and [str(hop) for hop in query.tail] == ["g.h.i"]


@pytest.mark.parametrize(
    ("sparql", "topic", "reason"),
    [
        ("SELECT (COUNT(?x) AS ?n) WHERE { :m.0ana :people.person.parents ?x }", ANA, "no_walk"),
        ("SELECT ?x WHERE { { :m.0ana :a ?x } UNION { :m.0ana :b ?x } }", ANA, "no_walk"),
        ("SELECT ?x WHERE { :m.0ana :people.person.spouse_s ?x }", ANA, "no_gold_answer"),
        ("SELECT ?x WHERE { :m.0cvt2 :people.person.parents ?x }", "m.0cvt2", "topic_not_in_graph"),
    ],
)
def test_sparql_without_a_query_here_says_why(sparql, topic, reason):
    gold = (Answer("Varn", "m.0var"),)
    asked = Question("q", "?", (Entity(topic, "?"),), gold, annotations={"sparql": sparql})
    assert resolve_one(asked, GRAPH).annotations["no_query"] == reason
