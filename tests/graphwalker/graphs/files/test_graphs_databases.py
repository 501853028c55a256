"""Tables of a database become one graph; several sources of one company join by name and type."""

import csv

import pytest
from typer.testing import CliRunner

from graphwalker.cli.app import app
from graphwalker.errors import UserError
from graphwalker.graphs.base import Direction
from graphwalker.graphs.intake.columns import TableForm
from support.built import built as build
from support.built import end_names as ends
from support.built import put

PEOPLE = "Ana Ben Cleo Dario Eva Finn Gita Hugo Iris Jan Kira Leo Mara Nils Olga Paul Quin Rosa"
DEPARTMENTS = ("Research", "Sales", "Logistics", "Finance")
PROJECTS = ["Apollo", "Borealis", "Cygnus", "Draco", "Eridanus", "Fornax", "Gemini", "Hydra"]
EMPLOYEES = "id,name\n1,Ana\n2,Ben\n3,Cleo\n"
LINKED = {"employees.csv": EMPLOYEES, "projects.csv": "id,name\n1,Apollo\n2,Draco\n"}
LEAD = "project.lead_id=employee"


def company():
    """Thirty rows: eighteen employees, four departments, eight projects."""
    people = [
        f"{n},{name} Albers,{('engineer', 'clerk')[n % 2]},{1 + n % 4},{4000 + n}"
        for n, name in enumerate(PEOPLE.split(), start=1)
    ]
    projects = [
        f"{n},{name},{DEPARTMENTS[n % 4]},{1 + 5 * n % 18},2020-01-0{n}"
        for n, name in enumerate(PROJECTS, start=1)
    ]
    departments = [f"{n},{name},Oslo" for n, name in enumerate(DEPARTMENTS, start=1)]
    return {
        "employees.csv": "\n".join(["id,name,job,department_id,salary", *people]),
        "departments.csv": "\n".join(["id,name,city", *departments]),
        "projects.csv": "\n".join(["id,name,department,lead_id,started", *projects]),
    }


def built(folder, files, *refers, columns="", **options):
    form = TableForm.read(columns, None, None, refers)
    return build(folder / "g", *put(folder, **files), form=form, **options)


def test_columns_point_into_the_table_of_their_name_and_one_is_asked_about(tmp_path):
    with pytest.raises(UserError, match=r"projects\.csv: where does lead_id point\? 8 of its 8"):
        built(tmp_path, company())
    made, graph = built(tmp_path, company(), LEAD)
    assert ends(graph, "employee/1", "employee.department") == ["Sales"]
    assert ends(graph, "project/1", "project.department") == ["Sales"]
    assert ends(graph, "project/1", "project.lead") == ["Finn Albers"]
    assert graph.types("department/1") == ["department"]
    assert made["literals"] == 18 + 8 and "warnings" not in made
    assert any("department -> department (names); lead_id -> employee" in r for r in made["read"])


