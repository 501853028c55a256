"""The 12 templates of questions over synthetic graphs (GraphWalk, section 4.4 and Appendix F)."""

import json
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from graphwalker.answers.rows import AnswerRow, Rows
from graphwalker.graphs.base import Entity
from graphwalker.question import Question
from graphwalker.synthetic import patterns
from graphwalker.synthetic.patterns import Execute, Pattern, Values

Draw = Callable[[Pattern, random.Random], Values]
_Wanted = Literal["all", "one"]
MOST_HOPS = 3
"""Longest path that a question asks for (GraphWalk's section 5.2 says three)."""
TRIES = 300
"""Draws of a template before the graph is given up: some graphs have no such answer."""


@dataclass(frozen=True, slots=True)
class Template:
    """A kind of question. Texts and Cypher name the drawn values in braces."""

    name: str
    category: str
    text: str
    cypher: str
    draw: Draw
    execute: Execute
    wanted: _Wanted = "all"
    """`one`: any single row of those found is a right answer."""

    def instance(self, pattern: Pattern, rng: random.Random) -> "Instance | None":
        """Return a question of this kind with at least one answer; `None` where none was found."""
        for _ in range(TRIES):
            values = self.draw(pattern, rng)
            if values and (rows := self.execute(pattern, values)):
                return Instance(self, values, tuple(rows))
        return None


@dataclass(frozen=True, slots=True)
class Instance:
    """A template with its values, and the rows that executing it gives."""

    template: Template
    values: Values
    rows: tuple[AnswerRow, ...]

    @property
    def gold(self) -> Rows:
        """What is right: all the rows, or any one of them."""
        if self.template.wanted == "one":
            return Rows((), self.rows, 1)
        return Rows(self.rows)

    def question(self, question_id: str, facets: dict[str, str]) -> Question:
        kind, values = self.template, self.values
        shown = {k: v if k == "hops" else json.dumps(v) for k, v in values.items()}
        key = values.get("key")
        gold = self.gold
        return Question(
            id=question_id,
            text=f"{kind.text.format(**shown)} {_form(self)}",
            topic_entities=(Entity(str(key), str(key)),) if key else (),
            dataset="graphwalk",
            structure=kind.name,
            annotations={"cypher": self.cypher, "values": values},
            facets={"category": kind.category, **facets},
            gold=gold,
        )

    @property
    def cypher(self) -> str:
        """The query whose result the rows are; names are letters alone, so none is quoted."""
        names = ("value", "unwanted", "key")
        shown = {k: json.dumps(v) if k in names else v for k, v in self.values.items()}
        return self.template.cypher.format(**shown)


def _form(instance: Instance) -> str:
    """Return how the answer is to be written: its columns, and what stands in them."""
    cells = instance.rows[0].items()
    row = ", ".join(f'"{name}": {"text" if isinstance(v, str) else "number"}' for name, v in cells)
    many = "one row alone" if instance.template.wanted == "one" else "a row for each, none twice"
    return f"Answer with JSON only, {many}: [{{{row}}}]"


def _labels(p: Pattern) -> list[str]:
    return [label.name for label in p.graph.schema().labels]


def _types(p: Pattern) -> list[str]:
    return sorted({kind.type for kind in p.graph.schema().relationships})


def _label(p: Pattern, rng: random.Random, *names: str) -> Values:
    """Return a label for each of the names, those of one question being different."""
    labels = _labels(p)
    if len(labels) < len(names):
        return {}
    return dict(zip(names, rng.sample(labels, len(names)), strict=True))


def _node(p: Pattern, rng: random.Random) -> Values:
    node = rng.choice(list(p.graph.nodes.values()))
    return {"source": node.labels[0], "key": node.id, "target": rng.choice(_labels(p))}


def _property(p: Pattern, rng: random.Random) -> Values:
    """Return a property of a label, but its key, and one of its values."""
    label = rng.choice(p.graph.schema().labels)
    key = rng.choice([key for key in label.keys if key != "key"] or ["key"])
    value = rng.choice([value for value, _ in p.graph.values(label.name, key)])
    return {"source": label.name, "property": key, "value": value}


def _relationship_property(p: Pattern, rng: random.Random) -> Values:
    kind = rng.choice(_types(p))
    keys = {key for r in p.graph.schema().relationships if r.type == kind for key in r.keys}
    key = rng.choice(sorted(keys))
    value = rng.choice([value for value, _ in p.graph.relationship_values(kind, key)])
    return {"relationship": kind, "property": key, "value": value}


def _node_count(p: Pattern, rng: random.Random) -> Values:
    return {"source": rng.choice(_labels(p)), "target": rng.choice(_labels(p))}


def _relationship_count(p: Pattern, rng: random.Random) -> Values:
    return {"relationship": rng.choice(_types(p))}


def _most(p: Pattern, rng: random.Random) -> Values:
    return {"source": rng.choice(_labels(p)), "relationship": rng.choice(_types(p))}


def _path(p: Pattern, rng: random.Random) -> Values:
    return {name: rng.choice(_labels(p)) for name in ("source", "middle", "target")}


def _variable(p: Pattern, rng: random.Random) -> Values:
    return {**_node_count(p, rng), "hops": rng.randint(2, MOST_HOPS)}


def _from_node(p: Pattern, rng: random.Random) -> Values:
    return {**_node(p, rng), "hops": rng.randint(2, MOST_HOPS)}


def _remote(p: Pattern, rng: random.Random) -> Values:
    values = _node(p, rng)
    keys = next(one.keys for one in p.graph.schema().labels if one.name == values["target"])
    return {**values, "property": rng.choice(sorted(keys)), "hops": MOST_HOPS}


