"""The public names of GraphWalker, for scripts and notebooks: `import graphwalker as gw`."""

from graphwalker.agents.environment import EnvironmentConfig
from graphwalker.api.calls import (
    Evaluation,
    ask,
    build_graph,
    ceiling,
    compare,
    evaluate,
    load_dataset,
    load_policy,
    load_trajectories,
    make_world,
    rollout,
    synthesize,
    train,
)
from graphwalker.api.environment import ScriptEnvironment as Environment
from graphwalker.graphs.base import Direction, Entity, KnowledgeGraph, Triple
from graphwalker.graphs.open import open_graph
from graphwalker.graphs.open import open_graph as from_pandas
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
    "ask",
    "build_graph",
    "ceiling",
    "compare",
    "evaluate",
    "from_pandas",
    "load_dataset",
    "load_policy",
    "load_trajectories",
    "make_world",
    "open_graph",
    "rollout",
    "score",
    "synthesize",
    "train",
]
