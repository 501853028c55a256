"""SPARQL queries drawn over a graph's triples, and answers in a form that two engines share."""

from collections import Counter

PREFIXES = (
    "PREFIX ns: <http://rdf.freebase.com/ns/> PREFIX xsd: <http://www.w3.org/2001/XMLSchema#> "
    "PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#> "
    "PREFIX rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> "
)
NUMERIC = {f"http://www.w3.org/2001/XMLSchema#{n}" for n in ("integer", "decimal", "double")}


def served_triples(graph, to_iri):
    """Every triple that `graph serve` shows, as lines of N-Triples."""
    prefix = "http://rdf.freebase.com/ns/"
    names = ("http://www.w3.org/2000/01/rdf-schema#label", f"{prefix}type.object.name")
    kinds = ("http://www.w3.org/1999/02/22-rdf-syntax-ns#type", f"{prefix}type.object.type")
    from graphwalker.graphs.base import Direction
    from graphwalker.graphs.literals import is_literal, literal_id

    def term(node_id):
        return node_id if is_literal(node_id) else f"<{to_iri(node_id)}>"

    nodes = (graph.node_at(number) for number in range(graph.info()["nodes"]))
    for node in nodes:
        if is_literal(node.id):
            continue
        here = term(node.id)
        for relation, _ in graph.relations(node.id, Direction.OUT):
            for end in graph.neighbors(node.id, relation, Direction.OUT):
                yield f"{here} {term(relation)} {term(end.id)} ."
        if node.name:
            yield from (f"{here} <{p}> {literal_id(node.name, '@en')} ." for p in names)
        for kind in graph.types(node.id):
            yield from (f"{here} <{p}> {term(kind)} ." for p in kinds)


