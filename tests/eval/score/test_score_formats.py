"""Predictions of other systems, and in forms of their own: read where that is beyond doubt, told
where it is not."""

import json
from pathlib import Path

import pytest

from eval.analysis.comparison import compare_runs, read_runs
from eval.score.expected import ExpectedQuestions
from eval.score.files import read_predictions
from eval.score.forms import part_names
from eval.score.score import ScoreResult, score_file
from graphwalker.errors import UserError
from graphwalker.files import read_json, read_jsonl
from graphwalker.graphs.base import Entity
from graphwalker.question import Answer
from graphwalker.scoring import compare, near_miss
from support.commands import run as command
from support.dataset_toys import write

QUESTIONS = [
    {
        "id": "q1",
        "question": "Which cities?",
        "topic_entities": [{"id": "m.0", "name": "Norway"}],
        "answers": [
            {"id": "m.1", "name": "Oslo", "aliases": ["Christiania"]},
            {"id": "m.2", "name": "Bergen", "aliases": []},
        ],
    }
]


def one(path, layout, questions=None):
    (record,) = read_predictions(path, layout, questions and ExpectedQuestions(questions))
    return record


@pytest.fixture
def questions(tmp_path):
    return write(tmp_path / "questions.jsonl", QUESTIONS)


def test_rog_splits_a_text_at_line_ends_and_makes_a_list_distinct_the_most_frequent_first(tmp_path):
    path = write(tmp_path / "p.jsonl", [rog("Oslo\nRome")])
    record = one(path, "rog")
    assert (record.texts, record.golds) == (("Oslo", "Rome"), ("Oslo", "Bergen"))
    scored = score_file(path, layout="rog").metrics
    assert (scored["rog_hit"], scored["rog_acc"], scored["rog_f1"]) == (1.0, 0.5, 0.5)
    write(path, [rog(["Rome", "Oslo", "Oslo", "Moss"])])
    assert one(path, "rog").texts == ("Oslo", "Rome", "Moss")
    assert score_file(path, ["rog_precision"], layout="rog").metrics == {"rog_precision": 1 / 3}


def rog(prediction):
    return {"id": "WebQTest-1", "prediction": prediction, "ground_truth": ["Oslo", "Bergen"]}


@pytest.mark.parametrize(
    ("record", "message"),
    [
        ({"id": "1", "ground_truth": []}, "'prediction'"),
        ({"id": "1", "prediction": [1], "ground_truth": []}, "'prediction'"),
        ({"id": "1", "prediction": "x"}, "'ground_truth' is missing"),
        ({"prediction": "x", "ground_truth": []}, "'id'"),
    ],
)
def test_a_bad_rog_record_is_named(tmp_path, record, message):
    path = write(tmp_path / "p.jsonl", [rog("x"), record])
    with pytest.raises(UserError, match=f"p.jsonl:2: field {message}"):
        list(read_predictions(path, "rog"))


def tog(results):
    return {"question": "Which cities?", "results": results, "reasoning_chains": []}


def test_tog_reads_braces_as_answers_and_gold_from_the_questions(tmp_path, questions):
    path = tmp_path / "p.json"
    path.write_text(json.dumps([tog("The answers are {Oslo} and { Bergen }.")]))
    record = one(path, "tog", questions)
    assert record.texts == ("Oslo", "Bergen")
    scored = score_file(path, layout="tog", questions=questions).metrics
    assert (scored["em"], scored["tog_em"]) == (1.0, 1.0)


def test_tog_em_reads_the_first_braces_only_and_aliases_count(tmp_path, questions):
    wanted = {"{Rome} or {Oslo}": (0.0, 1.0), "It was Christiania then": (1.0, 0.0)}
    for text, (tog_em, hit_any) in wanted.items():
        path = write(tmp_path / "p.jsonl", [tog(text)])
        scored = score_file(path, ["tog_em", "hit_any"], layout="tog", questions=questions)
        assert scored.metrics == {"tog_em": tog_em, "hit_any": hit_any}, text


def test_tog_parts_names_within_one_pair_of_braces_at_commas_and_tells_it(tmp_path, questions):
    path = write(tmp_path / "p.jsonl", [tog("So the answer is {Oslo, Bergen}.")])
    found = score_file(path, ["em", "tog_em"], questions=questions)
    assert found.metrics == {"em": 1.0, "tog_em": 1.0}
    assert found.hints.to_json() == {"braces": 1}


def test_a_prediction_that_is_null_gave_no_answer(tmp_path):
    path = write(tmp_path / "p.jsonl", [{"id": "1", "prediction": None, "ground_truth": []}])
    assert score_file(path, ["em", "rog_hit"]).metrics == {"em": 0.0, "rog_hit": 0.0}


