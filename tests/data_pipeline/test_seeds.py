"""Seeds: what the SPARQL of training files uses, whitelists, a graph's schema, and their misuse."""

import gzip
import json
from typing import Any

import pytest

from data_pipeline.config import SynthConfig
from data_pipeline.seeds.files import known_to, read_seeds, schema_seeds, write_seeds
from data_pipeline.seeds.seeds import Seeds
from data_pipeline.seeds.sparql import read_sparql
from data_pipeline.synthesize import make_walks
from graphwalker.errors import UserError
from graphwalker.files import read_jsonl
from graphwalker.graphs.sparql.graph import SparqlGraph
from support.backends import compiled, write
from support.commands import code
from support.toy import TOY_NAMES, TOY_TRIPLES, TOY_TYPES

WRITTEN = ("seeds", "predicates")
NS = "PREFIX ns: <http://rdf.freebase.com/ns/>\n"
# Virtuoso's OR; a filter that excludes the topic; a class; dates under an undeclared prefix.
WEBQSP = (
    NS
    + """SELECT DISTINCT ?x WHERE {
FILTER (?x != ns:m.0ada)
FILTER (!isLiteral(?x) OR lang(?x) = '' OR langMatches(lang(?x), 'en'))
ns:m.0ada ns:people.person.spouse_s ?y .
?y ns:people.marriage.spouse ?x .
?x ns:common.topic.notable_types ns:m.0class .
FILTER(NOT EXISTS {?y ns:people.marriage.from ?sk0} ||
EXISTS {?y ns:people.marriage.from ?sk1 .
FILTER(xsd:datetime(?sk1) <= "2015-08-10"^^xsd:dateTime) })
}"""
)
CWQ = (
    NS
    + """SELECT DISTINCT ?x WHERE {
FILTER (?x != ?c)
?c ns:film.film.genre ns:m.0genre1 .
?c ns:film.film.directed_by ?x .
?x ns:people.person.date_of_birth ?sk0 .
}
ORDER BY DESC(xsd:datetime(?sk0))
LIMIT 1"""
)
GRAILQA = """PREFIX : <http://rdf.freebase.com/ns/>
SELECT (?x0 AS ?value) WHERE {
SELECT DISTINCT ?x0  WHERE {
?x0 :type.object.type :film.film .
VALUES ?x1 { :m.0lang }
?x0 :film.film.language ?x1 .
FILTER ( ?x0 != ?x1  )
}
}"""


@pytest.fixture(scope="module")
def graph(tmp_path_factory):
    return compiled(write(tmp_path_factory.mktemp("toy"), TOY_TRIPLES, TOY_NAMES, TOY_TYPES))


@pytest.fixture
def training(tmp_path):
    webqsp, cwq, grailqa = (tmp_path / f"{name}.json" for name in ("webqsp", "cwq", "grailqa"))
    webqsp.write_text(json.dumps({"Questions": [{"Parses": [{"Sparql": WEBQSP}]}]}))
    cwq.write_text(json.dumps([{"ID": "1", "sparql": CWQ}]))
    grailqa.write_text(json.dumps([{"qid": 1, "sparql_query": GRAILQA}]))
    return [webqsp, cwq, grailqa]


def lines(path):
    return path.read_text(encoding="utf-8").split()


def test_every_form_of_pattern_is_read():
    for query, predicates, entities in [
        (GRAILQA, {"film.film.language"}, {"m.0lang"}),
        ("?x ns:a.b/^ns:c.d ?y ; ns:e.f ns:m.01", {"a.b", "c.d", "e.f"}, {"m.01"}),
        ("{ ?x ns:a.b ns:g.1 } UNION { ?x ns:c.d ns:m.02 }", {"a.b", "c.d"}, {"g.1", "m.02"}),
        ("?x ns:a.b [ ns:c.d ns:m.03 ] OPTIONAL { ?x ns:c.d 'm.04' }", {"a.b", "c.d"}, {"m.03"}),
        ("?x <http://rdf.freebase.com/ns/a.b> ns:m.05 # ns:m.06 OR", {"a.b"}, {"m.05"}),
        ("?x ns:a.b ns:m.07. FILTER(?y = ns:m.08 AND ?x != ?y)", {"a.b"}, {"m.07"}),
        ("SELECT COUNT(DISTINCT ?x) WHERE { ?x ns:a.b ns:m.09 }", {"a.b"}, {"m.09"}),
    ]:
        whole = query if "SELECT" in query else f"SELECT ?x WHERE {{ {query}\n}}"
        uses = read_sparql(whole)
        assert (uses.predicates, uses.entities) == (predicates, entities)


def test_what_is_no_sparql_is_refused():
    for text in ["", "hello", "SELECT ?x WHERE { foo:m.1 foo:b ?x }", "{" * 4000]:
        with pytest.raises(UserError, match="no SPARQL"):
            read_sparql(text)


