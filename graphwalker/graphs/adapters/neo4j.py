"""A Neo4j database as a property graph: read-only, by the official driver.

Values stand in parameters, names of labels, types and properties in back quotes, and only those
that the database has: nothing that a model writes becomes part of a query.
"""

import os
from collections import Counter
from collections.abc import Mapping
from functools import cached_property, lru_cache
from typing import Any, NamedTuple, cast
from urllib.parse import urlsplit

from graphwalker.errors import GraphError, UserError, first_line
from graphwalker.graphs.base import Direction, Entity
from graphwalker.graphs.literals import is_literal, literal_name
from graphwalker.graphs.names import fold
from graphwalker.graphs.properties import (
    NAME_KEYS,
    PropertyGraph,
    Schema,
    Value,
    facts_of,
    make_schema,
    rank_values,
    value_literal,
)

SCHEMES = ("neo4j", "neo4j+s", "neo4j+ssc", "bolt", "bolt+s", "bolt+ssc")
USER, PASSWORD = "NEO4J_USERNAME", "NEO4J_PASSWORD"
KEPT = 20_000
"""Nodes whose labels and properties are remembered."""

NODE = "MATCH (n) WHERE elementId(n) = $id RETURN labels(n) AS labels, properties(n) AS properties"
SIZE = "MATCH (n) RETURN count(n) AS count"
NODE_AT = "MATCH (n) RETURN elementId(n) AS id ORDER BY id SKIP $place LIMIT 1"
NAMED = (
    "MATCH (n) WHERE toLower(coalesce(toString(n.name), toString(n.title), elementId(n))) = "
    "toLower($name) RETURN elementId(n) AS id"
)
TYPES_OUT = (
    "MATCH (n)-[r]->(m) WHERE elementId(n) = $id RETURN type(r) AS type, count(DISTINCT m) AS count"
)
TYPES_IN = (
    "MATCH (n)<-[r]-(m) WHERE elementId(n) = $id RETURN type(r) AS type, count(DISTINCT m) AS count"
)
ENDS_OUT = (
    "MATCH (n)-[r]->(m) WHERE elementId(n) = $id AND type(r) = $type "
    "RETURN DISTINCT elementId(m) AS id ORDER BY id LIMIT $limit"
)
ENDS_IN = (
    "MATCH (n)<-[r]-(m) WHERE elementId(n) = $id AND type(r) = $type "
    "RETURN DISTINCT elementId(m) AS id ORDER BY id LIMIT $limit"
)
BETWEEN = (
    "MATCH (a)-[r]->(b) WHERE elementId(a) = $start AND elementId(b) = $end AND type(r) = $type "
    "RETURN properties(r) AS properties"
)
# `[] +` makes a list of a single value and leaves a list as it is.
FOUND = "MATCH (n{label}) WHERE $value IN ([] + n.{key}) RETURN elementId(n) AS id ORDER BY id"
VALUES = "MATCH (n{label}) UNWIND ([] + n.{key}) AS value RETURN value, count(*) AS count"
RELATIONSHIP_VALUES = (
    "MATCH ()-[r:{type}]->() UNWIND ([] + r.{key}) AS value RETURN value, count(*) AS count"
)
LABELS = "MATCH (n) UNWIND labels(n) AS label RETURN label, count(*) AS count"
KEYS = (
    "MATCH (n) UNWIND labels(n) AS label UNWIND keys(n) AS key RETURN label, key, count(*) AS count"
)
PATTERNS = (
    "MATCH (a)-[r]->(b) UNWIND labels(a) AS start UNWIND labels(b) AS end "
    "RETURN start, type(r) AS type, end, count(r) AS count"
)
PATTERN_KEYS = (
    "MATCH (a)-[r]->(b) UNWIND labels(a) AS start UNWIND labels(b) AS end UNWIND keys(r) AS key "
    "RETURN start, type(r) AS type, end, key, count(*) AS count"
)
EVERYTHING = (1 << 63) - 1
"""A `LIMIT` that limits nothing: the largest number that Cypher has."""


class _Node(NamedTuple):
    labels: tuple[str, ...]
    properties: Mapping[str, Any]


