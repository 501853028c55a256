"""Graphs whose ids do not fit into the memory limit: numbered range by range, the same bytes."""

import hashlib
import random
from pathlib import Path

import pytest

from graphwalker.graphs.build.build import build_graph
from graphwalker.graphs.compiled.check import check_graph
from graphwalker.graphs.compiled.properties import open_compiled
from graphwalker.graphs.intake.sorter import Sorter
from graphwalker.graphs.names import names_nothing

NODES = 30_000
SMALL = "32MB"
"""DuckDB may have 19 MiB of it, mentions of nodes take 60 MiB; with less its own blocks do not
fit."""


def node(number: int) -> str:
    digest = hashlib.sha512(str(number).encode()).hexdigest()
    return f"http://example.org/{3 * digest}"[:400]


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Triples, names and types; a hub, literals of many bytes, nodes that only types mention."""
    folder, draws = tmp_path_factory.mktemp("long"), random.Random(0)
    facts = [
        (node(number), f"r{number % 7}", node(draws.randrange(NODES))) for number in range(NODES)
    ]
    facts += [(node(draws.randrange(NODES)), "hub", node(7)) for _ in range(3000)]
    facts += [(node(number), "text", f'"{number} {"word " * 90}"') for number in range(2000)]
    names = [(node(number), f"Name {number}") for number in range(0, NODES, 3)]
    types = [(node(number), f"t.{number % 5}") for number in range(100, NODES + 100, 2)]
    paths: list[Path] = []
    for name, rows in (("triples", facts), ("names", names), ("types", types)):
        paths.append(folder / f"{name}.tsv")
        paths[-1].write_text("".join("\t".join(row) + "\n" for row in rows))
    return paths


@pytest.fixture(scope="module")
def whole(files: list[Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    triples, names, types = files
    out = tmp_path_factory.mktemp("whole") / "graph"
    build_graph([triples], out, names, types)
    return out


@pytest.mark.long
def test_ids_of_more_bytes_than_the_limit_give_the_same_file(
    files: list[Path], whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    statements: list[str] = []
    run = Sorter.run
    monkeypatch.setattr(
        Sorter, "run", lambda self, sql, **v: (statements.append(sql), run(self, sql, **v))[1]
    )
    triples, names, types = files
    build_graph([triples], tmp_path / "graph", names, types, memory_limit=SMALL)
    assert sum(sql.startswith("INSERT INTO mention ") for sql in statements) > 4
    assert open_compiled(tmp_path / "graph").checksum == open_compiled(whole).checksum


@pytest.mark.long
def test_the_graph_of_the_small_limit_is_right(whole: Path) -> None:
    check_graph(whole)
    graph = open_compiled(whole)
    assert graph.name(node(3)) == "Name 3" and names_nothing(graph.name(node(4)))
    assert graph.types(node(102)) == ["t.2"]