class QueryMaker:
    """Draws queries. `triples` are (head, relation, tail) as SPARQL writes them."""

    def __init__(self, triples, rng):
        self.triples, self.rng = triples, rng
        self.around = {}
        for triple in triples:
            self.around.setdefault(triple[0], []).append(triple)
            self.around.setdefault(triple[2], []).append(triple)

    def query(self):
        """A query; its answer does not depend on an order that is left open."""
        self.fresh = 0
        self.variables = {}
        body = self.group(self.rng.choice(self.triples), depth=2)
        shown = sorted(set(self.variables.values()))
        if not shown:
            return f"{PREFIXES} ASK {{ {body} }}"
        kind = self.rng.random()
        if kind < 0.12:
            return f"{PREFIXES} ASK {{ {body} }}"
        if kind < 0.3:
            return PREFIXES + self.group_query(shown, body)
        some = self.rng.sample(shown, self.rng.randint(1, len(shown)))
        distinct = self.rng.choice(["", "DISTINCT "])
        head = f"SELECT {distinct}{' '.join(some)} WHERE {{ {body} }}"
        if kind < 0.5:
            head += f" ORDER BY {self.rng.choice(['', 'DESC'])}(STR({some[0]}))"
            return PREFIXES + head
        if kind < 0.6:
            return f"{PREFIXES} SELECT (COUNT(*) AS ?count) WHERE {{ {head} }}"
        return PREFIXES + head

    def group_query(self, shown, body):
        key, of = self.rng.choice(shown), self.rng.choice(shown)
        what = self.rng.choice(
            [f"COUNT({of})", f"COUNT(DISTINCT {of})", f"MIN(COALESCE(STR({of}), ''))",
             f"MAX(COALESCE(STR({of}), ''))", "COUNT(*)", f"SUM(COALESCE(STRLEN(STR({of})), 1))",
             f"AVG(COALESCE(STRLEN(STR({of})), 1))"]
        )  # fmt: skip
        having = self.rng.choice(["", "", " HAVING (COUNT(*) > 1)"])
        if self.rng.random() < 0.3:
            return f"SELECT ({what} AS ?value) WHERE {{ {body} }}"
        return f"SELECT {key} ({what} AS ?value) WHERE {{ {body} }} GROUP BY {key}{having}"

    def group(self, triple, depth):
        """Patterns around a triple that is there, and what else a group may hold."""
        parts = [self.pattern(triple, must_vary=True)]
        here = triple
        for _ in range(self.rng.randint(0, 2)):
            here = self.rng.choice(self.around[self.rng.choice([here[0], here[2]])])
            parts.append(self.pattern(here))
        for _ in range(self.rng.randint(0, 2) if depth else 0):
            near = self.rng.choice(self.around[self.rng.choice([here[0], here[2]])])
            parts.append(self.part(near, depth - 1))
        return " ".join(parts)

    def part(self, near, depth):
        make = self.rng.choice(
            [self.optional, self.union, self.minus, self.condition, self.condition, self.exists,
             self.values, self.bind, self.path, self.sub_select]
        )  # fmt: skip
        return make(near, depth)

    def optional(self, near, depth):
        return f"OPTIONAL {{ {self.group(near, depth)} }}"

    def union(self, near, depth):
        other = self.rng.choice(self.triples)
        return f"{{ {self.group(near, depth)} }} UNION {{ {self.group(other, depth)} }}"

    def minus(self, near, depth):
        return f"MINUS {{ {self.pattern(near)} }}"

    def exists(self, near, depth):
        inner = self.pattern(near)
        if self.rng.random() < 0.5:
            inner += f" {self.condition(near, depth)}"
        return f"FILTER {self.rng.choice(['', 'NOT '])}EXISTS {{ {inner} }}"

    def values(self, near, depth):
        others = [self.rng.choice(self.triples)[0] for _ in range(2)]
        return f"VALUES {self.variable(near[0])} {{ {near[0]} {' '.join(others)} }}"

    def bind(self, near, depth):
        self.fresh += 1
        of = self.variable(near[2])
        value = self.rng.choice(
            [f"STRLEN(STR({of}))", f"CONCAT(STR({of}), '-', LANG({of}))", f"isIRI({of})",
             f"IF(isLiteral({of}), 1, 2.5) * 2", f"COALESCE({of}, 'none')", f"UCASE(STR({of}))"]
        )  # fmt: skip
        return f"BIND({value} AS ?b{self.fresh})"

    def sub_select(self, near, depth):
        inner = self.pattern(near, must_vary=True)
        of = self.variable(near[0])
        return f"{{ SELECT DISTINCT {of} WHERE {{ {inner} }} }}"

    def path(self, near, depth):
        # Of `a|a` Oxigraph shows an end once, and SPARQL twice.
        one, other = near[1], self.rng.choice([t for t in self.triples if t[1] != near[1]])[1]
        form = self.rng.choice(["{a}/{b}", "{a}|{b}", "^{a}", "{a}*", "{a}+", "{a}?", "({a}/^{b})+",
                                "!({a})", "{a}/({b}|{a})?"])  # fmt: skip
        start = self.rng.choice([near[0], self.variable(near[0])])
        self.fresh += 1
        return f"{start} {form.format(a=one, b=other)} {self.variable(near[2])} ."

    def condition(self, near, depth):
        a, b = self.variable(near[0]), self.variable(near[2])
        test = self.rng.choice(
            [f"{a} != {near[0]}", f"{b} = {near[2]}", f"{a} = {near[0]}", f"{a} != {b}",
             f"!isLiteral({b}) || lang({b}) = '' || langMatches(lang({b}), 'en')",
             f"REGEX(STR({b}), 'a', 'i')", f"STRSTARTS(STR({a}), 'http://rdf.freebase.com/ns/m.')",
             f"BOUND({b}) && isIRI({a})", f"!BOUND({a})", f"STRLEN(STR({b})) > 30",
             f"{b} IN ({near[2]}, {near[0]})", f"CONTAINS(LCASE(STR({b})), 'e')",
             f"sameTerm({a}, {near[0]}) || {b} != {near[2]}"]
        )  # fmt: skip
        return f"FILTER ({test})"

    def pattern(self, triple, must_vary=False):
        ends = [self.variable(x) if self.rng.random() < 0.5 else x for x in (triple[0], triple[2])]
        if must_vary and not any(end.startswith("?") for end in ends):
            ends[self.rng.randrange(2)] = self.variable(triple[0])
        if ends[0].startswith('"'):
            ends[0] = self.variable(triple[0])
        over = self.variable(triple[1]) if self.rng.random() < 0.07 else triple[1]
        return f"{ends[0]} {over} {ends[1]} ."

    def variable(self, term):
        """The variable that stands for a term in this query, mostly."""
        if term not in self.variables or self.rng.random() < 0.05:
            self.variables[term] = f"?v{len(self.variables)}"
        return self.variables[term]


def canonical(binding):
    """One value of a SPARQL JSON answer, the same whoever wrote it."""
    if binding is None:
        return None
    kind, value = binding["type"].removeprefix("typed-"), binding["value"]
    datatype = binding.get("datatype", "").removesuffix("XMLSchema#string")
    if datatype in NUMERIC:
        return "number", round(float(value), 9)
    if datatype.endswith("boolean"):
        return "boolean", value in ("1", "true")
    return kind, value, binding.get("xml:lang", "").lower(), datatype


def rows_of(answer):
    """The rows of a JSON answer, counted; of an ASK its truth."""
    if "boolean" in answer:
        return answer["boolean"]
    names = answer["head"]["vars"]
    rows = answer["results"]["bindings"]
    return Counter(tuple(canonical(row.get(name)) for name in names) for row in rows)
