"""Tables: an entity or a fact a row; what can be read in two ways is refused until it is said."""

import csv
import io
import random
import re

import pytest
from typer.testing import CliRunner

from graphwalker.cli.app import app
from graphwalker.errors import UserError
from graphwalker.graphs.base import Direction
from graphwalker.graphs.intake.columns import TableForm
from graphwalker.graphs.intake.filters import Filters
from graphwalker.graphs.intake.foreign.recognise import convert
from graphwalker.graphs.intake.readers import check_read, open_reader
from graphwalker.graphs.intake.rows import Rejects, Relations, Source
from support.built import built as build
from support.built import ends

FACTS = (("Ana", "knows", "Ben"), ("Ana", "born_in", "Oslo"), ("Ben", "knows", "Cleo"))
UNCLEAR = (
    "s,p,o", "from,type,to", "source,label,target", "a.name,type(r),b.name",
)  # fmt: skip


def built(folder, name, text, columns="", header=None, split=None):
    (folder / name).write_text(text, encoding="utf-8")
    form = TableForm.read(columns, header, split)
    return build(folder / "graph", folder / name, form=form)


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


UNREAD = {
    "t.csv": "subject,predicate,object,weight,year\nAna,knows,Ben,0.5,1999\n",
    "t.tsv": "head\tweight\trelation\ttail\tyear\nAna\t1\tknows\tBen\t9\n",
    "t.jsonl": '{"head": "Ana", "relation": "knows", "tail": "Ben", "weight": 1, "year": 9}\n',
}


@pytest.mark.parametrize("name", UNREAD)
def test_columns_besides_those_of_facts_are_named(tmp_path, name):
    made, _ = built(tmp_path, name, UNREAD[name])
    told = "columns besides head, relation and tail are not read: 2; the first: .*: weight, year"
    assert made["triples"] == 1 and re.fullmatch(told, made["warnings"][0])


NO_VALUES = {
    "table": "person,town,boss,pet\nAna,NA,Ben,\nBen,Oslo,,\nCleo,null,-,Rex\n",
    "facts": "head,relation,tail\nAna,knows,NaN\nBen,knows,Ana\nCleo,knows,None\nEva,knows,?\n",
    "database": "id,name,town\n1,Ana,N/A\n2,Ben,Oslo\n3,Cleo,NULL\n4,Eva,--\n",
}


@pytest.mark.parametrize("form", NO_VALUES)
def test_values_that_stand_for_none_are_counted(tmp_path, form):
    made, _ = built(tmp_path, "t.csv", NO_VALUES[form])
    (warning,) = made["warnings"]
    told = "values such as NA and null are entities (empty cells are no facts): 3; the first: "
    assert warning.startswith(f"{told}{tmp_path / 't.csv'}:2: N")


def test_rows_of_one_name_are_one_entity_and_counted(tmp_path):
    text = "person,town,boss,pet\nAna,Oslo,Ben,\nBen,Oslo,,\nAna,Rome,,Rex\n"
    made, graph = built(tmp_path, "t.csv", text)
    assert ends(graph, "Ana", "town") == ["Oslo", "Rome"]
    (warning,) = made["warnings"]
    assert re.fullmatch(r"rows that name an entity of a row before .*: 1; .*:4: Ana", warning)


def test_json_facts_may_list_their_tails_and_a_bad_one_is_told_by_its_value(tmp_path, caplog):
    tails = ('["Ben", "Cleo", 3]', "null", "[]", '{"id": 1}')
    rows = [f'{{"head": "Ana", "relation": "knows", "tail": {tail}}}' for tail in tails]
    rows += ['{"head": 7, "relation": "knows", "tail": "Ben"}', '{"head": "Ana", "tail": "Ben"}']
    made, _ = built(tmp_path, "t.jsonl", "\n".join(rows))
    assert (made["triples"], made["fields of several values"], made["malformed"]) == (3, 1, 4)
    why = [record.message.partition(": ")[2] for record in caplog.records]
    assert why == [
        "a relation or tail is null; a text or a number is wanted",
        'a relation or tail is {"id": 1}; a text or a number is wanted',
        "the head is 7; a text, the id, is wanted",
        "no JSON record with head, relation and tail",
    ]


