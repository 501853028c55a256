"""Tables as people write them, made at random: each is read as it is meant, or asked about."""

import bz2
import csv
import gzip
import io
import lzma
import random

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from graphwalker.errors import UserError
from graphwalker.graphs.intake.filters import Filters
from graphwalker.graphs.intake.foreign.recognise import convert
from graphwalker.graphs.intake.readers import check_read, open_reader
from graphwalker.graphs.intake.rows import Rejects, Relations, Source

NAMED = (
    "head,relation,tail", "Head,Relation,Tail", "subject,predicate,object", "s,p,o", "h,r,t",
    "Subject,Relation,Object", "source,relation,target", "source,label,target", "SRC,REL,DST",
    "from,type,to", "node1,label,node2", "start,type,end", "subj,rel,obj", "a.name,type(r),b.name",
    "entity1,relation,entity2", "head_id,relation_id,tail_id", "Source,Type,Target",
    "source_name,edge,target_name", "from_node,edge_type,to_node", "START_ID,TYPE,END_ID",
)  # fmt: skip
OTHERS = (
    "sujet,prédicat,objet", "Subjekt,Prädikat,Objekt", "kopf,kante,ende", "who,what,whom",
    "sujeto,predicado,objeto", "субъект,предикат,объект", "主语,谓语,宾语", "a,b,c", "x,y,z",
    "0,1,2", "col1,col2,col3", "Column1,Column2,Column3", "person,knows,friend", "von,wie,nach",
    "film,role,actor", "e1,r,e2", "left,link,right", "parent,rel,child", "", "", "",
)  # fmt: skip
OF_ENTITIES = (
    "person,works_for,lives_in", "town,mayor,river", "name,type,label", "film,actor,year",
    "id,parent,colour", "entity,relation,category", "product,price,maker",
)  # fmt: skip
EXTRA = {
    "weight": lambda n: f"{n % 7 / 4:.2f}", "id": str, "": str, "year": lambda n: "1999",
    "relation_label": lambda n: "is in", "source_url": lambda n: f"http://w.org/{n}",
    "head_name": lambda n: f"Name {n}", "comment": lambda n: "",
}  # fmt: skip
WORDS = (
    "Ana", "Ben", "Kestrup", "Müller", "São Paulo", "Oslo", "Ombra", "Łódź", "O'Neil", "Дом",
    "東京", "Varn", "Ida", "Ålesund", "Zoë", "Mount", "Almera", "Nord", "Bo", "Cleo",
)  # fmt: skip
RELATIONS = ("born_in", "is part of", "FILM_ACTOR", "P", "http://x.org/p/r", "film.film.actor")
KINDS = ("name", "name", "odd", "id", "number", "iri", "word", "mid")
PACKERS = {
    "": bytes, "gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress,
    "zst": lambda data: pa.compress(data, codec="zstd", asbytes=True),
}  # fmt: skip


