"""Figures of a corpus as SVG: bars of counts, and a map of its questions."""

from collections.abc import Mapping, Sequence
from html import escape
from math import log10

COLOURS = ("#1b6ca8", "#c8553d", "#3f8f5b", "#8a5aa8", "#b08a1e", "#5f7f8f", "#333333", "#c06c9a")
WIDTH, ROW, LEFT, RIGHT = 860, 22, 440, 120
LABEL = 58
"""Letters of a label."""


def bars(title: str, counts: Mapping[str, int], total: int) -> str:
    """A bar for each count, with its number and its share of the total."""
    most, total = max(counts.values(), default=1), total or 1
    body: list[str] = []
    for number, (name, count) in enumerate(counts.items()):
        y, width = 40 + number * ROW, (WIDTH - LEFT - RIGHT) * count / most
        body.append(
            f'<text x="{LEFT - 8}" y="{y + 13}" text-anchor="end">{escape(_short(name))}</text>'
            f'<rect x="{LEFT}" y="{y}" width="{width:.1f}" height="{ROW - 6}" fill="#1b6ca8"/>'
            f'<text x="{LEFT + width + 6:.1f}" y="{y + 13}">{count:,} ({count / total:.1%})</text>'
        )
    return _svg(title, 50 + len(counts) * ROW, body)


def scatter(title: str, points: Sequence[tuple[float, float]], groups: Sequence[str]) -> str:
    """One dot a question, coloured by its group; axes have no unit."""
    names = list(dict.fromkeys(groups))
    colour = {name: COLOURS[k % len(COLOURS)] for k, name in enumerate(names)}
    xs, ys = [x for x, _ in points], [y for _, y in points]
    body = [
        f'<circle cx="{_scale(x, xs, 20, 680)}" cy="{_scale(y, ys, 40, 500)}" r="2.5" '
        f'fill="{colour[group]}" fill-opacity="0.6"/>'
        for (x, y), group in zip(points, groups, strict=True)
    ]
    body += [
        f'<circle cx="710" cy="{50 + 20 * k}" r="5" fill="{colour[name]}"/>'
        f'<text x="722" y="{54 + 20 * k}">{escape(name)}</text>'
        for k, name in enumerate(names)
    ]
    return _svg(title, 520, body)


def curve(title: str, shares: Sequence[float], axis: str) -> str:
    """Shares from 0 to 1 over their number, on a logarithmic axis."""
    most = log10(max(len(shares), 2))
    points = " ".join(
        f"{60 + 740 * log10(k) / most:.1f},{420 - 360 * share:.1f}"
        for k, share in enumerate(shares, start=1)
    )
    body = ['<path d="M60 60V420H800" fill="none" stroke="#333333"/>']
    for tick in (0.0, 0.25, 0.5, 0.75, 1.0):
        y = 420 - 360 * tick
        body.append(f'<text x="52" y="{y + 4}" text-anchor="end">{tick:.0%}</text>')
    for power in range(int(most) + 1):
        x = 60 + 740 * power / most
        body.append(f'<text x="{x:.1f}" y="438" text-anchor="middle">{10**power:,}</text>')
    body += [
        f'<text x="430" y="458" text-anchor="middle">{escape(axis)}</text>',
        f'<polyline fill="none" stroke="{COLOURS[0]}" stroke-width="2" points="{points}"/>',
    ]
    return _svg(title, 470, body)


def _scale(value: float, values: Sequence[float], low: float, high: float) -> str:
    least, most = min(values), max(values)
    return f"{low + (high - low) * (value - least) / ((most - least) or 1.0):.1f}"


def _short(name: str) -> str:
    return name if len(name) <= LABEL else f"...{name[3 - LABEL :]}"


def _svg(title: str, height: int, body: Sequence[str]) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" '
        f'font-family="sans-serif" font-size="12"><title>{escape(title)}</title>'
        f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>'
        f'<text x="20" y="22" font-size="15">{escape(title)}</text>{"".join(body)}</svg>\n'
    )
