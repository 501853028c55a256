"""What the grammar of an agent's next completion may hold, by its tools and by its turns so far."""

from collections.abc import Iterable

from graphwalker.protocols.grammar import Shown
from graphwalker.tools.base import ToolBox, WithChoices, fits
from graphwalker.trajectory import Turn


def shown_by(tools: ToolBox, turns: Iterable[Turn]) -> Shown:
    """Collect what an episode has shown so far."""
    shown = Shown({name: tools.entity_id(name) for name in tools.topic_names()})
    for turn in turns:
        shown.add(turn)
    if fits(tools, WithChoices):
        shown.choices = tools.choices
    return shown
