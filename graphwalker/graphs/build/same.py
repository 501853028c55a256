"""Ids that stand for one thing: texts that look alike, equal names of one type, named relations."""

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from unicodedata import normalize

from graphwalker.graphs.base import FLATTENED
from graphwalker.graphs.intake.columns import ID
from graphwalker.graphs.intake.databases.tables import plain_form
from graphwalker.graphs.intake.rows import LINE_BITS, OWN_NAME
from graphwalker.graphs.intake.sorter import Sorter
from graphwalker.graphs.names import local_name

_INVISIBLE = re.compile("[\u00ad\u200b\u2060\ufeff]")
_ODD = (
    r"id <> nfc_normalize(id) OR regexp_matches(id, '^\s|\s$|\s\s|[\t\x{a0}\x{ad}\x{2000}-\x{200b}"
    r"\x{202f}\x{205f}\x{2060}\x{3000}\x{feff}]')"
)
"""What an id has that is not in its plain spelling."""
_MERGED = (
    ("fact", "h"), ("fact", "t"), ("type", "id"), ("name", "id"),
    ("edge_property", "h"), ("edge_property", "t"),
)  # fmt: skip
_OPAQUE = re.compile(r"(.*[/#:])?([A-Z]{1,4}\d+|\d+|[0-9a-f]{8}-[0-9a-f-]{20,})")
"""Ids of relations that say nothing to a reader."""


def spell_plainly(text: str) -> str:
    """Return the spelling that texts which look alike share: NFC, single blanks, none around it.

    >>> spell_plainly("Zoe\u0308  Ewers ")
    'Zoë Ewers'
    """
    return " ".join(_INVISIBLE.sub("", normalize("NFC", text)).split())


def join_spellings(sorter: Sorter) -> list[str]:
    """Make one entity, and one relation, of ids that look alike, where ids are names; returns what
    is to be said of it. Addresses and blank nodes stay as they are."""
    ends = "SELECT h AS id FROM fact UNION ALL SELECT t FROM fact UNION ALL SELECT id FROM type"
    odd = sorter.strings(
        f"SELECT DISTINCT id FROM ({ends}) WHERE id[1] <> '\"' AND ({_ODD}) ORDER BY id"
    )
    sorter.table("spelling", id="VARCHAR").extend([odd_plain := [*map(spell_plainly, odd)]])
    known = sorter.strings(
        f"SELECT DISTINCT id FROM ({ends}) WHERE id IN (SELECT id FROM spelling)"
    )
    nodes = _alike(odd, odd_plain, known)
    replace_ids(sorter, nodes)
    relations = sorter.strings("SELECT r FROM relation_number ORDER BY r")
    odd = [relation for relation in relations if spell_plainly(relation) != relation]
    joined = _alike(odd, map(spell_plainly, odd), set(relations) - set(odd))
    _join_relations(sorter, joined)
    return [
        f"{what} in several spellings that look alike are one: {len(found):,}; the first: "
        f"{one!a} is {plain!r}"
        for what, found in (("entities", nodes), ("relations", joined))
        for one, plain in list(found.items())[:1]
    ]


def name_texts(sorter: Sorter, file: int) -> list[str]:
    """Name by themselves the nodes without a name whose ids are no codes, in a graph some of whose
    files have names; returns what is to be said of it."""
    ends = "SELECT h AS id FROM fact UNION ALL SELECT t FROM fact"
    loose = (
        f"SELECT DISTINCT id FROM ({ends}) WHERE id[1] <> '\"' AND NOT starts_with(id, '_:')"
        f" AND NOT regexp_full_match(id, $code) AND id NOT IN (SELECT id FROM name)"
    )
    before = sorter.rows("name")
    row = f"id, id, {OWN_NAME}, {file << LINE_BITS}"
    sorter.run(f"INSERT INTO name SELECT {row} FROM ({loose}) ORDER BY id", code=ID.pattern)
    count = sorter.rows("name") - before
    what = "ids without a name, in a graph with names, that are names themselves"
    return [f"{what}: {count:,}"] if count else []


def join_names(sorter: Sorter, path: Path | None) -> list[str]:
    """Count the entities of several files that have one name and one type. With a `path`, make them
    one, with the id of the first file, and list them there; a name that a file has twice stays as
    it is. Returns what is to be said of it."""
    pairs, doubtful = _equal_names(sorter)
    if not pairs:
        return []
    ((name, kind), ids), *_ = pairs.items()
    example = f"{name!r} ({kind}): {' and '.join(ids)}"
    if path is None:
        what = "names that entities of one type have in several files"
        return [f"{what}: {len(pairs):,}; the first: {example}; --join-names makes them one"]
    one_of: dict[str, str] = {}
    for ids in pairs.values():
        roots = [_root(one_of, one) for one in ids]
        one_of |= {root: roots[0] for root in roots[1:] if root != roots[0]}
    joined = {one: _root(one_of, one) for one in one_of}
    lines = [
        "\t".join((name, kind, joined.get(ids[0], ids[0]), *ids[1:]))
        for (name, kind), ids in pairs.items()
    ]
    path.write_text("\n".join(["name\ttype\tid\tjoined", *lines, ""]), encoding="utf-8")
    replace_ids(sorter, joined)
    more = f"; names that a file has twice, not joined: {doubtful:,}" if doubtful else ""
    return [f"entities of several files joined by name and type: {len(pairs):,}{more}"]


