"""The public names of GraphWalker, for scripts and notebooks: `import graphwalker as gw`."""

from graphwalker.agents.environment import EnvironmentConfig
from graphwalker.api.calls import (
    Evaluation,
    ceiling,
    evaluate,
    load_dataset,
    load_policy,
    make_world,
    rollout,
    synthesize,
)
from graphwalker.api.calls import ScriptEnvironment as Environment
from graphwalker.graphs.base import Direction, Entity, KnowledgeGraph, Triple
from graphwalker.graphs.open import open_graph
from graphwalker.question import Answer, Question
from graphwalker.scoring import score
from graphwalker.trajectory import Trajectory

__all__ = [
    "Answer",
    "Direction",
    "Entity",
    "Environment",
    "EnvironmentConfig",
    "Evaluation",
    "KnowledgeGraph",
    "Question",
    "Trajectory",
    "Triple",
    "ceiling",
    "evaluate",
    "load_dataset",
    "load_policy",
    "make_world",
    "open_graph",
    "rollout",
    "score",
    "synthesize",
]
