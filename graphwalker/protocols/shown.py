"""What the grammar of an agent's next completion may hold, by its tools and by its turns so far."""

from collections.abc import Iterable

from graphwalker.protocols.grammar import Shown
from graphwalker.tools.base import ToolBox, abilities_of
from graphwalker.trajectory import Turn


def shown_by(tools: ToolBox, turns: Iterable[Turn]) -> Shown:
    """Collect what an episode has shown so far."""
    names = {name: tools.entity_id(name) for name in tools.topic_names()}
    shown = Shown(names, choices=abilities_of(tools).choices)
    for turn in turns:
        shown.add(turn)
    return shown
