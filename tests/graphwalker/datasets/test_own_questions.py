"""Questions of one's own: tables and JSON, met with a graph; what it does not settle is a file."""

import gzip
import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from graphwalker.cli.app import app
from graphwalker.datasets.base import load_questions
from graphwalker.datasets.grounding import ground, settle
from graphwalker.datasets.own.searched import with_searched_query
from graphwalker.datasets.own.topics import find_topics
from graphwalker.errors import UserError
from graphwalker.files import read_jsonl, write_jsonl
from graphwalker.graphs.base import Entity
from graphwalker.graphs.memory import MemoryGraph
from graphwalker.graphs.open import open_graph
from graphwalker.question import Answer, Question
from support import dataset_toys as toys
from support.commands import run

TRIPLES = [
    ("e1", "works_in", "d1"), ("e2", "works_in", "d2"), ("e3", "works_in", "d1"),
    ("d1", "led_by", "e2"), ("e1", "joined", '"2019-05-01"'), ("e1", "phone", '"ext. 12b"'),
]  # fmt: skip
NAMES = {"e1": "Ana Ewers", "e2": "Ben Haas", "e3": "Ben Haas", "d1": "Research", "d2": "Sales"}


def graph():
    return MemoryGraph(TRIPLES, NAMES)


def write(path, text):
    path.write_text(text, encoding="utf-8")
    return path


ROWS = [
    {"question": "Where does Ana Ewers work?", "answer": "Research"},
    {"question": "Who is in Research?", "answer": "Ana Ewers|e3", "topic": "d1"},
]
FORMS = {
    "q.csv": "question,answer,topic\nWhere does Ana Ewers work?,Research,\n"
    "Who is in Research?,Ana Ewers|e3,d1\n",
    "semicolons.csv": "Question;Answer;Topic\n\"Where does Ana Ewers work?\";Research;\n\n"
    "Who is in Research?;Ana Ewers | e3;d1\n",
    "q.tsv": "question\tanswer\ttopic\nWhere does Ana Ewers work?\tResearch\t\n"
    "Who is in Research?\tAna Ewers|e3\td1\n",
    "q.json": json.dumps(ROWS),
    "q.jsonl": "\n".join(map(json.dumps, [ROWS[0], {**ROWS[1], "answer": ["Ana Ewers", "e3"]}])),
}  # fmt: skip


@pytest.mark.parametrize("name", FORMS)
def test_every_form_gives_the_same_questions(tmp_path, name):
    questions = ground(load_questions(write(tmp_path / name, FORMS[name])), graph())
    assert [q.text for q in questions] == [row["question"] for row in ROWS]
    assert [[e.id for e in q.topic_entities] for q in questions] == [["e1"], ["d1"]]
    assert [[a.id for a in q.answers] for q in questions] == [["d1"], ["e1", "e3"]]


def test_a_table_says_which_of_its_columns_are_not_read(tmp_path, caplog):
    text = "Question,Answer,Topic Entities,Level\nWho is it?,Ana Ewers|e3,d1,easy\n"
    (question,) = load_questions(write(tmp_path / "q.csv", text))
    assert [topic.name for topic in question.topic_entities] == ["d1"]
    assert "q.csv: columns that are not read: level" in caplog.text


PATHS = {
    "q.csv": "question,answer,topic,relation_path\nWho leads her unit?,e2,e1,works_in|led_by\n",
    "own.jsonl": '{"question": "Who leads her unit?", "answer": "e2", "topic": "e1", '
    '"relation_path": ["works_in", "led_by"]}',
    "named.jsonl": '{"id": 1, "question": "Who leads her unit?", "topic_entities": ["Ana Ewers"], '
    '"answers": ["e2"], "relation_path": ["works_in", "led_by"]}',
    "ours.jsonl": '{"id": 1, "question": "Who leads her unit?", "topic_entities": [{"id": "e1", '
    '"name": "Ana Ewers"}], "answers": [{"id": "e2", "name": ""}], '
    '"relation_path": ["works_in", "led_by"]}',
}


