"""The intake of a build: blocks and filters, what is rejected, and going on after a stop."""

import gzip
import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from graphwalker.errors import UserError
from graphwalker.graphs.base import Direction
from graphwalker.graphs.build.build import build_graph
from graphwalker.graphs.compiled.graph import CompiledGraph
from graphwalker.graphs.compiled.properties import open_compiled
from graphwalker.graphs.intake import blocks, ntriples
from graphwalker.graphs.intake.filters import Filters
from graphwalker.graphs.intake.sorter import size_of
from graphwalker.graphs.literals import literal_id

pytestmark = pytest.mark.long

NS = "http://rdf.freebase.com/ns/"
DATE = "http://www.w3.org/2001/XMLSchema#date"


def fb(text: str) -> str:
    return f"<{NS}{text}>"


def put(path: Path, data: str | bytes) -> Path:
    raw = data.encode() if isinstance(data, str) else data
    path.write_bytes(gzip.compress(raw) if path.suffix == ".gz" else raw)
    return path


def made(tmp_path: Path, *files: Path, **options) -> CompiledGraph:
    build_graph(files, tmp_path / "graph", **options)
    return open_compiled(tmp_path / "graph")


def dump(lines: int = 3000) -> str:
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
def whole(tmp_path_factory: pytest.TempPathFactory) -> CompiledGraph:
    folder = tmp_path_factory.mktemp("whole")
    return made(folder, put(folder / "dump.nt", dump()))


