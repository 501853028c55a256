"""Phrases of constraints: predicates such as `was released after 1990`, by hand or from the id, and
`is a country` of a type."""

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

from data_pipeline.wording.english import article
from data_pipeline.wording.ids import label_of
from data_pipeline.wording.type_nouns import nouns_of_type
from graphwalker.query.constraint import Constraint, ValueKind
from graphwalker.query.draft import fill_bound

Forms = dict[str, tuple[str, ...]]
"""By the comparison (`above`, `later`, `highest`, ...): forms with `{b}` for the bound."""

_OF_A_VERB = {
    **{"above": "{v} after {b}", "below": "{v} before {b}", "in": "{v} in {b}"},
    **{"highest": "{v} last", "lowest": "{v} first"},
    **{"later": "{v} later than {b}", "earlier": "{v} earlier than {b}"},
}
_OF_A_LABEL: dict[ValueKind, dict[str, str]] = {
    "date": {
        **{"above": "has {a} {l} after {b}", "below": "has {a} {l} before {b}"},
        **{"in": "has {a} {l} in {b}", "highest": "has the latest {l}"},
        **{"lowest": "has the earliest {l}", "later": "has a later {l} than {b}"},
        "earlier": "has an earlier {l} than {b}",
    },
    "number": {
        **{"above": "has {a} {l} above {b}", "below": "has {a} {l} below {b}"},
        **{"in": "has {a} {l} of {b}", "highest": "has the highest {l}"},
        **{"lowest": "has the lowest {l}", "later": "has a higher {l} than {b}"},
        "earlier": "has a lower {l} than {b}",
    },
}


def forms_of(constraint: Constraint) -> tuple[str, ...]:
    """Every wording of the constraint, `{b}` for its bound; never empty."""
    if constraint.kind == "type":
        noun = next(iter(nouns_of_type(constraint.bound)), constraint.bound)
        return (f"is {article(noun)} {noun}",)
    return forms(constraint.relation, constraint.kind)[_case(constraint)]


def plain(constraint: Constraint) -> str:
    """The constraint in the plainest words: `came out after 1990`."""
    return fill_bound(forms_of(constraint)[0], constraint)


@cache
def forms(relation: str, kind: ValueKind) -> Forms:
    """By hand where the table has the relation, else made from its id."""
    return hand_written().get(relation) or _generated(relation, kind)


@cache
def hand_written() -> dict[str, Forms]:
    """The packaged table `constraints.toml`."""
    text = files("data_pipeline.wording").joinpath("constraints.toml").read_text(encoding="utf-8")
    return {row["id"]: _row(row) for row in tomllib.loads(text)["relation"]}


def _row(row: Mapping[str, Any]) -> Forms:
    found: Forms = {}
    for case, form in _OF_A_VERB.items():
        own = tuple(row.get(case, ()))
        # "was first published first" would stammer: what is written out stands for it.
        verbs = () if own and "first" in str(row.get("verb", "")) else row.get("verb", ())
        found[case] = (*(form.replace("{v}", verb) for verb in verbs), *own)
    return found


def _generated(relation: str, kind: ValueKind) -> Forms:
    label = label_of(relation)
    if kind == "date" and label.split()[-1].endswith(("ed", "born")):  # `released`, `founded`
        return {case: (form.replace("{v}", f"was {label}"),) for case, form in _OF_A_VERB.items()}
    return {
        case: (form.replace("{a}", article(label)).replace("{l}", label),)
        for case, form in _OF_A_LABEL[kind].items()
    }


def _case(constraint: Constraint) -> str:
    if constraint.than is None:
        return constraint.operator
    return "later" if constraint.operator == "above" else "earlier"