class Neo4jGraph(PropertyGraph):
    """A `PropertyGraph` over a driver of the package `neo4j`. A node's id is its element id, which
    holds for one database and as long as the node is there; its name `name` or `title`.

    Every query reads, in a read transaction of a read session. A failure raises `GraphError`. What
    a node has is remembered, so a database that changes is to be opened anew.
    """

    is_remote = True

    def __init__(self, driver: Any, database: str | None = None, address: str = "neo4j") -> None:
        self._driver, self._database, self._address = driver, database, address
        self._node = lru_cache(KEPT)(self._read_node)

    @cached_property
    def size(self) -> int:  # pyright: ignore[reportIncompatibleVariableOverride]
        """How many nodes there are."""
        return int(self._ask(SIZE)[0]["count"])

    def entity_at(self, index: int) -> Entity:
        if not 0 <= index < self.size:
            raise IndexError(index)
        return self._entity(self._ask(NODE_AT, place=index)[0]["id"])

    def relation_ids(self) -> list[str]:
        keys = {key for label in self.schema().labels for key in label.keys}
        return sorted(keys | {kind.type for kind in self.schema().relationships})

    def resolve(self, name: str) -> list[Entity]:
        found = [self._entity(row["id"]) for row in self._ask(NAMED, name=name)] if name else []
        same = [entity for entity in found if fold(entity.name) == fold(name)]
        return sorted(same, key=lambda e: (e.name != name, -len(self.types(e.id)), e.id))

    def name(self, entity_id: str) -> str:
        if is_literal(entity_id):
            return literal_name(entity_id)
        node = self._node(entity_id)
        if node is None:
            return ""
        return next((str(n) for key in NAME_KEYS if (n := node.properties.get(key))), entity_id)

    def types(self, entity_id: str) -> list[str]:
        node = self._node(entity_id)
        return sorted(node.labels) if node else []

    def relations(self, entity_id: str, direction: Direction) -> list[tuple[str, int]]:
        if is_literal(entity_id):
            return []
        out = direction == Direction.OUT
        rows = self._ask(TYPES_OUT if out else TYPES_IN, id=entity_id)
        found = Counter({str(row["type"]): int(row["count"]) for row in rows})
        if out:
            found.update({key: len(ends) for key, ends in self._literals(entity_id).items()})
        return sorted(found.items())

    def neighbors(
        self, entity_id: str, relation: str, direction: Direction, limit: int | None = None
    ) -> list[Entity]:
        if is_literal(entity_id):
            return []
        out = direction == Direction.OUT
        literals = self._literals(entity_id).get(relation, []) if out else []
        most = EVERYTHING if limit is None else limit
        rows = self._ask(ENDS_OUT if out else ENDS_IN, id=entity_id, type=relation, limit=most)
        ids = sorted([*literals, *(str(row["id"]) for row in rows)], key=str.encode)
        return [self._entity(i) for i in ids[:limit]]

    def schema(self) -> Schema:
        return self._schema

    def node_properties(self, entity_id: str) -> dict[str, Any]:
        node = self._node(entity_id)
        return dict(node.properties) if node else {}

    def find(self, label: str, key: str, value: Value, limit: int | None = None) -> list[Entity]:
        if not self._has(label, key):
            return []
        query = FOUND.format(label=_label_pattern(label), key=quote_name(key))
        rows = self._ask(query, value=value)
        return [self._entity(row["id"]) for row in rows][:limit]

    def values(self, label: str, key: str, limit: int | None = None) -> list[tuple[Value, int]]:
        if not self._has(label, key):
            return []
        query = VALUES.format(label=_label_pattern(label), key=quote_name(key))
        return rank_values(_counts(self._ask(query)), limit)

    def relationship_values(
        self, relation: str, key: str, limit: int | None = None
    ) -> list[tuple[Value, int]]:
        kinds = [kind for kind in self.schema().relationships if kind.type == relation]
        if not any(key in kind.keys for kind in kinds):
            return []
        query = RELATIONSHIP_VALUES.format(type=quote_name(relation), key=quote_name(key))
        return rank_values(_counts(self._ask(query)), limit)

    def relationship_properties(
        self, start_id: str, relation: str, end_id: str
    ) -> list[dict[str, Any]]:
        rows = self._ask(BETWEEN, start=start_id, end=end_id, type=relation)
        known = [_plain_map(row["properties"]) for row in rows]
        return [] if known == [{}] else sorted(known, key=lambda one: repr(sorted(one.items())))

    def info(self) -> dict[str, int | str]:
        if not self.size:
            raise GraphError(f"{self._address}: this database holds no nodes")
        return {"address": self._address, "entities": self.size}

    @cached_property
    def _schema(self) -> Schema:
        queries = (LABELS, KEYS, PATTERNS, PATTERN_KEYS)
        return make_schema(*([tuple(row.values()) for row in self._ask(one)] for one in queries))

    def _has(self, label: str, key: str) -> bool:
        """Return whether some node of that label (any, for `""`) has the key."""
        return any(key in one.keys for one in self.schema().labels if label in ("", one.name))

    def _literals(self, entity_id: str) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        node = self._node(entity_id)
        for key, value in facts_of(node.properties if node else {}):
            literal = value_literal(value)
            if literal not in found.setdefault(key, []):
                found[key].append(literal)
        return found

    def _entity(self, entity_id: str) -> Entity:
        return Entity(entity_id, self.name(entity_id))

    def _read_node(self, entity_id: str) -> _Node | None:
        rows = [] if is_literal(entity_id) else self._ask(NODE, id=entity_id)
        if not rows:
            return None
        return _Node(tuple(rows[0]["labels"]), _plain_map(rows[0]["properties"]))

    def _ask(self, query: str, **parameters: Any) -> list[dict[str, Any]]:
        from neo4j import READ_ACCESS
        from neo4j.exceptions import DriverError, Neo4jError

        def read(transaction: Any) -> list[dict[str, Any]]:
            rows = [record.data() for record in transaction.run(query, parameters)]
            # A database that came back before its data answers well, and with nothing.
            if not rows and not next(iter(transaction.run(SIZE, {}))).data()["count"]:
                raise GraphError(f"{self._address}: this database holds no nodes")
            return rows

        try:
            with self._driver.session(
                database=self._database, default_access_mode=READ_ACCESS
            ) as session:
                return session.execute_read(read)
        except (DriverError, Neo4jError, OSError, ValueError) as error:
            why = first_line(error)
            raise GraphError(f"{self._address}: {why}") from error


