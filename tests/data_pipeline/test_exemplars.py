"""Exemplars: worked episodes of the graph at hand that a prompt shows before the question."""

from pathlib import Path

import pytest

from data_pipeline.config import SynthConfig
from data_pipeline.exemplars import make_exemplars
from data_pipeline.synthesize import make_questions
from eval.run.config import EvalConfig, run_eval
from graphwalker.agents.environment import Environment, EnvironmentConfig
from graphwalker.agents.episode import Episode
from graphwalker.agents.exemplars import EXEMPLARS
from graphwalker.config import load_config
from graphwalker.datasets.base import load_questions
from graphwalker.errors import HopelessError, UserError
from graphwalker.files import read_records
from graphwalker.graphs.open import open_graph
from graphwalker.policies.base import Completion
from graphwalker.question import Question
from graphwalker.trajectory import Trajectory

SETTINGS = EnvironmentConfig(exemplars=2)


@pytest.fixture(scope="module")
def world(graph, tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("exemplars")
    (folder / "graph").symlink_to(graph)
    config = SynthConfig(count=4, mix={"1-hop": 1, "2-hop": 1})
    make_questions(folder / "graph", config, folder / "made")
    return folder


def questions_of(world: Path) -> list[Question]:
    return load_questions(world / "made" / "questions.jsonl")


def evaluate(world: Path, out: Path, *more: str) -> list[Trajectory]:
    given = [
        f"graph={world / 'graph'}", f"questions={world / 'made' / 'questions.jsonl'}",
        f"output_dir={out}", "policy.model=oracle", "baselines=never", "ceiling=never", *more,
    ]  # fmt: skip
    run_eval(load_config(EvalConfig, None, given), make_exemplars=make_exemplars)
    return list(read_records(out / "predictions.jsonl", Trajectory.from_json))


def test_the_same_whole_dialogues_stand_before_every_question(world, tmp_path):
    done = evaluate(world, tmp_path, "environment.exemplars=2")
    contexts = [episode.turns[0].context for episode in done]
    assert len({context[:-1] for context in contexts}) == 1, "but for the question"
    roles = [message.role for message in contexts[0]]
    assert roles == ["system", *["user", "assistant"] * (len(roles) // 2 - 1), "user"]
    assert sum("<answer>" in m.content for m in contexts[0] if m.role == "assistant") == 2
    assert all(episode.provenance["exemplars"] for episode in done)


def test_a_run_keeps_its_exemplars_and_refuses_another_number(world, tmp_path):
    evaluate(world, tmp_path, "environment.exemplars=2")
    kept = (tmp_path / EXEMPLARS).read_bytes()
    (tmp_path / "predictions.jsonl").unlink()
    evaluate(world, tmp_path, "environment.exemplars=2")
    assert (tmp_path / EXEMPLARS).read_bytes() == kept
    with pytest.raises(UserError, match=r"holds 2 exemplars and environment.exemplars=3"):
        evaluate(world, tmp_path, "environment.exemplars=3")


def test_exemplars_follow_the_seed_and_start_elsewhere_than_the_questions(world):
    graph, questions = open_graph(world / "graph"), questions_of(world)
    made = make_exemplars(graph, SETTINGS, 0, questions)
    assert made == make_exemplars(graph, SETTINGS, 0, questions)
    topics = {frozenset(one.question.topic_entities) for one in made}
    assert len(topics) == 2
    assert topics.isdisjoint(frozenset(question.topic_entities) for question in questions)
    assert not {one.id for one in made} & {o.id for o in make_exemplars(graph, SETTINGS, 1, [])}


def test_exemplars_that_fill_the_context_end_the_run_with_the_next_move(world):
    graph = open_graph(world / "graph")
    made = make_exemplars(graph, SETTINGS, 0, [])
    episode = Episode(questions_of(world)[0], 0, Environment(graph, SETTINGS, exemplars=made))
    episode.feed(Completion("", "length", prompt_tokens=1414))
    assert isinstance(episode.failure, HopelessError)
    assert "exemplars=2: with them the prompt takes 1,414 tokens" in str(episode.failure)


def test_a_preset_plays_them_in_its_own_form(world):
    graph = open_graph(world / "graph")
    for preset, form in (("search-on-graph", "<tool_call>"), ("io-prompt", "<answer>")):
        config = EnvironmentConfig(preset=preset, exemplars=1)
        made = make_exemplars(graph, config, 0, [])
        opening = Episode(questions_of(world)[0], 0, Environment(graph, config, exemplars=made)).ask
        assert opening and form in opening.messages[2].content, preset
