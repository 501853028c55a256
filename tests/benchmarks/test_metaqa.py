"""MetaQA's benchmark, made small: its oracle walks paths, its splits share no topic."""

import gzip
import json
from pathlib import Path

import pytest

from benchmarks.metaqa_data import build, question_file, split_of, split_questions
from benchmarks.metaqa_oracle import HOPS, PathOracle
from graphwalker.agents.environment import Environment, EnvironmentConfig
from graphwalker.agents.rollout import rollout
from graphwalker.datasets.base import load_questions
from graphwalker.errors import UserError
from graphwalker.graphs.base import Entity
from graphwalker.graphs.open import open_graph
from graphwalker.policies.base import Sampling
from graphwalker.question import Question
from graphwalker.trajectory import Trajectory

FACTS = """Alien|directed_by|Ridley Scott
Blade Runner|directed_by|Ridley Scott
Legend|directed_by|Ridley Scott
Alien|has_genre|Horror
Blade Runner|has_genre|Drama
Blade Runner|in_language|English
Hey, You|directed_by|Ridley Scott
"""


@pytest.fixture(scope="module")
def graph(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("metaqa")
    (folder / "kb.txt.gz").write_bytes(gzip.compress(FACTS.encode()))
    return build(folder / "kb.txt.gz", folder / "run" / "graph", lambda _: None)


def walked(graph: Path, *path: str, ends: int = 9) -> Trajectory:
    config = EnvironmentConfig(
        preset="graphwalker-frontier", prompt="compact", options={"ends": ends}
    )
    environment = Environment(open_graph(graph), config)
    question = Question(
        "q", "?", (Entity("Alien", "Alien"),), annotations={"relation_path": list(path)}
    )
    policy = PathOracle(environment.graph, environment.protocol)
    return next(iter(rollout([question], environment, policy, Sampling())))


def test_the_topic_is_never_an_answer(graph) -> None:
    answer = walked(graph, "directed_by", "~directed_by").answer
    assert answer is not None and set(answer) == {"Hey, You", "Blade Runner", "Legend"}


def test_films_without_the_relation_are_passed_over(graph) -> None:
    walk = walked(graph, "directed_by", "~directed_by", "in_language")
    assert walk.answer == ("English",)


def test_thoughts_are_what_is_left_of_the_path(graph) -> None:
    walk = walked(graph, "directed_by", "~directed_by", "has_genre")
    assert [turn.thought for turn in walk.turns] == [
        "directed_by, ~directed_by, has_genre",
        "directed_by",
        "~directed_by, has_genre",
        "~directed_by",
        "has_genre",
        "has_genre",
        "",
    ]


def test_each_hop_starts_at_the_result_of_the_one_before(graph) -> None:
    walk = walked(graph, "directed_by", "~directed_by", "has_genre")
    starts = [turn.action["arguments"]["entity"] for turn in walk.turns[:-1]]
    assert starts == ["Alien", "Alien", "#1", "#1", "#2", "#2"]
    assert walk.turns[-1].action == {"answer": ["#3"]} and walk.answer == ("Drama",)


def test_a_long_result_is_read_to_its_end(graph) -> None:
    walk = walked(graph, "directed_by", "~directed_by", ends=1)
    assert [turn.thought for turn in walk.turns].count("more") == 3
    assert set(walk.answer or ()) == {"Hey, You", "Blade Runner", "Legend"}


def test_a_question_without_a_path_is_refused(graph) -> None:
    with pytest.raises(UserError, match="no relation path"):
        walked(graph)


def test_no_topic_is_in_two_splits(graph, tmp_path) -> None:
    topics = ["Alien", "Blade Runner", "Legend"]
    files = []
    for hops in HOPS:
        lines = [
            {"id": f"{hops}/{topic}", "question": "who?", "topic_entity": topic, "answers": ["X"],
             "qtype": "a", "relation_path": ["directed_by"]}
            for topic in topics
        ]  # fmt: skip
        files.append(tmp_path / f"{hops}.jsonl")
        files[-1].write_text("".join(json.dumps(line) + "\n" for line in lines))
    split_questions(files, graph, 3, (0.4, 0.3), tmp_path / "out")
    for topic in topics:
        split = split_of(topic, 3, (0.4, 0.3))
        for hops in HOPS:
            found = load_questions(question_file(tmp_path / "out", split, hops))
            assert topic in {question.topic_entities[0].id for question in found}