def test_names_are_read_without_blanks_at_their_ends_and_without_a_header(tmp_path):
    (tmp_path / "names.tsv").write_text("entity_id\tlabel\nq1\tAna \nq2\t \nq3\t Cleo\n")
    (tmp_path / "t.tsv").write_text("q1\tknows\tq2\nq2\tknows\tq3\n")
    made, graph = build(tmp_path / "g", tmp_path / "t.tsv", names=tmp_path / "names.tsv")
    assert (made["nodes"], graph.name("q1"), graph.name("q2"), graph.name("q3")) == (
        3, "Ana", "", "Cleo",
    )  # fmt: skip


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


def test_a_row_is_an_entity_and_each_column_a_relation(tmp_path):
    rows = '\ufeffperson,works_for,lives in\n"Brandt, Ben",Almera; Boreal,Varnholm\nAna,Almera,\n'
    graph = built(tmp_path, "t.csv", rows)[1]
    assert ends(graph, "Brandt, Ben", "works_for") == ["Almera", "Boreal"]
    assert ends(graph, "Brandt, Ben", "lives in") == ["Varnholm"]
    assert [graph.types(head) for head in ("Ana", "Brandt, Ben")] == [["person"]] * 2
    assert graph.relations("Ana", Direction.OUT) == [("works_for", 1)]


@pytest.mark.parametrize("mark", [";", "\t"])
def test_a_header_without_commas_says_what_separates_the_columns(tmp_path, mark):
    first, second = ["Ana", "Almera, Inc.", '"Oslo;Rome"'], ["Ben", '"a\nb"', ""]
    table = [["person", "works_for", '"lives, in"'], first, second]
    graph = built(tmp_path, "t.csv", "".join(mark.join(row) + "\n" for row in table))[1]
    assert ends(graph, "Ana", "works_for") == ["Almera, Inc."]
    assert ends(graph, "Ana", "lives, in") == ["Oslo", "Rome"]
    assert ends(graph, "Ben", "works_for") == ["a\nb"]


def test_a_bad_line_is_skipped_and_named(tmp_path):
    graph = built(tmp_path, "t.csv", 'person,knows\nAna,Ben\nAna\n"Ana,Ben\n,Ben\n')[1]
    assert ends(graph, "Ana", "knows") == ["Ben"]
    rejects = (tmp_path / "graph" / "rejects.tsv").read_text()
    assert "expected 2 columns, found 1" in rejects and "not a CSV record" in rejects
    assert "no value in the first column, person" in rejects


HEADERS = {
    "sep=,": "sep= is a note for Excel, and no header: remove the line",
    "": "the first line names no column", "person": "the header has one column",
    "person,knows,knows": "two columns are called knows", ",name,knows": "column 1 has no name",
    "person,knows,": "column 3 has no name", "# of 2024": "a comment; a table begins with",
}  # fmt: skip


@pytest.mark.parametrize(("header", "why"), HEADERS.items())
def test_a_header_that_names_no_relations_is_refused(tmp_path, header, why):
    with pytest.raises(UserError, match=rf"t\.csv:1: {why}"):
        built(tmp_path, "t.csv", f"{header}\nAna,Ben,Cleo\n")


EMPTY = {
    "a.csv": "", "a.tsv": "", "b.csv": "Ana,knows,Ben\n", "b.tsv": "head\trelation\ttail\n",
}  # fmt: skip


@pytest.mark.parametrize(("name", "text"), EMPTY.items())
def test_a_file_without_facts_is_empty_or_has_one_line_that_was_read_as_its_header(
    tmp_path, name, text
):
    why = "its one line was read as a header: --columns 1,2,3" if text else "the file is empty"
    with pytest.raises(UserError, match=f"no triples; {why}"):
        built(tmp_path, name, text)


def test_a_line_without_tabs_is_told_of_the_name_of_a_file_with_commas(tmp_path):
    with pytest.raises(UserError, match=r"found no tab \(a file with commas is called \.csv\)"):
        built(tmp_path, "t.tsv", "Ana,knows,Ben\n")


NAMED = (
    "head,relation,tail", "Head,Relation,Tail", "s,p,o", "Subject,Relation,Object", "h,r,t",
    "source,label,target", "from,type,to", "node1,label,node2", "a.name,type(r),b.name",
    "head_id,relation_id,tail_id", "from_node,edge_type,to_node", "START_ID,TYPE,END_ID",
)  # fmt: skip


