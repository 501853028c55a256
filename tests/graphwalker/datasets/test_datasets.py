"""Every published form loads, is told from the others, and keeps ids, aliases, dates, numbers."""

import gzip
import json

import pytest

from graphwalker.datasets.base import Reading, load_dataset, load_questions
from graphwalker.datasets.catalogue import CATALOGUE
from graphwalker.datasets.loaders.freebase.webqsp import parses
from graphwalker.datasets.summary import must_be_whole, summarise
from graphwalker.errors import UserError
from graphwalker.files import write_jsonl
from graphwalker.graphs.base import Entity
from graphwalker.question import Answer
from support import dataset_toys as toys
from support.paths import ROOT

CUP = Answer("Velin Cup", "m.0cup", ("Cup of Velin",))
MAPPED = {
    "id": "q2", "question": "who is it?", "topic_entities": {"m.1": "A"}, "answers": ["B"],
    "answer_mids": ["m.2"], "answer_aliases": {"m.2": ["bee"]},
    "relation_path": ["a.b.c", "d.e.f"],
}  # fmt: skip


@pytest.fixture
def load(tmp_path):
    """Load one of the toy files, alone in its folder."""

    def load_one(name, **reading):
        file, records = toys.FILES[name] if name in toys.FILES else (name, toys.OTHERS[name][1])
        path = toys.write(tmp_path / file, records)
        return load_dataset(path, Reading(**reading))

    return load_one


@pytest.mark.parametrize("name", [*toys.FILES, *toys.OTHERS])
def test_a_file_is_recognised_by_its_records(load, name):
    loaded, published = load(name), name in toys.FILES
    assert loaded.dataset == (name if published else toys.OTHERS[name][0])
    assert all(q.text and (q.dataset in (name, "") or not published) for q in loaded.questions)
    assert all(q.answers for q in loaded.questions) or name == "lcquad2"
    assert all(q.topic_entities for q in loaded.questions) or published


def test_every_dataset_of_the_catalogue_has_a_toy():
    assert {b.name for b in CATALOGUE} == set(toys.FILES)


@pytest.mark.parametrize("name", [*toys.FILES, *toys.OTHERS])
def test_what_is_converted_reads_back_equal(load, name, tmp_path):
    questions = load(name).questions
    write_jsonl(tmp_path / "out.jsonl", [question.to_json() for question in questions])
    assert load_questions(tmp_path / "out.jsonl", unanswered="keep") == questions


def test_webqsp_keeps_the_answers_of_all_parses_once(load):
    first, second = load("webqsp").questions
    assert first.answers == (Answer("Velish", "m.0a"), Answer("Old Velish", "m.0b"))
    assert [p["answers"] for p in first.annotations["parses"]] == [["m.0a"], ["m.0a", "m.0b"]]
    assert parses(first) == (first.answers[:1], first.answers)
    assert parses(second) == (second.answers,)
    assert first.topic_entities == (Entity(toys.VELIN, "Velin"),)
    assert (first.split, first.structure, first.hops) == ("test", "1-hop", 1)
    assert second.answers == (Answer("1961-08-04", '"1961-08-04"'),)


def test_cwq_keeps_ids_and_aliases_and_finds_topics_in_the_query(load):
    first, second = load("cwq").questions
    assert first.answers == (CUP,) and first.topic_entities == (Entity("m.0luno"),)
    assert (first.structure, second.structure, first.split) == ("conjunction", "composition", "dev")
    assert second.answers == (Answer("1999", '"1999"'),)


def test_grailqa_has_levels_functions_and_numbers(load):
    first, second = load("grailqa").questions
    assert (first.structure, first.facets["level"], first.hops) == ("zero-shot", "zero-shot", 1)
    assert first.topic_entities == (Entity(toys.BRAND, "anna brand"),)
    assert second.answers == (Answer("31", '"31"'),)
    assert (second.facets["function"], second.topic_entities) == ("count", ())
    linked = load("graliqa.json").questions[0]
    assert linked.topic_entities == (Entity(toys.BRAND, "Anna Brand"),)


