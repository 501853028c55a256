"""The report of contamination: the table of the thresholds and the picture of the CDF."""

from collections import Counter
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

COLOURS = ("#333333", "#1b6ca8", "#c8553d", "#3f8f5b", "#8a5aa8", "#b08a1e", "#5f7f8f")
WIDTH, HEIGHT, MARGIN = 640, 400, 56
LEGEND = 150
OVERALL = "all"
"""The curve of the maximum over all test sets."""
POINTS = 200
"""Steps of a curve."""
BINS = 50
"""Steps of a histogram."""
TICKS = (0.0, 0.25, 0.5, 0.75, 1.0)


def markdown(report: Mapping[str, Any]) -> str:
    """The counts and shares in the form of GraphWalker Table 5, then copies and n-grams."""
    names = ["all", *report["against"]]
    total = report["count"]
    lines = [
        f"# Contamination of {_cell(report['questions'])}",
        "",
        f"{total:,} questions against "
        + ", ".join(f"{_cell(n)} ({size:,})" for n, size in report["against"].items())
        + f". Similarity: cosine of `{report['embedding']}`.",
    ]
    if not report["semantic"]:
        lines += [
            "",
            "This embedding is made of words and letters: a paraphrase that shares neither is not "
            "seen, and the shares are not comparable with a sentence model's.",
        ]
    head = " | ".join(map(_cell, names))
    lines += ["", f"| at least | {head} |", f"| --- |{' ---: |' * len(names)}"]
    for level, counts in report["thresholds"].items():
        lines.append(f"| {level} | " + " | ".join(_share(counts[n], total) for n in names) + " |")
    lines += ["", "| found by | " + " | ".join(map(_cell, names[1:])) + " |"]
    lines.append(f"| --- |{' ---: |' * (len(names) - 1)}")
    titles = {
        "exact": "same words",
        "ngram": f"word trigrams {report['jaccard']:g}",
        "letters": f"letter trigrams {report['letters_from']:g}",
        "same_fact": "same fact",
    }
    for row, title in titles.items():
        cells = " | ".join(_share(report[row][name], total) for name in names[1:])
        lines.append(f"| {title} | {cells} |")
    lines += [
        "",
        f"{report['flagged']:,} questions are set aside from clean.jsonl (similarity from "
        f"{report['threshold']:g}, the same words, trigrams, or the same "
        "fact); flagged.jsonl names them.",
        "",
    ]
    return "\n".join(lines)


def picture(curves: Mapping[str, Sequence[float]], levels: Sequence[float]) -> str:
    """The share of questions whose nearest test question is at most so similar (Figure 7a)."""
    points = {name: _points(values) for name, values in curves.items() if name != OVERALL}
    if OVERALL in curves:
        points[OVERALL] = _points(curves[OVERALL])
    ticks = {tick: f"{tick:.0%}" for tick in TICKS}
    return _draw("CDF of the maximum similarity", points, levels, ticks)


def histogram(curves: Mapping[str, Sequence[float]], levels: Sequence[float]) -> str:
    """The share of questions in each of 50 steps of similarity, for each test set (Figure 7b)."""
    shares = {name: _steps(values) for name, values in curves.items()}
    most = max((max(values) for values in shares.values()), default=0.0) or 1.0
    points = {
        name: " ".join(
            f"{_x((step + 0.5) / BINS)},{_y(share / most)}" for step, share in enumerate(values)
        )
        for name, values in shares.items()
    }
    ticks = {tick: f"{tick * most:.1%}" for tick in TICKS}
    return _draw("Similarity to the nearest question of each test set", points, levels, ticks)


def _steps(values: Sequence[float]) -> list[float]:
    counts = Counter(min(int(max(value, 0.0) * BINS), BINS - 1) for value in values)
    return [counts[step] / (len(values) or 1) for step in range(BINS)]


def _draw(
    title: str, points: Mapping[str, str], levels: Sequence[float], ticks: Mapping[float, str]
) -> str:
    body = [_axis(levels, ticks)]
    for number, (name, line) in enumerate(points.items()):
        colour = COLOURS[0] if name == OVERALL else COLOURS[1 + number % (len(COLOURS) - 1)]
        y = MARGIN + 6 + 18 * number
        body.append(
            f'<polyline fill="none" stroke="{colour}" stroke-width="2" points="{line}"/>'
            f'<text x="{WIDTH - MARGIN + 14}" y="{y}" fill="{colour}">{escape(name[:28])}</text>'
        )
    width = WIDTH + LEGEND
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {HEIGHT}" role="img" '
        f'font-family="sans-serif" font-size="12"><title>{title}</title>'
        f'<rect width="{width}" height="{HEIGHT}" fill="#ffffff"/>{"".join(body)}</svg>\n'
    )


def _points(values: Sequence[float]) -> str:
    ordered = sorted(values)
    places: list[str] = []
    count = 0
    for step in range(POINTS + 1):
        level = step / POINTS
        while count < len(ordered) and ordered[count] <= level:
            count += 1
        places.append(f"{_x(level):.1f},{_y(count / len(ordered)):.1f}")
    return " ".join(places)


def _axis(levels: Sequence[float], ticks: Mapping[float, str]) -> str:
    parts = [
        f'<path d="M{_x(0)} {_y(1)}V{_y(0)}H{_x(1)}" fill="none" stroke="#333333"/>',
        f'<text x="{WIDTH / 2}" y="{HEIGHT - 12}" text-anchor="middle" fill="#333333">'
        "cosine similarity to the nearest test question</text>",
    ]
    for tick, label in ticks.items():
        parts.append(
            f'<text x="{_x(tick)}" y="{_y(0) + 18}" text-anchor="middle" fill="#333333">'
            f"{tick:g}</text>"
            f'<text x="{MARGIN - 8}" y="{_y(tick) + 4}" text-anchor="end" fill="#333333">'
            f"{label}</text>"
        )
    for level in levels:
        parts.append(
            f'<path d="M{_x(level)} {_y(1)}V{_y(0)}" stroke="#999999" stroke-dasharray="3 3"/>'
            f'<text x="{_x(level)}" y="{_y(1) - 6}" text-anchor="middle" fill="#666666" '
            f'font-size="10">{level:g}</text>'
        )
    return "".join(parts)


def _x(value: float) -> float:
    return round(MARGIN + value * (WIDTH - 2 * MARGIN), 1)


def _y(share: float) -> float:
    return round(HEIGHT - MARGIN - share * (HEIGHT - 2 * MARGIN), 1)


def _share(count: int, total: int) -> str:
    return f"{count / total:.2%} ({count:,})" if total else "0"


def _cell(text: str) -> str:
    return escape(str(text)).replace("|", "\\|")
