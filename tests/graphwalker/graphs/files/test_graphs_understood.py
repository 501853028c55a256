"""What a build takes for one entity, and what it says of input that it may have misread."""

import datetime

import pytest

from graphwalker.errors import UserError
from graphwalker.graphs.intake.columns import TableForm
from support.built import built, ends, put

PREFIX = "@prefix e: <http://e.org/> .\n"
ADDRESSES = {
    "ttl": (
        f"{PREFIX}e:anna e:address [ e:city e:oslo ] .",
        f"{PREFIX}e:bert e:address [ e:city e:rome ] .",
    ),
    "nt": tuple(
        f"<http://e.org/{who}> <http://e.org/address> _:a .\n"
        f"_:a <http://e.org/city> <http://e.org/{city}> .\n"
        for who, city in (("anna", "oslo"), ("bert", "rome"))
    ),
}


def warned(made):
    return "\n".join(made.get("warnings", []))


@pytest.mark.parametrize("form", ["ttl", "nt"])
def test_blank_nodes_belong_to_their_file_in_any_order_of_files(tmp_path, form):
    one, two = put(tmp_path, **{f"{n}__{form}": t for n, t in enumerate(ADDRESSES[form])})
    made, graph = built(tmp_path / "a", one, two)
    assert made["nodes"] == 6
    path = ("http://e.org/address", "http://e.org/city")
    for who, city in (("anna", "oslo"), ("bert", "rome")):
        assert ends(graph, f"http://e.org/{who}", *path) == [f"http://e.org/{city}"]
    assert built(tmp_path / "b", two, one)[0]["checksum"] == made["checksum"]


def test_a_file_given_twice_and_packed_has_the_same_blank_nodes(tmp_path):
    (one,) = put(tmp_path, one__nt=ADDRESSES["nt"][0])
    (packed,) = put(tmp_path, one__nt__gz=ADDRESSES["nt"][0])
    assert built(tmp_path / "g", one, packed)[0]["nodes"] == 3
    graph = built(tmp_path / "h", one)[1]
    assert ends(graph, "http://e.org/anna", "http://e.org/address") == ["_:a"]


def test_a_label_like_those_that_are_made_up_is_a_node_of_its_own(tmp_path):
    text = f"{PREFIX}_:anonymous0 e:p e:x . e:y e:q [ e:r e:z ] ."
    assert built(tmp_path / "g", *put(tmp_path, a__ttl=text))[0]["nodes"] == 5


def test_several_ids_with_blanks_between_them_are_several_objects(tmp_path):
    rows = (
        "x.org/m/a1\tx.org/children\tx.org/m/b1 x.org/m/b2",
        "x.org/m/a1\tx.org/spouse\tx.org/m/c1",
        "x.org/m/b1\tx.org/friends\tx.org/m/d1 x.org/m/d2 x.org/m/d3",
    )
    made, graph = built(tmp_path / "g", *put(tmp_path, facts__txt="\n".join(rows)))
    assert made["triples"] == 6 and made["fields of several values"] == 2
    assert ends(graph, "x.org/m/a1", "x.org/children") == ["x.org/m/b1", "x.org/m/b2"]
    table = "person,knows,note,town\nQ1,Q2 Q3,two words,Oslo\nQ2,Q1,Q1 is known,Rome\n"
    graph = built(tmp_path / "h", *put(tmp_path, t__csv=table), form=TableForm(("table",)))[1]
    assert ends(graph, "Q1", "knows") == ["Q2", "Q3"] and ends(graph, "Q1", "note") == ["two words"]


def test_names_with_blanks_stay_whole_and_what_is_unsure_is_said(tmp_path):
    sure = put(tmp_path, a__tsv="Q1\tlies_in\tNew York\nQ2\tlies_in\tLa Paz\n")
    made, graph = built(tmp_path / "g", *sure)
    assert ends(graph, "Q1", "lies_in") == ["New York"] and "blanks" not in warned(made)
    unsure = put(tmp_path, b__tsv="Ana\tknows\tQ2 Q3\nBen\tknows\tNew York\n")
    made, graph = built(tmp_path / "g", *unsure)
    assert ends(graph, "Ana", "knows") == ["Q2 Q3"]
    assert "are kept whole (--split ' ' divides them): 1; the first:" in warned(made)
    assert "b.tsv:1: Ana Q2 Q3" in warned(made)


def test_spellings_that_look_alike_are_one_entity_where_names_are_ids(tmp_path):
    text = "Ana \tknows\tZoe\u0308\nAna\tknows \tBen\nZo\u00eb\tknows\tBe\u200bn\n"
    made, graph = built(tmp_path / "g", *put(tmp_path, a__tsv=text))
    assert (made["entities"], made["relations"], made["triples"]) == (3, 1, 3)
    assert ends(graph, "Ana", "knows") == ["Ben", "Zo\u00eb"]
    told = "entities in several spellings that look alike are one: 3; the first: 'Ana '"
    assert told in warned(made)


