"""Tables of figures, made once and written as Markdown, HTML or for the terminal."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlencode

from graphwalker.counts import number_of

if TYPE_CHECKING:
    import rich.table

NAMED = 5
"""Missing questions that a note names."""
StageFigures = Mapping[str, Any]
DIGITS = {
    "turns": 2,
    "graph_calls": 2,
    "tool_calls": 2,
    "seconds": 2,
    "tokens": 0,
    "prompt_tokens": 0,
    "completion_tokens": 0,
    "cost": 4,
}
"""Of figures that do not have three."""


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


class TableColumn(NamedTuple):
    """A column: its title, the cell of a row, and the small print under the title."""

    title: str
    cell: Callable[[StageFigures], Cell]
    small: str = ""


def make_table(
    rows: Iterable[StageFigures], columns: Sequence[TableColumn], note: str = ""
) -> FigureTable:
    """Return a table with a line for each row."""
    head = tuple(Cell(column.title, column.small) for column in columns)
    return FigureTable(head, tuple(tuple(c.cell(row) for c in columns) for row in rows), note)


def key_columns(
    rows: Sequence[StageFigures], labels: Mapping[str, str], digits: int | None = None
) -> list[TableColumn]:
    """Columns of figures with their intervals, those that some row has; see `figure`."""
    return [
        TableColumn(label, lambda row, k=key: figure(row, k, digits))
        for key, label in labels.items()
        if any(row.get(key) is not None for row in rows)
    ]


def figure(row: StageFigures, key: str, digits: int | None = None, shade: bool = False) -> Cell:
    """Return one figure with its interval, to `digits` after the point; no interval for -1."""
    value = row.get(key)
    if value is None:
        return Cell("–")
    places = DIGITS.get(key, 3)
    interval = row.get(f"{key}_interval") if digits != -1 else None
    small = [brackets(interval, places if digits is None else digits)]
    if key == "cost" and "cost_total" in row and digits != -1:
        small.append(f"all {row['cost_total']:.4f}")
    shown = float(value) if shade else None
    return Cell(number(value, places), " ".join(filter(None, small)), shown)


def stage_name(row: StageFigures) -> Cell:
    """Return the name of a stage or of a baseline, with how many questions it was scored on."""
    what = "no model, " if row.get("is_baseline") else ""
    return Cell(str(row["name"]), f"{what}{count_of_questions(row)}")


def score_table(stages: Sequence[StageFigures], em: bool = True) -> FigureTable:
    """Return how right each stage is, what it gained over the stage before and has over the best
    baseline, and how many questions its environment lets anyone answer; then the baselines. Without
    `em` for a page that states it above."""
    names = dict.fromkeys(name for stage in stages for name in stage.get("metrics", ()))
    labels = {"f1": "F1", "hits1": "Hits@1"} | {n: n for n in names if n not in ("em", "f1")}
    labels = {"em": "EM", **labels} if em else labels
    rows = [*stages, *baseline_rows(stages)]
    columns = [TableColumn("Stage", stage_name), *key_columns(rows, labels)]
    if len(stages) > 1:
        gain = partial(gain_cell, tell_common=True)
        columns.append(TableColumn("EM gain", lambda row: gain(row.get("gain_over_previous"))))
    if any(stage.get("baselines") for stage in stages):
        columns.append(TableColumn("Over the best baseline", over_baseline))
    if any(map(_has_ceiling, stages)):
        columns.append(TableColumn("Ceiling", ceiling_cell))
    return make_table(rows, columns, "In brackets the 95 % interval.")


def pass_table(stages: Sequence[StageFigures]) -> FigureTable:
    """Return Pass@k of each stage, over the questions that were sampled often enough."""
    columns = _pass_columns(stages)
    rows = [stage for stage in stages if any(c.cell(stage).text != "–" for c in columns)]
    return make_table(rows, [TableColumn("Stage", lambda row: Cell(str(row["name"]))), *columns])


def _pass_columns(stages: Sequence[StageFigures], digits: int | None = None) -> list[TableColumn]:
    """Return the first and the last Pass@k, each with its number of questions: in its title where
    all stages have the same."""
    ks = [int(key[5:]) for stage in stages for key in stage if re.fullmatch(r"pass@\d+", key)]
    columns: list[TableColumn] = []
    for key in [f"pass@{k}" for k in sorted({min(ks), max(ks)})] if ks else ():
        counts = {s[f"{key}_questions"] for s in stages if f"{key}_questions" in s}
        same = f"of {min(counts):,}" if len(counts) == 1 else ""

        def cell(row: StageFigures, key: str = key, alone: bool = len(counts) > 1) -> Cell:
            shown, count = figure(row, key, digits), row.get(f"{key}_questions")
            if not alone or count is None:
                return shown
            return Cell(shown.text, f"{shown.small} n = {count:,}".strip())

        columns.append(TableColumn(f"Pass{key[4:]}", cell, same))
    return columns


def conduct_table(stages: Sequence[StageFigures]) -> FigureTable:
    """Return the table of conduct: retrieval, recovery, how episodes end, and their costs."""
    labels = {
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
    return make_table(stages, [TableColumn("Stage", _with_failures), *key_columns(stages, labels)])


def short_table(stages: Sequence[StageFigures]) -> FigureTable:
    """Return the table that fits a terminal of 80 columns."""
    labels = {
        "f1": "F1",
        "hits1": "Hits@1",
        "retrieval_all": "Retrieval",
        "recovery_given_error": "Recovery",
        "turns": "Turns",
    }
    rules = baseline_rows(stages)
    name = TableColumn("Stage", lambda row: Cell(str(row["name"]), missing_note(row)))
    em = TableColumn("EM", lambda row: figure(row, "em", 2))
    rest = [
        TableColumn(label, lambda row, k=key: figure(row, k, -1)) for key, label in labels.items()
    ]
    rest[1:1] = _pass_columns(stages, -1)[-1:]
    ceilings = {str(s["name"]): ceiling_cell(s) for s in stages if _has_ceiling(s)}
    words = {name: f"{cell.text} ({cell.small})" for name, cell in ceilings.items()}
    notes = [f"no model: {', '.join(str(row['name']) for row in rules)}"] if rules else []
    if len({stage["questions"] for stage in stages}) > 1:
        counts = ", ".join(f"{stage['name']} {stage['questions']:,}" for stage in stages)
        notes.append(f"not all on the same questions: {counts}")
    notes += (
        [f"ceiling: {text}" for text in set(words.values())]
        if len(set(words.values())) == 1
        else [f"ceiling of {name}: {text}" for name, text in words.items()]
    )
    for stage in stages:
        for key in (key for key in stage.get("metrics", ()) if key not in ("em", *labels)):
            cell = figure(stage, key)
            notes.append(f"{stage['name']}: {key} {cell.text} {cell.small}")
    return make_table([*stages, *rules], [name, em, *rest], "; ".join(notes))


def group_tables(stages: Sequence[StageFigures]) -> list[tuple[str, FigureTable]]:
    """Return EM by structure, by hops and by split, each with its heading, stages down and groups
    across; a cell leads to its questions. None where nothing is known."""
    found: list[tuple[str, FigureTable]] = []
    for heading in ("structure", "hops", "split"):
        rows = [stage.get(f"by_{heading}", {}) for stage in stages]
        groups = sorted({group for row in rows for group in row}, key=natural)
        sizes = [max(row.get(g, {}).get("questions", 0) for row in rows) for g in groups]
        head = [Cell(g, number_of(size, "question")) for g, size in zip(groups, sizes, strict=True)]
        body: list[tuple[Cell, ...]] = []
        for place, (stage, row) in enumerate(zip(stages, rows, strict=True)):
            shown = [(g, figure(row.get(g, {}), "em", shade=True)) for g in groups]
            links = [urlencode({"run": place, heading: g}) for g in groups]
            cells = [
                Cell(c.text, c.small, c.share, k) for (_, c), k in zip(shown, links, strict=True)
            ]
            body.append((Cell(str(stage["name"])), *cells))
        if groups:
            found.append((heading, FigureTable((Cell("Stage"), *head), tuple(body))))
    return found


def baseline_rows(stages: Sequence[StageFigures]) -> list[dict[str, Any]]:
    """Return each baseline once; one that differs between stages is named after the stage, too."""
    found: dict[tuple[Any, ...], dict[str, Any]] = {}
    for stage in stages:
        for name, row in (stage.get("baselines") or {}).items():
            key = (name, row["questions"], row.get("em"), row.get("f1"), row.get("hits1"))
            found.setdefault(key, {**row, "name": name, "stage": stage["name"]})
    names = [row["name"] for row in found.values()]
    return [
        {
            **row,
            "is_baseline": True,
            "name": row["name"]
            if names.count(row["name"]) == 1
            else f"{row['name']} ({row['stage']})",
        }
        for row in found.values()
    ]


def best_baseline(stage: StageFigures) -> tuple[str, Mapping[str, Any] | None]:
    """Return the name of the baseline of the highest EM, and the paired difference to it."""
    rows = stage.get("baselines") or {}
    scored = {name: row["em"] for name, row in rows.items() if row.get("em") is not None}
    if not scored:
        return "", None
    best = max(scored, key=lambda name: scored[name])
    return best, rows[best].get("agent_minus")


def over_baseline(stage: StageFigures) -> Cell:
    """Return the paired difference to the best baseline."""
    best, difference = best_baseline(stage)
    cell = gain_cell(difference, tell_common=True)
    return Cell(cell.text, f"{cell.small} {best}".strip())


def ceiling_cell(stage: StageFigures) -> Cell:
    """Return the share of winnable questions, or why it is not known."""
    found = stage.get("ceiling")
    if not found or found["winnable"] is None:
        missing = "" if stage.get("is_baseline") else "not computed"
        return Cell("–", str(stage.get("no_ceiling", missing)))
    gold = number(found["all_answers_by_gold"]) if found["with_query"] else "not computable"
    any_listed = number(found["all_answers_by_any"])
    return Cell(number(found["winnable"]), f"any relation {any_listed}, gold {gold}")


def _has_ceiling(stage: StageFigures) -> bool:
    return bool(stage.get("ceiling") or stage.get("no_ceiling"))


def _with_failures(stage: StageFigures) -> Cell:
    failures = stage.get("failures", 0)
    return Cell(str(stage["name"]), f"{failures:,} failed episodes, not scored" if failures else "")


def count_of_questions(stage: StageFigures) -> str:
    """`480 questions`, `25 of 60 questions (35 missing)`, `60 questions (3 missing, counted 0)`."""
    scored, missing, left = stage["questions"], stage.get("missing", 0), stage.get("set_aside")
    if not missing:
        return number_of(scored, "question") + (f" ({left:,} unresolved set aside)" if left else "")
    if stage.get("missing_count") == "counted 0":
        return f"{number_of(scored, 'question')} ({missing:,} missing, counted 0)"
    return f"{scored:,} of {stage['questions_total']:,} questions ({missing:,} missing)"


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
    loops, cut = int(stage.get("looping_turns", 0)), int(stage.get("cut_turns", 0))
    why = f", {'all' if loops >= cut else f'{loops:,} of them'} in a loop" if loops else ""
    why += ": raise it" if 2 * loops < cut else ""  # most of them were on their way
    remarks = {
        "empty_turns": "were empty: raise max_tokens",
        "cut_turns": f"reached max_tokens before their action{why}",
        "truncated_turns": "stand in a conversation that the server cut: raise its context",
    }
    return "; ".join(
        f"{stage[name]:,} of {stage['all_turns']:,} turns {what}"
        for name, what in remarks.items()
        if stage.get(name)
    )


def gain_cell(gain: Mapping[str, Any] | None, key: str = "em", tell_common: bool = False) -> Cell:
    """Return a paired difference: its size, interval and p; with `tell_common` also of how many
    questions, where one side has others."""
    if not gain or gain.get(key) is None:
        return Cell("–")
    p = p_value(gain["p"]) if key == "em" else ""
    small = f"{brackets(gain[f'{key}_interval'], sign=True)} {p}".strip()
    return Cell(f"{gain[key]:+.3f}", small + (common_questions(gain) if tell_common else ""))


def common_questions(gain: Mapping[str, Any]) -> str:
    """` on 300 common questions` of a difference where one side has others, else `""`."""
    apart = gain.get("only_a") or gain.get("only_b")
    return f" on {gain['questions']:,} common questions" if apart else ""


def number(value: float | None, digits: int = 3) -> str:
    """Return a figure with fixed digits, a dash where there is none."""
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
    """Return a GitHub table; names cannot break out of their cell."""

    def line(cells: Sequence[Cell]) -> str:
        return "| " + " | ".join(markdown_text(f"{c.text} {c.small}".strip()) for c in cells) + " |"

    rule = "| --- |" + " ---: |" * (len(table.head) - 1)
    lines = [line(table.head), rule, *map(line, table.rows)]
    return "\n".join([*lines, "", table.note] if table.note else lines) + "\n"


def as_terminal(table: FigureTable, title: str = "") -> "rich.table.Table":
    """Return a rich table; names are shown as they are, never read as rich's markup."""
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
        title = "\n".join(filter(None, map(_one_line, (cell.text, cell.small))))
        shown.add_column(Text(title), justify=justify, no_wrap=bool(place))
    for row in table.rows:
        shown.add_row(*(Text(_one_line(f"{c.text} {c.small}".strip())) for c in row))
    return shown


def markdown_text(text: str) -> str:
    """Return the text as Markdown shows it word for word, on one line."""
    text = _one_line(text).replace("&", "&amp;").replace("<", "&lt;")
    return re.sub(r"([\\`*_|\[\]~])", r"\\\1", text)


def _one_line(text: str) -> str:
    return "".join(c if c.isprintable() else " " for c in text)


def natural(text: str) -> list[tuple[int, int, str]]:
    """Sort key that reads numbers in a name as numbers: 2-hop before 10-hop before 2I."""
    parts = re.findall(r"\d+|\D+", text)
    key = [(0, int(p), "") if p.isdecimal() else (1, 0, p) for p in parts]
    return [(0 if re.fullmatch(r"\d+(-hop)?", text) else 1, 0, ""), *key]