OTHERS = (
    "sujet,prédicat,objet", "kopf,kante,ende", "who,what,whom", "主语,谓语,宾语", "x,y,z", "0,1,2",
    "person,knows,friend", "film,role,actor", "e1,r,e2", "parent,rel,child", "", "", "",
)  # fmt: skip


WORDS = ("Ana", "Ben", "Müller", "São Paulo", "Łódź", "O'Neil", "Дом", "東京", "Zoë", "Mount Nord")


STYLES = ("born_in", "is part of", "FILM_ACTOR", "P", "http://x.org/p/r", "film.film.actor")


EXTRA = {"weight": "0.5", "id": "{n}", "year": "1999", "source_url": "http://w.org/{n}"}


def entity(kind, number):
    first, second = WORDS[number % 10], WORDS[number // 10 % 10]
    return {
        "name": f"{first} {second}", "odd": f'{first}, "{second}"', "id": f"Q{number}",
        "number": str(number), "iri": f"http://x.org/e/{number}", "mid": f"/m/0{number:x}",
    }[kind]  # fmt: skip


def facts_of(rng):
    kind, style = rng.choice(("name", "odd", "id", "number", "iri", "mid")), rng.choice(STYLES)
    relations = [f"{style}{number or ''}" for number in range(rng.choice((1, 2, 3, 8, 20)))]
    many, shape = rng.choice((4, 20, 100)), rng.choice(("chain", "fan", "star"))
    facts = []
    for number in range(rng.choice((2, 3, 5, 9, 20, 60, 200))):
        ends = {
            "chain": (number, number + 1), "star": (0, rng.randrange(many) + 50),
            "fan": (rng.randrange(many), rng.randrange(many) + rng.choice((0, 50))),
        }[shape]  # fmt: skip
        head, tail = (entity(kind, end) for end in ends)
        facts.append((head, rng.choice(relations), tail))
    return list(dict.fromkeys(facts))


def write_table(rng, folder):
    """A file with a table, and the facts that it states. Without a header, rows state head,
    relation, tail: nobody can tell another order."""
    facts, header = facts_of(rng), rng.choice(NAMED + OTHERS)
    mark = rng.choice((",", ";", "\t", "|"))
    order = [0, 1, 2]
    if header and (header != "0,1,2" or mark != "\t") and rng.random() < 0.35:
        order = rng.choice([[1, 0, 2], [0, 2, 1], [2, 0, 1], [1, 2, 0]])
    lines = [[row[at] for at in order] for row in ([header.split(",")] if header else []) + facts]
    for name in rng.sample(sorted(EXTRA), rng.choice((0, 0, 0, 1, 2))):
        place = rng.choice((0, len(lines[0])))
        for number, line in enumerate(lines):
            line.insert(place, name if header and not number else EXTRA[name].format(n=number))
    out, end = io.StringIO(), rng.choice(("\n", "\r\n"))
    quoting = rng.choice((csv.QUOTE_MINIMAL, csv.QUOTE_ALL))
    csv.writer(out, delimiter=mark, quoting=quoting, lineterminator=end).writerows(lines)
    path = folder / f"table.{rng.choice(('tsv', 'txt') if mark == chr(9) else ('csv', 'txt'))}"
    path.write_bytes(out.getvalue().removesuffix(rng.choice((end, ""))).encode())
    return path, facts


def read(path, folder):
    """The facts of a file, as the first stage of a build reads them."""
    relations, rejects = Relations(Filters()), Rejects(None, 0)
    source = convert(Source(path, "triples", 0), folder)
    reader = open_reader(source, Filters(), relations, rejects)
    found = set()
    for _, rows in reader.blocks():
        named = (relations.listed[number] for number in rows.relations)
        facts = zip(rows.heads, named, rows.tails, strict=True)
        found |= {tuple(map(str.strip, fact)) for fact in facts}
    check_read(reader, source, rejects.count)
    return found


@pytest.mark.parametrize("seeds", [60, pytest.param(1000, marks=pytest.mark.long)])
def test_tables_are_read_as_they_are_meant_or_asked_about(tmp_path, seeds):
    right = 0
    for seed in range(seeds):
        (folder := tmp_path / str(seed)).mkdir()
        path, facts = write_table(random.Random(seed), folder)
        try:
            assert read(path, folder) == set(facts), (seed, path)
            right += 1
        except UserError as error:
            asks = ("--columns", "found", "header of two columns")
            assert any(word in str(error) for word in asks), error
    assert right / seeds > 0.3
