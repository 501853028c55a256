"""Eight questions on the toy graph, and episodes that answer them by rote."""

import json

from graphwalker.agents.environment import Environment, EnvironmentConfig
from graphwalker.agents.rollout import rollout
from graphwalker.graphs.base import Entity
from graphwalker.policies.base import Sampling
from graphwalker.policies.scripted import ScriptedPolicy
from graphwalker.question import Answer, Question
from graphwalker.trajectory import Trajectory
from support.toy import TOY_NAMES

SMALL = EnvironmentConfig(prompt="compact", max_turns=3)
PEOPLE = ["m.0ada", "m.0tom", "m.0eve", "m.0zoe", "m.0bob", "m.0p00", "m.0p01", "m.0p02"]


def questions() -> list[Question]:
    answer = (Answer("Verria", "m.0land"),)
    return [
        Question(f"q{i}", f"Which land is {TOY_NAMES[p]} of?", (Entity(p, TOY_NAMES[p]),), answer)
        for i, p in enumerate(PEOPLE)
    ]


def played(environment: Environment, answer: str, tool: str = "get_relations") -> list[Trajectory]:
    """Look at the relations, or call another tool of one entity, then answer."""
    script = {}
    for question in questions():
        name = json.dumps(question.topic_entities[0].name)
        look = f"<think> Look. </think>\n<kg-query> {tool}({name}) </kg-query>"
        script[question.id] = [look, f'<answer> ["{answer}"] </answer>']
    return list(rollout(questions(), environment, ScriptedPolicy(script), Sampling()))
