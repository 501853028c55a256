"""Gold answers as datasets write them: entities, dates and numbers, yes and no."""

import re
from collections.abc import Iterable, Sequence

from graphwalker.answers.values import value_key
from graphwalker.errors import UserError
from graphwalker.graphs.literals import is_literal, literal_id
from graphwalker.question import Answer

XSD = "http://www.w3.org/2001/XMLSchema#"

_FREEBASE = re.compile(
    r"(?:ns:|/|(?:https?://)?(?:www\.freebase\.com/|rdf\.freebase\.com/ns/))?([mg])[./]([0-9a-z_]+)"
)
_WIKIDATA = re.compile(r"(?:wd:|https?://www\.wikidata\.org/entity/)?([QPL]\d+(?:-[FS]\d+)?)")
_NUMBER = re.compile(r"\+?(-?\d+)(\.\d+)?")
_DAY = re.compile(r"-?\d{4}-\d\d(?:-\d\d)?(?:T[\d:.]+Z?)?")
_MIDNIGHT = re.compile(r"([+-]?\d{4,}-\d\d-\d\d)T00:00:00(?:Z|[+-]00:00)?")


def freebase_id(text: str) -> str:
    """Return the MID, however it is written; `""` when it is none.

    >>> freebase_id("www.freebase.com/m/01jp8ww"), freebase_id("ns:g.11b"), freebase_id("Oslo")
    ('m.01jp8ww', 'g.11b', '')
    """
    match = _FREEBASE.fullmatch(text)
    return f"{match[1]}.{match[2]}" if match else ""


def wikidata_id(text: str) -> str:
    """Return the id of an item, property or lexeme, however it is written; `""` when it is none.

    >>> wikidata_id("http://www.wikidata.org/entity/Q42"), wikidata_id("42")
    ('Q42', '')
    """
    match = _WIKIDATA.fullmatch(text)
    return match[1] if match else ""


def need_freebase_id(text: str) -> str:
    """Return the MID in a text. Raises `UserError` when it holds none."""
    found = freebase_id(text)
    if not found:
        raise UserError(f"must be a Freebase id, not {text!r}")
    return found


def literal(value: str, datatype: str = "") -> Answer:
    """Return a date, number or text. Other spellings of the same value are its aliases.

    `datatype` is the full IRI, `""` for none; `value^^datatype` in one text is taken apart.

    >>> literal("+100", XSD + "decimal").aliases, literal("1901-01-01T00:00:00Z").aliases
    (('100',), ('1901-01-01',))
    """
    if not datatype and "^^" in value:
        value, datatype = value.split("^^", 1)
        value, datatype = value.strip('"'), datatype.strip("<>")
    suffix = f"^^<{datatype}>" if datatype else ""
    aliases = tuple(dict.fromkeys(_spellings(value)))
    return Answer(value, literal_id(value, suffix), tuple(a for a in aliases if a != value))


def named_answer(text: str) -> Answer:
    """Return an answer of which only the name is known; a number or a date is a literal.

    >>> named_answer("Oslo"), named_answer("2014-07-10").id
    (Answer(name='Oslo', id='', aliases=()), '"2014-07-10"')
    """
    value = _NUMBER.fullmatch(text) or _DAY.fullmatch(text)
    return literal(text) if value else Answer(text)


def yes_no(flag: bool) -> Answer:
    """Return the answer of a yes-no question."""
    name, word = ("True", "Yes") if flag else ("False", "No")
    return Answer(name, literal_id(name.lower(), f"^^<{XSD}boolean>"), (word,))


def is_yes_no(answers: Sequence[Answer]) -> bool:
    """Return whether the gold is a truth value, and no entity that is called `No`.

    >>> is_yes_no([Answer("yes")]), is_yes_no([Answer("No", "m.0film")])
    (True, False)
    """
    return len(answers) == 1 and all(
        value_key(word) in ("true", "false")
        for answer in answers
        for word in (answer.name, answer.id if answer.id and not is_literal(answer.id) else "no")
    )


def distinct(answers: Iterable[Answer]) -> tuple[Answer, ...]:
    """Return each answer once, in order: by id, else by name. Its names and aliases stay
    together."""
    found: dict[str, Answer] = {}
    for answer in answers:
        key = answer.id or f"name {answer.name}"
        found[key] = _join(found[key], answer) if key in found else answer
    return tuple(found.values())


def merge(own: tuple[Answer, ...], other: tuple[Answer, ...]) -> tuple[Answer, ...]:
    """Return the answers of one question in two files: one may know the ids, one the names.

    Answers are joined by id. Where only one side has ids, a single answer on either side is
    joined with the other's; of several nobody can say which is which: the side with ids stays.
    """
    if not own or not other:
        return own or other
    if _have_ids(own) and _have_ids(other):
        ids = {answer.id for answer in own}
        return distinct((*own, *(a for a in other if a.id in ids)))
    with_ids, with_names = (own, other) if _have_ids(own) else (other, own)
    if not _have_ids(with_ids):
        return own
    if len(with_ids) == len(with_names) == 1:
        return (_join(with_ids[0], with_names[0]),)
    return with_ids


def _have_ids(answers: tuple[Answer, ...]) -> bool:
    return any(a.id and not is_literal(a.id) for a in answers)


def _join(first: Answer, second: Answer) -> Answer:
    names = dict.fromkeys((first.name, *first.aliases, second.name, *second.aliases))
    name, *aliases = [name for name in names if name] or [""]
    return Answer(name, first.id or second.id, tuple(aliases))


def _spellings(value: str) -> Iterable[str]:
    number = _NUMBER.fullmatch(value)
    if number:
        yield value.removeprefix("+")
        if number[2] and not number[2].strip(".0"):
            yield number[1]
    day = _MIDNIGHT.fullmatch(value)
    if day:
        yield day[1].removeprefix("+")
