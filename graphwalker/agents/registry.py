"""The registry of presets: the shipped ones by name, the user's own by `module:NAME`."""

from collections.abc import Mapping
from typing import Any

from graphwalker.agents.preset import AgentSettings, Preset
from graphwalker.agents.presets import SHIPPED
from graphwalker.agents.published.ark.preset import ARK, ARK_CODE
from graphwalker.agents.published.graphrunner.preset import GRAPHRUNNER
from graphwalker.agents.published.pathwise.presets import GOG, ROG, TOG
from graphwalker.agents.published.retrieval.presets import GRAPH_COT, GRAPH_RAG, TEXT_RAG
from graphwalker.errors import UserError
from graphwalker.named import find

__all__ = ["AgentSettings", "Preset", "find_preset", "presets"]


PUBLISHED = (ARK, ARK_CODE, GRAPHRUNNER, TOG, ROG, GOG, GRAPH_COT, TEXT_RAG, GRAPH_RAG)


def presets() -> Mapping[str, Preset]:
    """The shipped presets by name."""
    return {preset.name: preset for preset in (*SHIPPED, *PUBLISHED)}


def find_preset(name: str) -> Preset:
    """The preset of that name, or the user's own by `module:NAME`. Raises `UserError`."""
    found: Any = find(presets(), name, "preset")
    if not isinstance(found, Preset):
        raise UserError(f"preset {name}: a {type(found).__name__} is no Preset")
    return found
