"""Patterns of SPARQL: what stands around an entity, as branches of one query.

The forms are those that stay fast on hubs: every branch is a sub-select, its limit comes before
the names are joined, and a node is proven nameless only after the limit.
"""

from collections.abc import Sequence

from graphwalker.graphs.base import Direction
from graphwalker.graphs.sparql.terms import Vocabulary
from graphwalker.graphs.triples import direction_of

CVTS_LOOKED_AT = 1000
"""Per relation, as in `flatten`."""
PROBED, CVTS_PROBED = 200, 40
"""Ends by which a relation of hubs is known, and CVT nodes among them that are looked behind."""


class Patterns:
    """Writes branches over one vocabulary. Terms come in as text that is already safe.

    Variables of an answer: `r` a relation and `n` its count; `c` a CVT node, `q` a relation
    behind it; `x` an entity at the far end and `xn` its names; `s` one of several entities.
    """

    def __init__(self, vocabulary: Vocabulary, one_graph: bool) -> None:
        self._name = vocabulary.iri(vocabulary.name)
        self._type = vocabulary.iri(vocabulary.type)
        self._folded = vocabulary.iri(vocabulary.folded)
        self._prefix = vocabulary.prefix
        hidden = (vocabulary.name, vocabulary.folded, *vocabulary.hidden)
        self._hidden = [iri for one in dict.fromkeys(hidden) if (iri := vocabulary.iri(one))]
        # Over several graphs one triple may stand in two of them.
        self._count = "COUNT(*)" if one_graph else "COUNT(DISTINCT ?x)"
        self._each = "?x" if one_graph else "DISTINCT ?x"

    def relations(self, entity: str, direction: Direction, edges: int) -> str:
        """`r`, `n`: the relations of the entity among so many of its edges, each with its number of
        triples there."""
        # Each relation of an edge is a look-up of its own on Virtuoso: hidden ones are left out
        # before it. Without the limit, 7.2.5 plans several sides in one text so that a listing
        # takes two seconds on a small graph, against 80 ms.
        edge = _edge(entity, "?r", "?x", direction) + self._hidden_filters("?r")
        some = f"SELECT ?r ?x WHERE {{ {edge} }} LIMIT {edges}"
        return f"SELECT ?r ({self._count} AS ?n) WHERE {{ {{ {some} }} }} GROUP BY ?r"

    def relation_ids(self, entity: str, direction: Direction) -> str:
        """`r`: every relation of the entity."""
        edge = _edge(entity, "?r", "?x", direction) + self._hidden_filters("?r")
        return f"SELECT ?r WHERE {{ {{ SELECT DISTINCT ?r WHERE {{ {edge} }} }} }}"

    def count(self, entity: str, relation: str, direction: Direction) -> str:
        """`n`: the number of triples."""
        edge = _edge(entity, relation, "?x", direction)
        return f"SELECT ({self._count} AS ?n) WHERE {{ {edge} }}"

    def relations_of(self, entities: str, direction: Direction) -> str:
        """`s`, `r`, `n` for each of the entities."""
        edge = _edge("?s", "?r", "?x", direction)
        return (
            f"SELECT ?s ?r ({self._count} AS ?n) WHERE {{ VALUES ?s {{ {entities} }} {edge} }}"
            " GROUP BY ?s ?r"
        )

    def names(self, entities: str) -> str:
        """`s`, `xn` for each of the entities."""
        return f"SELECT ?s ?xn WHERE {{ VALUES ?s {{ {entities} }} ?s {self._name} ?xn }}"

    def ends(
        self,
        entity: str,
        relation: str,
        direction: Direction,
        limit: int | None,
        in_order: bool = True,
    ) -> str:
        """`x`, `xn`: the first entities in id order along the relation; without an order any."""
        found = f"SELECT {self._each} WHERE {{ {_edge(entity, relation, '?x', direction)} }}"
        first = self._first(limit) if in_order else f" LIMIT {limit}"
        return f"SELECT ?x ?xn WHERE {{ {{ {found}{first} }} {self._name_pattern()} }}"

    def ends_of(self, entities: str, relation: str, direction: Direction) -> str:
        """`s`, `x`, `xn`: all entities along the relation from each of the entities."""
        edge = _edge("?s", relation, "?x", direction)
        return (
            f"SELECT ?s ?x ?xn WHERE {{ VALUES ?s {{ {entities} }} {edge} {self._name_pattern()} }}"
        )

    def triples_of(
        self, entities: str, direction: Direction, relations: Sequence[str] | None
    ) -> str:
        """`s`, `r`, `x`, `xn`: what stands around each of the entities, over some relations."""
        edge = _edge("?s", "?r", "?x", direction)
        over = "" if relations is None else f"VALUES ?r {{ {' '.join(relations)} }} "
        return (
            f"SELECT ?s ?r ?x ?xn WHERE {{ VALUES ?s {{ {entities} }} {over}{edge}"
            f" {self._name_pattern()} }}"
        )

    def behind(self, entity: str, direction: Direction, edges: int) -> str:
        """`r`, `c`, `q`, `x`, `xn`: nameless nodes among the first edges, and what they touch."""
        edge = _edge(entity, "?r", "?c", direction)
        # Types are no relations, and a class without a name may have a million instances.
        shown = f"FILTER(!isLiteral(?c)){self._hidden_filters('?r')}"
        near = f"SELECT ?r ?c WHERE {{ {edge} {shown} }} LIMIT {edges}"
        return self._behind(near, "?r ", direction)

    def probe_count(self, relation: str, direction: Direction) -> str:
        """`n`: how many ends of a relation a probe looks at, wherever they are. A probe without an
        order costs the same for any relation."""
        return f"SELECT (COUNT(*) AS ?n) WHERE {{ {{ {self._probe(relation, direction)} }} }}"

    def probe_cvt_count(self, relation: str, direction: Direction) -> str:
        """`n`: how many of them are CVT nodes."""
        probe = self._probe(relation, direction)
        return f"SELECT (COUNT(*) AS ?n) WHERE {{ {{ {probe} }} {self._is_cvt('?c')} }}"

    def probe_relations(self, relation: str, direction: Direction) -> str:
        """`q`, `l`: relations from some of these CVT nodes to entities (`l` is 0) and literals."""
        probe = self._probe(relation, direction)
        cvts = f"SELECT ?c WHERE {{ {{ {probe} }} {self._is_cvt('?c')} }} LIMIT {CVTS_PROBED}"
        far = _edge("?c", "?q", "?x", direction) + self._hidden_filters("?q")
        named = f"FILTER(isLiteral(?x) || EXISTS {{ {self._has_name('?x')} }})"
        kinds = "SELECT DISTINCT ?q (IF(isLiteral(?x), 1, 0) AS ?l)"
        return f"SELECT ?q ?l WHERE {{ {{ {kinds} WHERE {{ {{ {cvts} }} {far} {named} }} }} }}"

    def cvts(self, entity: str, relation: str, direction: Direction) -> str:
        """`n`: how many of any thousand ends of a relation are CVT nodes."""
        some = self._some(_edge(entity, relation, "?c", direction))
        return f"SELECT (COUNT(*) AS ?n) WHERE {{ {{ {some} }} {self._is_cvt('?c')} }}"

    def pairs(
        self, entity: str, near: str, far: str, direction: Direction, pure: bool, literals: bool
    ) -> str:
        """`n`: how many entities, or literals, stand over `far` behind any thousand ends of `near`,
        of which all are CVT nodes (`pure`), or those that are one.

        With both relations given, a thousand nodes take Virtuoso a millisecond; with `far` open
        they take two hundred, and a look at the texts of their names thirty.
        """
        some = self._some(_edge(entity, near, "?c", direction))
        mediator = "" if pure else self._is_cvt("?c")
        across = f"{{ {some} }} {mediator} {_edge('?c', far, '?x', direction)}"
        if literals:
            return f"SELECT (COUNT(DISTINCT ?x) AS ?n) WHERE {{ {across} FILTER(isLiteral(?x)) }}"
        # Names are looked up last, once for each: half the time, less where all lead back.
        others = f"SELECT DISTINCT ?x WHERE {{ {across} FILTER(?x != {entity}) }}"
        named = f"FILTER EXISTS {{ ?x {self._name} ?xn }}"
        return f"SELECT (COUNT(*) AS ?n) WHERE {{ {{ {others} }} {named} }}"

    def count_up_to(self, entity: str, relation: str, direction: Direction, most: int) -> str:
        """`n`: the number of triples, or `most` where there are more."""
        some = f"SELECT ?x WHERE {{ {_edge(entity, relation, '?x', direction)} }} LIMIT {most}"
        return f"SELECT (COUNT(*) AS ?n) WHERE {{ {{ {some} }} }}"

    def some_ends(self, entity: str, relation: str, direction: Direction, limit: int) -> str:
        """`x`, `xn`: any so many entities along the relation, as the endpoint finds them."""
        found = f"SELECT ?x WHERE {{ {_edge(entity, relation, '?x', direction)} }} LIMIT {limit}"
        return f"SELECT ?x ?xn WHERE {{ {{ {found} }} {self._name_pattern()} }}"

    def across(
        self,
        entity: str,
        near: str,
        far: str,
        direction: Direction,
        limit: int | None,
        of_any: bool = False,
        in_order: bool = True,
    ) -> str:
        """`x`, `xn`: the first entities in id order behind the CVT nodes at the end of `near`, or
        behind any thousand of them; without an order any so many."""
        edge = _edge(entity, near, "?c", direction)
        if of_any:
            edge = f"{{ {self._some(edge)} }}"
        first = self._first(limit) if in_order else f" LIMIT {limit}"
        return (
            f"SELECT ?x ?xn WHERE {{ {{ SELECT DISTINCT ?x WHERE {{ {edge} {self._nameless('?c')}"
            f" {_edge('?c', far, '?x', direction)} FILTER(?x != {entity}) }}{first} }}"
            f" {self._name_pattern()} }}"
        )

    def candidates(self, found: str) -> str:
        """`s`, `xn`: the entities that a pattern of `?s` finds, with all their names."""
        return f"SELECT ?s ?xn WHERE {{ {_distinct(found)} ?s {self._name} ?xn }}"

    def type_counts(self, found: str) -> str:
        """`s`, `n`: the same entities with their numbers of types."""
        return (
            f"SELECT ?s (COUNT(DISTINCT ?t) AS ?n) WHERE {{ {_distinct(found)}"
            f" ?s {self._type} ?t }} GROUP BY ?s"
        )

    def has_index(self) -> str:
        """Return a pattern with one row where there is an index of folded names."""
        return f"SELECT ?t WHERE {{ ?s {self._folded} ?t }} LIMIT 1"

    def _behind(self, near: str, relation: str, direction: Direction) -> str:
        # A sub-select of its own for the nameless: beside an OPTIONAL, Virtuoso 7.2.5 forgets the
        # filter for nodes that the OPTIONAL does not match.
        cvts = f"SELECT {relation}?c WHERE {{ {{ {near} }} {self._nameless('?c')} }}"
        around = _edge("?c", "?q", "?x", direction) + self._hidden_filters("?q")
        return (
            f"SELECT {relation}?c ?q ?x ?xn WHERE {{ {{ {cvts} }}"
            f" OPTIONAL {{ {around} {self._name_pattern()} }} }}"
        )

    def _hidden_filters(self, relation: str) -> str:
        """Exclude names and types, which are no relations."""
        return "".join(f" FILTER({relation} != {iri})" for iri in self._hidden)

    def _name_pattern(self) -> str:
        return f"OPTIONAL {{ ?x {self._name} ?xn }}"

    def _nameless(self, node: str) -> str:
        """Match what has no name, or only an id in its place (`names.names_nothing`)."""
        return f"FILTER NOT EXISTS {{ {self._has_name(node)} }}"

    def _is_cvt(self, node: str) -> str:
        return f"FILTER(!isLiteral({node})) {self._nameless(node)}"

    def _has_name(self, node: str) -> str:
        return f'{node} {self._name} ?cn FILTER(!REGEX(STR(?cn), "^([mg][.][0-9a-z_]+)?$"))'

    def _some(self, edge: str) -> str:
        return f"SELECT ?c WHERE {{ {edge} }} LIMIT {CVTS_LOOKED_AT}"

    def _probe(self, relation: str, direction: Direction) -> str:
        return f"SELECT ?c WHERE {{ {_edge('?s', relation, '?c', direction)} }} LIMIT {PROBED}"

    def _first(self, limit: int | None, node: str = "?x") -> str:
        """Return the first ones by id, which is not the order of full IRIs, nor of literals."""
        if limit is None:
            return ""
        iri = f"STR({node})"
        if prefix := self._prefix:
            cut = f"SUBSTR(STR({node}), {len(prefix) + 1})"
            iri = f'IF(STRSTARTS(STR({node}), "{prefix}"), {cut}, STR({node}))'
        return f" ORDER BY IF(isLiteral({node}), CONCAT('\"', STR({node})), {iri}) LIMIT {limit}"


def _distinct(found: str) -> str:
    return f"{{ SELECT DISTINCT ?s WHERE {{ {found} }} }}"


def _edge(entity: str, relation: str, other: str, direction: Direction) -> str:
    out = direction_of(direction) is Direction.OUT
    pair = (entity, other) if out else (other, entity)
    return f"{pair[0]} {relation} {pair[1]} ."
