"""Small panels side by side: a few named lines over the steps of a run, with their intervals."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from markupsafe import Markup

from eval.report.plots import DASHES, INK, SERIES, dress, figure, plain

Points = Sequence[tuple[float, float]]


@dataclass(frozen=True, slots=True)
class DrawnLine:
    """Points by step; `band` holds the ends of an interval at each, or nothing."""

    label: str
    points: Points
    band: Sequence[tuple[float, float]] = field(default_factory=tuple)


@dataclass(frozen=True, slots=True)
class Panel:
    """A title over its lines."""

    title: str
    lines: Sequence[DrawnLine]


def draw_panels(name: str, panels: Sequence[Panel]) -> Markup | None:
    """All panels as one SVG; `None` for none. `name` keeps the ids of several figures apart."""
    if not panels:
        return None
    columns = min(3, len(panels))
    rows = math.ceil(len(panels) / columns)
    with figure(name, 3.6 * columns, 2.7 * rows) as (canvas, svg):
        places = canvas.subplots(rows, columns, squeeze=False)
        for number, axes in enumerate(places.flat):
            if number < len(panels):
                _draw(axes, panels[number])
            else:
                axes.set_axis_off()
        canvas.tight_layout()
    return svg.finish("What each step of training showed")


def _draw(axes: Any, panel: Panel) -> None:
    for place, line in enumerate(panel.lines):
        colour = SERIES[place % len(SERIES)]
        steps = [step for step, _ in line.points]
        if line.band:
            low, high = zip(*line.band, strict=True)
            axes.fill_between(steps, low, high, color=colour, alpha=0.15, linewidth=0)
        axes.plot(
            steps,
            [value for _, value in line.points],
            color=colour,
            linestyle=DASHES[place % len(DASHES)],
            linewidth=1.5,
            label=plain(line.label),
        )
    dress(axes, "", top=None)
    axes.set_title(plain(panel.title), fontsize=10, color=INK)
    axes.set_xlabel("step")
    if len(panel.lines) > 1:
        axes.legend(frameon=False, labelcolor=INK, fontsize=8)
