"""Queries in SPARQL give the same answers on another store."""

from collections import Counter

import pytest

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
