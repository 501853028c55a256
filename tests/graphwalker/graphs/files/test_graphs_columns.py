"""Tables whose columns can be read in two ways are refused, and read as the user says."""

import pytest
from typer.testing import CliRunner

from graphwalker.cli.app import app
from graphwalker.errors import UserError
from graphwalker.graphs.base import Direction
from graphwalker.graphs.build.build import build_graph
from graphwalker.graphs.compiled.properties import open_compiled
from graphwalker.graphs.intake.columns import TableForm

FACTS = (("Ana", "knows", "Ben"), ("Ana", "born_in", "Oslo"), ("Ben", "knows", "Cleo"))
UNCLEAR = (
    "s,p,o", "from,type,to", "source,label,target", "a.name,type(r),b.name",
)  # fmt: skip


def built(folder, name, text, columns="", header=None, split=None):
    (folder / name).write_text(text, encoding="utf-8")
    form = TableForm.read(columns, header, split)
    made = build_graph([folder / name], folder / "graph", form=form, max_malformed=0)
    return made, open_compiled(folder / "graph")


def table(header, mark):
    rows = [header.split(",")] if header else []
    return "".join(mark.join(row) + "\n" for row in [*rows, *FACTS])


def test_a_header_that_may_name_facts_is_refused_until_it_is_said(tmp_path):
    for header in UNCLEAR:
        with pytest.raises(UserError, match="Add --columns"):
            built(tmp_path, "t.csv", table(header, ","))
        made, graph = built(tmp_path, "t.csv", table(header, ","), columns=header)
        assert (made["triples"], graph.relation_ids()) == (3, ["born_in", "knows"])


def test_a_header_that_names_facts_over_rows_that_are_facts_is_clear(tmp_path):
    rows = [*FACTS, ("Cleo", "born_in", "Oslo"), ("Cleo", "knows", "Ana")]
    for header in UNCLEAR:
        text = "".join("\t".join(row) + "\n" for row in [header.split(","), *rows])
        made, graph = built(tmp_path, "t.tsv", text)
        assert (made["triples"], graph.relation_ids()) == (5, ["born_in", "knows"]), header


def test_a_first_row_whose_relation_and_entity_come_again_is_a_fact(tmp_path):
    assert built(tmp_path, "t.csv", table("", ","))[0]["triples"] == 3
    with pytest.raises(UserError, match=r"--columns 1,2,3 where it is a fact"):
        built(tmp_path, "t.csv", "Dan,likes,Ida\n" + table("", ",") * 2)


def test_heads_of_several_rows_and_few_relations_are_no_table_of_entities(tmp_path):
    with pytest.raises(UserError, match="a fact a row, or an entity a row"):
        built(tmp_path, "t.csv", "x,y,z\nAna,a,Ben\nAna,a,Oslo\nBen,b,Ana\nBen,b,Oslo\n")
    made, graph = built(tmp_path, "t.csv", "x,y,z\nAna,a,Ben\nAna,a,Oslo\n", columns="table")
    assert graph.relation_ids() == ["y", "z"] and made["types"] == 1


def test_facts_in_another_order_or_behind_an_unknown_header_are_asked_about(tmp_path):
    chain = [(f"Entity {n}", ("knows", "likes")[n % 2], f"Entity {n + 1}") for n in range(40)]
    for mark, name, order in (("\t", "t.tsv", (1, 0, 2)), ("|", "kb.txt", (0, 2, 1))):
        text = "".join(mark.join(fact[place] for place in order) + "\n" for fact in chain)
        with pytest.raises(UserError, match="Add --columns"):
            built(tmp_path, name, text)
        rows = "".join(mark.join(fact) + "\n" for fact in chain)
        with pytest.raises(UserError, match="Add --columns"):
            built(tmp_path, name, f"von{mark}wie{mark}nach\n{rows}")
        assert built(tmp_path, name, rows)[0]["triples"] == 40


def test_a_file_sorted_by_head_whose_first_tails_are_one_is_read(tmp_path):
    rows = [f"m.{n}\ta.b.{n % 9}\tm.page\n" for n in range(60)]
    assert built(tmp_path, "t.tsv", "".join(rows))[0]["triples"] == 60


def test_a_column_that_is_not_there_is_answered_by_those_that_are(tmp_path):
    with pytest.raises(UserError, match=r"no column q; there are s, p, o"):
        built(tmp_path, "t.csv", table("s,p,o", ","), columns="s,q,o")


def test_several_values_in_one_field_are_never_one_entity(tmp_path):
    name, text = "t.csv", "head,relation,tail\nAna,knows,Ben|Cleo\n"
    with pytest.raises(UserError, match=r"several values in one field \(Ben\|Cleo\)"):
        built(tmp_path, name, text)
    made, graph = built(tmp_path, name, text, split="|")
    assert made["triples"] == 2 and graph.resolve("Cleo") and made["fields of several values"] == 1
    assert built(tmp_path, name, text, split="none")[1].resolve("Ben|Cleo")


def test_a_build_prints_three_facts(tmp_path):
    (tmp_path / "t.tsv").write_text(table("", "\t"))
    arguments = ["graph", "build", "--triples", f"{tmp_path}/t.tsv", "--out", f"{tmp_path}/g"]
    printed = CliRunner().invoke(app, arguments).output
    assert printed.count("fact: ") == 3 and "Ana | born_in | Oslo" in printed


def test_a_question_names_the_columns_in_the_order_of_a_fact(tmp_path):
    with pytest.raises(UserError, match="--columns src,rel,dst "):
        built(tmp_path, "t.csv", "rel,src,dst\nknows,Ana,Ben\n")


def test_clear_columns_among_others_are_read_in_any_order(tmp_path):
    for name, mark in (("t.tsv", "\t"), ("t.csv", "|")):
        rows = ("weight,Tail,id,Relation,Head", "1,Ben,7,knows,Ana", "2,Cleo,8,knows,Ben")
        made, graph = built(tmp_path, name, "".join(row.replace(",", mark) + "\n" for row in rows))
        assert (made["triples"], graph.relation_ids()) == (2, ["knows"])
        assert [e.name for e in graph.neighbors("Ana", "knows", Direction.OUT)] == ["Ben"]


def test_a_separator_is_what_every_line_has_and_quotes_make_a_tsv_a_csv(tmp_path):
    made, _ = built(tmp_path, "t.csv", "Ewers, Ana;knows;Ben\nBen;knows;Ewers, Ana\n")
    assert made["triples"] == 2
    quoted = 'head\trelation\ttail\n"Ana ""A"" Ewers"\tknows\tBen\n'
    assert built(tmp_path, "t.tsv", quoted)[1].resolve('Ana "A" Ewers')


def test_a_table_of_entities_in_a_tsv_is_asked_about_and_read(tmp_path):
    rows = "town\tmayor\triver\n" + "".join(f"Town {n}\tIda {n}\tOmbra\n" for n in range(12))
    with pytest.raises(UserError, match="--columns table"):
        built(tmp_path, "t.tsv", rows)
    made, graph = built(tmp_path, "t.tsv", rows, columns="table")
    assert (made["triples"], graph.relation_ids()) == (24, ["mayor", "river"])


def test_columns_stand_in_any_order_among_others(tmp_path):
    rows = "weight,rel,dst,src\n1,knows,Ben,Ana\n2,knows,Cleo,Ben\n"
    for columns, header in (("src,rel,dst", None), ("4,2,3", True)):
        made, graph = built(tmp_path, "t.csv", rows, columns, header)
        assert (made["triples"], graph.relation_ids()) == (2, ["knows"])