def test_stated_ids_and_a_lone_spelling_are_never_changed(tmp_path):
    named = "Ana \tAna Ewers\nAna\tAna Haas\n"
    facts, names = put(tmp_path, a__tsv="Ana \tknows\tAna\n", n__tsv=named)
    assert built(tmp_path / "g", facts, names=names)[0]["entities"] == 2
    (alone,) = put(tmp_path, b__tsv="Ana \tknows\tBen\nhttp://x/a \tknows\tBen\n")
    assert built(tmp_path / "g", alone)[1].resolve("Ana ")[0].id == "Ana "


def test_a_names_file_names_relations_that_are_codes(tmp_path):
    rows = "Q1\tP19\tQ2\nQ3\tP20\tQ2\nQ1\tP21\tQ2\nQ3\tborn_in\tQ2\n"
    text = "Q1\tAna\nQ2\tOslo\nQ3\tBen\nP19\tplace\nP20\tplace\nP21\tcity\nborn_in\tBorn\n"
    facts, names = put(tmp_path, a__tsv=rows, n__tsv=text)
    made, graph = built(tmp_path / "g", facts, names=names)
    assert graph.relation_ids() == ["born_in", "city", "place (P19)", "place (P20)"]
    assert made["relations by their names"] == 3 and graph.resolve("city") == []


def test_a_names_file_of_another_graph_is_refused_and_unused_ids_are_counted(tmp_path):
    (facts,) = put(tmp_path, a__tsv="Q1\tis\tQ2\nQ3\tis\tQ2\n")
    other, more = put(tmp_path, o__tsv="m.1\tAna\n", m__tsv="Q1\tA\nQ9\tB\n")
    with pytest.raises(UserError, match=r"o\.tsv: none of its 1 ids is in a fact: it has m\.1"):
        built(tmp_path / "g", facts, names=[more, other])
    made, _ = built(tmp_path / "g", facts, names=more)
    assert "m.tsv: 1 of 2 (50 %) ids are in no fact; the first: Q9" in warned(made)


def test_facts_about_facts_are_kept_at_a_node_of_their_own(tmp_path):
    a, b, p, q = (f"<http://e.org/{one}>" for one in ("ana", "ben", "spouse", "since"))
    quoted = put(tmp_path, a__nt=f'{a} {p} {b} .\n<< {a} {p} {b} >> {q} "1990" .\n')
    turtle = put(tmp_path, b__ttl=f'{a} {p} {b} {{| {q} "1990" |}} .')
    for paths in (quoted, turtle):
        made, graph = built(tmp_path / "g", *paths)
        assert ends(graph, a[1:-1], p[1:-1], q[1:-1]) == ['"1990"']
        assert made["malformed"] == 0 and "facts about facts (RDF-star)" in warned(made)


def test_relative_addresses_comment_marks_and_malformed_lines_are_counted_and_shown(tmp_path):
    relative = put(tmp_path, r__ttl=f"{PREFIX}<rel> e:p e:x . <other> e:p e:y .")
    said = warned(built(tmp_path / "g", *relative)[0])
    assert "without a scheme are read as file:///...: 2" in said and "r.ttl: file:///rel" in said
    lines = put(tmp_path, c__tsv="#Ana\tknows\tBen\nCleo\tknows\tBen\n# a remark\n")
    made, graph = built(tmp_path / "g", *lines)
    assert graph.resolve("#Ana") and "a comment elsewhere, are kept: 1; the first:" in warned(made)
    assert "malformed lines are skipped: 1; the first:" in warned(made)


def test_floats_of_parquet_are_ids_again_and_nan_is_no_entity(tmp_path):
    pandas = pytest.importorskip("pandas")
    rows = {
        "person": ["Ana", "Ben", "Cleo"],
        "boss": [float("nan"), 1.0, 2.0],
        "height": [1.5, float("nan"), 2.0],
        "ran": [datetime.timedelta(hours=26), None, datetime.timedelta(minutes=90)],
    }
    pandas.DataFrame(rows).to_parquet(tmp_path / "t.parquet")
    _, graph = built(tmp_path / "g", tmp_path / "t.parquet")
    assert ends(graph, "Ben", "boss") == ["1"] and ends(graph, "Cleo", "height") == ["2.0"]
    assert ends(graph, "Ana", "ran") == ["26:00:00"] and not graph.resolve("nan")


def test_an_ontology_says_which_setting_shows_its_relations(tmp_path):
    words = "@prefix s: <http://www.w3.org/2000/01/rdf-schema#> .\n"
    classes = "e:tea s:subClassOf e:drink . e:mate s:subClassOf e:tea ."
    said = warned(built(tmp_path / "g", *put(tmp_path, o__ttl=PREFIX + words + classes))[0])
    assert "all 1 relations are of RDF Schema or OWL" in said and "skip_relations=[]" in said
    mixed = put(tmp_path, m__ttl=PREFIX + words + classes + " e:tea e:grows_in e:asia .")
    assert "RDF Schema" not in warned(built(tmp_path / "h", *mixed)[0])
