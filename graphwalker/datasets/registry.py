"""The registry: every form that can be read, and which of them a file is in."""

from graphwalker.datasets.catalogue import benchmark
from graphwalker.datasets.files import Contents
from graphwalker.datasets.forms import Form, keys
from graphwalker.datasets.loaders.freebase import cwq, grailqa, released, simplequestions, webqsp
from graphwalker.datasets.loaders.other import grbench, metaqa, ours, pathquestion, yes_no
from graphwalker.datasets.loaders.wikidata import qald
from graphwalker.errors import UserError

FORMS: tuple[Form, ...] = tuple(
    form
    for module in (
        ours,
        webqsp,
        cwq,
        grailqa,
        simplequestions,
        qald,
        metaqa,
        pathquestion,
        yes_no,
        grbench,
        released,
    )
    for form in module.FORMS
)


def recognise(contents: Contents, name: str = "auto") -> tuple[Form, str]:
    """The form of a file and the benchmark it belongs to, by its first records.

    `name` is a benchmark's name, or `auto`. A file of a named benchmark that fits none of its
    forms is read in the nearest one, so that the missing field is named. Raises `UserError` when
    a file fits no form, or several.
    """
    if name != "auto":
        return _named(contents, name)
    fits = [form for form in FORMS if form.misses(contents) == []]
    found = {(form.name, which): form for form in fits for which in _benchmarks(form, contents)}
    if not fits:
        raise UserError(f"{contents.path}: record 1 fits no known format{_nearest(contents)}")
    if len(found) > 1:
        names = sorted({which for _, which in found})
        raise UserError(
            f"{contents.path}: record 1 fits several formats ({', '.join(names)}): say which one"
        )
    return next((form, which) for (_, which), form in found.items())


def _named(contents: Contents, name: str) -> tuple[Form, str]:
    title = benchmark(name).title
    misses = {
        i: missing
        for i, form in enumerate(FORMS)
        if name in form.benchmarks and (missing := form.misses(contents)) is not None
    }
    if not misses:
        kind = "JSON" if contents.json else "lines of text"
        raise UserError(
            f"{contents.path}: record 1 is not of {title}: the file holds {kind} that "
            f"no form of it has{_fields(contents)}"
        )
    best = min(misses, key=lambda i: len(misses[i]))
    return FORMS[best], name


def _benchmarks(form: Form, contents: Contents) -> tuple[str, ...]:
    if form.benchmark is None or len(form.benchmarks) == 1:
        return form.benchmarks
    found = form.benchmark(contents.head)
    return (found,) if found else form.benchmarks


def _nearest(contents: Contents) -> str:
    """What the nearest form lacks, or what the record holds."""
    found = keys(contents.head)
    missing = [
        (len(gap) / len(form.needs), form, gap)
        for form in FORMS
        if form.needs & found and (gap := form.misses(contents))
    ]
    if not missing:
        return _fields(contents)
    share, form, gap = min(missing, key=lambda row: row[0])
    if share > 0.5:
        return _fields(contents)
    return f"; {form.name} comes nearest, but has no {', '.join(map(repr, gap))}"


def _fields(contents: Contents) -> str:
    found = sorted(keys(contents.head))
    if found:
        return f"; its fields are {', '.join(found[:12])}"
    return f"; it is {str(contents.head[0].value)[:60]!r}"
