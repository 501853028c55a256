"""The walker's tools with pages: what a limit cuts is on the next page of the same call."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from graphwalker.graphs.base import Direction, Entity, Step
from graphwalker.tools.base import Call, ErrorKind, Listed, Observation
from graphwalker.tools.listing import Listing
from graphwalker.tools.walker import FORMS, Page, WalkerTools, json_name

PAGE: Mapping[str, str] = {"get_relations": "page", "get_triples": "page"}
"""The last argument of each tool, a number that may be left out: page 1 (for protocols)."""
_LAST_PAGE = 10_000
"""No list is that long; a model may write any number."""


class PagedEnds(NamedTuple):
    """What a relation leads to in one direction, as far as a page needs it, and how many in all."""

    relation: str
    direction: Direction
    ends: Sequence[Entity]
    total: int


class ListedPage(Page):
    """A page whose triples of one relation and direction are one, with a list of what was found.

    The list has the form of an answer, so that a small model copies it as it stands.
    """

    def write(self, here: str, relation: str, direction: Direction, names: Sequence[str]) -> str:
        found = json.dumps(names, ensure_ascii=False)
        head, tail = (found, here) if direction is Direction.IN else (here, found)
        return f"[{head}, {relation}, {tail}]"


class PagedTools(WalkerTools):
    """As `WalkerTools`, with a page as the last argument of a call. Page 1 is shown without it; a
    list that is cut ends with the call that shows more."""

    _page = 1

    def _run(self, call: Call) -> Observation:
        if call.tool not in PAGE:
            return super()._run(call)
        page = call.arguments.get("page", 1)
        if not isinstance(page, int) or isinstance(page, bool) or page < 1:
            form = f"{FORMS[call.tool][:-1]}, 2)"
            return self._error(
                ErrorKind.BAD_ARGUMENTS, f"a page is a number, the first one is 1: write {form}"
            )
        self._page = min(page, _LAST_PAGE)
        others = {key: value for key, value in call.arguments.items() if key != "page"}
        return super()._run(Call(call.tool, others))

    def signatures(self) -> str:
        settings = self._settings
        return (
            'get_relations("entity"): the relations of an entity, outgoing and incoming, the '
            f"{settings.top_relations} most relevant ones; "
            'get_relations("entity", 2): the next ones.\n'
            'get_triples("entity", ["relation", ...]): the triples of an entity with up to '
            f"{settings.relations_per_call} relations, up to {settings.triples_per_relation} "
            "for each relation and direction, what is found in a list; "
            'get_triples("entity", ["relation"], 2): the next ones.'
        )

    def _show_relations(
        self, entity: Entity, listing: Listing, ranked: Sequence[str]
    ) -> Observation:
        def form(page: int) -> str:
            return _with_page(f"get_relations({json_name(entity.name)})", page)

        start, page = 0, 1
        while page < self._page and start < len(ranked):
            start += len(self._fitting(ranked[start:]))
            page += 1
        if start >= len(ranked):
            return self._no_page(page - 1, form)
        shown = self._fitting(ranked[start:])
        self._seen.update(shown)
        left = len(ranked) - start - len(shown)
        return Observation(
            ", ".join(shown) + (f" (+{left} more: {form(page + 1)})" if left else ""),
            listed=(Listed(entity.id, listing.hops(shown)),),
            hidden=left,
            graph_calls=self._graph_calls,
        )

    def _show_triples(
        self, entity: Entity, listing: Listing, relations: Sequence[str]
    ) -> Observation:
        hops = self._ends(entity, listing, relations)
        starts, number = [0] * len(hops), 1
        shown = self._write_page(entity, hops, starts)
        is_full = shown.is_full
        while number < self._page and shown.shown:
            starts = [start + n for start, n in zip(starts, shown.counts, strict=True)]
            shown = self._write_page(entity, hops, starts)
            is_full |= shown.is_full
            number += 1
        if not shown.shown and number > 1:
            return self._no_page(number - 1, lambda page: _triples_call(entity, relations, page))
        if not shown.shown:
            return self._no_named(entity)
        cut = [
            hop.relation
            for hop, start, n in zip(hops, starts, shown.counts, strict=True)
            if start + n < len(hop.ends)
        ]
        if cut and is_full:
            cut = list(relations)  # how much fits on a page depends on all of them
        rest = f"\nMore: {_triples_call(entity, cut, number + 1)}" if cut else ""
        seen = self._observe_page(shown, entity)
        return replace(seen, text=seen.text + rest)

    def _ends(self, entity: Entity, listing: Listing, relations: Sequence[str]) -> list[PagedEnds]:
        hops = [(r, direction, total) for r in relations for direction, total in listing.sides(r)]
        # One more than is shown says whether there is a next page.
        limit = self._page * self._settings.triples_per_relation + 1
        self._graph_calls += len(hops)
        found = self._graph.step_many([Step(entity.id, r, d, limit) for r, d, _ in hops])
        # Beyond CVTS_PER_RELATION the listing's number is a lower bound, and it counts ends that
        # no step gives: exact where all of them were fetched.
        return [
            PagedEnds(r, d, ends, len(ends) if len(ends) < limit else max(total, len(ends)))
            for (r, d, total), ends in zip(hops, found, strict=True)
        ]

    def _write_page(self, entity: Entity, hops: Sequence[PagedEnds], starts: Sequence[int]) -> Page:
        page = ListedPage(self._book, self._settings.entry_chars)
        size = self._settings.triples_per_relation
        for (relation, direction, ends, total), start in zip(hops, starts, strict=True):
            page.add(entity, relation, direction, ends[start : start + size], total - start)
        return page

    def _no_page(self, last: int, form: Callable[[int], str]) -> Observation:
        return self._error(
            ErrorKind.NO_SUCH_PAGE, f"there is no page {self._page}; the last one is {form(last)}"
        )


def _triples_call(entity: Entity, relations: Sequence[str], page: int) -> str:
    names = json.dumps(list(dict.fromkeys(relations)), ensure_ascii=False)
    return _with_page(f"get_triples({json_name(entity.name)}, {names})", page)


def _with_page(call: str, page: int) -> str:
    """
    >>> _with_page('get_relations("Oslo")', 2)
    'get_relations("Oslo", 2)'
    """
    return call if page == 1 else f"{call[:-1]}, {page})"
