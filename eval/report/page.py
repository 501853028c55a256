"""The report as one self-contained HTML page: no network, readable without colour or script."""

import json
from collections.abc import Iterator, Mapping, Sequence
from string import Template
from typing import Any

from eval.markup import Markup, element, escape, fragment
from eval.report.assets import (
    FOLDER,
    data_elements,
    explorer,
    policy,
    script_elements,
    scripts,
    styles,
)
from eval.report.published_page import published_markup
from eval.tables import as_markup, brackets, conduct_table, group_table, number, score_table
from eval.viewer.book import Book
from eval.viewer.pages import Walk, walk_markup

Report = Mapping[str, Any]

GLOSSARY = {
    "EM": "the set of answers given equals the gold set (aliases count as their entity)",
    "F1": "harmonic mean of set precision and set recall, averaged over questions",
    "Hits@1": "the first answer given is a gold answer",
    "Pass@k": "chance that at least one of k sampled episodes has EM 1 (unbiased estimate)",
    "Retrieval (all)": "every gold answer stood in an observation as an entity",
    "Recovery given error": "share with EM 1 among the episodes that made an erroneous query; "
    "(all): an erroneous query and EM 1, over all questions",
    "Answered, Forced": "gave an answer at all; gave it only when asked to after the last turn",
    "EM gain": "difference to the stage before on the same questions: paired bootstrap interval, "
    "McNemar's exact p",
}


def render_page(
    report: Report, walks: Sequence[Walk], plots: Mapping[str, Markup], book: Book
) -> Iterator[str]:
    """The whole page, piece by piece. Every name and every word of a model is escaped or packed."""
    texts = scripts()
    frame = Template((FOLDER / "page.html").read_text(encoding="utf-8")).substitute(
        policy=policy(texts),
        title=escape(report["title"]),
        css=styles(),
        body=_body(report, walks, plots),
    )
    before, _, after = frame.rpartition("<!-- data -->\n")
    yield before
    yield from data_elements(book.parts())
    yield from script_elements(texts)
    yield after


def _body(report: Report, walks: Sequence[Walk], plots: Mapping[str, Markup]) -> Markup:
    stages = report["stages"]
    return fragment(
        _head(report),
        _section(
            "Stage by stage",
            _plot(plots, "stages"),
            as_markup(score_table(stages)),
            as_markup(conduct_table(stages)),
        ),
        _section("Where it is right", _plot(plots, "structures"), *_groups(stages)),
        _section("Pass@k", _plot(plots, "pass")) if "pass" in plots else None,
        _section("Training", _plot(plots, "training")) if "training" in plots else None,
        explorer(),
        _walks(walks, stages),
        published_markup(report.get("published", ())),
        _section("What the figures mean", _facts(GLOSSARY), _note(report["intervals"] + ".")),
        _section("How this was made", *_making(report)),
    )


def headline(report: Report) -> str:
    """The result in one sentence."""
    stages = report["stages"]
    last = stages[-1]
    if last.get("em") is None:
        return f"{last['name']} has no scored questions."
    text = (
        f"{last['name']} answers {last['questions']:,} questions with strict EM "
        f"{number(last['em'])} {brackets(last['em_interval'])} and F1 {number(last['f1'])}"
    )
    first = stages[0]
    if len(stages) > 1 and first.get("em") is not None:
        text += f"; {first['name']} began at EM {number(first['em'])}"
    return text + "."


def _head(report: Report) -> Markup:
    return element(
        "header", element("h1", report["title"]), element("p", headline(report), class_="lead")
    )


def _section(title: str, *children: Markup | None) -> Markup:
    return element("section", element("h2", title), children)


def _plot(plots: Mapping[str, Markup], name: str) -> Markup | None:
    return element("figure", plots[name]) if name in plots else None


def _groups(stages: Sequence[Mapping[str, Any]]) -> list[Markup | None]:
    parts: list[Markup | None] = []
    for key, heading in (("by_structure", "structure"), ("by_hops", "hops"), ("by_split", "split")):
        table = group_table(stages, key, "Stage")
        if table and (len(table.head) > 2 or key == "by_structure"):
            parts += [element("h3", f"EM by {heading}"), as_markup(table)]
    return parts


def _walks(walks: Sequence[Walk], stages: Sequence[Mapping[str, Any]]) -> Markup | None:
    if not walks:
        return None
    chosen = (
        f"Walks of {stages[-1]['name']}, chosen for variety by rule, not by hand: recovered, "
        "wrong and right in turn, each time from the structure shown least."
    )
    return _section(
        f"{len(walks)} walks to read",
        _note(chosen),
        fragment(walk_markup(i, walk, is_open=i == 1) for i, walk in enumerate(walks, 1)),
    )


def _making(report: Report) -> list[Markup | None]:
    parts: list[Markup | None] = []
    blocks: dict[str, Mapping[str, Any]] = {
        "Versions": report["versions"],
        "Hardware": report["hardware"],
        "Seconds": {k: f"{v:,.1f}" for k, v in report["seconds"].items()},
    }
    for title, facts in blocks.items():
        if facts:
            parts += [element("h3", title), _facts(facts)]
    config = flat({**report["config"], "seed": report["seed"]})
    title = element("summary", f"Config ({len(config)} settings)")
    return [*parts, element("details", title, _facts(config), class_="config")]


def _facts(facts: Mapping[str, Any]) -> Markup:
    rows = [
        element("tr", element("th", key, scope="row"), element("td", _shown(value)))
        for key, value in facts.items()
    ]
    return element("div", element("table", element("tbody", rows), class_="facts"), class_="scroll")


def _note(text: str) -> Markup:
    return element("p", text, class_="note")


def _shown(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def flat(config: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested settings under dotted keys."""
    pairs: dict[str, Any] = {}
    for key, value in config.items():
        if isinstance(value, Mapping) and value:
            pairs.update(flat(value, f"{prefix}{key}."))
        else:
            pairs[f"{prefix}{key}"] = value
    return pairs