def test_questions_about_a_company_are_answered_by_the_rule(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    paths = put(tmp_path, **company())
    graph = f"{','.join(map(str, paths))}?refers={LEAD}"
    for question, answer in (
        ("In which department does Ana Albers work?", "Answer: Sales (department/2)"),
        ("Who leads Apollo?", "Answer: Finn Albers (employee/6)"),
        ("Which projects has Finance?", "Answer: Cygnus (project/3), Gemini (project/7)"),
    ):
        typed = ["ask", question, "--graph", graph, "--model", "first-relation"]
        assert answer in CliRunner().invoke(app, typed).output


def test_what_is_asked_for_is_answered_by_the_option_that_the_message_names(tmp_path):
    paths = put(tmp_path, **company())
    words = [word for path in paths for word in ("--triples", str(path))]
    asked = CliRunner().invoke(app, ["graph", "build", *words, "--out", f"{tmp_path}/g"])
    assert isinstance(asked.exception, UserError)
    option = next(w for w in str(asked.exception).split() if w.startswith("project.lead_id=e"))
    words += ["--refers", option.strip(","), "--out", f"{tmp_path}/g"]
    assert "lead_id -> employee" in CliRunner().invoke(app, ["graph", "build", *words]).output


@pytest.mark.parametrize("said", ["employee", "none"])
def test_a_column_that_points_into_its_own_table_is_asked_about(tmp_path, said):
    files = {"employees.csv": "id,name,manager_id\n1,Ana,\n2,Ben,1.0\n3,Cleo,1.0\n"}
    with pytest.raises(UserError, match=r"--refers employee\.manager_id=none for a plain value"):
        built(tmp_path, files)
    _, graph = built(tmp_path, files, f"employee.manager_id={said}")
    relation = "employee.manager" if said == "employee" else "employee.manager_id"
    assert ends(graph, "employee/2", relation) == ["Ana" if said == "employee" else "1.0"]


def test_ids_that_are_no_numbers_say_where_they_point(tmp_path):
    files = {
        "employees.csv": "id,name,boss\ne1,Ana,\ne2,Ben,e1\n",
        "departments.csv": "id,name,head\nd1,Sales,e1\nd2,Research,e2\n",
    }
    _, graph = built(tmp_path, files)
    assert ends(graph, "department/d2", "department.head") == ["Ben"]
    assert ends(graph, "employee/e2", "employee.boss") == ["Ana"]


def test_a_column_called_after_a_table_whose_rows_it_does_not_name_is_asked_about(tmp_path):
    staff = "id,name,department\n1,Ana,Press\n2,Ben,Press\n"
    files = {"employees.csv": staff, "departments.csv": "id,name\n1,Sales\n2,Research\n"}
    with pytest.raises(UserError, match="where does department point"):
        built(tmp_path, files)


def test_rows_that_only_link_others_are_facts_or_nodes_without_a_name(tmp_path):
    plain = {**LINKED, "works_on.csv": "employee_id,project_id\n1,1\n1,2\n2,2\n"}
    assert ends(built(tmp_path, plain)[1], "employee/1", "works_on") == ["Apollo", "Draco"]
    rows = "id,employee_id,project_id,hours\n1,1,1,10\n2,1,2,20\n"
    _, graph = built(tmp_path, {**LINKED, "works_on.csv": rows})
    for node in graph.neighbors("employee/1", "works_on", Direction.OUT):
        assert node.name == "" and len(ends(graph, node.id, "works_on.project")) == 1


def test_a_table_that_adds_columns_to_another_says_them_of_its_rows(tmp_path):
    pay = "employee_id,amount,currency\n1,100,EUR\n2,200,USD\n7,1,EUR\n"
    made, graph = built(tmp_path, {"employees.csv": EMPLOYEES, "pay.csv": pay})
    assert ends(graph, "employee/2", "pay.currency") == ["USD"]
    assert "name no row, or several, of employee are left out: 1; the first:" in made["warnings"][0]
    assert "pay.csv:4: 7" in made["warnings"][0]


def test_names_in_parts_plurals_and_tables_in_tsv_and_parquet_are_read(tmp_path):
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame({"id": [1, 2], "name": ["Research", "Sales"]})
    table.to_parquet(tmp_path / "Abteilungen.parquet")
    rows = "id\tvorname\tnachname\tabteilung_id\n7\tAna\tAlbers\t1.0\n8\tBen\tBrandt\t2.0\n"
    paths = [*put(tmp_path, mitarbeiter__tsv=rows), tmp_path / "Abteilungen.parquet"]
    _, graph = build(tmp_path / "g", *paths, form=TableForm(("table",)))
    assert ends(graph, graph.resolve("Ben Brandt")[0].id, "mitarbeiter.abteilung") == ["Sales"]


def test_what_cannot_be_told_apart_is_refused_with_what_to_do(tmp_path):
    (tmp_path / "old").mkdir()
    put(
        tmp_path, **{"staff.csv": "id,name\n1,Ana\n", "old/staff.csv": "id,name,town\n1,Ben,Oslo\n"}
    )
    with pytest.raises(UserError, match=r"two tables of staff with other columns; .* rename one"):
        build(tmp_path / "g", tmp_path / "staff.csv", tmp_path / "old/staff.csv")
    numbers = {"a.csv": "row,town,x\n1,Oslo,u\n2,Rome,v\n", "b.csv": "row,color,y\n1,red,w\n"}
    with pytest.raises(UserError, match=r"a\.csv and .*b\.csv: both have 1 in the column row"):
        built(tmp_path, numbers, columns="table")
    for said in ("project.lead_id=staff", "lead_id=employee"):
        with pytest.raises(UserError, match=r"give TABLE\.COLUMN=TABLE, or =none; the tables are"):
            built(tmp_path, company(), said)


def test_a_table_of_names_stays_as_it_was(tmp_path):
    _, graph = built(tmp_path, {"x.csv": "person,works_for,town\nAna,Almera,Oslo\n"})
    assert ends(graph, "Ana", "works_for") == ["Almera"] and graph.types("Ana") == ["person"]


def test_an_odd_value_among_dates_and_an_id_of_two_rows_are_told(tmp_path):
    rows = ["1,Ana,2019-05-01", "2,Ben,2020-06-01", "3,Cleo,unknown", "4,Eva,2021-01-01"]
    files = {"employees.csv": "\n".join(["id,name,hired", *rows, "2,Ben,2022-02-02"])}
    made, graph = built(tmp_path, files)
    (read,) = made["read"]
    assert "hired: 4 of 5 values are of the type date, 'unknown' is not: all are entities" in read
    assert made["literals"] == 0 and graph.name("unknown") == "unknown"
    (warning,) = made["warnings"]
    assert warning.startswith(
        "rows that name an entity of a row before are joined with it: 1; the first: "
    )
    assert ends(graph, "employee/2", "employee.hired") == ["2020-06-01", "2022-02-02"]


def test_truth_values_are_literals_however_they_are_written(tmp_path):
    text = "id,name,active\n1,Ana,True\n2,Ben,FALSE\n3,Cleo,true\n"
    made, graph = built(tmp_path, {"employees.csv": text})
    found = [ends(graph, f"employee/{n}", "employee.active") for n in (1, 2, 3)]
    assert (found, made["literals"]) == ([["true"], ["false"], ["true"]], 2)


TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
SOURCES = {
    "apoc.csv": "_id,_labels,name,_start,_end,_type\n0,:Person,Ana Ewers,,,\n"
    "1,:Person,Ben Haas,,,\n2,:Person,Ben Haas,,,\n,,,0,1,KNOWS\n",
    "b.nt": "".join(
        f'<http://e.org/{n}> <http://www.w3.org/2000/01/rdf-schema#label> "{name}" .\n'
        f"<http://e.org/{n}> <{TYPE}> <http://e.org/Person> .\n"
        f"<http://e.org/{n}> <http://e.org/in> <http://e.org/{n}> .\n"
        for n, name in enumerate(("Ana Ewers", "Ben Haas"))
    ),
    "phones.csv": "person,phone,town\nAna Ewers,123,Oslo\nCleo,456,Rome\n",
}


def test_equal_names_of_several_sources_are_counted_and_joined_where_it_is_wished(tmp_path):
    made, graph = built(tmp_path, SOURCES)
    assert len(graph.resolve("Ana Ewers")) == 3
    assert any("several files: 1; the first: 'Ana Ewers' (person)" in w for w in made["warnings"])
    _, graph = built(tmp_path, SOURCES, join=True)
    (ana,) = graph.resolve("Ana Ewers")
    relations = [relation for relation, _ in graph.relations(ana.id, Direction.OUT)]
    assert ana.id == "0" and {"KNOWS", "http://e.org/in", "phone"} <= set(relations)
    assert len(graph.resolve("Ben Haas")) == 3  # two of one file: which one?
    with (tmp_path / "g" / "joined.tsv").open(encoding="utf-8") as file:
        rows = list(csv.reader(file, delimiter="\t"))
    assert rows[1] == ["Ana Ewers", "person", "0", "http://e.org/0", "Ana Ewers"]