def open_neo4j(spec: str) -> Neo4jGraph:
    """Return the database at `neo4j://host:7687`, or `...#database`. User and password stand in the
    environment (NEO4J_USERNAME, NEO4J_PASSWORD). Raises `UserError`."""
    address, _, database = spec.partition("#")
    parts = urlsplit(address)
    if parts.scheme not in SCHEMES or not parts.hostname:
        raise UserError(f"{address}: give the database as neo4j://HOST:7687")
    if parts.username or parts.password:
        raise UserError(f"an address holds no password: set {USER} and {PASSWORD}")
    from neo4j import GraphDatabase
    from neo4j.exceptions import DriverError, Neo4jError

    user, password = os.environ.get(USER, ""), os.environ.get(PASSWORD, "")
    connect: Any = GraphDatabase  # its settings are not typed
    driver = connect.driver(address, auth=(user, password) if user else None)
    try:
        driver.verify_connectivity()
    except (DriverError, Neo4jError, OSError, ValueError) as error:
        raise GraphError(
            f"{address}: {first_line(error).rstrip(':')}; is Neo4j running there, are {USER} and "
            f"{PASSWORD} set? A file of CALL apoc.export.json.all('kg.json', {{}}) is a graph, too"
        ) from None
    return Neo4jGraph(driver, database or None, address)


def quote_name(name: str) -> str:
    """Return a name as Cypher has it, in back quotes. Raises `GraphError` for one that cannot be
    quoted on all versions: some read backslashes in names as escapes, others do not."""
    if "\\" in name:
        raise GraphError(f"the name {name!r} holds a backslash: it cannot stand in a query")
    return f"`{name.replace('`', '``')}`"


def _label_pattern(label: str) -> str:
    return f":{quote_name(label)}" if label else ""


def _counts(rows: list[dict[str, Any]]) -> Counter[str]:
    found = Counter[str]()
    for row in rows:
        for _, value in facts_of({"value": _plain(row["value"])}):
            found[value_literal(value)] += row["count"]
    return found


def _plain_map(properties: Mapping[str, Any]) -> dict[str, Any]:
    return {key: _plain(value) for key, value in sorted(properties.items())}


def _plain(value: Any) -> Any:
    """Dates, times, points and bytes as texts."""
    if isinstance(value, list):
        return [_plain(item) for item in cast("list[Any]", value)]
    if value is None or isinstance(value, str | int | float | bool):
        return value
    return value.iso_format() if hasattr(value, "iso_format") else str(value)
