"""The check of a compiled graph: sound ones pass, and each kind of damage is named."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from graphwalker.errors import GraphError
from graphwalker.graphs.base import Direction, Side
from graphwalker.graphs.build.build import build_graph
from graphwalker.graphs.compiled.check import check_graph
from graphwalker.graphs.compiled.properties import open_compiled
from graphwalker.graphs.format import offsets
from graphwalker.graphs.format.layout import FILE_NAME, Layout, LayoutWriter
from graphwalker.graphs.format.offsets import (
    OffsetsWriter,
    StartsWriter,
    read_offsets,
)
from support.toy import TOY_NAMES, TOY_TRIPLES, TOY_TYPES


def toy(folder: Path) -> Path:
    facts = {"t.tsv": TOY_TRIPLES, "n.tsv": TOY_NAMES.items()}
    types = [(i, t) for i in TOY_TYPES for t in TOY_TYPES[i]]
    for name, rows in {**facts, "y.tsv": types}.items():
        (folder / name).write_text("".join("\t".join(row) + "\n" for row in rows))
    build_graph([folder / "t.tsv"], folder / "graph", folder / "n.tsv", folder / "y.tsv")
    return folder / "graph"


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return toy(tmp_path_factory.mktemp("toy"))


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


def roll(data: bytearray) -> None:
    data[:] = data[1:] + data[:1]


def cut(data: bytearray) -> None:
    del data[-len(data) // 2 :]


@pytest.mark.parametrize(
    ("section", "change", "told"),
    [
        ("id", lambda data: data.__setitem__(slice(0, 3), b"zzz"), "id 1 out of order"),
        ("id_ends", swap_ends, "id_ends out of order"),
        ("out_groups", swap_ends, "out_groups out of order"),
        ("out_relations", lambda data: data.__setitem__(0, 255), "out_relations out of"),
        ("in_nodes", lambda data: data.__setitem__(0, 255), "in_nodes out of"),
        ("out_edges", swap_ends, "out edges out of order"),
        ("out_begins", lambda data: data.__setitem__(0, 0), "out groups do not begin"),
        ("relation_counts", lambda data: data.__setitem__(0, 200), "triples of the relations"),
        ("id_bucket_items", lambda data: data.__setitem__(0, 255), "id_bucket_items out of range"),
        ("id_bucket_items", roll, "is not found by its id"),
        ("name_bucket_items", roll, "is not found by its name"),
        ("entities", lambda data: data.reverse(), "entities out of order"),
    ],
)
def test_damage_that_checksums_cannot_see_is_named(
    sound: Path, tmp_path: Path, section: str, change: Callable[[bytearray], None], told: str
) -> None:
    with pytest.raises(GraphError, match=f"{FILE_NAME}: damaged graph file: .*{told}"):
        check_graph(rewritten(sound, tmp_path, section, change))


def command(*arguments: str) -> subprocess.CompletedProcess[str]:
    line = [sys.executable, "-m", "graphwalker", "graph", *arguments]
    return subprocess.run(line, capture_output=True, text=True)


@pytest.mark.long
def test_the_commands_check_and_info_speak_json(sound: Path) -> None:
    checked = command("check", str(sound), "--json")
    assert checked.returncode == 0, checked.stderr
    told = command("info", str(sound), "--json")
    assert json.loads(told.stdout)["checksum"] == json.loads(checked.stdout)["checksum"]


def test_the_command_check_fails_on_damage(sound: Path, tmp_path: Path) -> None:
    result = command("check", str(rewritten(sound, tmp_path, "out_groups", swap_ends)))
    assert result.returncode == 1
    assert "out_groups out of order" in result.stderr


@pytest.mark.parametrize("below", [0, 1 << 16])
def test_offsets_read_what_was_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, below: int
) -> None:
    monkeypatch.setattr(offsets, "PLAIN_BELOW", below)
    rng = np.random.default_rng(0)
    steps = rng.choice([0, 1, 7, 300, 5_000, 70_000, 3_000_000], 10_000, p=[0.3, 0.3, *[0.08] * 5])
    values = np.concatenate([[0], np.cumsum(steps)])
    writer = LayoutWriter(tmp_path)
    offset_writer = OffsetsWriter(writer, "x", int(values[-1]))
    for start in range(0, len(values), 777):
        offset_writer.write(values[start : start + 777])
    offset_writer.close()
    writer.finish(tmp_path / FILE_NAME, {})
    found = read_offsets(Layout(tmp_path), "x")
    assert len(found) == len(values)
    assert [found[i] for i in range(len(values))] == values.tolist()
    assert [found.span(i) for i in range(100)] == list(
        zip(values[:100].tolist(), values[1:101].tolist(), strict=True)
    )
    for first, last in ((0, 40), (3, 4), (777, 1999), (9_990, len(values)), (5, 5)):
        assert found.between(first, last) == values[first:last].tolist()
        assert found.at(np.arange(first, last)).tolist() == values[first:last].tolist()


def test_starts_of_runs_count_the_items_before_them(tmp_path: Path) -> None:
    keys = np.sort(np.random.default_rng(0).integers(0, 5_000, 3_000))
    writer = LayoutWriter(tmp_path)
    starts = StartsWriter(writer, "x", 6_000, len(keys))
    for start in range(0, len(keys), 500):
        starts.add(keys[start : start + 500])
    starts.close()
    writer.finish(tmp_path / FILE_NAME, {})
    found = read_offsets(Layout(tmp_path), "x")
    assert len(found) == 6_001
    assert found.between(0, 6_001) == np.searchsorted(keys, np.arange(6_001)).tolist()


def test_a_graph_with_packed_offsets_answers_the_same(
    sound: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(offsets, "PLAIN_BELOW", 0)
    packed, plain = open_compiled(toy(tmp_path)), open_compiled(sound)
    assert Layout(packed.path).has("id_ends_steps")
    assert check_graph(packed.path)["triples"] == len(TOY_TRIPLES)
    for number in range(plain.info()["nodes"]):  # type: ignore[arg-type]
        entity = plain.node_at(number)
        assert packed.node_at(number) == entity
        for way in Direction:
            side = [Side(entity.id, way)]
            assert packed.triples_many(side) == plain.triples_many(side)
            assert packed.flat_relations(entity.id, way) == plain.flat_relations(entity.id, way)
