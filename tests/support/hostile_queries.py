"""SPARQL that means no good: 83 queries that take too much, reach elsewhere, or are none."""

ANY = " . ".join(f"?a{n} ?b{n} ?c{n}" for n in range(6))
PATH = "(!<urn:x>|^!<urn:x>)*"
DEEP = 40
VALUES = " ".join(f'"{n}"' for n in range(30_000))
LONG = "a" * 100_000

CROSS = [
    f"SELECT * {{ {ANY} }}",
    f"SELECT * {{ {ANY} }} ORDER BY ?a0 DESC(?c5)",
    f"SELECT DISTINCT ?a0 ?c5 {{ {ANY} }}",
    f"SELECT (COUNT(*) AS ?n) {{ {ANY} }}",
    f"SELECT (COUNT(DISTINCT ?a0) AS ?n) {{ {ANY} }}",
    f"SELECT ?a0 (GROUP_CONCAT(STR(?c5)) AS ?n) {{ {ANY} }} GROUP BY ?a0",
    f"SELECT (GROUP_CONCAT(STR(?c5); SEPARATOR='{LONG}') AS ?n) {{ {ANY} }}",
    f"SELECT (MAX(CONCAT(STR(?a0), STR(?c5))) AS ?n) {{ {ANY} }}",
    f"ASK {{ {ANY} FILTER(STR(?a0) = 'none') }}",
    f"ASK {{ {ANY} FILTER(RAND() > 2) }}",
    "SELECT * { ?a ?b ?c } OFFSET 9000000000000000000",
    f"SELECT * {{ {ANY} }} OFFSET 1000000000",
    f"SELECT * {{ {ANY} MINUS {{ ?x ?y ?z }} }}",
    f"SELECT * {{ {ANY} OPTIONAL {{ ?x ?y ?z FILTER(?x != ?a0) }} }} ORDER BY ?x",
    f"SELECT * {{ {ANY} FILTER NOT EXISTS {{ ?c0 ?c1 ?c2 }} }} ORDER BY ?a3",
]
PATHS = [
    f"SELECT (COUNT(*) AS ?n) {{ ?a {PATH} ?b . ?c {PATH} ?d . ?e {PATH} ?f . ?g {PATH} ?h }}",
    f"SELECT * {{ ?a {PATH} ?b . ?b {PATH} ?c . ?c {PATH} ?d }} ORDER BY ?a",
    f"ASK {{ ?a {PATH} ?b FILTER(STR(?b) = 'none') }}",
    f"SELECT DISTINCT ?b {{ ?a ({PATH}/{PATH}/{PATH})* ?b }}",
    f"SELECT (COUNT(*) AS ?n) {{ ?a {'(' * DEEP}!<urn:x>{')*' * DEEP} ?b . ?c {PATH} ?d . {ANY} }}",
    f"SELECT * {{ ?a {'/'.join(['!<urn:x>'] * 60)} ?b }} ORDER BY ?a",
    f"SELECT * {{ ?a {'|'.join(['!<urn:x>'] * 2000)} ?b . {ANY} }}",
    f"SELECT * {{ ?a {'^' * 5000}<urn:x> ?b }}",
    f"ASK {{ ?a <urn:x>{'+' * 3000} ?b }}",
    "SELECT * { ?a !(<urn:x>|^<urn:y>)* ?b }",
]
REGEX = [
    f"ASK {{ FILTER(REGEX('{'a' * 40}b', '(a+)+$')) }}",
    f"ASK {{ FILTER(REGEX('{LONG}', '(a*)*(a*)*(a*)*b')) }}",
    "ASK { FILTER(REGEX('a', 'a{1000}{1000}{1000}')) }",
    f"ASK {{ FILTER(REGEX('a', '{'(' * 9000}')) }}",
    f"ASK {{ FILTER(REGEX('a', '{'(a|' * 9000}b{')' * 9000}')) }}",
    f"SELECT (REPLACE('{LONG}', 'a', '{'b' * 10_000}') AS ?x) {{ }}",
    f"SELECT (REPLACE('{LONG}', '', '{LONG}') AS ?x) {{ }}",
    f"SELECT * {{ {ANY} FILTER(REGEX(CONCAT(STR(?a0), STR(?c5)), '(.*)(.*)(.*)x$')) }}",
    "ASK { FILTER(REGEX('a', '(?<a>a)(?P=a)(?!b)')) }",
    "ASK { FILTER(REGEX('a', 'a', 'zzzz')) }",
]
NESTED = [
    f"ASK {{ {'{' * 5000} ?a ?b ?c {'}' * 5000} }}",
    f"ASK {{ FILTER({'(' * 5000}1{')' * 5000}) }}",
    f"ASK {{ FILTER({'!' * 300_000}true) }}",
    f"ASK {{ FILTER({'-' * 100_000}1 = 1) }}",
    f"ASK {{ FILTER({'1+' * 100_000}1) }}",
    f"ASK {{ FILTER({'true && ' * 100_000}true) }}",
    f"ASK {{ {'OPTIONAL { ?a ?b ?c ' * 30} {'}' * 30} }}",
    f"ASK {{ {'FILTER NOT EXISTS { ?a ?b ?c ' * 30} {'}' * 30} }}",
    f"ASK {{ {'{ SELECT * { ?a ?b ?c ' * 20} {'} }' * 20} }}",
    f"ASK {{ FILTER({'IF(true, ' * 40}1{', 1)' * 40}) }}",
    "ASK {" + "{" * 5000,
    f"SELECT * {{ ?a ?b {'[ <urn:x> ' * 5000} }}",
    f"SELECT * {{ ?a ?b {'( 1 ' * 5000} }}",
]
UNIONS = [
    f"SELECT * {{ {' UNION '.join(['{ ?a ?b ?c }'] * 10_000)} }}",
    f"SELECT * {{ {' UNION '.join([f'{{ {ANY} }}'] * 500)} }} ORDER BY ?a0",
    f"SELECT * {{ {' '.join(['{ ?a ?b ?c } UNION { ?d ?e ?f }'] * 100)} }}",
    f"SELECT * {{ {' '.join(['OPTIONAL { ?a ?b ?c }'] * 5000)} }}",
    f"SELECT * {{ {' '.join(f'?a{n} ?b{n} ?c{n} .' for n in range(5000))} }}",
    f"SELECT * {{ {' '.join(f'OPTIONAL {{ ?a ?b{n} ?c{n} }}' for n in range(30))} }} ORDER BY ?c9",
    f"SELECT * {{ {' '.join(f'BIND({n} AS ?v{n})' for n in range(20_000))} }}",
]
VALUED = [
    f"SELECT * {{ VALUES ?x {{ {VALUES} }} }}",
    f"SELECT * {{ VALUES ?x {{ {VALUES} }} VALUES ?y {{ {VALUES} }} }}",
    f"SELECT (COUNT(*) AS ?n) {{ VALUES ?x {{ {VALUES} }} {ANY} FILTER(?x != STR(?a0)) }}",
    f"SELECT * {{ VALUES ?x {{ {VALUES} }} VALUES ?y {{ {VALUES} }} }} ORDER BY ?y ?x",
    f"ASK {{ VALUES ({' '.join(f'?x{n}' for n in range(3000))}) {{ }} }}",
    f"ASK {{ ?a ?b ?c FILTER(STR(?a) IN ({', '.join(VALUES.split())})) }}",
    f"SELECT * {{ ?a ?b '{LONG}' }}",
]
DOUBLED = " ".join(f"BIND(CONCAT(?b{n}, ?b{n}) AS ?b{n + 1})" for n in range(60))
NUMBERS = [
    "SELECT * { ?a ?b ?c } LIMIT 9223372036854775808",
    "SELECT * { ?a ?b ?c } OFFSET 18446744073709551616",
    f"SELECT * {{ ?a ?b ?c }} LIMIT {'9' * 5000}",
    'SELECT (xsd:decimal("1e999999999") AS ?x) { }',
    'SELECT * { VALUES ?x { "sNaN"^^xsd:decimal 1 } } ORDER BY ?x',
    'SELECT (SUM(?x) AS ?y) { VALUES ?x { "sNaN"^^xsd:decimal 1 } }',
    f"SELECT ({'9' * 5000} * {'9' * 5000} AS ?x) {{ }}",
    f'SELECT (STRLEN(?b60) AS ?n) {{ BIND("abcdefgh" AS ?b0) {DOUBLED} }}',
    "SELECT (SUBSTR('abc', -9223372036854775808, 9223372036854775807) AS ?x) { }",
]
ELSEWHERE = [
    "SELECT * { SERVICE <LISTENER> { ?a ?b ?c } }",
    "SELECT * { SERVICE SILENT <LISTENER> { ?a ?b ?c } }",
    "SELECT * { VALUES ?s { <LISTENER> } SERVICE ?s { ?a ?b ?c } }",
    "SELECT * { \\u0053ERVICE <LISTENER> { ?a ?b ?c } }",
    "SELECT * FROM <LISTENER> { ?a ?b ?c }",
    "SELECT * { GRAPH <file:///etc/passwd> { ?a ?b ?c } }",
    "LOAD <LISTENER>",
    "INSERT DATA { <urn:a> <urn:b> <urn:c> }",
    "DELETE WHERE { ?a ?b ?c }",
    "CLEAR ALL",
    "CONSTRUCT { ?a ?b ?c } WHERE { ?a ?b ?c }",
    "DESCRIBE ?a { ?a ?b ?c }",
]
QUERIES = [
    *CROSS, *PATHS, *REGEX, *NESTED, *UNIONS, *VALUED, *NUMBERS, *ELSEWHERE,
]  # fmt: skip
