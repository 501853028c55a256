"""The check of a compiled graph: sound ones pass, and each kind of damage is named."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from graphwalker.errors import GraphError
from graphwalker.graphs.compiled.check import check_graph
from graphwalker.graphs.format.layout import FILE_NAME, Layout, LayoutWriter
from graphwalker.graphs.format.nodes import EMPTY, HashTable, HashTableWriter
from support.backends import compiled_tsv
from support.toy import TOY_NAMES, TOY_TRIPLES, TOY_TYPES


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("toy")
    return compiled_tsv(folder, TOY_TRIPLES, TOY_NAMES, TOY_TYPES).path


def test_a_sound_graph_passes_and_says_what_was_checked(sound: Path) -> None:
    said: list[str] = []
    found = check_graph(sound, said.append)
    assert (found["triples"], found["looked_up"]) == (len(TOY_TRIPLES), found["nodes"])
    assert said == ["checksums", "names and ids", "edges, out", "edges, in", "look-ups"]


def rewritten(sound: Path, folder: Path, section: str, change: Callable[[bytearray], None]) -> Path:
    """The same graph with one section changed and every checksum right: only its order is wrong."""
    from_layout, writer = Layout(sound), LayoutWriter(folder)
    for name in from_layout.section_names():
        found = from_layout.section(name)
        data = bytearray(from_layout.map[found.offset : found.offset + found.bytes])
        if name == section:
            change(data)
        writer.section(name, found.typecode).write(data)
    writer.finish(folder / FILE_NAME, from_layout.counts)
    return folder


def swap_ends(data: bytearray) -> None:
    data[0], data[-1] = data[-1], data[0]


def shift_slots(data: bytearray) -> None:
    data[4:-4] = data[8:-4] + data[4:8]


@pytest.mark.parametrize(
    ("section", "change", "told"),
    [
        ("records", lambda data: data.__setitem__(slice(0, 3), b"zzz"), "id 4 out of order"),
        ("record_starts", swap_ends, "record_starts out of order"),
        ("out_relations", lambda data: data.__setitem__(0, 255), "out edges out of range"),
        (
            "in_starts",
            lambda data: data.__setitem__(slice(1, 9), bytes(8)),
            "in edges out of order",
        ),
        ("relation_counts", lambda data: data.__setitem__(0, 200), "triples of the relations"),
        ("id_table", lambda data: data.__setitem__(4, 200), "id_table out of range"),
        ("id_table", shift_slots, "is not found by its id"),
        ("name_table", shift_slots, "is not found by its name"),
        ("entities", lambda data: data.reverse(), "entities out of order"),
    ],
)
def test_damage_that_checksums_cannot_see_is_named(
    sound: Path, tmp_path: Path, section: str, change: Callable[[bytearray], None], told: str
) -> None:
    with pytest.raises(GraphError, match=f"{FILE_NAME}: damaged graph file: .*{told}"):
        check_graph(rewritten(sound, tmp_path, section, change))


@pytest.mark.parametrize("count", [0, 3_000])
def test_a_hash_table_finds_what_was_written_in_its_order(tmp_path: Path, count: int) -> None:
    hashes = np.sort(np.random.default_rng(0).integers(0, 1 << 32, count, dtype=np.int64))
    hashes[count // 2 :] = hashes[count // 2 :] >> 3 << 3  # some come more than once
    hashes[count - 2 :] = EMPTY
    writer = LayoutWriter(tmp_path)
    table = HashTableWriter(writer, "x", count)
    for start in range(0, count, 777):
        piece = hashes[start : start + 777]
        table.write(piece, np.arange(start, start + len(piece)))
    table.close()
    writer.finish(tmp_path / FILE_NAME, {})
    found = HashTable(Layout(tmp_path), "x")
    for one in {*hashes.tolist(), 0, 5}:
        wanted = np.flatnonzero(hashes == one).tolist()
        assert [node for node in found.find_hash(one) if hashes[node] == one] == wanted