@pytest.mark.parametrize("name", ["dump.nt", "dump.nt.gz"])
def test_where_blocks_are_cut_does_not_matter(
    tmp_path: Path, whole: CompiledGraph, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr(blocks, "BLOCK_BYTES", 60_000)
    assert made(tmp_path, put(tmp_path / name, dump())).checksum == whole.checksum


def test_one_pass_over_a_block_reads_what_single_lines_read(
    tmp_path: Path, whole: CompiledGraph, monkeypatch: pytest.MonkeyPatch
) -> None:
    def odd(text: str) -> list[tuple[str, str, str, str, str]]:
        return [("", "", "", "", line) for line in text.split("\n")]

    monkeypatch.setattr(ntriples, "parse_lines", odd)
    assert made(tmp_path, put(tmp_path / "dump.nt", dump())).checksum == whole.checksum


def test_lines_end_in_windows_fashion_or_not_at_all(tmp_path: Path, whole: CompiledGraph) -> None:
    text = dump().replace("\n", "\r\n").removesuffix("\r\n")
    assert made(tmp_path, put(tmp_path / "dump.nt", text)).checksum == whole.checksum


def test_a_build_killed_without_warning_starts_again(tmp_path: Path, whole: CompiledGraph) -> None:
    path = put(tmp_path / "dump.nt", dump())
    code = (
        "import os, signal, sys; from pathlib import Path\n"
        "from graphwalker.graphs.build import build\n"
        "def say(text):\n"
        "    if text == 'listing hubs': os.kill(os.getpid(), signal.SIGKILL)\n"
        "build.build_graph([Path(sys.argv[1])], Path(sys.argv[2]), progress=say)"
    )
    killed = subprocess.run([sys.executable, "-c", code, str(path), str(tmp_path / "graph")])
    assert killed.returncode == -signal.SIGKILL
    assert not (tmp_path / "graph").exists()
    assert made(tmp_path, path).checksum == whole.checksum
    assert not list(tmp_path.glob(".graph.building-*"))


def test_two_processes_do_not_build_the_same_graph_at_once(tmp_path: Path) -> None:
    path, refused = put(tmp_path / "t.tsv", "m.1\ta.b.c\tm.2\n"), list[str]()

    def build_again(text: str) -> None:
        if not refused:
            with pytest.raises(UserError) as error:
                build_graph([path], tmp_path / "graph")
            refused.append(str(error.value))

    build_graph([path], tmp_path / "graph", progress=build_again)
    assert "is writing here" in refused[0]


FILTERED = "".join(
    f"{line} .\n"
    for line in (
        f"{fb('m.1')} {fb('film.film.directed_by')} {fb('m.2')}",
        f"{fb('m.1')} {fb('film.film.genre')} {fb('m.3')}",
        f"{fb('m.1')} {fb('user.x.film')} {fb('m.2')}",
        f"{fb('m.1')} <http://www.w3.org/2002/07/owl#sameAs> <http://dbpedia.org/X>",
        f"{fb('m.1')} {fb('film.film.tagline')} {literal_id('In space', '@en')}",
        f"{fb('m.1')} {fb('film.film.tagline')} {literal_id('Im All', '@de')}",
        f"{fb('m.1')} {fb('film.film.runtime')} {literal_id('117')}",
        f"{fb('m.1')} {fb('type.object.name')} {literal_id('Außerirdisch', '@de')}",
        f"{fb('m.1')} {fb('type.object.name')} {literal_id('Alien', '@en-GB')}",
        f"{fb('m.2')} {fb('type.object.name')} {literal_id('Ridley', '@de')}",
        f"{fb('m.1')} {fb('type.object.type')} {fb('film.film')}",
    )
)


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
def test_filters_keep_what_they_say_and_count_the_rest(
    tmp_path: Path, filters: Filters, kept: int, filtered: int
) -> None:
    path = put(tmp_path / "dump.nt.gz", FILTERED)
    info = build_graph([path], tmp_path / "graph", filters=filters)
    assert (info["triples"], info["filtered"]) == (kept, filtered)
    graph = open_compiled(tmp_path / "graph")
    assert (graph.name("m.1"), graph.types("m.1")) == ("Alien", ["film.film"])
    assert graph.name("m.2") == "Ridley"


def test_a_name_in_another_language_is_the_last_choice_and_is_counted(tmp_path: Path) -> None:
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
    assert [s for s in said if "language" in s] == [
        "1 of 2 (50 %) nodes have a name in another language only, which is used"
    ]


BAD = (
    b"m.1\ta.b.c\tm.2\n"
    b"m.1\ta.b.\xff\tm.3\n"
    b"m.1\ta.b.c\n"
    b'm.1\ta.b.c\t"cut\n'
    b'm.1\ta.b.c\t"odd \\q"\n'
    b"m.1\ta.b.c\tm.4\n"
)


def test_rejected_lines_stand_in_a_file_with_their_place_and_reason(tmp_path: Path) -> None:
    path = put(tmp_path / "t.tsv", BAD)
    assert build_graph([path], tmp_path / "graph")["malformed"] == 4
    lines = (tmp_path / "graph" / "rejects.tsv").read_text().splitlines()
    assert lines[0] == "file\tline\treason\ttext"
    assert [line.split("\t")[:2] for line in lines[1:]] == [
        [str(path), str(n)] for n in range(2, 6)
    ]
    assert lines[1].split("\t")[2:] == [
        "not UTF-8 text (invalid start byte)",
        "m.1\\ta.b.\\\\xff\\tm.3",
    ]


def test_the_limit_of_malformed_lines_can_be_set_and_their_file_stays(tmp_path: Path) -> None:
    path, rejects = put(tmp_path / "t.tsv", BAD), tmp_path / "bad.tsv"
    with pytest.raises(UserError, match=r"t\.tsv:5: .*more than 3 malformed lines.*t\.tsv:2: "):
        build_graph([path], tmp_path / "graph", max_malformed=3, rejects=rejects)
    assert len(rejects.read_text().splitlines()) == 5
    assert not (tmp_path / "graph").exists()
    assert build_graph([path], tmp_path / "graph", max_malformed=4, rejects=rejects)["triples"] == 2


def test_a_literal_of_ten_megabytes_is_read_whole(tmp_path: Path) -> None:
    text = 'long \\"é\\u00e9\\" ' * 10_000 + "x" * 10_000_000
    path = put(tmp_path / "t.nt", f'{fb("m.1")} {fb("a.b.c")} "{text}"@en .\n')
    graph = made(tmp_path, path)
    (found,) = graph.neighbors("m.1", "a.b.c", Direction.OUT)
    assert found.name == 'long "éé" ' * 10_000 + "x" * 10_000_000
    assert graph.neighbors(found.id, "a.b.c", Direction.OUT) == []


def test_a_line_beyond_the_limit_is_rejected_without_filling_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
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
def test_a_disk_that_fills_up_leaves_no_graph(tmp_path: Path, limit: int) -> None:
    path = put(tmp_path / "dump.nt", dump(8_000))
    arguments = [sys.executable, "-c", FULL, str(path), str(tmp_path / "graph"), str(limit)]
    result = subprocess.run(arguments, capture_output=True, text=True)
    assert result.returncode == 2, result.stderr
    assert not (tmp_path / "graph").exists()
    there = made(tmp_path, path)
    (tmp_path / "elsewhere").mkdir()
    assert there.checksum == made(tmp_path / "elsewhere", path).checksum


@pytest.mark.parametrize("text", ["", "lots", "-2GB", "0", "2 PB"])
def test_what_is_no_size_is_refused(text: str) -> None:
    with pytest.raises(UserError, match="disk_limit"):
        size_of("disk_limit", text)


def test_a_disk_limit_stops_the_build_and_says_what_to_raise(tmp_path: Path) -> None:
    path = put(tmp_path / "dump.nt", dump(20_000))
    with pytest.raises(UserError, match="disk_limit"):
        build_graph([path], tmp_path / "graph", memory_limit="12MB", disk_limit="1MB")
    assert not (tmp_path / "graph").exists()
