"""The tiny untrained model of a graph and of what was synthesized from it."""

from collections.abc import Iterable
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING

from graphwalker.agents.environment import EnvironmentConfig
from graphwalker.files import read_records
from graphwalker.graphs.base import KnowledgeGraph, shown_relations
from graphwalker.trajectory import Trajectory

if TYPE_CHECKING:
    from training.tiny.config import TinyModelConfig

TEXTS = 2000
"""Trajectories that the tokenizer learns its words from."""


def make_tiny_model(
    config: "TinyModelConfig",
    corpus: Path,
    graph: KnowledgeGraph,
    out: Path,
    environment: EnvironmentConfig | None = None,
    texts: Iterable[str] = (),
) -> Path:
    """Write the model to the folder `out`, unless it is there. Its tokenizer learns the words of
    the trajectories in `corpus`, of `texts` and of the graph's names."""
    from training.tiny.make import conversation_texts, make_tiny

    shown = islice(read_records(corpus, Trajectory.from_json), TEXTS)
    names = (graph.entity_at(number).name for number in range(graph.size))
    words = chain(conversation_texts(shown), texts)
    relations = shown_relations(graph)
    return make_tiny(config, words, relations, out, names, environment)
