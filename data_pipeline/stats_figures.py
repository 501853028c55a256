"""Figures of a corpus as SVG: bars of counts, and a map of its questions."""

from collections.abc import Mapping, Sequence
from html import escape

COLOURS = ("#1b6ca8", "#c8553d", "#3f8f5b", "#8a5aa8", "#b08a1e", "#5f7f8f", "#333333", "#c06c9a")
WIDTH, ROW, LEFT, RIGHT = 720, 22, 300, 120


def bars(title: str, counts: Mapping[str, int]) -> str:
    """A bar for each count, with its number and its share."""
    total, most = sum(counts.values()) or 1, max(counts.values(), default=1)
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
        f'<circle cx="{_scaled(x, xs, 20, 560)}" cy="{_scaled(y, ys, 40, 500)}" r="2.5" '
        f'fill="{colour[group]}" fill-opacity="0.6"/>'
        for (x, y), group in zip(points, groups, strict=True)
    ]
    body += [
        f'<circle cx="590" cy="{50 + 20 * k}" r="5" fill="{colour[name]}"/>'
        f'<text x="602" y="{54 + 20 * k}">{escape(name)}</text>'
        for k, name in enumerate(names)
    ]
    return _svg(title, 520, body)


def _scaled(value: float, values: Sequence[float], low: float, high: float) -> str:
    least, most = min(values), max(values)
    return f"{low + (high - low) * (value - least) / ((most - least) or 1.0):.1f}"


def _short(name: str) -> str:
    return name if len(name) <= 44 else f"...{name[-41:]}"


def _svg(title: str, height: int, body: Sequence[str]) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" '
        f'font-family="sans-serif" font-size="12"><title>{escape(title)}</title>'
        f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>'
        f'<text x="20" y="22" font-size="15">{escape(title)}</text>{"".join(body)}</svg>\n'
    )
