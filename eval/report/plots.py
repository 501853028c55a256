"""Plots as inline SVG: text stays text, colours are CSS variables, same data same bytes."""

import io
import re
import warnings
from collections.abc import Mapping, Sequence
from contextlib import contextmanager
from textwrap import fill
from typing import TYPE_CHECKING, Any

from markupsafe import Markup, escape

from eval.tables import natural

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# matplotlib wants real colours; these stand for CSS variables and are replaced in the SVG.
INK, FAINT, PAPER = "#010203", "#010204", "#010205"
_NUMBERS = (1, 2, 3, 4, 6)
"""Of the series in colours.css; the fifth, a grey, is for what has no model."""
SERIES = tuple(f"#01030{i}" for i in _NUMBERS)
_VARIABLES = {INK: "--ink", FAINT: "--line", PAPER: "--paper"} | {
    colour: f"--series-{i}" for i, colour in zip(_NUMBERS, SERIES, strict=True)
}
HATCHES = ("", "////", "xxxx", "----", "||||", "++++")
"""Lines alone: a tile of dots or rings is a quarter of a megabyte of SVG."""
MARKERS = ("o", "s", "^", "D", "v", "P")
LETTERS_AN_INCH = 9
"""Of the names under bars."""
DASHES = ("-", "--", "-.", ":", (0, (6, 1)), (0, (1, 1)))


def series(stage: int) -> str:
    """Return the colour of a stage, by its place: the same in every plot of a page."""
    return f"--series-{_NUMBERS[stage % len(SERIES)]}"


def group_bars(stages: Sequence[Mapping[str, Any]], key: str) -> Markup | None:
    """Bars of EM per group (`by_structure`, `by_hops`), one hatch per stage: the left half of
    GraphWalker's Figure 9; the table beside it has the figures. `None` where there is nothing to
    set side by side."""
    groups = sorted({g for stage in stages for g in stage.get(key, {})}, key=natural)
    if len(groups) < 2:
        return None
    width = 0.8 / len(stages)
    figure_width = min(10.5, max(6.4, 1.1 + 0.55 * len(groups) * (len(stages) + 1)))
    with figure("structures", figure_width, 3.6) as (canvas, svg):
        axes = canvas.subplots()
        for i, stage in enumerate(stages):
            rows = [stage.get(key, {}).get(group, {}) for group in groups]
            drawn = [
                (x - 0.4 + width * (i + 0.5), float(row["em"]), row.get("em_interval"))
                for x, row in enumerate(rows)
                if row.get("em") is not None
            ]
            axes.bar(
                [x for x, _, _ in drawn],
                [y for _, y, _ in drawn],
                width * 0.92,
                color=SERIES[i % len(SERIES)],
                alpha=0.85,
                label=plain(stage["name"]),
                hatch=HATCHES[i % len(HATCHES)],
                edgecolor=PAPER,
                linewidth=0.5,
            )
            for x, y, interval in drawn:
                low, high = map(float, interval or (y, y))
                axes.plot([x, x], [low, high], color=INK, linewidth=1.2, solid_capstyle="butt")
        dress(axes, "EM", top=1.12)
        letters = min(12, int((figure_width - 1) / len(groups) * LETTERS_AN_INCH))
        names = [plain(group).replace("_", " ") for group in groups]
        if max(len(word) for name in names for word in name.split()) > letters:
            axes.set_xticks(range(len(groups)), names, rotation=30, ha="right")
        else:
            wrapped = [fill(name, letters, break_long_words=False) for name in names]
            axes.set_xticks(range(len(groups)), wrapped)
        _legend(axes, min(4, len(stages)))
    return svg.finish("EM of each stage by structure with 95 % intervals")


