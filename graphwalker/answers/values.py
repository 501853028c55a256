"""Values: dates, numbers and truth values, equal by what they mean, not by how they are written."""

import re
from datetime import date
from decimal import Decimal, InvalidOperation
from functools import lru_cache

from graphwalker.graphs.names import fold

LONGEST_VALUE = 40
"""A longer text is no value that anybody wrote as an answer."""
_TRUTH = {"true": "true", "yes": "true", "false": "false", "no": "false"}
# Leading zeros tell an identifier or a postal code from a number; commas stand every three digits.
_NUMBER = re.compile(r"[+-]?(?:0|[1-9]\d*|[1-9]\d{0,2}(?:,\d{3})+)(?:\.\d+)?(?:e[+-]?\d{1,3})?")
_ISO = re.compile(
    r"(-?\d{4,})-(\d{1,2})(?:-(\d{1,2}))?(?:[t ](\d{2}:\d{2}(?::\d{2})?)(?:\.\d+)?)?"
    r"(?: ?z| ?[+-]\d{2}:\d{2})?"
)
_ZONED_YEAR = re.compile(r"(-?\d{4,})(?:z|[+-]\d{2}:\d{2})")
_MONTHS = ("january", "february", "march", "april", "may", "june", "july", "august", "september",
           "october", "november", "december")  # fmt: skip
_MONTH_WORDS = {word: k for k, name in enumerate(_MONTHS, 1) for word in (name, name[:3])} | {
    "sept": 9
}
_MONTH_FIRST = re.compile(r"([a-z]+)\.?(?: (\d{1,2})(?:st|nd|rd|th)?)?,? (\d{4})")
_DAY_FIRST = re.compile(r"(\d{1,2})(?:st|nd|rd|th)?(?: of)? ([a-z]+)\.?,? (\d{4})")
_MIDNIGHT = ("", "00:00", "00:00:00")


@lru_cache(1 << 16)
def value_key(text: str) -> str:
    """Return one spelling of the date, number or truth value that the text is, `""` for none.

    A date at midnight is the day; a time zone says nothing of a day. Dates such as 4/8/1961 are
    none: their order of day and month differs from country to country.

    >>> value_key("August 4, 1961"), value_key("1961-08-04T00:00:00Z"), value_key("August 1961")
    ('1961-08-04', '1961-08-04', '1961-08')
    >>> value_key("1,000,000") == value_key("1.0E6"), value_key("5.30"), value_key("Yes")
    (True, '5.3', 'true')
    >>> value_key("007"), value_key("4/8/1961"), value_key("The 39 Steps")
    ('', '', '')
    """
    word = " ".join(text.casefold().split())
    if len(word) > LONGEST_VALUE:
        return ""
    if not any(c.isdigit() for c in word):
        return _TRUTH.get(word, "")
    if not word.isascii():
        return ""
    if _NUMBER.fullmatch(word):
        return _number(word.replace(",", ""))
    if match := _ISO.fullmatch(word):
        return _date(match[1], match[2], match[3], match[4] or "")
    if match := _ZONED_YEAR.fullmatch(word):
        return _number(match[1])
    if match := _MONTH_FIRST.fullmatch(word):
        return _date(match[3], _MONTH_WORDS.get(match[1], 0), match[2])
    if match := _DAY_FIRST.fullmatch(word):
        return _date(match[3], _MONTH_WORDS.get(match[2], 0), match[1])
    return ""


def answer_key(name: str) -> str:
    """Get the form where answers without ids are compared: of a value what it means, else its name.

    >>> answer_key("4 August 1961") == answer_key("1961-08-04-08:00")
    True
    """
    value = value_key(name)
    return f"value {value}" if value else fold(name)


def _number(text: str) -> str:
    try:
        number = Decimal(text)
    except InvalidOperation:
        return ""
    return f"{number.normalize():f}" if number else "0"


def _date(year: str, month: str | int, day: str | None, time: str = "") -> str:
    """Return the day, month or moment; `""` where the calendar has none such."""
    try:
        # The calendar of Python begins in the year 1; every 400 years it is the same.
        found = date(int(year) % 400 + 2000, int(month), int(day or 1))
    except ValueError:
        return ""
    text = f"{int(year):05d}" if int(year) < 0 else f"{int(year):04d}"
    whole = f"{text}-{found.month:02d}" + (f"-{found.day:02d}" if day else "")
    return whole if time in _MIDNIGHT else f"{whole}t{time}"