@pytest.mark.parametrize("name", PATHS)
def test_a_relation_path_of_ones_own_becomes_the_query(tmp_path, name):
    (question,) = ground(load_questions(write(tmp_path / name, PATHS[name])), graph())
    assert question.query.to_json()["branches"][0]["hops"] == ["works_in", "led_by"]
    assert question.annotations["executed"] == "equal"
    assert name == "ours.jsonl" or (question.structure, question.hops) == ("2-hop", 2)


def test_a_relation_that_the_graph_lacks_is_told_with_the_one_that_is_near(tmp_path, caplog):
    text = "question,answer,topic,relation_path\nWho leads her unit?,e2,e1,works in|~led_by\n"
    ground(load_questions(write(tmp_path / "q.csv", text)), graph())
    told = "relation_path: 1 name is no relation of this graph, the first 'works in' of own-0"
    assert f"{told}: did you mean 'works_in'?" in caplog.text


def test_questions_with_a_qid_are_ones_own_by_their_lists_or_by_name(tmp_path, caplog):
    listed = write(tmp_path / "a.jsonl", '{"qid": 7, "question": "Who?", "answer": ["A", "B"]}')
    (question,) = load_questions(listed)
    assert (question.id, [a.name for a in question.answers]) == ("7", ["A", "B"])
    text = write(tmp_path / "b.jsonl", '{"qid": "7", "question": "Who?", "answer": "A|B"}')
    assert load_questions(text)[0].gold is not None and "--format own" in caplog.text
    assert len(load_questions(text, format="own")[0].answers) == 2


def test_a_list_that_pandas_wrote_into_a_cell_is_several_answers(tmp_path):
    cells = ("['A|B', \"L'Aquila\"]", '[""A"", ""B""]', "['A' 'B']", "[REC]")
    text = "question;answer\n" + "".join(f'Who {n}?;"{c}"\n' for n, c in enumerate(cells))
    found = load_questions(write(tmp_path / "q.csv", text.replace('"L\'Aquila"', "'C'")))
    assert [[a.name for a in q.answers] for q in found] == [
        ["A|B", "C"], ["A", "B"], ["A", "B"], ["[REC]"],
    ]  # fmt: skip


def test_answers_of_one_question_in_several_rows_are_told(tmp_path, caplog):
    text = "question,answer,topic\nWho?,Ana,X\nWho?,Ben,X\nWho?,Cleo,Y\nWhat?,Z,X\n"
    assert len(load_questions(write(tmp_path / "q.csv", text))) == 4
    assert "1 question stands in several rows with other answers, the first 'Who?'" in caplog.text
    assert "in one row, with | between" in caplog.text


def test_json_with_other_fields_is_read_where_its_form_is_named(tmp_path, caplog):
    path = write(tmp_path / "q.jsonl", '{"question": "Who?", "answer": "Ana", "level": "easy"}')
    with pytest.raises(UserError, match=r"--format own \(questions_format=own\) .* fields level"):
        load_questions(path)
    assert load_questions(path, format="own")[0].answers[0].name == "Ana"
    assert "columns that are not read: level" in caplog.text


FOUND = {
    "a name": (Answer("RESEARCH"), "works_in"),
    "an alias": (Answer("R & D", "", ("Research",)), "works_in"),
    "a date": (Answer("May 1, 2019", '"2019-05-01"'), "joined"),
    "a text": (Answer("ext. 12b"), "phone"),
}


@pytest.mark.parametrize("kind", FOUND)
def test_a_search_finds_answers_that_have_no_id(kind):
    answer, relation = FOUND[kind]
    question = Question("q", "What?", (Entity("e1", "Ana Ewers"),), (answer,))
    assert with_searched_query(question, graph()).query.relations == (relation,)


