"""Tables as people write them, made at random: each is read as it is meant, or asked about."""

import csv
import io
import random

import pytest

from graphwalker.errors import UserError
from graphwalker.graphs.intake.filters import Filters
from graphwalker.graphs.intake.foreign.recognise import convert
from graphwalker.graphs.intake.readers import check_read, open_reader
from graphwalker.graphs.intake.rows import Rejects, Relations, Source

NAMED = (
    "head,relation,tail", "Head,Relation,Tail", "s,p,o", "Subject,Relation,Object", "h,r,t",
    "source,label,target", "from,type,to", "node1,label,node2", "a.name,type(r),b.name",
    "head_id,relation_id,tail_id", "from_node,edge_type,to_node", "START_ID,TYPE,END_ID",
)  # fmt: skip
OTHERS = (
    "sujet,prédicat,objet", "kopf,kante,ende", "who,what,whom", "主语,谓语,宾语", "x,y,z", "0,1,2",
    "person,knows,friend", "film,role,actor", "e1,r,e2", "parent,rel,child", "", "", "",
)  # fmt: skip
WORDS = ("Ana", "Ben", "Müller", "São Paulo", "Łódź", "O'Neil", "Дом", "東京", "Zoë", "Mount Nord")
RELATIONS = ("born_in", "is part of", "FILM_ACTOR", "P", "http://x.org/p/r", "film.film.actor")
EXTRA = {"weight": "0.5", "id": "{n}", "year": "1999", "source_url": "http://w.org/{n}"}


def entity(kind, number):
    first, second = WORDS[number % 10], WORDS[number // 10 % 10]
    return {
        "name": f"{first} {second}", "odd": f'{first}, "{second}"', "id": f"Q{number}",
        "number": str(number), "iri": f"http://x.org/e/{number}", "mid": f"/m/0{number:x}",
    }[kind]  # fmt: skip


def facts_of(rng):
    kind, style = rng.choice(("name", "odd", "id", "number", "iri", "mid")), rng.choice(RELATIONS)
    relations = [f"{style}{number or ''}" for number in range(rng.choice((1, 2, 3, 8, 20)))]
    many, shape = rng.choice((4, 20, 100)), rng.choice(("chain", "fan", "star"))
    facts = []
    for number in range(rng.choice((2, 3, 5, 9, 20, 60, 200))):
        ends = {
            "chain": (number, number + 1), "star": (0, rng.randrange(many) + 50),
            "fan": (rng.randrange(many), rng.randrange(many) + rng.choice((0, 50))),
        }[shape]  # fmt: skip
        head, tail = (entity(kind, end) for end in ends)
        facts.append((head, rng.choice(relations), tail))
    return list(dict.fromkeys(facts))


def write_table(rng, folder):
    """A file with a table, and the facts that it states. Without a header, rows state head,
    relation, tail: nobody can tell another order."""
    facts, header = facts_of(rng), rng.choice(NAMED + OTHERS)
    mark = rng.choice((",", ";", "\t", "|"))
    order = [0, 1, 2]
    if header and (header != "0,1,2" or mark != "\t") and rng.random() < 0.35:
        order = rng.choice([[1, 0, 2], [0, 2, 1], [2, 0, 1], [1, 2, 0]])
    lines = [[row[at] for at in order] for row in ([header.split(",")] if header else []) + facts]
    for name in rng.sample(sorted(EXTRA), rng.choice((0, 0, 0, 1, 2))):
        place = rng.choice((0, len(lines[0])))
        for number, line in enumerate(lines):
            line.insert(place, name if header and not number else EXTRA[name].format(n=number))
    out, end = io.StringIO(), rng.choice(("\n", "\r\n"))
    quoting = rng.choice((csv.QUOTE_MINIMAL, csv.QUOTE_ALL))
    csv.writer(out, delimiter=mark, quoting=quoting, lineterminator=end).writerows(lines)
    path = folder / f"table.{rng.choice(('tsv', 'txt') if mark == chr(9) else ('csv', 'txt'))}"
    path.write_bytes(out.getvalue().removesuffix(rng.choice((end, ""))).encode())
    return path, facts


def read(path, folder):
    """The facts of a file, as the first stage of a build reads them."""
    relations, rejects = Relations(Filters()), Rejects(None, 0)
    source = convert(Source(path, "triples", 0), folder)
    reader = open_reader(source, Filters(), relations, rejects)
    found = set()
    for _, rows in reader.blocks():
        named = (relations.listed[number] for number in rows.relations)
        facts = zip(rows.heads, named, rows.tails, strict=True)
        found |= {tuple(map(str.strip, fact)) for fact in facts}
    check_read(reader, source, rejects.count)
    return found


@pytest.mark.parametrize("seeds", [60, pytest.param(1000, marks=pytest.mark.long)])
def test_tables_are_read_as_they_are_meant_or_asked_about(tmp_path, seeds):
    right = 0
    for seed in range(seeds):
        (folder := tmp_path / str(seed)).mkdir()
        path, facts = write_table(random.Random(seed), folder)
        try:
            assert read(path, folder) == set(facts), (seed, path)
            right += 1
        except UserError as error:
            asks = ("--columns", "found", "header of two columns")
            assert any(word in str(error) for word in asks), error
    assert right / seeds > 0.3
