"""Small graphs in the forms that other people have: DBpedia, Wikidata, CSV tables, TSV, Neo4j."""

from support.paths import ROOT

FOLDER = ROOT / "tests" / "data" / "foreign"


def _words(option: str, *names: str) -> list[str]:
    return [word for name in names for word in (option, str(FOLDER / name))]


FOREIGN: dict[str, list[str]] = {
    "dbpedia": _words("--triples", "dbpedia/dbpedia.nt"),
    "wikidata": _words("--triples", "wikidata/wikidata.nt"),
    "company": _words("--triples", "company/people.csv", "company/companies.csv"),
    "citations": [
        *_words("--triples", "citations/papers.tsv"),
        *_words("--types", "citations/types.tsv"),
    ],
    "neo4j": _words("--property", "neo4j/movies.jsonl"),
}
"""What `graphwalker graph build` is given for each graph."""
