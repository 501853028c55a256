"""Presets and rankers by name, the user's own from a file, and how much a preset shows."""

import pytest

from eval.run.evaluate import evaluate
from graphwalker.agents.environment import Environment, EnvironmentConfig
from graphwalker.agents.policies import load_policy
from graphwalker.agents.presets import find_preset, presets
from graphwalker.agents.rollout import rollout
from graphwalker.config import load_config
from graphwalker.errors import UserError
from graphwalker.graphs.base import Direction, Entity
from graphwalker.graphs.memory import MemoryGraph
from graphwalker.policies.base import Sampling
from graphwalker.policies.config import PolicyConfig
from graphwalker.policies.scripted import ScriptedPolicy
from graphwalker.query.query import Branch, Hop, Query
from graphwalker.question import Answer, Question
from support.paths import ROOT
from support.toy import toy_graph

AGENT = ROOT / "tests/support/search_agent.py"
ADA = Question("q", "Who is Eve's mother?", (Entity("m.0eve", "Eve Mbeki-Lindqvist"),))
RANKERS = """
class Backwards:
    def rank(self, question, entity, relations):
        return sorted(relations, reverse=True)
def alphabet(question, entity, relations):
    return sorted(relations)
nothing = 7
"""
LINES = [
    '<kg-query> search("Eve Mbeki-Lindqvist", "outgoing") </kg-query>',
    '<answer> ["Ada Mbeki"] </answer>',
]


@pytest.fixture
def own(tmp_path, monkeypatch):
    """A working directory that holds the user's agent and a ranker, and nothing of ours."""
    (tmp_path / "search_agent.py").write_text(AGENT.read_text())
    (tmp_path / "my_ranker.py").write_text(RANKERS)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def environment(*overrides):
    return Environment(toy_graph(), load_config(EnvironmentConfig, None, list(overrides)))


def test_an_unknown_preset_is_refused_with_what_there_is():
    with pytest.raises(UserError, match="did you mean io-prompt"):
        find_preset("io-promt")
    with pytest.raises(UserError, match=r"preset 'react' is unknown.*known: "):
        load_config(EnvironmentConfig, None, ["preset=react"])


def test_an_agent_of_ones_own_is_one_short_file(own):
    assert len(AGENT.read_text().splitlines()) < 60
    env = environment("preset=search_agent:SPEC")
    (done,) = rollout([ADA], env, ScriptedPolicy({"q": LINES}), Sampling())
    assert (done.agent, done.answer_ids) == ("one-search", ("m.0ada",))
    assert "people.person.parents: Ada Mbeki" in done.turns[0].observation
    assert done.turns[0].context[0].content.startswith('Search the graph: search("entity"')
    assert done.provenance["environment"] == "one-search"


def test_complaints_name_the_tools_of_the_preset(own):
    env = environment("preset=search_agent:SPEC")
    lines = ["Hm.", "<kg-query> look </kg-query>", "<kg-query> search(Ada) </kg-query>"]
    (done,) = rollout([ADA], env, ScriptedPolicy({"q": lines}), Sampling())
    seen = " ".join(turn.action["malformed"] for turn in done.turns)
    assert seen.count('search("Name", "outgoing")') == 3 and "get_" not in seen


def test_options_of_a_preset_are_checked(own):
    assert environment("preset=search_agent:SPEC", "options.rows=1").config.options == {"rows": 1}
    with pytest.raises(UserError, match=r"options.*row is not a setting.*did you mean rows"):
        environment("preset=search_agent:SPEC", "options.row=1")
    with pytest.raises(UserError, match=r"rows is not a setting: there is none here"):
        environment("options.rows=1")


def test_another_agent_cannot_resume_in_a_run_folder(own):
    question = Question("q", ADA.text, ADA.topic_entities, (Answer("Ada Mbeki", "m.0ada"),))
    policy = ScriptedPolicy({"q": LINES})
    evaluate([question], Environment(toy_graph()), policy, own / "run")
    other = Environment(toy_graph(), preset=find_preset("search_agent:SPEC"))
    with pytest.raises(UserError, match=r"environment was 'graphwalker' and is now 'one-search'"):
        evaluate([question], other, policy, own / "run")


def test_a_ranker_is_a_name_or_ones_own(own):
    def listed(*overrides):
        tools = environment(*overrides, "top_relations=3").toolbox(ADA)
        from graphwalker.tools.base import Call

        name = "Ada Mbeki"
        return tools.call(Call("get_relations", {"entity": name})).text.split(" (")[0].split(", ")

    forwards, backwards = listed("ranker=my_ranker:alphabet"), listed("ranker=my_ranker:Backwards")
    assert forwards == sorted(forwards) and backwards == sorted(backwards, reverse=True)
    assert listed() == listed("ranker=bm25") != forwards
    with pytest.raises(UserError, match="neither a function"):
        environment("ranker=my_ranker:nothing")
    with pytest.raises(UserError, match=r"ranker 'bm52' is unknown .did you mean bm25"):
        environment("ranker=bm52")


STREETS = [f"m.{number}" for number in range(10, 60)]


TRIPLES = [
    ("m.1", "town.abstract", '"' + "A long abstract. " * 3000 + '"'),
    ("m.1", "town.mayor", "m.2"),
    *(("m.1", "town.street", street) for street in STREETS),
]


SHORT = {"m.1": "Almera", "m.2": "Ana", **{street: f"Street {street}" for street in STREETS}}


LONG = {**SHORT, **{street: f"Street {street} " + "very long " * 300 for street in STREETS}}


WALKING = sorted(presets().keys() - {"graphwalk", "graphwalk-maze"})


"""The other two walk property graphs; their own results are bounded by the same setting."""


def play(preset, names, relation, limit):
    graph = MemoryGraph(TRIPLES[relation == "town.street" and names is SHORT :], names)
    topic = Entity("m.1", "Almera")
    ends = graph.neighbors("m.1", relation, Direction.OUT)
    query = Query((Branch(topic, (Hop(relation, Direction.OUT),)),))
    gold = tuple(Answer(end.name, end.id) for end in ends)
    question = Question("q", f"What is the {relation}?", (topic,), gold, query=query)
    config = EnvironmentConfig.model_validate({"preset": preset, "max_observation_chars": limit})
    environment = Environment(graph, config)
    policy = load_policy(PolicyConfig(model="oracle"), environment=environment)
    (done,) = rollout([question], environment, policy)
    return done


@pytest.mark.parametrize("preset", WALKING)
def test_no_observation_is_longer_than_the_bound(preset):
    for relation in ("town.street", "town.abstract"):
        for limit in (400, 2000):
            done = play(preset, LONG, relation, limit)
            for turn in done.turns:
                assert len(turn.observation) <= limit, (relation, turn.observation[:90])


@pytest.mark.parametrize("preset", WALKING)
def test_by_default_a_usual_graph_is_shown_as_without_a_bound(preset):
    if preset == "kg-r1":  # its paper has a bound of its own
        return
    shown = [
        [turn.observation for turn in play(preset, SHORT, "town.street", limit).turns]
        for limit in (None, 0)
    ]
    assert shown[0] == shown[1]


def test_the_default_bound_grows_with_the_limits():
    bounds: list[int | None] = []
    for most in (5, 50):
        config = EnvironmentConfig(triples_per_relation=most)
        bounds.append(presets()["graphwalker"].bound_observations(config).max_observation_chars)
    assert bounds == [12_000, 120_000]