def test_true_is_an_answer_in_a_list_too(tmp_path):
    path = write(tmp_path / "q.jsonl", '{"question": "Is it?", "topic": "e1", "answer": [true]}')
    assert [answer.name for answer in load_questions(path)[0].answers] == ["true"]


@pytest.mark.parametrize(
    "text", ["Who is Kim (singer)?", "Where is Kim (singer)'s house?", "Is it (Kim (singer))?"]
)
def test_a_name_that_ends_with_a_bracket_is_found_at_the_end_of_a_question(text):
    named = MemoryGraph([("k", "sings", "s")], {"k": "Kim (singer)", "s": "Song"})
    assert [entity.id for entity in find_topics(named, text)] == ["k"]


def own(*rows):
    lines = ["question\tanswer\ttopic", *("\t".join(row) for row in rows)]
    path = Path("own.tsv")
    path.write_text("\n".join(lines) + "\n")
    return load_questions(path)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("value", ["2019-05-01", "May 1, 2019", "12.5", "yes", "ext. 12b"])
def test_a_value_stays_one(folder, value):
    (question,) = settle(own(("What is it of Ana Ewers?", value, "")), graph(), folder)
    assert [(a.name, a.id) for a in question.answers] == [(value, "")]
    assert not (folder / "unresolved.jsonl").exists()


def test_a_name_with_a_bar_is_one_topic_or_answer_of_a_table(folder):
    bands = MemoryGraph([("Ana", "in", "AC|DC"), ("Ben", "in", "AC|DC"), ("Ben", "in", "Up")], {})
    rows = [("Who is in it?", "Ana|Ben", "AC|DC"), ("Where is he?", "Up|AC | DC", "Ben")]
    one, other = settle(own(*rows), bands, folder)
    assert [topic.id for topic in one.topic_entities] == ["AC|DC"]
    assert [answer.id for answer in one.answers] == ["Ana", "Ben"]
    assert [answer.id for answer in other.answers] == ["Up", "AC|DC"]


UNSETTLED = [
    ("Where does Ben Haas work?", "Sales", "", "2 entities are named 'Ben Haas'", ["e2", "e3"]),
    ("Where does Ana Ewer work?", "Research", "", "the question names no entity", ["e1"]),
    ("Where does she work?", "Research", "Anna Ewers", "no entity is named 'Anna Ewers'", ["e1"]),
    ("Where does Ana Ewers work?", "Reserch", "", "the answer 'Reserch'", ["d1"]),
]


@pytest.mark.parametrize("row", UNSETTLED)
def test_what_the_graph_does_not_settle_is_written_with_candidates(folder, row):
    with pytest.raises(UserError, match=r"1 of 1 questions are unresolved, .*unresolved="):
        settle(own(row[:3]), graph(), folder)
    (record,) = read_jsonl(folder / "unresolved.jsonl")
    assert row[3] in record["problem"]
    assert [one["id"] for one in record["candidates"]][: len(row[4])] == row[4]


def test_unsettled_questions_are_dropped_on_request(folder, caplog):
    rows = [UNSETTLED[0][:3], ("Where does Ana Ewers work?", "Research", "")]
    kept = settle(own(*rows), graph(), folder, "drop")
    assert [q.text for q in kept] == ["Where does Ana Ewers work?"]
    assert "1 of 2 questions are unresolved" in caplog.text
    with pytest.raises(UserError, match=r"give it back as unresolved=\S+$"):
        settle(own(rows[0]), graph(), folder, "drop")


def test_an_edited_question_keeps_its_relation_path(folder):
    text = "id,question,answer,topic,relation_path\n1,Who leads it?,e2,Reserch,led_by\n"
    (question,) = load_questions(write(folder / "q.csv", text))
    edited = write(folder / "edited.jsonl", '{"id": "1", "question": "?", "topic": "d1"}')
    (settled,) = settle([question], graph(), folder, str(edited))
    assert settled.topic_entities[0].id == "d1"
    assert settled.annotations == {"relation_path": ["led_by"]}


