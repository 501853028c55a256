"""`graphwalker score`: a predictions file in, means and intervals out, each question once."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from eval.score import tally as score_tally
from eval.score.metrics import FAMILIES, METRICS
from eval.score.score import score_file
from graphwalker.errors import UserError
from support.commands import code, run
from support.dataset_toys import write
from support.paths import ROOT, SUPPORT

ODD = SUPPORT / "data/odd_predictions.jsonl"
OSLO = {"id": "1", "predictions": ["Oslo"], "answers": ["Oslo"]}


def score_of(tmp_path, *records, metrics=None, **options):
    return score_file(write(tmp_path / "p.jsonl", records), metrics, **options)


def refused(capsys, *arguments):
    assert code("score", *arguments) == 2
    out, err = capsys.readouterr()
    assert out == "" and len(err.strip().splitlines()) == 1
    return err


def test_json_is_exactly_n_metrics_and_intervals():
    told = json.loads(run("score", "--predictions", ODD, "--json"))
    assert list(told) == ["n", "metrics", "intervals"]
    assert told["n"] == 120
    assert told["metrics"].keys() == told["intervals"].keys()
    assert all(low <= told["metrics"][m] <= high for m, (low, high) in told["intervals"].items())


def test_per_record_writes_one_line_a_record_in_order(tmp_path):
    out = tmp_path / "new" / "scores.jsonl"
    run("score", "--predictions", ODD, "--metrics", "rog_f1,em", "--per-record", out)
    lines = [json.loads(line) for line in out.read_text().splitlines()]
    cases = [json.loads(line) for line in ODD.read_text().splitlines()]
    assert [line["id"] for line in lines] == [case["id"] for case in cases]
    assert all(set(line["scores"]) == {"em", "rog_f1"} for line in lines)
    assert [line["scores"]["rog_f1"] for line in lines] == pytest.approx(
        [case["published"]["rog_f1"] for case in cases], abs=1e-6
    )


def test_every_metric_has_a_family_a_meaning_and_a_place_in_the_docs():
    computed = [name for family in FAMILIES for name in family.names]
    assert sorted(computed) == sorted(METRICS)
    assert all(metric["meaning"] and metric["source"] for metric in METRICS.values())
    text = (ROOT / "docs/metrics.md").read_text()
    assert all(f"`{name}`" in text for name in METRICS)


YORK = [{"id": "m.1", "name": "New York", "aliases": ["Gotham"]}]
NO_NAME = [{"id": "m.1"}, "Rome"]


@pytest.mark.parametrize(
    ("predictions", "answers", "scores"),
    [
        (
            ["Gotham"],
            YORK,
            {"em": 1, "tog_em": 1, "graphwalker_em": 0, "squad_em": 0, "rog_hit": 0},
        ),
        (["1961"], [{"id": "1961", "name": None}], {"em": 1, "webqsp_f1": 1, "squad_em": 1}),
        ([{"id": "m.1"}], NO_NAME, {"recall": 0.5, "webqsp_recall": 0.5, "rog_acc": 0.5}),
        (None, [], {"em": 0, "webqsp_f1": 1}),
        ([], [], {"em": 1, "webqsp_f1": 1}),
        ([None, "Oslo"], ["Oslo"], {"precision": 0.5, "hits1": 0, "graphwalker_em": 1}),
        ([1936, 2.5], ["1936", "2.5"], {"em": 1}),
    ],
)
def test_each_metric_sees_names_ids_and_aliases_its_way(tmp_path, predictions, answers, scores):
    found = score_of(tmp_path, {"id": 1, "predictions": predictions, "answers": answers}).metrics
    assert {name: found[name] for name in scores} == scores


def test_any_k_may_be_asked_for_where_samples_suffice(tmp_path):
    records = (
        {**OSLO, "samples": [["Oslo"], ["Rome"], ["Rome"]]},
        {**OSLO, "id": "2", "samples": [["Rome"]]},
    )
    scored = score_of(tmp_path, *records, metrics=["pass@3", "em"])
    assert scored.metrics == {"pass@3": 1.0, "em": 1.0}
    assert scored.counts == {"pass@3": 1, "em": 2}
    assert list(score_of(tmp_path, *records, metrics=["pass@k"]).metrics) == ["pass@1", "pass@2"]


def test_true_or_false_answers_get_arks_metrics_unasked_where_all_are(tmp_path):
    yes = {"id": 1, "predictions": ["True"], "answers": ["True"], "samples": [["True"], ["None"]]}
    told = score_of(tmp_path, yes, {**yes, "id": 2, "predictions": ["None"]}).metrics
    assert told["ark_answer_rate"] == told["ark_accuracy"] == 0.5
    assert told["ark_conditional_accuracy"] == 1.0
    assert 0 < told["ark_reliability"] < 1
    mixed = (yes, {**OSLO, "id": 2})
    assert "ark_accuracy" not in score_of(tmp_path, *mixed).metrics
    assert score_of(tmp_path, *mixed, metrics=["ark_accuracy"]).counts == {"ark_accuracy": 1}


def test_rows_verdicts_and_parses_are_scored_where_they_are(tmp_path):
    scored = score_of(
        tmp_path,
        {"id": 1, "rows": [{"key": "a"}, {"key": "b"}], "gold_rows": [{"key": "a"}]},
        {**OSLO, "id": 2, "judge": True, "predictions": ["b"], "parses": [["a"], ["b"]]},
    )
    assert scored.metrics["graphwalk_precision"] == 0.5
    assert scored.metrics["graphrunner_judge"] == scored.metrics["webqsp_f1"] == 1.0
    assert scored.counts["em"] == scored.counts["graphwalk_f1"] == 1


def test_arrays_and_gzip_are_read_too(tmp_path):
    array = tmp_path / "p.json"
    array.write_text(json.dumps([OSLO, {**OSLO, "id": "2"}], indent=1))
    packed = tmp_path / "p.jsonl.gz"
    packed.write_bytes(gzip.compress((json.dumps(OSLO) + "\n\n").encode()))
    assert (score_file(array, ["em"]).n, score_file(packed, ["em"]).n) == (2, 1)


def test_any_number_of_workers_gives_the_same_scores(tmp_path, monkeypatch):
    monkeypatch.setattr(score_tally, "CHUNK", 50)
    outs = [tmp_path / name for name in ("one.jsonl", "two.jsonl")]
    one, two = (score_file(ODD, per_record=out, workers=k) for k, out in enumerate(outs, start=1))
    assert one == two
    assert outs[0].read_bytes() == outs[1].read_bytes()


def test_the_first_bad_record_is_told_whoever_reads_it(tmp_path, monkeypatch):
    monkeypatch.setattr(score_tally, "CHUNK", 2)
    path = tmp_path / "p.jsonl"
    path.write_text("\n".join([GOOD] * 6 + ["{}", GOOD, "[]"]))
    with pytest.raises(UserError, match=r"p\.jsonl:7: field 'answers' is missing"):
        score_file(path, workers=2)


GOOD = json.dumps(OSLO)
DAMAGE = [
    ('{"predictions": ["x"], "answers": ["x"]}', "'id'"),
    ('{"id": "1", "answers": ["x"]}', "'predictions' is missing"),
    ('{"id": "1", "predictions": ["x"]}', "'answers' is missing"),
    ('{"id": "1", "predictions": "x", "answers": ["x"]}', "'predictions' must be a list"),
    ('{"id": "1", "predictions": ["x", ["y"]], "answers": ["x"]}', "'predictions[1]'"),
    ('{"id": "1", "predictions": [{"id": 7}], "answers": ["x"]}', "'predictions[0].id'"),
    (
        '{"id": "1", "predictions": [{"nam": "x"}], "answers": ["x"]}',
        "'predictions[0]' has neither",
    ),
    ('{"id": "1", "predictions": ["x"], "answers": "x"}', "'answers' must be a list"),
    ('{"id": "1", "predictions": ["x"], "answers": [true]}', "'answers[0]'"),
    ('{"id": "1", "predictions": ["x"], "answers": [{}]}', "neither a name nor an id"),
    ('{"id": "1", "predictions": [], "answers": [{"name": "x", "aliases": "y"}]}', "aliases"),
    ('{"id": "1", "samples": ["x"], "answers": ["x"]}', "'samples[0]' must be a list"),
    ('{"id": "1", "predictions": [], "answers": [], "parses": ["x"]}', "'parses'"),
    ('{"id": "1", "rows": ["x"], "gold_rows": []}', "'rows' must hold JSON objects"),
    ('{"id": "1", "predictions": [], "answers": [], "judge": "Yes"}', "'judge'"),
    ('{"id": "1", "predictions": ["x"', "not JSON"),
    ('"text"', "must be a JSON object"),
    ('{"id": "1", "turns": [], "question": 3}', "trajectory"),
    ('{"id": "1", "cand": ["Oslo"], "answers": ["x"]}', "'cand[0]' must be a pair"),
    ('{"id": "1", "cand": [[]], "answers": ["x"]}', "'cand[0]' must be a pair"),
]


@pytest.mark.parametrize(("line", "message"), DAMAGE)
def test_a_bad_record_gives_one_line_with_file_line_and_field(tmp_path, capsys, line, message):
    path = tmp_path / "bad.jsonl"
    path.write_text(f"{GOOD}\n\n{line}\n")
    error = refused(capsys, "--predictions", path)
    assert f"{path}:3: " in error and message in error


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "holds no records"),
        (b"\xff\xfe{}", "UTF-16"),
        (b'[{"id": "1"}]', "record 1: field 'answers' is missing"),
        (b"[1,", "not JSON"),
        (b'{\n"id": "1"\n}', "predictions are JSON lines (one record a line), one JSON array"),
    ],
)
def test_a_bad_file_gives_one_line(tmp_path, capsys, content, message):
    path = tmp_path / "bad.json"
    path.write_bytes(content)
    error = refused(capsys, "--predictions", path, "--json")
    assert str(path) in error and message in error


def test_damaged_gzip_no_file_and_no_run_are_told(tmp_path, capsys):
    (tmp_path / "x.jsonl.gz").write_bytes(b"no gzip")
    for name, said in (("x.jsonl.gz", "gzip"), ("none", "no such file"), (".", "evaluation run")):
        assert said in refused(capsys, "--predictions", tmp_path / name)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--metrics", "em,emm"), "'emm'; known: em, f1,"),
        (("--metrics", "recovery_all"), "needs a run of"),
        (("--metrics", "pass@2"), "needs samples"),
        (("--format", "gog"), "kg-r1"),
        (("--per-record", "/dev/null/s.jsonl"), "cannot be written"),
    ],
)
def test_options_that_do_not_fit_are_refused_with_2(capsys, options, message):
    assert message in refused(capsys, "--predictions", ODD, *options)


def test_the_predictions_are_never_written_over_and_no_half_file_is_left(tmp_path, capsys):
    path = write(tmp_path / "p.jsonl", [OSLO])
    assert "another name" in refused(capsys, "--predictions", path, "--per-record", path)
    assert path.read_text() == GOOD + "\n"
    path.write_text(GOOD + "\n{}\n")
    refused(capsys, "--predictions", path, "--per-record", tmp_path / "s.jsonl")
    assert [each.name for each in tmp_path.iterdir()] == ["p.jsonl"]


def test_five_seeds_in_one_file_give_the_interval_of_the_questions(tmp_path, caplog):
    records = [
        {"id": f"q{i}", "predictions": ["a" if i % 2 else "b"], "answers": ["a"]} for i in range(80)
    ]
    once = score_of(tmp_path, *records, metrics=["em", "f1"], seed=3)
    assert once.intervals == score_of(tmp_path, *records, metrics=["em", "f1"], seed=3).intervals
    five = score_of(tmp_path, *records * 5, metrics=["em", "f1"], seed=3)
    assert five.n == 400 and "320 records repeat an id" in caplog.text
    for name in ("em", "f1"):
        assert five.metrics[name] == once.metrics[name]
        widths = [s.intervals[name][1] - s.intervals[name][0] for s in (once, five)]
        assert widths[1] == pytest.approx(widths[0], rel=0.1)


@pytest.mark.parametrize(
    ("samples", "answers", "em"),
    [
        ([["Rome"], ["Oslo"], ["oslo "]], ["Oslo"], 1.0),
        ([["A", "B"], ["B", "A"], ["Oslo"]], ["A", "B"], 1.0),
        ([["Rome"], ["Oslo"]], ["Oslo"], 0.0),  # of equals the first
        ([None, None, ["Oslo"]], ["Oslo"], 1.0),  # no answer is no vote
    ],
)
def test_self_consistency_takes_the_most_frequent_answer_set(tmp_path, samples, answers, em):
    record = {"id": "q", "samples": samples, "answers": answers}
    found = score_of(tmp_path, record, metrics=["self_consistency_em", "self_consistency_hits1"])
    assert found.metrics == {"self_consistency_em": em, "self_consistency_hits1": em}


QUESTIONS = [
    {
        "id": f"q{k}",
        "question": f"Which {k}?",
        "topic_entities": [{"id": "m.0", "name": "Norway"}],
        "answers": [{"name": f"a{k}"}],
    }
    for k in range(10)
]


def said(capsys: Any, tmp_path: Path, records: list[dict[str, Any]], *more: str) -> tuple[Any, ...]:
    files = (write(tmp_path / "p.jsonl", records), write(tmp_path / "q.jsonl", QUESTIONS))
    names = ("--predictions", files[0], "--questions", files[1])
    return (code("score", *names, "--metrics", "em,tog_em", *more), *capsys.readouterr())


def right(*numbers: int) -> list[dict[str, Any]]:
    return [{"id": f"q{k}", "predictions": [f"a{k}"]} for k in numbers]


@pytest.mark.parametrize(
    ("records", "error", "counts", "em"),
    [
        (right(*range(10)), "", (0, 0, 0), 1.0),
        (right(*range(6)), "4 of 10 questions have no record and count 0 (q6, q7,", (4, 0, 0), 0.6),
        (
            [*right(*range(10)), {"id": "q3", "predictions": ["wrong"]}],
            "1 record repeats an id: the first of each counts (q3)",
            (0, 1, 0),
            1.0,
        ),
        (
            [*right(*range(10)), {"id": "q77", "predictions": ["x"]}],
            "1 record has no question of that id: not counted (q77)",
            (0, 0, 1),
            1.0,
        ),
    ],
)
def test_missing_doubled_and_unknown_records_end_with_3(
    capsys, tmp_path, records, error, counts, em
):
    ended, out, said_error = said(capsys, tmp_path, records, "--json")
    found = json.loads(out)
    assert ended == (3 if error else 0) and error in said_error and bool(error) == bool(said_error)
    assert found["n"] == 10 and found["metrics"] == {"em": em, "tog_em": em}
    assert tuple(found[name] for name in ("missing", "doubled", "unknown")) == counts
    if error:
        _, table, _ = said(capsys, tmp_path, records)
        assert f"INCOMPLETE: {error.split(' (')[0]}" in " ".join(table.split())


def test_a_file_without_records_is_refused_and_not_scored_0(capsys, tmp_path):
    assert said(capsys, tmp_path, [])[0] == 2
    empty = tmp_path / "p.jsonl"
    for more in ((), ("--questions", tmp_path / "q.jsonl")):
        assert code("report", empty, "--out", tmp_path / "page", *more) == 2
        assert code("compare", empty, empty, *more) == 2
        assert capsys.readouterr().err.count("p.jsonl: holds no records") == 2


def test_predictions_of_another_test_set_are_refused_and_not_scored_0(capsys, tmp_path):
    ended, out, said_error = said(capsys, tmp_path, [{"id": "z1", "predictions": ["x"]}])
    assert (ended, out) == (2, "")
    assert "none of its 1 records has a question in" in said_error and "records: z1" in said_error


def test_samples_of_missing_questions_count_as_wrong(tmp_path):
    records = [{**one, "samples": [one["predictions"]] * 2} for one in right(0, 1)]
    path = write(tmp_path / "p.jsonl", records)
    found = score_file(path, ["pass@2", "em"], questions=write(tmp_path / "q.jsonl", QUESTIONS))
    assert found.metrics == pytest.approx({"pass@2": 0.2, "em": 0.2})
