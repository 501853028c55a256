"""Queries in SPARQL give the same answers on another store."""

from collections import Counter

import pytest

from data_pipeline.config import SynthConfig
from data_pipeline.synthesize import make_walks
from graphwalker.errors import UserError
from graphwalker.files import read_jsonl
from graphwalker.graphs.base import Direction, Entity
from graphwalker.query.query import Branch, Hop, Query, execute
from graphwalker.query.sparql import render
from support.backends import in_memory, write
from support.oxigraph import load_store, node_id

STORED = "x.y.spouse..x.marriage.of"
# A pair that is stored as such beside its halves; names that name nothing; a loop through a CVT.
MIXED = (
    [
        ("m.a", "x.y.spouse", "m.cvt1"),
        ("m.cvt1", "x.marriage.of", "m.a"),
        ("m.cvt1", "x.marriage.of", "m.b"),
        ("m.a", STORED, "m.c"),
        ("m.b", "x.y.spouse", "m.cvt2"),
        ("m.cvt2", "x.marriage.of", "m.c"),
        ("m.cvt2", "x.marriage.of", "m.named_by_id"),
        ("m.a", "x.y.mixed", "m.cvt1"),
        ("m.a", "x.y.mixed", "m.b"),
        ("m.a", "x.y.mixed", "m.named_by_id"),
        ("m.a", "x.y.mixed", '"1999"^^<http://www.w3.org/2001/XMLSchema#gYear>'),
    ],
    {"m.a": 'Ann "A"', "m.b": "Bob", "m.c": "Cy", "m.named_by_id": "m.0abc"},
    {},
)


def ask(store, sparql):
    return {node_id(row["x"]) for row in store.query(sparql)}


def ids(entities):
    return {entity.id for entity in entities}


def test_the_sparql_of_every_record_gives_its_answers_on_another_store(made, store):
    structures = Counter()
    for record in read_jsonl(made / "questions.jsonl"):
        assert ask(store, record["query"]["sparql"]) == {a["id"] for a in record["answers"]}
        structures[record["structure"]] += 1
    assert structures == {"1-hop": 3, "2-hop": 6, "3-hop": 6, "2I": 6, "PI": 3, "IP": 3}


def test_walks_without_a_schema_render_to_the_same_answers(made, store, world):
    flattened = 0
    for record in read_jsonl(made / "walks.jsonl"):
        query = Query.from_json(record["query"])
        assert ask(store, render(query)) == {a["id"] for a in record["answers"]}
        flattened += any(
            ".." in relation for relation in Query.from_json(record["query"]).relations
        )
    assert flattened > 0


@pytest.mark.parametrize("schema", [True, False])
@pytest.mark.parametrize("relation", ["x.y.spouse", "x.marriage.of", "x.y.mixed", STORED])
@pytest.mark.parametrize("direction", list(Direction))
@pytest.mark.parametrize("topic", ["m.a", "m.b", "m.c", "m.cvt1"])
def test_a_hop_means_the_same_in_sparql(topic, relation, direction, schema, tmp_path):
    graph, store = in_memory(*MIXED), load_store([write(tmp_path, *MIXED)])
    query = Query((Branch(Entity(topic, ""), (Hop(relation, direction),)),))
    known = {r for _, r, _ in MIXED[0]} if schema else None
    assert ask(store, render(query, known)) == ids(execute(graph, query).answers)


def test_hostile_ids_cannot_leave_their_iri():
    for hostile in ("m.1> ?p ?o } #", "m.1 m.2", 'm."', "", "_:b"):
        with pytest.raises(UserError, match="cannot be an IRI"):
            render(Query((Branch(Entity(hostile), (Hop("a.b"),)),)))
        with pytest.raises(UserError, match="cannot be an IRI"):
            render(Query((Branch(Entity("m.1"), (Hop(hostile),)),)))


def test_sparql_is_stored_only_where_asked_for(world, tmp_path):
    make_walks(world / "graph", SynthConfig(count=3, mix={"2-hop": 1}), tmp_path)
    assert all("sparql" not in row["query"] for row in read_jsonl(tmp_path / "walks.jsonl"))