def _equal_names(sorter: Sorter) -> tuple[dict[tuple[str, str], list[str]], int]:
    """Return the ids in the order of files by name and type, and how many are doubtful."""
    types = sorter.strings("SELECT DISTINCT type FROM type ORDER BY type")
    kinds = [plain_form(local_name(one)) for one in types]
    if not types:
        return {}, 0
    sorter.table("kind_of", type="VARCHAR", kind="VARCHAR").extend([types, kinds])
    sorter.run(
        "CREATE TABLE called AS SELECT DISTINCT id, nfc_normalize(trim(name)) AS name, kind,"
        f" line >> {LINE_BITS} AS file FROM (FROM name QUALIFY row_number() OVER"
        " (PARTITION BY id ORDER BY rank, line, name) = 1) JOIN type USING (id)"
        " JOIN kind_of USING (type)"
    )
    rows = sorter.records(
        "SELECT name, kind, id, file FROM called JOIN (SELECT name, kind FROM called GROUP BY ALL"
        " HAVING min(file) <> max(file) AND min(id) <> max(id)) USING (name, kind) ORDER BY ALL"
    )
    for done in ("kind_of", "called"):
        sorter.run(f"DROP TABLE {done}")
    groups: dict[tuple[str, str], dict[str, int]] = {}
    for name, kind, entity_id, file in rows:
        groups.setdefault((name, kind), {})[entity_id] = file
    pairs = {
        key: sorted(ids, key=ids.__getitem__)
        for key, ids in groups.items()
        if len(set(ids.values())) == len(ids)
    }
    return pairs, len(groups) - len(pairs)


def _root(one_of: Mapping[str, str], one: str) -> str:
    while one in one_of:
        one = one_of[one]
    return one


def name_relations(sorter: Sorter, files: Iterable[int]) -> dict[str, str]:
    """Call relations such as P19 by the names that the names files of these numbers give them;
    returns the names by id. One that names two relations stands before the id of each."""
    chosen = ", ".join(map(str, files)) or "-1"
    rows = sorter.records(
        "SELECT id, name FROM name JOIN relation_number ON id = r"
        f" WHERE line >> {LINE_BITS} IN ({chosen}) ORDER BY rank DESC, line DESC"
    )
    names = {i: name for i, name in rows if _OPAQUE.fullmatch(i) and FLATTENED not in name}
    if not names:
        return {}
    taken = [*sorter.strings("SELECT r FROM relation_number"), *names.values()]
    names = {i: f"{n} ({i})" if taken.count(n) > 1 else n for i, n in sorted(names.items())}
    renamed = sorter.table("renamed", id="VARCHAR", name="VARCHAR")
    renamed.extend([list(names), list(names.values())])
    sorter.replace(
        "relation_number",
        "SELECT coalesce(name, r) AS r, k FROM relation_number LEFT JOIN renamed ON id = r",
    )
    # Named like this they would be entities without a fact.
    ends = "SELECT h FROM fact UNION ALL SELECT t FROM fact"
    ends = f"SELECT h FROM ({ends}) WHERE h IN (SELECT id FROM renamed)"
    sorter.replace("name", f"FROM name WHERE id NOT IN (SELECT id FROM renamed) OR id IN ({ends})")
    return names


def replace_ids(sorter: Sorter, ids: Mapping[str, str]) -> None:
    """Put the values of `ids` in the place of its keys, wherever a node is mentioned."""
    if not ids:
        return
    sorter.table("one", old="VARCHAR", new="VARCHAR").extend([list(ids), list(ids.values())])
    for table, column in _MERGED:
        sorter.replace(
            table,
            f"SELECT {table}.* REPLACE (coalesce(new, {column}) AS {column})"
            f" FROM {table} LEFT JOIN one ON {column} = old",
        )
    sorter.run("DROP TABLE one")


def _alike(odd: Iterable[str], plain: Iterable[str], known: Iterable[str]) -> dict[str, str]:
    """Return the plain spelling of each text that is not alone with it."""
    spelled = {one: other for one, other in zip(odd, plain, strict=True) if "://" not in one}
    spelled |= {one: one for one in known}
    groups: dict[str, list[str]] = {}
    for one, other in spelled.items():
        groups.setdefault(other, []).append(one)
    return {
        one: plain
        for plain, group in groups.items()
        if len(group) > 1 and plain
        for one in group
        if one != plain
    }


def _join_relations(sorter: Sorter, joined: Mapping[str, str]) -> None:
    if not joined:
        return
    sorter.table("one", old="VARCHAR", new="VARCHAR").extend([list(joined), list(joined.values())])
    spelled = "SELECT coalesce(new, r) AS r, k FROM relation_number LEFT JOIN one ON r = old"
    sorter.run(
        f"CREATE TABLE number_of AS SELECT k, min(k) OVER (PARTITION BY r) AS one FROM ({spelled})"
    )
    for table in ("fact", "edge_property"):
        sorter.replace(
            table,
            f"SELECT {table}.* REPLACE (one::UINTEGER AS r) FROM {table} JOIN number_of ON r = k",
        )
    sorter.replace("relation_number", f"SELECT r, min(k) AS k FROM ({spelled}) GROUP BY r")
    for done in ("one", "number_of"):
        sorter.run(f"DROP TABLE {done}")
