"""The intake of a build: blocks and filters, what is rejected, and going on after a stop."""

import random
import signal
import subprocess
import sys

import pytest

from graphwalker.errors import UserError
from graphwalker.graphs.base import Direction
from graphwalker.graphs.build.build import build_graph
from graphwalker.graphs.compiled.properties import open_compiled
from graphwalker.graphs.intake import blocks, ntriples
from graphwalker.graphs.intake.filters import Filters
from graphwalker.graphs.intake.sorter import size_of
from graphwalker.graphs.literals import literal_id
from support.built import built
from support.built import put as write

pytestmark = pytest.mark.long

NS = "http://rdf.freebase.com/ns/"
DATE = "http://www.w3.org/2001/XMLSchema#date"


def fb(text):
    return f"<{NS}{text}>"


def put(path, text):
    return write(path.parent, **{path.name: text})[0]


def made(tmp_path, *files, **options):
    return built(tmp_path / "graph", *files, **options)[1]


def dump(lines=3000):
    """A Freebase dump in small: names, types, dates, escapes, blank nodes, comments."""
    rng = random.Random(0)
    out = ["# a comment", ""]
    for number in range(lines):
        head, other = (fb(f"m.{rng.randrange(lines):04x}") for _ in range(2))
        out.append(f"{head}\t{fb('a.b.' + 'rst'[number % 3])}\t{other}\t.")
        out.append(f"{head}\t{fb('type.object.name')}\t{literal_id(f'N {number}', '@en')}\t.")
        out.append(f"{head}\t{fb('type.object.type')}\t{fb('a.b')}\t.")
        out.append(f'{head} {fb("a.b.born")} "19{number % 90 + 10}-01-01"^^<{DATE}> .')
        if number % 7 == 0:
            out.append(f'{head} {fb("a.b.said")} "\\u00e9 \\"q\\" {number}"@fr .')
            out.append(f"_:b{number} {fb('a.b.r')} {other} . # a remark")
    return "\n".join(out) + "\n"


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    folder = tmp_path_factory.mktemp("whole")
    return made(folder, put(folder / "dump.nt", dump()))


@pytest.mark.parametrize("name", ["dump.nt", "dump.nt.gz"])
def test_where_blocks_are_cut_does_not_matter(tmp_path, whole, monkeypatch, name):
    monkeypatch.setattr(blocks, "BLOCK_BYTES", 60_000)
    assert made(tmp_path, put(tmp_path / name, dump())).checksum == whole.checksum


def test_one_pass_over_a_block_reads_what_single_lines_read(tmp_path, whole, monkeypatch):
    def odd(text):
        return [("", "", "", "", line) for line in text.split("\n")]

    monkeypatch.setattr(ntriples, "parse_lines", odd)
    assert made(tmp_path, put(tmp_path / "dump.nt", dump())).checksum == whole.checksum


def test_lines_end_in_windows_fashion_or_not_at_all(tmp_path, whole):
    text = dump().replace("\n", "\r\n").removesuffix("\r\n")
    assert made(tmp_path, put(tmp_path / "dump.nt", text)).checksum == whole.checksum


def test_a_build_killed_without_warning_starts_again(tmp_path, whole):
    path = put(tmp_path / "dump.nt", dump())
    code = (
        "import os, signal, sys; from pathlib import Path\n"
        "from graphwalker.graphs.build import build\n"
        "def say(text):\n"
        "    if text == 'listing hubs': os.kill(os.getpid(), signal.SIGKILL)\n"
        "build.build_graph([Path(sys.argv[1])], Path(sys.argv[2]), progress=say)"
    )
    killed = subprocess.run([sys.executable, "-c", code, str(path), str(tmp_path / "graph")])
    assert killed.returncode == -signal.SIGKILL and not (tmp_path / "graph").exists()
    assert made(tmp_path, path).checksum == whole.checksum
    assert not list(tmp_path.glob(".graph.building-*"))


def test_two_processes_do_not_build_the_same_graph_at_once(tmp_path):
    path, refused = put(tmp_path / "t.tsv", "m.1\ta.b.c\tm.2\n"), list[str]()

    def build_again(text):
        if not refused:
            with pytest.raises(UserError) as error:
                build_graph([path], tmp_path / "graph")
            refused.append(str(error.value))

    build_graph([path], tmp_path / "graph", progress=build_again)
    assert "is writing here" in refused[0]


FILTERED = f"""\
{fb("m.1")} {fb("film.film.directed_by")} {fb("m.2")} .
{fb("m.1")} {fb("film.film.genre")} {fb("m.3")} .
{fb("m.1")} {fb("user.x.film")} {fb("m.2")} .
{fb("m.1")} <http://www.w3.org/2002/07/owl#sameAs> <http://dbpedia.org/X> .
{fb("m.1")} {fb("film.film.tagline")} "In space"@en .
{fb("m.1")} {fb("film.film.tagline")} "Im All"@de .
{fb("m.1")} {fb("film.film.runtime")} "117" .
{fb("m.1")} {fb("type.object.name")} "Außerirdisch"@de .
{fb("m.1")} {fb("type.object.name")} "Alien"@en-GB .
{fb("m.2")} {fb("type.object.name")} "Ridley"@de .
{fb("m.1")} {fb("type.object.type")} {fb("film.film")} .
"""


