"""Tables of figures, made once and written as Markdown, HTML or for the terminal."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from eval.analysis.summary import natural

if TYPE_CHECKING:
    import rich.table

NAMED = 5
"""Missing questions that a note names."""
StageFigures = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Cell:
    """A figure with its small print; `share` (0 to 1) shades it in a heatmap, `link` is the part of
    the page that it leads to."""

    text: str
    small: str = ""
    share: float | None = None
    link: str = ""


@dataclass(frozen=True, slots=True)
class FigureTable:
    """Rows under a head; the first cell of a row names it."""

    head: tuple[Cell, ...]
    rows: tuple[tuple[Cell, ...], ...]
    note: str = ""


def score_table(stages: Sequence[StageFigures]) -> FigureTable:
    """How right each stage is, what it gained over the stage before and has over the best baseline,
    and how many questions its environment lets anyone answer; then the baselines."""
    columns = {"f1": "F1", "hits1": "Hits@1"} | _named_metrics(stages)
    more = {
        title: cell
        for title, (shown, cell) in {
            "Over the best baseline": (any(map(_baselines, stages)), over_baseline),
            "Ceiling": (any(map(_has_ceiling, stages)), ceiling_cell),
        }.items()
        if shown
    }
    rows: list[tuple[Cell, ...]] = [
        (
            Cell(str(stage["name"]), count_of_questions(stage)),
            figure(stage, "em"),
            *(figure(stage, key) for key in columns),
            gain_cell(stage.get("gain_over_previous")),
            *(cell(stage) for cell in more.values()),
        )
        for stage in stages
    ]
    for name, row in baseline_rows(stages):
        title = Cell(name, f"no model, {row['questions']:,} questions")
        none = [Cell("–") for _ in range(1 + len(more))]
        rows.append((title, figure(row, "em"), *(figure(row, key) for key in columns), *none))
    head = ("Stage", "EM", *columns.values(), "EM gain", *more)
    if len(stages) == 1:  # nothing came before it
        place = head.index("EM gain")
        head, rows = head[:place] + head[place + 1 :], [r[:place] + r[place + 1 :] for r in rows]
    return FigureTable(tuple(map(Cell, head)), tuple(rows), "In brackets the 95 % interval.")


def _named_metrics(stages: Sequence[StageFigures]) -> dict[str, str]:
    """Metrics that were asked for besides those of every table."""
    names = dict.fromkeys(name for stage in stages for name in stage.get("metrics", ()))
    return {name: name for name in names if name not in ("em", "f1", "hits1")}


def pass_table(stages: Sequence[StageFigures]) -> FigureTable:
    """Pass@k of each stage, over the questions that were sampled often enough."""
    columns = _pass_columns(stages)
    rows = [
        (Cell(str(stage["name"])), *(figure(stage, key) for key in columns))
        for stage in stages
        if any(key in stage for key in columns)
    ]
    return FigureTable((Cell("Stage"), *map(Cell, columns.values())), tuple(rows))


def baseline_rows(stages: Sequence[StageFigures]) -> list[tuple[str, StageFigures]]:
    """Each baseline once; one that differs between stages is named after the stage, too."""
    found: dict[tuple[Any, ...], tuple[str, str, StageFigures]] = {}
    for stage in stages:
        for name, row in _baselines(stage).items():
            key = (name, row["questions"], row.get("em"), row.get("f1"), row.get("hits1"))
            found.setdefault(key, (name, str(stage["name"]), row))
    names = [name for name, _, _ in found.values()]
    return [
        (name if names.count(name) == 1 else f"{name} ({stage})", row)
        for name, stage, row in found.values()
    ]


def over_baseline(stage: StageFigures) -> Cell:
    """The paired difference to the best baseline."""
    rows = _baselines(stage)
    scored = {name: row["em"] for name, row in rows.items() if row.get("em") is not None}
    if not scored:
        return Cell("–")
    best = max(scored, key=lambda name: scored[name])
    cell = gain_cell(rows[best].get("agent_minus"))
    return Cell(cell.text, f"{cell.small} {best}".strip())


def ceiling_cell(stage: StageFigures) -> Cell:
    """The share of winnable questions, or why it is not known."""
    found = stage.get("ceiling")
    if not found or found["winnable"] is None:
        return Cell("–", str(stage.get("no_ceiling", "not computed")))
    gold = number(found["all_answers_by_gold"]) if found["with_query"] else "not computable"
    any_listed = number(found["all_answers_by_any"])
    return Cell(number(found["winnable"]), f"any relation {any_listed}, gold {gold}")


def _baselines(stage: StageFigures) -> Mapping[str, StageFigures]:
    return stage.get("baselines") or {}


def _has_ceiling(stage: StageFigures) -> bool:
    return bool(stage.get("ceiling") or stage.get("no_ceiling"))


def conduct_table(stages: Sequence[StageFigures]) -> FigureTable:
    """Return the table of conduct: retrieval, recovery, how episodes end, and their costs."""
    columns = {
        "retrieval_any": "Retrieval (any)",
        "retrieval_all": "Retrieval (all)",
        "recovery_all": "Recovery (all)",
        "recovery_given_error": "Recovery given error",
        "answered": "Answered",
        "forced": "Forced",
        "turns": "Turns",
        "graph_calls": "Graph calls",
        "tokens": "Tokens",
    }
    shown = {key: label for key, label in columns.items() if any(key in s for s in stages)}
    rows = [
        (Cell(str(stage["name"]), _failures_note(stage)), *(figure(stage, key) for key in shown))
        for stage in stages
    ]
    return FigureTable((Cell("Stage"), *map(Cell, shown.values())), tuple(rows))


def short_table(stages: Sequence[StageFigures]) -> FigureTable:
    """The table that fits a terminal of 80 columns."""
    columns = {
        "f1": "F1",
        **dict(list(_pass_columns(stages).items())[-1:]),
        "hits1": "Hits@1",
        "retrieval_all": "Retrieval",
        "recovery_given_error": "Recovery",
        "turns": "Turns",
    }
    rows: list[tuple[Cell, ...]] = [
        (
            Cell(str(stage["name"]), missing_note(stage)),
            Cell(number(stage.get("em")), brackets(stage.get("em_interval"), 2)),
            *(Cell(figure(stage, key).text) for key in columns),
        )
        for stage in stages
    ]
    for name, row in baseline_rows(stages):
        em = Cell(number(row.get("em")), brackets(row.get("em_interval"), 2))
        rows.append((Cell(name), em, *(Cell(figure(row, k).text) for k in columns)))
    head = (Cell("Stage"), Cell("EM"), *map(Cell, columns.values()))
    rules = ", ".join(name for name, _ in baseline_rows(stages))
    without = [f"no model: {rules}"] if rules else []
    more = [
        f"{stage['name']}: {name} {number(stage[name])} {brackets(stage[f'{name}_interval'])}"
        for stage in stages
        for name in _named_metrics([stage])
    ]
    notes = (_pass_note(stages, columns), *without, *_ceiling_notes(stages), *more)
    return FigureTable(head, tuple(rows), "; ".join(filter(None, notes)))


def _ceiling_notes(stages: Sequence[StageFigures]) -> list[str]:
    """The ceiling in words, per stage where they differ."""
    cells = {str(stage["name"]): ceiling_cell(stage) for stage in stages if _has_ceiling(stage)}
    words = {name: f"{cell.text} ({cell.small})" for name, cell in cells.items()}
    if len(set(words.values())) == 1:
        return [f"ceiling: {next(iter(words.values()))}"]
    return [f"ceiling of {name}: {text}" for name, text in words.items()]


def group_tables(stages: Sequence[StageFigures]) -> list[tuple[str, FigureTable]]:
    """EM by structure, by hops and by split, each with its heading; none where nothing is known."""
    found: list[tuple[str, FigureTable]] = []
    for heading in ("structure", "hops", "split"):
        rows = [stage.get(f"by_{heading}", {}) for stage in stages]
        groups = sorted({group for row in rows for group in row}, key=natural)
        if groups:
            found.append((heading, _group_table(heading, stages, rows, groups)))
    return found


def _group_table(
    heading: str,
    stages: Sequence[StageFigures],
    rows: Sequence[Mapping[str, Any]],
    groups: Sequence[str],
) -> FigureTable:
    """Stages down, groups across; a cell leads to its questions."""
    sizes = [max(row.get(g, {}).get("questions", 0) for row in rows) for g in groups]
    head = [Cell(g, f"{size:,} questions") for g, size in zip(groups, sizes, strict=True)]
    body = [
        (
            Cell(str(stage["name"])),
            *(
                replace(
                    figure(row.get(g, {}), "em", shade=True),
                    link=urlencode({"run": place, heading: g}),
                )
                for g in groups
            ),
        )
        for place, (stage, row) in enumerate(zip(stages, rows, strict=True))
    ]
    return FigureTable((Cell("Stage"), *head), tuple(body))


def figure(row: Mapping[str, Any], key: str, shade: bool = False) -> Cell:
    """One figure with its interval."""
    value = row.get(key)
    if value is None:
        return Cell("–", "")
    digits = {"turns": 2, "graph_calls": 2, "tokens": 0}.get(key, 3)
    small = (brackets(row.get(f"{key}_interval"), digits), of_questions(row, key))
    return Cell(
        number(value, digits),
        " ".join(filter(None, small)),
        float(value) if shade else None,
    )


def of_questions(row: Mapping[str, Any], key: str) -> str:
    """Say over how many questions a Pass@k is, often fewer than were scored: `n = 40`."""
    count = row.get(f"{key}_questions")
    return "" if count is None else f"n = {count:,}"


def count_of_questions(stage: StageFigures) -> str:
    """`480 questions`, `25 of 60 questions (35 missing)`, `60 questions (3 missing, counted 0)`."""
    scored, missing = stage["questions"], stage.get("missing", 0)
    if not missing:
        return f"{scored:,} questions"
    if stage.get("missing_count") == "counted 0":
        return f"{scored:,} questions ({missing:,} missing, counted 0)"
    return f"{scored:,} of {stage['questions_total']:,} questions ({missing:,} missing)"


def _pass_note(stages: Sequence[StageFigures], columns: Mapping[str, str]) -> str:
    """`Pass@8: n = 40 questions`, per stage where they differ."""
    notes: list[str] = []
    for key in (key for key in columns if key.startswith("pass@")):
        counts = {str(s["name"]): s[f"{key}_questions"] for s in stages if f"{key}_questions" in s}
        if len(set(counts.values())) == 1:
            notes.append(f"{columns[key]}: n = {next(iter(counts.values())):,} questions")
        else:
            each = ", ".join(f"{count:,} ({name})" for name, count in counts.items())
            notes.append(f"{columns[key]}: n = {each}")
    return "; ".join(notes)


def missing_note(stage: StageFigures) -> str:
    """`35 of 60 questions missing`, with the sampled episodes that are; `""` for a whole run."""
    parts: list[str] = []
    if lost := stage.get("missing", 0):
        counted = f" ({stage['missing_count']})" if "missing_count" in stage else ""
        parts.append(f"{lost:,} of {stage['questions_total']:,} questions missing{counted}")
    if lost := stage.get("missing_samples", 0):
        parts.append(f"{lost:,} sampled episodes missing")
    return ", ".join(parts)


def missing_named(stage: StageFigures) -> str:
    """`missing_note`, with the ids of missing questions where they are known."""
    if stage.get("complaint"):
        return str(stage["complaint"])
    note, ids = missing_note(stage), list(stage.get("missing_ids", ()))
    some = f" ({', '.join(ids[:NAMED])}{', ...' if len(ids) > NAMED else ''})"
    return f"{note}{some}" if note and ids else note


def empty_note(stage: StageFigures) -> str:
    """`7 of 300 turns were empty: raise max_tokens`; `""` where none was."""
    remarks = {
        "empty_turns": "were empty: raise max_tokens",
        "cut_turns": "reached max_tokens before their action: raise it",
        "truncated_turns": "stand in a conversation that the server cut: raise its context",
    }
    return "; ".join(
        f"{stage[name]:,} of {stage['all_turns']:,} turns {what}"
        for name, what in remarks.items()
        if stage.get(name)
    )


def gain_cell(gain: Mapping[str, Any] | None) -> Cell:
    """A paired difference: its size, interval and p."""
    if not gain or gain.get("em") is None:
        return Cell("–")
    text = f"{gain['em']:+.3f}"
    return Cell(text, f"{brackets(gain['em_interval'], sign=True)} {p_value(gain['p'])}")


def number(value: float | None, digits: int = 3) -> str:
    """A figure with fixed digits, a dash where there is none."""
    return "–" if value is None else f"{value:.{digits}f}"


def brackets(interval: Sequence[float] | None, digits: int = 3, sign: bool = False) -> str:
    """`[low, high]`."""
    if not interval:
        return ""
    form = f"{'+' if sign else ''}.{digits}f"
    return f"[{interval[0]:{form}}, {interval[1]:{form}}]"


def p_value(p: float) -> str:
    """`p = 0.012`, or `p < 0.001`."""
    return "p < 0.001" if p < 0.001 else f"p = {p:.3f}"


def as_markdown(table: FigureTable) -> str:
    """A GitHub table; names cannot break out of their cell."""

    def line(cells: Sequence[Cell]) -> str:
        return "| " + " | ".join(markdown_text(f"{c.text} {c.small}".strip()) for c in cells) + " |"

    rule = "| --- |" + " ---: |" * (len(table.head) - 1)
    lines = [line(table.head), rule, *map(line, table.rows)]
    return "\n".join([*lines, "", table.note] if table.note else lines) + "\n"


def as_terminal(table: FigureTable, title: str = "") -> "rich.table.Table":
    """A rich table; names are shown as they are, never read as rich's markup."""
    from rich import box
    from rich.table import Table as RichTable
    from rich.text import Text

    named = Text(_one_line(title), style="bold") if title else None
    shown = RichTable(
        title=named, title_justify="left", box=box.SIMPLE_HEAD, show_edge=False, padding=(0, 0)
    )
    if table.note:
        shown.caption, shown.caption_justify = Text(_one_line(table.note)), "left"
    for place, cell in enumerate(table.head):
        justify = "right" if place else "left"
        shown.add_column(Text(_one_line(cell.text)), justify=justify, no_wrap=bool(place))
    for row in table.rows:
        shown.add_row(*(Text(_one_line(f"{c.text} {c.small}".strip())) for c in row))
    return shown


def _pass_columns(stages: Sequence[StageFigures]) -> dict[str, str]:
    ks = [int(key[5:]) for stage in stages for key in stage if re.fullmatch(r"pass@\d+", key)]
    return {f"pass@{k}": f"Pass@{k}" for k in sorted({min(ks), max(ks)})} if ks else {}


def _failures_note(stage: StageFigures) -> str:
    failures = stage.get("failures", 0)
    return f"{failures:,} failed episodes, not scored" if failures else ""


def markdown_text(text: str) -> str:
    """The text as Markdown shows it word for word, on one line."""
    text = _one_line(text).replace("&", "&amp;").replace("<", "&lt;")
    return re.sub(r"([\\`*_|\[\]~])", r"\\\1", text)


def _one_line(text: str) -> str:
    return "".join(c if c.isprintable() else " " for c in text)