def pass_curves(stages: Sequence[Mapping[str, Any]]) -> Markup | None:
    """Pass@k against k, one line per stage."""
    drawn = [(place, stage["name"], _passes(stage)) for place, stage in enumerate(stages)]
    lines = [line for line in drawn if len(line[2]) > 1]
    if not lines:
        return None
    with figure("pass", 7.2, 3.6) as (canvas, svg):
        axes = canvas.subplots()
        for i, name, points in lines:
            axes.plot(
                [k for k, _ in points],
                [y for _, y in points],
                label=plain(name),
                color=SERIES[i % len(SERIES)],
                marker=MARKERS[i % len(MARKERS)],
                linestyle=DASHES[i % len(DASHES)],
                linewidth=1.8,
                clip_on=False,
            )
        dress(axes, "Pass@k", top=1.05)
        ticks = sorted({k for *_, points in lines for k, _ in points})
        axes.set_xscale("log", base=2)
        axes.set_xticks(ticks, [str(k) for k in ticks])
        axes.minorticks_off()
        axes.set_xlabel("k sampled episodes")
        _legend(axes, min(4, len(lines)))
    return svg.finish("Pass@k of each stage")


def running_mean(values: Sequence[float]) -> list[float]:
    """Mean over a centred window of a twentieth of the curve; short curves stay as they are."""
    reach = len(values) // 40
    if not reach:
        return list(values)
    windows = (values[max(0, i - reach) : i + reach + 1] for i in range(len(values)))
    return [sum(window) / len(window) for window in windows]


class _Svg:
    """Collects one figure's SVG and turns it into page markup."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.text = ""

    def finish(self, description: str) -> Markup:
        svg = self.text[self.text.index("<svg") :]
        svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
        # Several figures share one page: ids and their references get the figure's name.
        svg = re.sub(r'(\bid="|url\(#|href="#)', rf"\g<1>{self.name}-", svg)
        for colour, variable in _VARIABLES.items():
            svg = svg.replace(colour, f"var({variable})")
        # A presentation attribute cannot hold a variable, a style can.
        svg = re.sub(r'\b(fill|stroke)="(var\([^)]*\))"', r'style="\1: \2"', svg)
        # As wide as drawn; a narrower page scrolls it.
        svg = re.sub(r'\swidth="([^"]*pt)"', r' style="width: \1"', svg, count=1)
        svg = re.sub(r'\sheight="[^"]*pt"', "", svg, count=1)
        return Markup(svg.replace("<svg", f'<svg role="img" aria-label="{escape(description)}"', 1))


@contextmanager
def figure(name: str, width: float, height: float) -> Any:
    """Open a figure and its `_Svg`, drawn on leaving; matplotlib's globals stay as they are."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    style: Any = {
        "svg.fonttype": "none",
        "svg.hashsalt": name,
        "font.family": "sans-serif",
        "font.size": 10,
        "hatch.linewidth": 0.6,
        "text.parse_math": False,
        "axes.unicode_minus": False,
    }
    svg = _Svg(name)
    with rc_context(style), warnings.catch_warnings():
        # The browser's fonts draw the text; that matplotlib's own lacks a glyph is no matter.
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        canvas = Figure(figsize=(width, height))
        yield canvas, svg
        out = io.StringIO()
        canvas.savefig(
            out,
            format="svg",
            transparent=True,
            bbox_inches="tight",
            metadata={"Date": None, "Creator": None},
        )
        svg.text = out.getvalue()


def dress(axes: "Axes", label: str, top: float | None) -> None:
    axes.set_ylabel(label, color=INK)
    axes.xaxis.label.set_color(INK)
    if top is not None:
        axes.set_ylim(0, top)
        axes.set_yticks([0, 0.25, 0.5, 0.75, 1.0])
    axes.grid(axis="y", color=FAINT, linewidth=0.8)
    axes.set_axisbelow(True)
    axes.tick_params(colors=INK, length=0, pad=7)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.spines["bottom"].set_color(INK)


def _legend(axes: "Axes", columns: int) -> None:
    axes.legend(
        frameon=False,
        labelcolor=INK,
        ncols=columns,
        loc="lower left",
        bbox_to_anchor=(0, 1.0),
        borderaxespad=0.2,
        handlelength=2.6,
    )


def _passes(stage: Mapping[str, Any]) -> list[tuple[int, float]]:
    found = [
        (int(key[5:]), value) for key, value in stage.items() if re.fullmatch(r"pass@\d+", key)
    ]
    return sorted((k, float(value)) for k, value in found if value is not None)


def plain(name: object) -> str:
    """Return a label that fits: control characters would break the SVG, long names the layout."""
    text = "".join(c if c.isprintable() else " " for c in str(name))
    return text if len(text) <= 28 else text[:27] + "…"