class Made:
    """A file with a table, and the facts that it states."""

    def __init__(self, seed, folder):
        self.rng = rng = random.Random(seed)
        self.form = rng.choice(("csv", "csv", "csv", "tsv", "tsv", "parquet", "arrow"))
        self.mark = rng.choice(",;\t|") if self.form == "csv" else "\t"
        self.of_entities = rng.random() < 0.12
        rows = self.entities() if self.of_entities else self.make_facts()
        self.header = rng.choice(OF_ENTITIES if self.of_entities else NAMED + OTHERS)
        self.facts = list(self.cells(rows)) if self.of_entities else rows
        order = self.order()
        lines = [*([self.header.split(",")] if self.header else []), *rows]
        self.lines = [[line[place] for place in order] for line in lines]
        if not self.of_entities:
            self.add_columns()
        path = folder / "table"
        if self.form in ("parquet", "arrow") and self.header:
            self.path = self.write_columns(path)
        else:
            self.path = self.write_text(path)

    def order(self):
        """Without a header, rows state head, relation, tail: nobody can tell another order."""
        told = self.header and (self.header != "0,1,2" or self.mark != "\t")
        if self.of_entities or not told or self.rng.random() < 0.65:
            return (0, 1, 2)
        reversed_too = [(2, 1, 0)] if self.header in NAMED else []
        return self.rng.choice([(1, 0, 2), (0, 2, 1), (2, 0, 1), (1, 2, 0), *reversed_too])

    def make_facts(self):
        choice, randrange = self.rng.choice, self.rng.randrange
        kind, style, shape = (
            choice(KINDS),
            choice(RELATIONS),
            choice(("chain", "fan", "star", "one")),
        )
        relations = [f"{style}{number or ''}" for number in range(choice((1, 2, 3, 8, 20)))]
        many, facts = choice((4, 20, 100)), []
        for number in range(choice((2, 3, 5, 9, 20, 60, 200))):
            ends = {
                "chain": (number, number + 1), "one": (number, number + 1000),
                "fan": (randrange(many), randrange(many) + choice((0, 200))),
                "star": (0, randrange(many) + 200),
            }[shape]  # fmt: skip
            head, tail = (entity(kind, end) for end in ends)
            facts.append((head, choice(relations), tail))
        return list(dict.fromkeys(facts))

    def entities(self):
        heads, values = self.rng.choice(("name", "id")), self.rng.choice(("name", "word", "number"))
        many = self.rng.choice((3, 50))
        return [
            (
                entity(heads, 300 + n),
                *(entity(values, self.rng.randrange(many) + k) for k in (0, 50)),
            )
            for n in range(self.rng.choice((2, 9, 40)))
        ]

    def cells(self, rows):
        _, *columns = self.header.split(",")
        for head, *values in rows:
            yield from ((head, *cell) for cell in zip(columns, values, strict=True))

    def add_columns(self):
        for name in self.rng.sample(sorted(EXTRA), self.rng.choice((0, 0, 0, 1, 2))):
            place = 0 if name == "" else self.rng.choice((0, len(self.lines[0])))
            for number, line in enumerate(self.lines):
                is_header = self.header and not number
                line.insert(place, name if is_header else EXTRA[name](number))

    def write_text(self, path):
        choice, out = self.rng.choice, io.StringIO()
        end, quoting = choice(("\n", "\n", "\r\n")), choice((csv.QUOTE_MINIMAL, csv.QUOTE_ALL))
        if self.mark == "\t" and choice((True, False)):
            out.writelines(self.mark.join(line) + end for line in self.lines)
        else:
            form = {"delimiter": self.mark, "quoting": quoting, "lineterminator": end}
            csv.writer(out, **form).writerows(self.lines)
        text = out.getvalue().removesuffix(choice((end, "", "")))
        code = choice(("utf-8",) * 6 + ("utf-8-sig", "utf-16", "utf-16-le", "cp1252"))
        if code == "cp1252":
            text = text.encode(code, "ignore").decode(code)
            self.facts = [tuple(map(plain, fact)) for fact in self.facts]
        packing = choice(("", "", "", *PACKERS))
        suffix = "tsv" if self.form == "tsv" and choice((True, False)) else choice(("csv", "txt"))
        named = f".{packing}" if packing and choice((True, False)) else ""
        path = path.with_name(f"{path.name}.{suffix}{named}")
        path.write_bytes(PACKERS[packing](text.encode(code)))
        return path

    def write_columns(self, path):
        names, *rows = self.lines
        names = [name or "__index_level_0__" for name in names]
        columns = [
            list(map(int, column)) if all(value.isdigit() for value in column) else column
            for column in zip(*rows, strict=True)
        ]
        table = pa.table(dict(zip(names, columns, strict=True)))
        path = path.with_name(f"{path.name}.{self.form}")
        if self.form == "parquet":
            pq.write_table(table, path, compression=self.rng.choice(("snappy", "zstd", "none")))
        else:
            with pa.ipc.new_file(path, table.schema) as out:
                out.write_table(table)
        return path


def entity(kind, number):
    first, second = WORDS[number % 20], WORDS[number // 20 % 20]
    return {
        "name": f"{first} {second}", "odd": f'{first}, "{second}"', "id": f"Q{number}",
        "number": str(number), "iri": f"http://x.org/e/{first}_{number}", "word": first.lower(),
        "mid": f"/m/0{number:x}",
    }[kind]  # fmt: skip


def plain(text):
    return text.encode("cp1252", "ignore").decode("cp1252").strip()


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


def outcome(seed, folder):
    """The file of a number, and `right`, `wrong`, or the question that is asked."""
    (folder := folder / str(seed)).mkdir()
    made = Made(seed, folder)
    try:
        return made, "right" if read(made.path, folder) == set(made.facts) else "wrong"
    except UserError as error:
        return made, str(error)


def check(seeds, folder):
    right = 0
    for seed in seeds:
        made, said = outcome(seed, folder)
        assert said != "wrong", (seed, made.path, made.lines[:3])
        asks = ("--columns", "iconv", "not UTF-8 text", "found", "header of two columns")
        assert said == "right" or any(word in said for word in asks), said
        right += said == "right"
    return right / len(seeds)


def test_tables_are_read_as_they_are_meant_or_asked_about(tmp_path):
    assert check(range(60), tmp_path) > 0.3


@pytest.mark.long
def test_a_thousand_tables_are_read_as_they_are_meant_or_asked_about(tmp_path):
    assert check(range(1000), tmp_path) > 0.3