def test_qald_keeps_items_booleans_and_typed_literals(load):
    who, ask, count = load("qald10").questions
    assert who.answers == (Answer("", "Q900001"),)
    assert ask.answers[0].name == "True" and ask.answers[0].aliases == ("Yes",)
    assert count.answers[0].aliases == ("100",) and "decimal" in count.answers[0].id
    assert [q.structure for q in (who, ask, count)] == ["entity", "yes-no", "value"]
    assert who.topic_entities == (Entity("Q900002"),)
    assert ask.topic_entities == (Entity("Q900002"), Entity("Q900001"))


def test_metaqa_takes_types_and_hops_from_the_files_around_it(tmp_path):
    folder = tmp_path / "2-hop" / "vanilla"
    folder.mkdir(parents=True)
    path = toys.write(folder / "qa_test.txt", toys.METAQA_LINES)
    assert load_questions(path)[0].structure == "2-hop"
    kinds = "movie_to_director_to_actor\nactor_to_movie_to_movie\n"
    toys.write(tmp_path / "2-hop" / "qa_test_qtype.txt", kinds)
    first, second = load_questions(path)
    assert (first.facets, first.hops) == ({"type": "movie_to_director_to_actor"}, 2)
    assert first.id == "metaqa-2-hop-test-0"
    assert (second.text, second.topic_entities[0].id) == ("Mira Tal acted in what", "Mira Tal")
    assert [a.name for a in first.answers] == ["Anna Brand", "Mira Tal"]


def test_pathquestion_names_may_hold_brackets(load):
    first, second = load("pathquestion").questions
    assert [a.id for a in first.answers] == ["mira_tal", "tal_(poet)"]
    assert first.answers[0].aliases == ("mira tal",)
    assert first.annotations["relation_path"] == ["spouse", "parents"]
    assert (first.hops, second.hops) == (2, 1)


def test_graphwalkerbench_takes_all_three_shapes_of_its_records(load):
    chain, both, pi = load("graphwalkerbench").questions
    assert [q.structure for q in (chain, both, pi)] == ["3-hop", "2I", "PI"]
    assert both.answers == (Answer("The Quay", "m.0p"),)
    assert pi.topic_entities == (Entity("", "Velin"),)
    assert [q.hops for q in (chain, both, pi)] == [3, 1, 2]


def test_grbench_answers_stay_one_text_and_ids_name_the_graph(load):
    first = load("grbench").questions[0]
    assert first.answers == (Answer("Anna Brand, Mira Tal"),)
    assert (first.id, first.facets["domain"]) == ("grbench-goodreads-0", "literature")


def test_yes_no_datasets_keep_topics_and_strategies(load):
    colota, cr_lt = load("colota").questions[0], load("CR-LT-QA.json").questions[0]
    assert (colota.answers[0].name, cr_lt.answers[0].name) == ("True", "False")
    assert colota.topic_entities == (Entity("Q900003", "Anna Brand"),)
    assert colota.facets["strategies"] == "political, historical"
    assert load("strategyqa").questions[0].topic_entities == (Entity("", "Velin"),)


def test_companions_beside_a_file_are_joined_by_id(tmp_path):
    path = toys.write(tmp_path / "cwq_test_answer_mids.json", toys.CWQ_MIDS)
    toys.write(tmp_path / "cwq_test_topic_entities.json", toys.CWQ_TOPICS)
    one, two = load_dataset(path).questions
    assert one.answers == (Answer("Velin Cup", "m.0cup"),)
    assert [a.id for a in two.answers] == ["m.0y", "m.0z"]
    assert one.topic_entities == (Entity("m.0luno", "Luno"),)
    assert load_dataset(path, Reading(alone=True)).questions[0].answers[0].name == ""


def test_a_name_with_a_slash_is_one_answer_of_pathquestion(tmp_path):
    path = tmp_path / "PQ-2H.txt"
    path.write_text("what is it ?\ta/b(c/a/b/d/)\ts#r#a/b#<end>#a/b\n")
    assert [answer.name for answer in load_questions(path)[0].answers] == ["c", "a/b", "d"]