def test_training_files_give_the_seeds_that_synth_takes(training, graph, tmp_path):
    write_seeds(tmp_path / "seeds", read_seeds(training), {})
    predicates = str(tmp_path / "seeds/predicates.txt")
    entities = str(tmp_path / "seeds/seeds.txt")
    assert lines(tmp_path / "seeds/seeds.txt") == ["m.0ada", "m.0genre1", "m.0lang"]
    seeds = Seeds(graph, entities, predicates)
    assert seeds.allows("people.person.spouse_s..people.marriage.spouse")
    assert not seeds.allows("people.person.children")
    files = {"seeds_file": entities, "predicates_file": predicates}
    config = SynthConfig(count=2, mix={"1-hop": 1}, split="any", **files)
    make_walks(graph.path.parent, config, tmp_path / "walks")
    records = list(read_jsonl(tmp_path / "walks/walks.jsonl"))
    topics = {record["query"]["branches"][0]["topic"]["id"] for record in records}
    assert len(records) == 2 and topics <= {"m.0ada", "m.0genre1", "m.0lang"}


def test_files_that_a_run_reads_may_move_but_not_change(training, graph, tmp_path):
    write_seeds(tmp_path / "here", read_seeds(training), {})
    test = {"id": "t", "question": "Who?", "topic_entities": [{"id": "x", "name": "X"}]}
    (tmp_path / "tests.jsonl").write_text(json.dumps({**test, "answers": []}))

    def settings(folder: str, test: str, **more: Any) -> SynthConfig:
        files = {f"{name}_file": str(tmp_path / folder / f"{name}.txt") for name in WRITTEN}
        against = (str(tmp_path / test),)
        return SynthConfig(mix={"1-hop": 1}, split="any", against=against, **files, **more)

    make_walks(graph.path.parent, settings("here", "tests.jsonl", count=2), tmp_path / "walks")
    (tmp_path / "here").rename(tmp_path / "there")
    (tmp_path / "tests.jsonl").rename(tmp_path / "moved.jsonl")
    moved = settings("there", "moved.jsonl", count=2)
    make_walks(graph.path.parent, moved, tmp_path / "walks")
    assert str(tmp_path / "there") in (tmp_path / "walks/config.yaml").read_text()
    with (tmp_path / "there/seeds.txt").open("a") as file:
        file.write("m.0far\n")
    with pytest.raises(UserError, match="seeds_file was"):
        make_walks(graph.path.parent, moved, tmp_path / "walks")


def test_what_the_graph_lacks_is_left_out_and_counted(graph, tmp_path):
    path = tmp_path / "cwq.json"
    path.write_text(json.dumps([{"sparql": CWQ}, {"sparql": CWQ.replace("m.0genre1", "m.0far")}]))
    found, left_out = known_to(graph, read_seeds([path]))
    assert set(found.entities) == {"m.0genre1"}
    assert left_out == {"predicates_not_in_graph": 0, "entities_not_in_graph": 1}


def test_a_whitelist_is_a_list_of_ids_or_of_iris(tmp_path):
    as_json = tmp_path / "whitelist.json.gz"
    as_json.write_bytes(gzip.compress(b'["http://rdf.freebase.com/ns/film.film.genre"]'))
    as_text = tmp_path / "whitelist.txt"
    iri = "<http://rdf.freebase.com/ns/film.film.language>"
    as_text.write_text(f"# ours\n{iri}\na.b..c.d\nm.0ada\n")
    found = read_seeds([as_json, as_text])
    assert set(found.predicates) == {"film.film.genre", "film.film.language", "a.b..c.d"}
    assert set(found.entities) == {"m.0ada"}


def test_a_published_whitelist_is_a_predicates_file_as_it_stands(graph, tmp_path):
    whitelist = tmp_path / "whitelist.json.gz"
    whitelist.write_bytes(gzip.compress(b'["http://rdf.freebase.com/ns/film.film.genre"]'))
    seeds = Seeds(graph, predicates=str(whitelist))
    assert seeds.allows("film.film.genre") and not seeds.allows("film.film.language")
    whitelist.write_bytes(gzip.compress(b'["film.film.genre", 3]'))
    with pytest.raises(UserError, match="strings only"):
        Seeds(graph, predicates=str(whitelist))


def test_an_endpoint_has_no_schema_and_files_are_asked_for():
    with pytest.raises(UserError, match="does not list its entities: give training files"):
        schema_seeds(SparqlGraph("http://localhost:1/sparql"))


def test_the_schema_of_a_graph_gives_its_relations_and_an_even_sample_of_entities(graph):
    assert set(schema_seeds(graph).predicates) == set(graph.relation_ids())
    assert len(schema_seeds(graph).entities) == graph.size
    assert 8 <= len(schema_seeds(graph, 10).entities) <= 10


def test_a_whitelist_that_matches_nothing_is_one_line_and_exit_code_2(graph, tmp_path, capsys):
    whitelist = tmp_path / "whitelist.txt"
    whitelist.write_text("no.such.relation\n")
    where = ("--graph", graph.path.parent, "--out", tmp_path / "out")
    for arguments in (("seeds", whitelist), ("walk", f"predicates_file={whitelist}")):
        assert code(*arguments, *where) == 2
        error = capsys.readouterr().err.strip()
        assert error.count("\n") == 0 and "none of" in error and "relation of" in error


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("", "holds no questions"),
        ('[{"question": "Who?"}]', "holds no SPARQL"),
        ('[{"sparql": "SELECT nothing"}]', "no query of it can be read"),
        ("Who directed it?\n", "is not one id or IRI"),
        ("[{", "not JSON"),
    ],
)
def test_a_file_without_seeds_is_named(content, reason, tmp_path):
    path = tmp_path / "train.json"
    path.write_text(content)
    with pytest.raises(UserError, match=reason):
        read_seeds([path])
