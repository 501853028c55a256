"""Requests to an endpoint, as SPARQLWrapper writes them."""

import json
import os
import re
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any
from urllib.parse import quote_plus

from graphwalker.errors import GraphError, UserError, lacks_extra

USER_AGENT, HEADERS = "GRAPHWALKER_USER_AGENT", "GRAPHWALKER_ENDPOINT_HEADERS"
"""Variables of the environment. Public endpoints want to know whom to write to: Wikidata answers
403 to an agent without an address. Headers are a JSON object."""
LOGIN = f"""set {HEADERS}='{{"Authorization": "Basic ..."}}'"""
DEFAULT_AGENT = "graphwalker-kgqa"
PLAIN_IDS = "Graphwalker-ids"
"""A header by which `graph serve --base` knows that it is we who read its IRIs as ids."""


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """What is sent: a form, and its headers."""

    body: bytes
    headers: Mapping[str, str]


_PLACE = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True, slots=True)
class Form:
    """What every request of one client says besides the query."""

    default_graph: str = ""
    user: str = ""
    password: str = ""
    headers: tuple[tuple[str, str], ...] = ()


def environment_headers() -> dict[str, str]:
    """Return the headers that the user's environment sets. Raises `UserError` for what are none."""
    text = os.environ.get(HEADERS, "").strip()
    try:
        given: Any = json.loads(text) if text else {}
        headers = {str(name).capitalize(): str(value) for name, value in given.items()}
    except (ValueError, AttributeError):
        raise UserError(
            f'{HEADERS}: not a JSON object of headers, such as {{"X-Key": "abc"}}'
        ) from None
    agent = os.environ.get(USER_AGENT, "").strip() or DEFAULT_AGENT
    return {"Accept-encoding": "identity", "User-agent": agent, PLAIN_IDS: "1", **headers}


def check_installed() -> None:
    """Raises `UserError` without SPARQLWrapper and httpx."""
    for name in ("SPARQLWrapper", "httpx"):
        if find_spec(name) is None:
            raise lacks_extra(f"SPARQL needs {name}", "sparql")


def write_request(
    address: str, form: Form, query: str, values: Mapping[str, str], as_parameters: bool
) -> HttpRequest:
    """Return the request for a SELECT whose `{name}`s stand for the terms in `values`.

    `as_parameters` is for Virtuoso, which plans a text once when its IRIs are parameters
    (`?::name` in the text, `?name` in the form); its own reading of literals as parameters fails
    on some escapes, so they stay in the text. Raises `GraphError` for anything but a SELECT.
    """
    iris = tuple(n for n, term in values.items() if as_parameters and term.startswith("<"))
    if len(iris) < len(values) or not iris:

        def term(match: re.Match[str]) -> str:
            return f"?::{match[1]}" if match[1] in iris else values[match[1]]

        written = _write(address, form, _PLACE.sub(term, query))
    else:
        written = _write_once(address, form, query)
    parameters = "".join(f"&%3F{name}={_quote(values[name])}" for name in iris)
    return HttpRequest(written.body + parameters.encode(), written.headers)


@lru_cache(maxsize=4096)
def _quote(term: str) -> str:
    return quote_plus(term)


@lru_cache(maxsize=512)
def _write_once(address: str, form: Form, query: str) -> HttpRequest:
    """Write a text of parameters alone once, as it is the same for any entity: SPARQLWrapper's half
    a millisecond for it is spent once."""
    return _write(address, form, _PLACE.sub(r"?::\1", query))


def _write(address: str, form: Form, query: str) -> HttpRequest:
    library: Any = import_module("SPARQLWrapper")
    wrapper = library.SPARQLWrapper(
        address, returnFormat=library.JSON, defaultGraph=form.default_graph or None
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # it warns of what is refused below
        wrapper.setQuery(query)
    if wrapper.queryType != library.SELECT or not query.startswith("SELECT "):
        raise GraphError(f"only SELECT is ever sent: {query[:80]}")
    wrapper.setMethod(library.POST)
    wrapper.setOnlyConneg(True)
    if form.user:
        wrapper.setCredentials(form.user, form.password)
    written = wrapper._createRequest()
    return HttpRequest(written.data, {**dict(written.header_items()), **dict(form.headers)})
