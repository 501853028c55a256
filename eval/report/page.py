"""The report as one self-contained HTML page: no network, readable without colour or script."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

from markupsafe import Markup

from eval.report.archive import WalkArchive
from eval.report.assets import scripts, templates
from eval.report.desk import headline, kind_rows, main_stage, ran_rows, score_rows
from eval.report.published import sections
from eval.tables import conduct_table, group_tables, pass_table, score_table
from graphwalker.trajectory import Trajectory
from graphwalker.viewer.record import outcome

Report = Mapping[str, Any]

GLOSSARY = {
    "EM": "the set of answers given equals the gold set (aliases count as their entity)",
    "F1": "harmonic mean of set precision and set recall, averaged over questions",
    "Hits@1": "the first answer given is a gold answer",
    "Pass@k": "chance that at least one of k sampled episodes has EM 1 (unbiased estimate)",
    "Retrieval (all)": "every gold answer stood in an observation as an entity",
    "Recovery given error": "share with EM 1 among the episodes that made an erroneous query; "
    "(all): an erroneous query and EM 1, over all questions",
    "Answered, Forced": "gave an answer at all; gave it only when it had to, after the last turn",
    "No model": "a baseline: takes one listed relation by a fixed rule, answers with all it shows",
    "Over the best baseline": "paired difference to the baseline of the highest EM, on the same "
    "questions",
    "Ceiling": "share of the questions whose gold answers this environment can show at all, by one "
    "walk; in small print the share where some listed relation, and where the gold ones, end at "
    "exactly the gold set",
    "EM gain": "difference to the stage before on the same questions: Tango's paired interval, "
    "McNemar's exact p",
}


PLOTTED = {"pass": "Pass@k", "training": "Training"}


def render_page(
    report: Report, walks: Sequence[Trajectory], plots: Mapping[str, Markup], archive: WalkArchive
) -> Iterator[str]:
    """Return the whole page, piece by piece. Every name and every word of a model is escaped or
    packed. `walks` are those to read first."""
    pages = templates()
    pages.filters |= {"plain": _plain}
    stages = report["stages"]
    seconds = {name: f"{value:,.1f}" for name, value in report["seconds"].items()}
    main = main_stage(stages)
    links = [
        {
            "outcome": outcome(walk),
            "text": walk.question.text,
            "link": urlencode({"q": archive.name_of(walk), "run": main}),
        }
        for walk in walks
    ]
    return pages.get_template("page.html").generate(
        title=report["title"],
        report=report,
        headline=headline(report),
        ran=ran_rows(report),
        scores_scale=score_rows(stages),
        main=stages[main]["name"],
        kinds=kind_rows(stages[main].get("error_kinds", {}), main),
        scores=score_table(stages, em=False),
        passes=pass_table(stages),
        conduct=conduct_table(stages),
        groups=group_tables(stages),
        plots=plots,
        drawn=[(name, title) for name, title in PLOTTED.items() if name in plots],
        walks=links,
        learned=_learned(report.get("learned"), main),
        published=sections(report.get("published", ())),
        glossary=GLOSSARY,
        making=[
            ("Versions", report["versions"]),
            ("Hardware", report["hardware"]),
            ("Seconds", seconds),
        ],
        config=flat({**report["config"], "seed": report["seed"]}),
        data=archive.parts(),
        scripts=scripts(),
    )


def _learned(learned: Mapping[str, str] | None, main: int) -> Mapping[str, str] | None:
    """Return the question that stages after the first one taught, with its link, if known."""
    if not learned:
        return learned
    return {**learned, "link": urlencode({"q": learned["id"], "run": main})}


def _plain(value: Any) -> str:
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