def test_a_question_of_lcquad_without_words_is_set_aside(tmp_path):
    bare = {**toys.LCQUAD[0], "uid": 9, "question": "n/a", "paraphrased_question": None}
    loaded = load_dataset(toys.write(tmp_path / "train.json", [*toys.LCQUAD, bare]))
    assert all(question.text for question in loaded.questions)
    assert "(9): has no question and no paraphrase" in loaded.faulty[0]


def test_companions_without_ids_are_joined_by_text_in_any_order(tmp_path):
    lines = [f"m.0{x}\tfilm/film/genre\tm.0g\twhat genre is {x}\n" for x in ("a", "b", "c")]
    (tmp_path / "simplequestions_test.txt").write_text("".join(lines))
    linked = [
        {"question": f"what genre is {x}", "topic_entity": {f"m.0{x}": x.upper()}, "answer": "G",
         "relation": "genre"} for x in ("c", "a")
    ]  # fmt: skip
    topics = toys.write(tmp_path / "simplequestions_test_topics.json", linked)
    found = load_dataset(tmp_path / "simplequestions_test.txt", Reading(topic_entities=topics))
    assert [q.topic_entities[0].name for q in found.questions] == ["A", "", "C"]


def test_answers_in_another_file_are_joined_where_the_split_hides_them(tmp_path):
    hidden = [{k: v for k, v in r.items() if k != "answers"} for r in toys.CWQ]
    path = toys.write(tmp_path / "ComplexWebQuestions_test.json", hidden)
    with pytest.raises(UserError, match=r"record 1 \(WebQTrn-1_00000001\): has no field 'answers'"):
        load_questions(path)
    answers = toys.write(tmp_path / "with_answers.json", toys.CWQ)
    loaded = load_dataset(path, Reading(answers=answers))
    assert loaded.questions[0].answers == (CUP,)
    stranger = toys.write(tmp_path / "other.json", [toys.cwq(7, answer="X")])
    with pytest.raises(UserError, match="none of these questions"):
        load_dataset(path, Reading(answers=stranger))


def test_unanswered_questions_are_refused_dropped_or_kept(tmp_path):
    records = json.loads(json.dumps(toys.WEBQSP))
    records[1]["Parses"][0]["Answers"] = []
    path = toys.write(tmp_path / "w.json", {"Questions": records})
    with pytest.raises(UserError, match=r"record 2 \(WebQTest-901\): has no answers"):
        load_questions(path)
    dropped = load_dataset(path, Reading(unanswered="drop"))
    assert (len(dropped.questions), dropped.unanswered) == (1, ["WebQTest-901"])
    assert len(load_dataset(path, Reading(unanswered="keep")).questions) == 2


def test_a_whole_published_file_may_hold_its_unanswered_questions(tmp_path):
    first, records = toys.WEBQSP[0], []
    for number in range(1639):
        parses = first["Parses"] if number > 10 else [{**first["Parses"][0], "Answers": []}]
        records.append({**first, "QuestionId": f"WebQTest-{number}", "Parses": parses})
    loaded = load_dataset(toys.write(tmp_path / "WebQSP.test.json", {"Questions": records}))
    assert (len(loaded.questions), len(loaded.unanswered)) == (1628, 11)
    assert summarise(loaded)["published"] == "whole: test, 1,639"
    must_be_whole(loaded)


def test_compressed_files_and_byte_order_marks_are_read(tmp_path):
    path = tmp_path / "qa_test.txt.gz"
    path.write_bytes(gzip.compress(b"\xef\xbb\xbf" + toys.METAQA_LINES.encode()))
    assert len(load_questions(path)) == 2
    windows = tmp_path / "pq.txt"
    windows.write_bytes(toys.PATHQUESTION.replace("\n", "\r\n").encode())
    assert load_questions(windows)[1].answers == (Answer("velin", "velin"),)