BROKEN = {
    "no.csv": ("q,a\nWho?,Ana\n", r"no.csv:1: a table of questions has a header with a column"),
    "twice.csv": ("question,answer,Answer\nWho?,a,b\n", r"twice.csv:1: two columns are named"),
    "narrow.csv": (
        "id,question,answer,topic\nWho leads it?,Ana,e1\n",
        r"narrow.csv:2: 3 cells under 4 columns; give an empty cell its ','",
    ),
    "wide.csv": ("question,answer\nWho, then?,Ana\n", r"wide.csv:2: 3 cells under 2 columns"),
    "mac.csv": ("question,answer\rWho?,Ana\r", r"mac.csv:1: its lines end with carriage returns"),
    "cut.csv": ('question,answer\n"Who?,Ana\n', r"cut.csv:2: not a table"),
    "other.jsonl": ('{"question": "Who?", "answer": "Ana", "sparql": "x"}', "fits no known form"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_file_that_is_no_table_of_questions_is_named_by_its_line(tmp_path, name):
    text, message = BROKEN[name]
    with pytest.raises(UserError, match=message):
        load_questions(write(tmp_path / name, text))


PACKED = {
    "q.xlsx": (b"PK\x03\x04....", r"q\.xlsx: a spreadsheet, or an archive: save the sheet as CSV"),
    "q.csv": (gzip.compress(b"question,answer\n"), r"q\.csv: packed by gzip: call it q\.csv\.gz"),
}


@pytest.mark.parametrize("name", PACKED)
def test_spreadsheets_and_packed_files_are_told_as_such(tmp_path, name):
    data, message = PACKED[name]
    (tmp_path / name).write_bytes(data)
    with pytest.raises(UserError, match=message):
        load_questions(tmp_path / name)


def test_questions_alone_are_read_where_answers_are_not_needed(tmp_path):
    path = write(tmp_path / "q.csv", "question\nWhere does Ana Ewers work?\n")
    with pytest.raises(UserError, match="has no answers"):
        load_questions(path)
    (question,) = ground(load_questions(path, unanswered="keep"), graph())
    assert question.topic_entities[0].id == "e1" and not question.answers


def test_dataset_check_and_eval_stop_at_unresolved_questions_with_exit_code_2(folder):
    write(folder / "t.tsv", "".join("\t".join((NAMES.get(h, h), r, NAMES.get(t, t))) + "\n"
                                    for h, r, t in TRIPLES[:4]))  # fmt: skip
    write(folder / "q.csv", "question,answer\nWhere does Ana Ewers work?,Research\nWho is it?,X\n")
    cli = CliRunner()
    assert not cli.invoke(app, ["graph", "build", "--triples", "t.tsv", "--out", "g"]).exit_code
    rule = ["--questions", "q.csv", "--model", "first-relation"]
    for words in (
        ["dataset", "check", "q.csv", "--graph", "g", "--out", "out/q.jsonl"],
        ["eval", "--graph", "g", *rule, "--out", "out"],
    ):
        done = cli.invoke(app, words)
        assert isinstance(done.exception, UserError), words
        option = "--unresolved " if words[0] == "dataset" else "unresolved="
        assert f"leave them out with {option}drop" in str(done.exception)
        assert len(list(read_jsonl(folder / "out/unresolved.jsonl"))) == 1
    done = cli.invoke(app, [*words, "unresolved=drop"])
    assert done.exit_code == 0, done.output
    assert len(list(read_jsonl(folder / "out/predictions.jsonl"))) == 1
    assert "1 question (1 unresolved set aside)" in (folder / "out/report.md").read_text()


def test_own_questions_get_the_one_walk_to_their_answers(folder):
    asked = settle(own(("Where does Ana Ewers work?", "Research", "")), graph(), folder)
    (found,) = [with_searched_query(question, graph()) for question in asked]
    assert found.query and [str(hop) for hop in found.query.branches[0].hops] == ["works_in"]


def test_the_file_is_edited_and_given_back_until_nothing_is_left(folder):
    questions, place = own(UNSETTLED[0][:3], UNSETTLED[3][:3]), folder / "unresolved.jsonl"
    with pytest.raises(UserError):
        settle(questions, graph(), folder)
    first, second = read_jsonl(place)
    write_jsonl(place, [{**first, "topic": "e3"}, second])
    with pytest.raises(UserError, match="1 of 2 questions are unresolved"):
        settle(questions, graph(), folder, str(place))
    rows = {row["id"]: row for row in read_jsonl(place)}  # what was edited stays in the file
    write_jsonl("edited.jsonl", [rows[first["id"]], {**rows[second["id"]], "answer": "Research"}])
    settled = settle(questions, graph(), folder, "edited.jsonl")
    assert [q.topic_entities[0].id for q in settled] == ["e3", "e1"]
    assert [q.answers[0].id for q in settled] == ["d2", "d1"]


def test_what_was_edited_stays_where_the_file_is_not_given_back(folder):
    questions, place = own(UNSETTLED[0][:3], UNSETTLED[3][:3]), folder / "unresolved.jsonl"
    with pytest.raises(UserError):
        settle(questions, graph(), folder)
    first, second = read_jsonl(place)
    write_jsonl(place, [{**first, "topic": "e3"}, second])
    with pytest.raises(UserError):
        settle(questions, graph(), folder)
    assert [row["topic"] for row in read_jsonl(place)] == ["e3", second["topic"]]


def test_answers_that_a_file_leaves_to_its_query_come_from_the_graph(tmp_path, caplog):
    more = "select ?answer where { wd:Q1 wdt:P19 ?answer . ?answer wdt:P31 wd:Q5 }"
    rows = [*toys.LCQUAD, {**toys.LCQUAD[0], "uid": 8, "sparql_wikidata": more}]
    questions = load_questions(toys.write(tmp_path / "train.json", rows))
    for relation, answers in (("P19", ["Q2"]), ("P20", [])):  # the walk leaves out a condition
        born = MemoryGraph([("Q1", relation, "Q2")], {"Q1": "Ana", "Q2": "Oslo"})
        assert [a.id for q in ground(questions, born) for a in q.answers] == answers
    assert "2 of 2 questions have no answers, and their queries find none" in caplog.text


def test_properties_of_wikidata_are_found_by_the_names_that_a_graph_has_for_them(tmp_path):
    questions = load_questions(toys.write(tmp_path / "train.json", toys.LCQUAD))
    names = {"Q1": "Ana", "Q2": "Oslo"}
    layered = MemoryGraph([("Q1", "wdt.P19.place_of_birth", "Q2")], names)
    write(tmp_path / "facts.tsv", "Q1\tP19\tQ2\nQ2\tP17\tQ3\n")
    write(tmp_path / "names.tsv", "Q1\tAna\nQ2\tOslo\nQ3\tNorway\nP19\tborn in\nP17\tcountry\n")
    words = ["--triples", tmp_path / "facts.tsv", "--names", tmp_path / "names.tsv"]
    run("graph", "build", *words, "--out", tmp_path / "graph")
    for known, relation in ((layered, "wdt.P19.place_of_birth"), (tmp_path / "graph", "born in")):
        (found,) = ground(questions, open_graph(known) if known is not layered else layered)
        assert (found.query.relations, found.answers[0].name) == ((relation,), "Oslo")


def test_a_dataset_of_names_is_met_with_a_graph_of_ids(tmp_path):
    text = "where does [Ana Ewers] work\tResearch\nwho is in [Research]\tAna Ewers|Ben Haas\n"
    questions = ground(load_questions(write(tmp_path / "qa_1hop.txt", text)), graph())
    assert [q.topic_entities for q in questions] == [
        (Entity("e1", "Ana Ewers"),),
        (Entity("d1", "Research"),),
    ]
    assert [(a.name, a.id) for a in questions[0].answers] == [("Research", "")]
    assert with_searched_query(questions[0], graph()).query