def test_a_record_in_our_form_may_name_its_question_by_the_text(tmp_path, questions):
    record = {"question": "Which cities?", "predictions": ["Oslo", "Bergen"]}
    path = write(tmp_path / "p.jsonl", [record])
    assert score_file(path, ["em"], questions=questions).metrics == {"em": 1.0}


def test_records_named_by_a_text_that_two_questions_share_are_of_both(tmp_path):
    twice = write(tmp_path / "q.jsonl", [QUESTIONS[0], {**QUESTIONS[0], "id": "q2"}])
    path = write(tmp_path / "p.jsonl", [tog("{Oslo} {Bergen}"), tog("{Oslo}"), tog("{Rome}")])
    found = score_file(path, ["em"], questions=twice)
    assert found.metrics == {"em": 0.5} and found.expected is not None
    assert (found.expected.missing, found.expected.doubled) == ([], ["q1"])


def test_tog_without_gold_says_where_to_give_it(tmp_path, questions):
    path = write(tmp_path / "p.jsonl", [tog("{Oslo}")])
    with pytest.raises(UserError, match="--questions"):
        list(read_predictions(path, "tog"))
    other = write(tmp_path / "o.jsonl", [{**tog("{Oslo}"), "question": "Another?"}])
    roll = ExpectedQuestions(questions)
    assert list(read_predictions(other, "tog", roll)) == [] and roll.unknown == ["Another?"]


def kg_r1(response, **more):
    gold = {"target_text": ["Oslo", "Bergen"], "target_kb_id": ["m.1", "m.2"]}
    return {"uid": "webqsp_0", "response": response, "ground_truth": gold, **more}


def test_kg_r1_takes_the_first_answer_outside_information(tmp_path):
    response = (
        "<information><answer>no</answer></information><think>so</think>"
        "<answer>Oslo, Rome</answer><answer>Bergen</answer>"
    )
    path = write(tmp_path / "p.jsonl", [kg_r1(response)])
    assert one(path, "kg-r1").texts == ("Oslo", "Rome")
    scored = score_file(path, layout="kg-r1").metrics
    assert (scored["kg_r1_em"], scored["kg_r1_precision"], scored["kg_r1_recall"]) == (1, 1, 0.5)
    assert (scored["em"], scored["f1"]) == (0.0, 0.5)


def test_kg_r1_without_an_answer_tag_gave_no_answer_and_ids_find_entities(tmp_path):
    path = write(tmp_path / "p.jsonl", [kg_r1("I do not know")])
    assert one(path, "kg-r1").predictions is None
    found = score_file(path, ["kg_r1_em", "em"], layout="kg-r1").metrics
    assert found == {"kg_r1_em": 0.0, "em": 0.0}
    write(path, [kg_r1("<answer>m.2</answer>")])
    assert score_file(path, ["kg_r1_recall"], layout="kg-r1").metrics == {"kg_r1_recall": 0.5}


def test_our_records_without_gold_take_it_from_the_questions(tmp_path, questions):
    path = write(tmp_path / "p.jsonl", [{"id": "q1", "predictions": ["m.1", "bergen"]}])
    assert score_file(path, ["em"], questions=questions).metrics == {"em": 1.0}
    with pytest.raises(UserError, match=r"'answers' is missing.*--questions"):
        score_file(path)


GOLD = {"q1": ["Oslo", "Bergen"], "q2": ["Washington, D.C."], "q3": ["Queen's College"]}
FORMS = {
    "list": json.dumps,
    "semicolons": lambda names: "; ".join(names),
    "tight": lambda names: ";".join(names),
    "braces": lambda names: "{" + ", ".join(names) + "}",
    "brackets": lambda names: "[" + ", ".join(names) + "]",
    "python": repr,
    "set": lambda names: "{" + ", ".join(map(repr, names)) + "}",
    "bars": lambda names: " | ".join(names),
}


@pytest.fixture
def asked(tmp_path: Path) -> Path:
    answers = {k: [{"id": f"m.{name}", "name": name} for name in GOLD[k]] for k in GOLD}
    about = {"question": "Which?", "topic_entities": [{"id": "m.0", "name": "Norway"}]}
    return write(tmp_path / "q.jsonl", [{"id": k, **about, "answers": answers[k]} for k in GOLD])


def table(path: Path, cells: dict[str, str]) -> Path:
    rows = (f'{key},"{cell.replace(chr(34), chr(34) * 2)}"\n' for key, cell in cells.items())
    path.write_text("id,prediction\n" + "".join(rows))
    return path


def scored(path: Path, asked: Path) -> ScoreResult:
    return score_file(path, ["em"], questions=asked)