def test_a_form_of_ones_own_is_named_by_its_module(tmp_path, monkeypatch):
    page = (ROOT / "docs/datasets.md").read_text(encoding="utf-8")
    code = page.partition("```python\n")[2].partition("```")[0]
    (tmp_path / "quiz.py").write_text(code)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    record = {"number": 7, "clue": "Who?", "about": {"m.1": "Ann"}, "solutions": ["Bo"]}
    path = toys.write(tmp_path / "quiz_dev.json", [record])
    loaded = load_dataset(path, Reading("quiz:Quiz"))
    assert loaded.questions[0].topic_entities == (Entity("m.1", "Ann"),)
    assert (loaded.dataset, loaded.questions[0].split) == ("quiz", "dev")
    assert summarise(loaded)["dataset"] == "quiz"
    with pytest.raises(UserError, match="field 'about' must be an object, not a text"):
        load_questions(toys.write(path, [record | {"about": "Ann"}]), format="quiz:Quiz")
    with pytest.raises(UserError, match=r"derived from records\.Published"):
        load_questions(path, format="quiz:Entity")


def by_columns(rows):
    return {key: [row[key] for row in rows] for key in rows[0]}


def test_lists_of_objects_may_stand_by_columns_as_the_hub_keeps_them(tmp_path):
    grail, cwq = json.loads(json.dumps([toys.GRAILQA[0], toys.CWQ[0]]))
    grail["graph_query"]["nodes"] = by_columns(grail["graph_query"]["nodes"])
    grail["answer"], cwq["answers"] = by_columns(grail["answer"]), by_columns(cwq["answers"])
    for record, answer, topic in ((grail, "m.0p", toys.BRAND), (cwq, "m.0cup", "m.0luno")):
        write_jsonl(tmp_path / "q.jsonl", [record])
        (question,) = load_questions(tmp_path / "q.jsonl")
        assert [a.id for a in question.answers] == [answer]
        assert [entity.id for entity in question.topic_entities] == [topic]


def test_qald_in_english_alone_could_be_either_and_has_to_be_named(tmp_path):
    path = toys.write(tmp_path / "qald.json", toys.qald(("en",)))
    with pytest.raises(UserError, match=r"several formats \(qald10, qald9plus\).*--format qald"):
        load_questions(path)
    assert load_questions(path, format="qald10")[0].dataset == "qald10"


def test_a_whole_bench_is_checked_against_the_published_structures(tmp_path):
    records = [toys.BENCH[0] | {"index": n} for n in range(1766)]
    loaded = load_dataset(toys.write(tmp_path / "GWBench.json", records))
    assert "1766 questions are 3-hop, 347 in the published table" in loaded.notes
    with pytest.raises(UserError, match="347 in the published table"):
        must_be_whole(loaded)


def test_qald_is_read_in_the_language_asked_for(load):
    assert load("qald9plus", language="de").questions[0].text.endswith("(de)")
    with pytest.raises(UserError, match=r"record 1 \(0\): .*no wording in language 'fr'"):
        load("qald9plus", language="fr")


def test_metaqa_as_json_may_mark_its_topic_in_brackets(tmp_path):
    record = {"question": "who is in [Blue Harbor]", "answer": ["Mira"], "qtype": "movie_to_actor"}
    write_jsonl(tmp_path / "q.jsonl", [record])
    (question,) = load_questions(tmp_path / "q.jsonl")
    assert (question.text, question.topic_entities[0].id) == (
        "who is in Blue Harbor",
        "Blue Harbor",
    )


def test_questions_of_ours_may_map_ids_to_names(tmp_path):
    (question,) = load_questions(toys.write(tmp_path / "q.jsonl", [MAPPED]))
    assert question.answers == (Answer("B", "m.2", ("bee",)),)
    assert (question.hops, question.structure) == (2, "2-hop")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"answer_mids": []}, "1 answers but 0 answer_mids"),
        ({"answers": None}, "record 1 .*field 'answers' is null"),
        ({"topic_entities": {}}, "record 1 .*has no topic entity"),
        ({"topic_entities": None}, "record 1"),
    ],
)
def test_a_damaged_map_is_named(tmp_path, change, message):
    with pytest.raises(UserError, match=message):
        load_questions(toys.write(tmp_path / "q.jsonl", [{**MAPPED, **change}]))