def _two_targets(p: Pattern, rng: random.Random) -> Values:
    targets = _label(p, rng, "first", "second")
    return {"source": rng.choice(_labels(p)), **targets} if targets else {}


def _relationship_negation(p: Pattern, rng: random.Random) -> Values:
    start = _property(p, rng)
    kinds = [r for r in p.graph.schema().relationships if r.start == start["source"] and r.keys]
    if not kinds:
        return {}
    kind = rng.choice(kinds)
    key = rng.choice(sorted(kind.keys))
    unwanted = rng.choice([value for value, _ in p.graph.relationship_values(kind.type, key)])
    about = {"relationship": kind.type, "target": kind.end, "relationship_property": key}
    return {**start, **about, "unwanted": unwanted}


RETRIEVAL, TRAVERSAL, LOGIC = "retrieval", "traversal", "logic"

TEMPLATES = (
    Template(
        "node_count",
        RETRIEVAL,
        "How many {source} nodes have a relationship that leads to a {target} node?",
        "MATCH (a:{source})-->(b:{target}) RETURN count(DISTINCT a) AS count",
        _node_count,
        patterns.node_count,
    ),
    Template(
        "relationship_count",
        RETRIEVAL,
        "How many relationships have the type {relationship}?",
        "MATCH ()-[r:{relationship}]->() RETURN count(DISTINCT r) AS count",
        _relationship_count,
        patterns.relationship_count,
    ),
    Template(
        "most_relationships",
        RETRIEVAL,
        "From which {source} node do most {relationship} relationships start, and how many? Where "
        "several have as many, name any one of them.",
        "MATCH (n:{source})-[r:{relationship}]->() WITH n, count(r) AS rel_count "
        "RETURN n.key AS node_key, rel_count ORDER BY rel_count DESC LIMIT 1",
        _most,
        patterns.most_relationships,
        "one",
    ),
    Template(
        "node_by_property",
        RETRIEVAL,
        "Which {source} nodes have {value} as their {property}?",
        "MATCH (n:{source} {{{property}: {value}}}) RETURN DISTINCT n.key AS node_key",
        _property,
        patterns.node_by_property,
    ),
    Template(
        "relationship_by_property",
        RETRIEVAL,
        "Which {relationship} relationships have {value} as their {property}? Give the keys of "
        "both ends, and every property of the relationship under its name.",
        "MATCH (s)-[r:{relationship} {{{property}: {value}}}]->(t) "
        "RETURN s.key AS source_key, t.key AS target_key, r",
        _relationship_property,
        patterns.relationship_by_property,
    ),
    Template(
        "path_finding",
        TRAVERSAL,
        "Between which nodes are there paths from a {source} node to a {middle} node and from that "
        "to a {target} node, both steps along the direction of a relationship?",
        "MATCH (a:{source})-->(b:{middle})-->(c:{target}) "
        "RETURN a.key AS source_node_key, c.key AS target_node_key",
        _path,
        patterns.path_finding,
    ),
    Template(
        "variable_hop",
        TRAVERSAL,
        "Which {source} nodes reach which {target} nodes in 1 to {hops} steps along the direction "
        "of relationships, where one further step leads on to any node? No relationship is used "
        "twice on a way.",
        "MATCH (a:{source})-[*1..{hops}]->(b:{target})-->() "
        "RETURN DISTINCT a.key AS source_node_key, b.key AS target_node_key",
        _variable,
        patterns.variable_hop,
    ),
    Template(
        "path_from_node",
        TRAVERSAL,
        "Which {target} nodes can be reached from the {source} node with the key {key} in 1 to "
        "{hops} steps along the direction of relationships?",
        "MATCH (a:{source} {{key: {key}}})-[*1..{hops}]->(b:{target}) "
        "RETURN DISTINCT b.key AS target_node_key",
        _from_node,
        patterns.from_node,
    ),
    Template(
        "remote_property",
        TRAVERSAL,
        "Start at the {source} node with the key {key}. Take a {target} node that is 2 to {hops} "
        "steps away along the direction of relationships, and to which no relationship leads from "
        "the start itself. What is its {property}? Any such node will do.",
        "MATCH (a:{source} {{key: {key}}})-[*2..{hops}]->(b:{target}) WHERE NOT (a)-->(b) "
        "RETURN DISTINCT b.{property} AS value",
        _remote,
        patterns.remote_property,
        "one",
    ),
    Template(
        "intersection",
        LOGIC,
        "Which {source} nodes have both a relationship that leads to a {first} node and one that "
        "leads to a {second} node?",
        "MATCH (a:{source}) WHERE EXISTS {{ MATCH (a)-->(:{first}) }} "
        "AND EXISTS {{ MATCH (a)-->(:{second}) }} RETURN DISTINCT a.key AS node_key",
        _two_targets,
        patterns.intersection,
    ),
    Template(
        "negation",
        LOGIC,
        "Which {source} nodes have a relationship that leads to a {first} node, and none that "
        "leads to a {second} node?",
        "MATCH (a:{source}) WHERE EXISTS {{ MATCH (a)-->(:{first}) }} "
        "AND NOT EXISTS {{ MATCH (a)-->(:{second}) }} RETURN DISTINCT a.key AS node_key",
        _two_targets,
        patterns.negation,
    ),
    Template(
        "relationship_negation",
        LOGIC,
        "Take the {source} nodes that have {value} as their {property}. From which of them does a "
        "{relationship} relationship lead to a {target} node, the {relationship_property} of that "
        "relationship being other than {unwanted}?",
        "MATCH (a:{source} {{{property}: {value}}})-[r:{relationship}]->(b:{target}) "
        "WHERE r.{relationship_property} <> {unwanted} RETURN DISTINCT a.key AS node_key",
        _relationship_negation,
        patterns.relationship_negation,
    ),
)