@pytest.mark.parametrize(
    ("filters", "kept", "filtered"),
    [
        (Filters(), 7, 0),
        (Filters(relations=frozenset({"film.film.genre"})), 1, 6),
        (Filters(keep=("film.*",)), 5, 2),
        (Filters(keep=("film.*",), drop=("*.tagline", "user.*")), 3, 4),
        (Filters(namespaces=(NS,)), 6, 1),
        (Filters(languages=("en",)), 6, 1),
    ],
)
def test_filters_keep_what_they_say_and_count_the_rest(tmp_path, filters, kept, filtered):
    path = put(tmp_path / "dump.nt.gz", FILTERED)
    info = build_graph([path], tmp_path / "graph", filters=filters)
    assert (info["triples"], info["filtered"]) == (kept, filtered)
    graph = open_compiled(tmp_path / "graph")
    assert (graph.name("m.1"), graph.types("m.1")) == ("Alien", ["film.film"])
    assert graph.name("m.2") == "Ridley"


def test_a_name_in_another_language_is_the_last_choice_and_is_counted(tmp_path):
    label = "<http://www.w3.org/2000/01/rdf-schema#label>"
    names = (("a", "Wien", "de"), ("b", "Rome", "en"), ("b", "Rom", "de"), ("a", "Vienne", "fr"))
    lines = [f'<http://x.org/{id}> {label} "{name}"@{tag} .' for id, name, tag in names]
    path = tmp_path / "kb.nt"
    path.write_text("\n".join([*lines, "<http://x.org/a> <http://x.org/r> <http://x.org/b> ."]))
    said: list[str] = []
    for wanted, expected in (("en", ["Vienne", "Rome"]), ("de", ["Wien", "Rom"])):
        out = tmp_path / wanted
        said += build_graph([path], out, filters=Filters(languages=(wanted,))).get("warnings", [])
        graph = open_compiled(out)
        assert [graph.name(f"http://x.org/{id}") for id in "ab"] == expected
    told = "1 of 2 (50 %) nodes have a name in another language only, which is used"
    assert [s for s in said if "language" in s] == [told]


def test_filters_that_leave_no_triple_are_told(tmp_path):
    path = put(tmp_path / "t.tsv", "Ana\tknows\tBen\nBen\tknows\tAna\n")
    with pytest.raises(UserError, match=r"the filters drop all 2 triples: change --keep"):
        build_graph([path], tmp_path / "graph", filters=Filters(keep=("know",)))
    assert not (tmp_path / "graph").exists()


def test_a_literal_of_ten_megabytes_is_read_whole(tmp_path):
    text = 'long \\"é\\u00e9\\" ' * 10_000 + "x" * 10_000_000
    path = put(tmp_path / "t.nt", f'{fb("m.1")} {fb("a.b.c")} "{text}"@en .\n')
    graph = made(tmp_path, path)
    (found,) = graph.neighbors("m.1", "a.b.c", Direction.OUT)
    assert found.name == 'long "éé" ' * 10_000 + "x" * 10_000_000
    assert graph.neighbors(found.id, "a.b.c", Direction.OUT) == []


def test_a_line_beyond_the_limit_is_rejected_without_filling_memory(tmp_path, monkeypatch):
    monkeypatch.setattr(blocks, "BLOCK_BYTES", 1_000)
    monkeypatch.setattr(blocks, "LINE_LIMIT", 5_000)
    long = "m.1\ta.b.c\tm." + "9" * 20_000
    path = put(tmp_path / "t.tsv", f"m.1\ta.b.c\tm.2\n{long}\nm.1\ta.b.c\tm.3\n")
    assert (build_graph([path], tmp_path / "graph")["malformed"]) == 1
    (_, line) = (tmp_path / "graph" / "rejects.tsv").read_text().splitlines()
    assert line.split("\t")[1:3] == ["2", "longer than 5,000 bytes"]


FULL = """
import resource, sys
from pathlib import Path
from graphwalker.errors import UserError
from graphwalker.graphs.build import build
limit = int(sys.argv[3])
resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
try:
    build.build_graph([Path(sys.argv[1])], Path(sys.argv[2]))
except UserError as error:
    print(error)
    sys.exit(2)
"""


@pytest.mark.parametrize("limit", [100_000, 1_000_000])
def test_a_disk_that_fills_up_leaves_no_graph(tmp_path, limit):
    path = put(tmp_path / "dump.nt", dump(8_000))
    arguments = [sys.executable, "-c", FULL, str(path), str(tmp_path / "graph"), str(limit)]
    result = subprocess.run(arguments, capture_output=True, text=True)
    assert result.returncode == 2, result.stderr
    assert not (tmp_path / "graph").exists()
    there = made(tmp_path, path)
    (tmp_path / "elsewhere").mkdir()
    assert there.checksum == made(tmp_path / "elsewhere", path).checksum


@pytest.mark.parametrize("text", ["", "lots", "-2GB", "0", "2 PB"])
def test_what_is_no_size_is_refused(text):
    with pytest.raises(UserError, match="disk_limit"):
        size_of("disk_limit", text)


def test_a_disk_limit_stops_the_build_and_says_what_to_raise(tmp_path):
    path = put(tmp_path / "dump.nt", dump(20_000))
    with pytest.raises(UserError, match="disk_limit"):
        build_graph([path], tmp_path / "graph", memory_limit="12MB", disk_limit="1MB")
    assert not (tmp_path / "graph").exists()
