"""Other systems' result files are read as their own scripts read them."""

import json

import pytest

from eval.score.expected import ExpectedQuestions
from eval.score.files import read_predictions
from eval.score.score import score_file
from graphwalker.errors import UserError

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


def write(path, *records):
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def one(path, layout, questions=None):
    (record,) = read_predictions(path, layout, questions and ExpectedQuestions(questions))
    return record


@pytest.fixture
def questions(tmp_path):
    return write(tmp_path / "questions.jsonl", *QUESTIONS)


def test_rog_splits_a_text_at_line_ends_and_makes_a_list_distinct_the_most_frequent_first(tmp_path):
    path = write(tmp_path / "p.jsonl", rog("Oslo\nRome"))
    record = one(path, "rog")
    assert (record.texts, record.golds) == (("Oslo", "Rome"), ("Oslo", "Bergen"))
    scored = score_file(path, layout="rog").metrics
    assert (scored["rog_hit"], scored["rog_acc"], scored["rog_f1"]) == (1.0, 0.5, 0.5)
    write(path, rog(["Rome", "Oslo", "Oslo", "Moss"]))
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
    path = write(tmp_path / "p.jsonl", rog("x"), record)
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
        path = write(tmp_path / "p.jsonl", tog(text))
        scored = score_file(path, ["tog_em", "hit_any"], layout="tog", questions=questions)
        assert scored.metrics == {"tog_em": tog_em, "hit_any": hit_any}, text


def test_tog_without_gold_says_where_to_give_it(tmp_path, questions):
    path = write(tmp_path / "p.jsonl", tog("{Oslo}"))
    with pytest.raises(UserError, match="--questions"):
        list(read_predictions(path, "tog"))
    other = write(tmp_path / "o.jsonl", {**tog("{Oslo}"), "question": "Another?"})
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
    path = write(tmp_path / "p.jsonl", kg_r1(response))
    assert one(path, "kg-r1").texts == ("Oslo", "Rome")
    scored = score_file(path, layout="kg-r1").metrics
    assert (scored["kg_r1_em"], scored["kg_r1_precision"], scored["kg_r1_recall"]) == (1, 1, 0.5)
    assert (scored["em"], scored["f1"]) == (0.0, 0.5)


def test_kg_r1_without_an_answer_tag_gave_no_answer_and_ids_find_entities(tmp_path):
    path = write(tmp_path / "p.jsonl", kg_r1("I do not know"))
    assert one(path, "kg-r1").predictions is None
    found = score_file(path, ["kg_r1_em", "em"], layout="kg-r1").metrics
    assert found == {"kg_r1_em": 0.0, "em": 0.0}
    write(path, kg_r1("<answer>m.2</answer>"))
    assert score_file(path, ["kg_r1_recall"], layout="kg-r1").metrics == {"kg_r1_recall": 0.5}


def test_our_records_without_gold_take_it_from_the_questions(tmp_path, questions):
    path = write(tmp_path / "p.jsonl", {"id": "q1", "predictions": ["m.1", "bergen"]})
    assert score_file(path, ["em"], questions=questions).metrics == {"em": 1.0}
    with pytest.raises(UserError, match="'answers' is missing"):
        score_file(path)
