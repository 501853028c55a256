"""The quick demo on a graph of one's own: the same sections, without what only the made world has.

The made world has several wordings of each relation, half of which the demo holds out, and hubs
that its walks keep off. A graph of one's own gets every wording, and walks of the usual degrees.
"""

from typing import Any

from graphwalker.demo.config import DemoConfig
from graphwalker.errors import UserError
from graphwalker.graphs.open import open_graph

FEWEST, MOST = 100, 200_000
"""Entities of the smallest graph that a tiny agent learns anything on, and of the largest whose
names its tokenizer can hold."""
SETS = "synth", "rl", "practice", "test"
USUAL: dict[str, Any] = {"max_degree": 5, "max_answers": 5, "max_frontier": 5, "wordings": "all"}


def for_own_graph(config: DemoConfig) -> DemoConfig:
    """Return the settings of a demo on `config.graph`, which is there already.

    Raises `UserError` for a graph that is too small or too large for a tiny model, or whose
    entities cannot be listed.
    """
    serve = f"ask it without training: graphwalker serve --graph {config.graph} --model "
    size = getattr(open_graph(config.graph), "size", None)
    if not isinstance(size, int):
        raise UserError(
            f"{config.graph}: its entities cannot be listed, which a tiny model needs: compile it "
            f"(graphwalker graph build), or {serve}first-relation"
        )
    if not FEWEST <= size <= MOST:
        raise UserError(
            f"{config.graph} has {size:,} entities, and a tiny model learns graphs of {FEWEST} to "
            f"{MOST:,}: train a pretrained model (docs/recipe.md), or {serve}first-relation"
        )
    whole = {"splits": {"wording_share": 0.0}, **USUAL}
    sections = {name: {**getattr(config, name), **whole} for name in SETS}
    sections["test"]["count"] = max(100, int(config.test.get("count", 0)))
    return config.model_copy(update={**sections, "test_words": {}})
