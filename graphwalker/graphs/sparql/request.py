"""A request as SPARQLWrapper writes it: the one door to that library, and only SELECT goes out."""

import re
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from graphwalker.errors import GraphError, UserError
from graphwalker.graphs.sparql.connections import HttpRequest

_PLACE = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True, slots=True)
class Form:
    """What every request of one client says besides the query."""

    default_graph: str = ""
    user: str = ""
    password: str = ""


def check_installed() -> None:
    """Raises `UserError` without SPARQLWrapper."""
    if find_spec("SPARQLWrapper") is None:
        raise UserError("SPARQL needs SPARQLWrapper: pip install 'graphwalker-kgqa[sparql]'")


def write_request(
    address: str, form: Form, query: str, values: Mapping[str, str], as_parameters: bool
) -> HttpRequest:
    """The request for a SELECT whose `{name}`s stand for the terms in `values`.

    `as_parameters` is for Virtuoso, which plans a text once when its IRIs are parameters
    (`?::name` in the text, `?name` in the form); its own reading of literals as parameters fails
    on some escapes, so they stay in the text. Raises `GraphError` for anything but a SELECT.
    """
    library: Any = import_module("SPARQLWrapper")
    iris = {n: term for n, term in values.items() if term.startswith("<")}
    parameters = iris if as_parameters else {}

    def term(match: re.Match[str]) -> str:
        return f"?::{match[1]}" if match[1] in parameters else values[match[1]]

    query = _PLACE.sub(term, query)
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
    for name, iri in parameters.items():
        wrapper.addParameter(f"?{name}", iri)
    written = wrapper._createRequest()
    return HttpRequest(written.data, dict(written.header_items()))
