"""The registry: every form that can be read, and which of them a file is in."""

from typing import Annotated

from graphwalker.datasets.catalogue import CATALOGUE, dataset
from graphwalker.datasets.files import Contents
from graphwalker.datasets.loaders.freebase import cwq, grailqa, released, simplequestions, webqsp
from graphwalker.datasets.loaders.other import (
    grbench,
    kqapro,
    metaqa,
    ours,
    own_graphs,
    own_questions,
    pathquestion,
    yes_no,
)
from graphwalker.datasets.loaders.wikidata import lcquad, mintaka, qald
from graphwalker.datasets.records import Published, keys
from graphwalker.errors import UserError
from graphwalker.settings.named import is_own, own
from graphwalker.trust import RUNS, ByHand

RecordForm = type[Published]
QuestionsFormat = Annotated[str, ByHand(RUNS, lambda name: not is_own(str(name)))]
"""A config field: a dataset's name, `auto`, or `module:NAME` of the user's own form."""
FORMS: tuple[RecordForm, ...] = (
    ours.Ours,
    ours.OurTrajectory,
    webqsp.WebQsp,
    cwq.Cwq,
    cwq.CwqLinked,
    grailqa.GrailQa,
    grailqa.GrailQaLinked,
    simplequestions.SimpleQuestionsLine,
    simplequestions.SimpleQuestionsLinked,
    qald.Qald,
    qald.QaldLinked,
    lcquad.LcQuad,
    mintaka.Mintaka,
    kqapro.KqaPro,
    metaqa.MetaQaLine,
    metaqa.MetaQa,
    pathquestion.PathQuestionLine,
    yes_no.CoLoTa,
    yes_no.StrategyQa,
    grbench.GrBench,
    released.GraphWalkerBench,
    released.Released,
    *own_graphs.OWN_GRAPHS,
)

LAST = own_questions.OwnQuestion
"""The form of a file that fits no other one."""


def recognise(contents: Contents, name: str = "auto") -> tuple[RecordForm, str]:
    """Return the form of a file and the dataset it belongs to, by its first records.

    `name` is a dataset's name, `module:NAME` for a form of the user's own, or `auto`. A file of a
    named dataset that fits none of its forms is read in the nearest one, so that the missing field
    is named. Raises `UserError` when a file fits no form, or several.
    """
    if not contents.head:
        raise UserError(f"{contents.path}: holds no questions, only a header")
    if name != "auto":
        return _match_form(contents, name)
    fits = [form for form in FORMS if form.misses(contents) == []]
    found = [(form, which) for form in fits for which in _datasets(form, contents)]
    if not fits and LAST.fits(contents):
        return LAST, LAST.datasets[0]
    if not fits:
        raise UserError(
            f"{contents.path}: record 1 fits no known format{_nearest(contents)}{_as_own(contents)}"
            "; `graphwalker dataset list` names them, or write your own as a table (.csv, .tsv) or "
            "as JSON with no fields but question, answer, topic, id and relation_path"
        )
    if len(found) > 1:
        names = ", ".join(sorted({which for _, which in found}))
        option = f"--format {found[0][1]} (questions_format={found[0][1]})"
        raise UserError(
            f"{contents.path}: record 1 fits several formats ({names}): say which, with {option}"
        )
    return found[0]


def _match_form(contents: Contents, name: str) -> tuple[RecordForm, str]:
    forms, name = _forms(name)
    misses = {form: form.misses(contents) for form in forms}
    found = [(form, missing) for form, missing in misses.items() if missing is not None]
    if not found:
        kind = "JSON" if contents.json else "lines of text"
        raise UserError(
            f"{contents.path}: record 1 is not of {dataset(name).title}: the file holds {kind} "
            f"that no form of it has{_fields(contents)}"
        )
    return min(found, key=lambda pair: len(pair[1]))[0], name


def _forms(name: str) -> tuple[list[RecordForm], str]:
    """Return the forms of a dataset, or the user's own by `module:NAME`; and the dataset's name."""
    if is_own(name):
        form = own(name, "format")
        if not (isinstance(form, type) and issubclass(form, Published)):
            raise UserError(f"format {name}: must be a class, derived from records.Published")
        return [form], form.datasets[0]
    known = [found.name for found in CATALOGUE]
    if name not in known:
        names = ", ".join(known)
        raise UserError(
            f"no question format is named {name!r}; known: {names}, or module:NAME for your own"
        )
    return [form for form in (*FORMS, LAST) if name in form.datasets], name


def _datasets(form: RecordForm, contents: Contents) -> tuple[str, ...]:
    found = form.dataset_of(contents.head)
    return (found,) if found else form.datasets


def _nearest(contents: Contents) -> str:
    """Return what the nearest form lacks, or what the record holds."""
    near: list[tuple[float, RecordForm, list[str]]] = []
    for form in FORMS:
        needs, gap = form.needs(), form.misses(contents)
        if form.line is None and gap and len(gap) < len(needs):
            near.append((len(gap) / len(needs), form, gap))
    share, form, gap = min(near, key=lambda row: row[0]) if near else (1.0, FORMS[0], [""])
    if share > 0.5:
        return _fields(contents)
    return f"; {form.form} comes nearest, but has no {', '.join(map(repr, gap))}"


def _as_own(contents: Contents) -> str:
    """Return how a file of questions with other fields is read all the same."""
    if LAST.misses(contents) != []:
        return ""
    unread = ", ".join(LAST.unread(contents))
    return f"; --format own (questions_format=own) reads it without the fields {unread[:80]}"


def _fields(contents: Contents) -> str:
    found = sorted(keys(contents.head))
    if found:
        return f"; its fields are {', '.join(found[:12])}"
    return f"; it is {str(contents.head[0].value)[:60]!r}"
