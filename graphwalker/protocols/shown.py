"""What the grammar of an agent's next completion may hold, by its tools and by its turns so far."""

from collections.abc import Iterable

from graphwalker.protocols.grammar import Shown
from graphwalker.tools.base import (
    Frontiers,
    Observation,
    References,
    SharedReferences,
    ToolBox,
    TypedReferences,
    WithChoices,
    WithPlaces,
    fits,
)
from graphwalker.tools.wide.references import reference, result_number
from graphwalker.trajectory import Turn


def shown_by(tools: ToolBox, turns: Iterable[Turn]) -> Shown:
    """What an episode has shown so far, with what an answer or a call may point at."""
    shown = Shown({name: tools.entity_id(name) for name in tools.topic_names()})
    for turn in turns:
        shown.add(turn)
        if fits(tools, References):
            shown.references = max(shown.references, result_number(turn.observation))
    numbered = [reference(number) for number in range(1, shown.references + 1)]
    if fits(tools, References):
        wrong = [one for one in numbered if isinstance(tools.resolve([one]), Observation)]
        shown.nowhere = set(wrong)
    if fits(tools, Frontiers):
        shown.starts = [one for one in numbered if tools.members(one)]
    if fits(tools, WithPlaces):
        shown.places = tools.places()
    if fits(tools, SharedReferences):
        shown.shared = tools.shared()
    if fits(tools, TypedReferences):
        shown.shared = [*shown.shared, *tools.typed()]
    if fits(tools, WithChoices):
        shown.choices = tools.choices
    return shown
