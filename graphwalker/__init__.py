"""Agents that answer questions by walking a knowledge graph: train them, run them, score them.

Importing this package loads nothing else; each public name (`graphwalker/api/`) is loaded when it
is first used.

>>> import graphwalker as gw
>>> {"open_graph", "rollout", "score"} <= set(dir(gw))
True
"""

# ruff: noqa: F405
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from graphwalker.api import *  # noqa: F403

__version__ = "0.2.0"

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


_EXPECTED = {
    "Graph": "open_graph, which takes a path, a DataFrame, a networkx or rdflib graph, or triples",
    **dict.fromkeys(("sft", "finetune"), "train"),
    **dict.fromkeys(("grpo", "rl"), "train for SFT; GRPO is `accelerate launch training/grpo.py`"),
    **dict.fromkeys(("load_model", "load_agent", "Policy", "Agent"), "load_policy"),
    **dict.fromkeys(("load_questions", "questions"), "load_dataset"),
    **dict.fromkeys(("report", "to_pandas"), "evaluate, whose result has report, save, to_pandas"),
}
"""What people look for under another name, and where it is."""


def __getattr__(name: str) -> Any:
    if name not in __all__:
        known = _EXPECTED.get(name)
        hint = f": take graphwalker.{known}" if known else ""
        raise AttributeError(f"module 'graphwalker' has no attribute {name!r}{hint}")
    import graphwalker.api as api

    return getattr(api, name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