@pytest.mark.parametrize("form", FORMS)
def test_the_same_predictions_score_the_same_in_every_form(form, asked, tmp_path):
    cells = {key: FORMS[form](names) for key, names in GOLD.items()}
    lines = write(tmp_path / "p.jsonl", [{"id": k, "prediction": c} for k, c in cells.items()])
    for path in (lines, table(tmp_path / "p.csv", cells)):
        assert scored(path, asked).metrics["em"] == 1.0
    (row,) = compare_runs(read_runs([lines], questions=asked))["runs"]
    assert row["em"] == 1.0


@pytest.mark.parametrize(
    ("text", "names", "remark"),
    [
        ("{Rome, Paris}", ("Rome", "Paris"), "unclear"),
        ("Oslo, Bergen", ("Oslo, Bergen",), "unclear"),  # its parts are names, it is none
        ("Rome, Paris", ("Rome, Paris",), ""),
        ("{Oslo, Washington, D.C.}", ("Oslo", "Washington, D.C."), "braces"),
        ("Tom &amp; Jerry; Oslo", ("Tom &amp; Jerry", "Oslo"), "semicolons"),
        ("a; b | c", ("a; b", "c"), ""),
        ("['Oslo' \"Queen's\"]", ("Oslo", "Queen's"), ""),
        ("[\"Oslo' 'x\"]", ("Oslo' 'x",), ""),
        ("[1, 2]", ("1", "2"), "unclear"),
        ("['Oslo', 1949]", ("Oslo", "1949"), ""),
        ('[1949, "Oslo", null]', ("1949", "Oslo"), ""),
        ("[1,000, 'Oslo']", ("1,000", "Oslo"), "unclear"),
        ("['Queen's College', 'Oslo']", ("Queen's College", "Oslo"), "unclear"),
        ("{" * 3000, ("{" * 3000,), ""),
    ],
)
def test_a_comma_parts_names_within_braces_alone_and_what_is_unclear_is_told(text, names, remark):
    known = {name.casefold() for names in GOLD.values() for name in names}
    assert part_names(text, known) == (names, remark)


def test_guessed_and_unclear_forms_are_counted_with_an_example(asked, tmp_path):
    cells = {"q1": "Oslo; Bergen", "q2": "{Paris, Texas}", "q3": "Oslo, Bergen"}
    found = scored(table(tmp_path / "p.csv", cells), asked)
    assert found.to_json()["hints"] == {"semicolons": 1, "unclear": 2}
    assert "such as '{Paris, Texas}'" in found.remarks[1]


def test_a_gold_column_that_may_be_one_name_or_several_is_refused(tmp_path):
    (tmp_path / "p.csv").write_text('id,prediction,answers\nq1,Oslo,"{Oslo, Bergen}"\n')
    with pytest.raises(UserError, match=r"p\.csv:2: .* part names by bars"):
        score_file(tmp_path / "p.csv")


OWN_GOLD = [
    {"id": "q1", "predictions": ["Tromso"], "answers": ["Tromso"]},
    {"id": "q2", "prediction": ["Paris"], "ground_truth": ["Paris"]},
    {"uid": "q3", "response": "<answer>Eve</answer>",
     "ground_truth": {"target_text": ["Eve"], "target_kb_id": ["m.9"]}},
]  # fmt: skip


def test_the_answers_of_the_questions_win_over_those_of_the_predictions(asked, tmp_path):
    path = write(tmp_path / "p.jsonl", OWN_GOLD)
    assert score_file(path, ["em"]).metrics["em"] == 1.0
    found = scored(path, asked)
    assert found.metrics["em"] == 0.0 and not found.complaint
    assert found.to_json()["differing_ids"] == ["q1", "q2", "q3"]
    assert "3 records carry other answers than the questions" in found.remarks[0]
    (row,) = compare_runs(read_runs([path], questions=asked))["runs"]
    assert (row["em"], row["differing"]) == (0.0, 3)


def test_gold_that_is_the_same_in_other_words_is_no_difference(asked, tmp_path):
    path = write(tmp_path / "p.jsonl", [
        {"id": "q1", "predictions": ["oslo", "Bergen"], "answers": ["Bergen", "OSLO"]},
        {"id": "q2", "predictions": ["x"], "answers": [{"id": "m.Washington, D.C."}]},
        {"id": "q3", "predictions": ["x"]},
    ])  # fmt: skip
    assert scored(path, asked).to_json()["differing"] == 0


