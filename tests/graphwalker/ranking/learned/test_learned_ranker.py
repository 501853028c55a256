"""The trained ranker: what it learns, what it holds out, and its folder."""

import json
from dataclasses import replace

import pytest
from typer.testing import CliRunner

from graphwalker.cli.app import app
from graphwalker.errors import UserError
from graphwalker.files import write_jsonl
from graphwalker.graphs.base import Direction, Entity
from graphwalker.question import Answer, Question
from graphwalker.ranking.learned.ranker import folder_digest, read_ranker, write_ranker
from graphwalker.ranking.learned.train import QuestionFile, first_shares, train_ranker
from support.toy import toy_graph

GRAPH = toy_graph()
CHILDREN = "people.person.children"
ADA, TOM = Entity("m.0ada", "Ada Mbeki"), Entity("m.0tom", "Tom Lindqvist")
EVE = Entity("m.0eve", "Eve Mbeki-Lindqvist")


def relations_of(entity_id):
    found = (GRAPH.flat_relations(entity_id, direction) for direction in Direction)
    return tuple(sorted({relation for listed in found for relation, _ in listed}))


def question(number, text, topic, *path):
    return Question(str(number), text, (topic,), annotations={"relation_path": list(path)})


TRAINING = [
    question(1, "who is the kid of Ada Mbeki?", ADA, CHILDREN),
    question(2, "kids of Tom Lindqvist?", TOM, CHILDREN),
    question(3, "which movies did Ada Mbeki make?", ADA, "film.film.directed_by"),
    question(4, "what movies are by Ada Mbeki", ADA, "film.film.directed_by"),
    question(5, "who raised the wife of Eve's dad", EVE, "people.person.parents", CHILDREN),
]


def trained(seed=0):
    files = [QuestionFile("train.jsonl", "0" * 16, TRAINING)]
    return train_ranker(files, GRAPH, relations_of, folds=2, epochs=6, seed=seed)


@pytest.fixture(scope="module")
def ranker():
    return trained()


def test_words_that_were_learned_put_their_relation_first_at_another_entity(ranker):
    order = ranker("has Tom Lindqvist a kid?", "Tom Lindqvist", relations_of("m.0tom"))
    assert order[0] == CHILDREN and sorted(order) == sorted(relations_of("m.0tom"))


def test_a_question_that_was_trained_on_is_ranked_by_the_model_that_has_not_seen_it(ranker):
    text, listed = TRAINING[0].text, tuple(relations_of("m.0ada"))
    fold = ranker.known.fold(text, "Ada Mbeki")
    held_out = ranker.weights.scores(text, "Ada Mbeki", listed, fold + 1)
    full = ranker.weights.scores(text, "Ada Mbeki", listed, 0)
    assert held_out.max() < full.max()
    best = listed[int(held_out.argmax())]
    assert ranker(text, "Ada Mbeki", listed)[0] == best


def test_a_folder_reads_back_to_the_same_ranker_and_the_same_seed_to_the_same_bytes(
    ranker, tmp_path
):
    written = write_ranker(ranker, tmp_path / "a")
    assert written.digest == folder_digest(tmp_path / "a") == read_ranker(tmp_path / "a").digest
    assert write_ranker(trained(), tmp_path / "b").digest == written.digest
    assert write_ranker(trained(seed=1), tmp_path / "c").digest != written.digest
    for one in TRAINING:
        name, listed = one.topic_entities[0].name, relations_of(one.topic_entities[0].id)
        assert read_ranker(tmp_path / "a")(one.text, name, listed) == ranker(one.text, name, listed)


def flip_a_bit(folder):
    data = bytearray((folder / "ranker.npz").read_bytes())
    data[len(data) // 2] ^= 1
    (folder / "ranker.npz").write_bytes(bytes(data))


def set_folds(folder):
    header = json.loads((folder / "ranker.json").read_text())
    (folder / "ranker.json").write_text(json.dumps({**header, "folds": "x"}))


@pytest.mark.parametrize(
    ("damage", "why"),
    [
        (flip_a_bit, "damaged"),
        (lambda folder: (folder / "ranker.npz").unlink(), "missing"),
        (lambda folder: (folder / "ranker.json").unlink(), "no trained ranker"),
        (set_folds, "folds: "),
    ],
)
def test_a_damaged_or_foreign_folder_is_refused_in_one_line(ranker, tmp_path, damage, why):
    write_ranker(ranker, tmp_path)
    damage(tmp_path)
    with pytest.raises(UserError, match=why) as refused:
        read_ranker(tmp_path)
    assert "\n" not in str(refused.value)


def test_questions_that_say_no_relations_cannot_train(tmp_path):
    plain = [replace(TRAINING[0], annotations={})]
    with pytest.raises(UserError, match="a query or relation_path"):
        train_ranker([QuestionFile("q.jsonl", "", plain)], GRAPH, relations_of)
    wrong = [question(1, "x?", ADA, "no.such.relation")]
    with pytest.raises(UserError, match="names relations that this graph lists"):
        train_ranker([QuestionFile("q.jsonl", "", wrong)], GRAPH, relations_of)


def test_the_commands_train_describe_and_measure(tmp_path):
    answered = [replace(one, answers=(Answer("Eve", "m.0eve"),)) for one in TRAINING]
    questions = tmp_path / "q.jsonl"
    write_jsonl(questions, [one.to_json() for one in answered])
    given = ["--graph", "support.toy:toy_graph", "--questions", str(questions)]

    def run(*arguments):
        result = CliRunner().invoke(app, ["ranker", *arguments])
        assert result.exit_code == 0, result.output
        return result.output

    run("train", *given, "--weight", "0.5", "--folds", "2", "--out", str(tmp_path / "r"))
    about = json.loads(run("info", str(tmp_path / "r"), "--json"))
    assert about["sources"][0]["weight"] == 0.5 and about["digest"]
    found = json.loads(run("eval", *given, "--ranker", "bm25", "--json"))[str(questions)]
    assert (found["questions"], found["hops"], found["first_20"]) == (5, 6, 1.0)
    wrong = CliRunner().invoke(app, ["ranker", "train", *given, "--weight", "0", "--out", "x"])
    assert "give numbers above 0" in str(wrong.exception)


def test_shares_count_a_hop_that_is_not_listed_as_missed():
    questions = [*TRAINING[:1], question(9, "x?", ADA, "no.such.relation")]

    def backwards(question, entity, relations):
        return [CHILDREN, *relations]

    found = first_shares(questions, GRAPH, relations_of, backwards)
    assert (found["hops"], found["unlisted"], found["first_1"]) == (2, 1, 0.5)