def test_a_run_named_after_its_rule_is_scored_by_the_questions_that_are_given(source, tmp_path):
    run = tmp_path / "run"
    command("eval", "--graph", source / "graph", "--questions", source / "q.jsonl", "--model",
            "first-relation", "--out", run, "samples=2", "ceiling=never")  # fmt: skip
    assert [one.name for one in read_runs([run])] == ["first-relation"]
    other = [{**one, "answers": [{"name": "Nowhere"}]} for one in read_jsonl(source / "q.jsonl")]
    write(tmp_path / "other.jsonl", other)
    found = score_file(run, ["em", "pass@2"], questions=tmp_path / "other.jsonl")
    assert score_file(run, ["em"]).metrics["em"] > 0
    assert found.metrics == {"em": 0.0, "pass@2": 0.0} and len(found.expected.differing) == 8
    command("report", run, "--out", tmp_path / "page", "--questions", tmp_path / "other.jsonl")
    (stage,) = read_json(tmp_path / "page/report.json")["stages"]
    assert (stage["em"], stage["pass@2"]) == (0.0, 0.0)


@pytest.mark.parametrize(
    ("given", "gold"),
    [
        ("Queen’s College", "Queen's College"),
        ("Tom &amp; Jerry", "Tom & Jerry"),
        ("New\u200b York", "New York"),
        ("New_York", "New York"),
        ("1990–1995", "1990-1995"),
        ("1990 — 1995", "1990-1995"),
        ("“Hello”", "Hello"),
    ],
)
def test_a_near_miss_is_told_and_counts_as_wrong(given, gold):
    answer, gold_set = [Entity("", given)], [Answer(gold, "m.1")]
    assert compare(answer, gold_set)["em"] == 0.0 and near_miss(answer, gold_set) == given


def test_what_is_right_or_simply_wrong_is_no_near_miss():
    gold = [Answer("New York", "m.1"), Answer("1000", "")]
    for given in ("new  york", "1,000", "York", "Newyork"):
        assert near_miss([Entity("", given)], gold) == ""
    assert near_miss([Entity("m.2", "New_York")], gold) == ""  # ids decide
    assert near_miss(None, gold) == ""


def test_near_misses_are_counted_by_score_and_compare(asked, tmp_path):
    path = write(tmp_path / "p.jsonl", [{"id": "q3", "predictions": ["Queen’s College"]}])
    found = scored(path, asked)
    assert found.metrics["em"] == 0.0 and found.to_json()["hints"] == {"typing": 1}
    (row,) = compare_runs(read_runs([path], questions=asked))["runs"]
    assert row["near_misses"] == 1 and "Queen’s College" in row["remark"]


TWICE = ('"predictions": ["b"]', '"answers": [{"name": "b", "name": ""}]')


@pytest.mark.parametrize("inside", TWICE)
def test_a_field_that_stands_twice_is_refused_by_line(inside, tmp_path):
    good = '{"id": "q", "predictions": ["a"], "answers": ["a"]}'
    (tmp_path / "p.jsonl").write_text(f"{good}\n{good[:-1]}, {inside}}}\n")
    (tmp_path / "p.json").write_text(f"[{good[:-1]}, {inside}}}]")
    with pytest.raises(UserError, match=r"p\.jsonl:2: the field '\w+' stands twice"):
        score_file(tmp_path / "p.jsonl")
    with pytest.raises(UserError, match=r"p\.json: the field '\w+' stands twice"):
        score_file(tmp_path / "p.json")


def test_gold_answers_may_be_numbers_and_stand_in_a_column_answer(tmp_path):
    (tmp_path / "p.jsonl").write_text('{"id": "q", "predictions": ["1961"], "answers": [1961]}')
    (tmp_path / "p.csv").write_text("id,answer,prediction\nq,1961,1961\n")
    for name in ("p.jsonl", "p.csv"):
        assert score_file(tmp_path / name, ["em"]).metrics["em"] == 1.0


def test_a_comma_that_makes_one_cell_too_many_is_refused_by_line(tmp_path):
    (tmp_path / "p.csv").write_text("id,answers,prediction\nq1,a,Oslo\nq2,a,Oslo, Bergen\n")
    with pytest.raises(UserError, match=r"p\.csv:3: more cells than columns"):
        score_file(tmp_path / "p.csv")


def test_a_row_without_its_prediction_is_refused_by_line(tmp_path):
    (tmp_path / "p.csv").write_text("id,answers,prediction\nq1,a,Oslo\nq2,a,\nq3,a\n")
    with pytest.raises(UserError, match=r"p\.csv:4: fewer cells than columns"):
        score_file(tmp_path / "p.csv")


def test_two_columns_of_one_name_are_refused(tmp_path):
    (tmp_path / "p.csv").write_text("id,prediction,Prediction\nq,a,b\n")
    with pytest.raises(UserError, match="two columns are named 'prediction'"):
        score_file(tmp_path / "p.csv")
