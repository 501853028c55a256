"""Graphs that cannot lie: damage is refused when a file is opened, or is an error of the graph."""

import hashlib
import json
import os
import random
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from graphwalker.errors import GraphError, UserError
from graphwalker.graphs.base import Direction, Side, Step
from graphwalker.graphs.compiled.properties import open_compiled
from graphwalker.graphs.format import header, layout
from graphwalker.graphs.format.header import HEADER_SPACE, MAGIC
from graphwalker.graphs.format.layout import FILE_NAME, Layout
from support.toy import TOY_NAMES

PREFIX = struct.Struct("<8sII16s")
Header = dict[str, Any]


@pytest.fixture(scope="module")
def sound(toy_folder):
    return toy_folder / FILE_NAME


@pytest.fixture
def large(monkeypatch, tmp_path):
    """Every file counts as a large one: stamps say that it was checked."""
    monkeypatch.setattr(layout, "CHECKED_BYTES", 0)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def header_of(data):
    _, _, length, _ = PREFIX.unpack_from(data)
    return json.loads(data[PREFIX.size : PREFIX.size + length])


def with_header(data, header, version=4):
    """The file with another header, its checksum right."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    digest = hashlib.blake2b(text, digest_size=16).digest()
    first = PREFIX.pack(MAGIC, version, len(text), digest) + text
    return first.ljust(HEADER_SPACE, b"\0") + data[HEADER_SPACE:]


def changed(**fields):
    return lambda header: {**header, **fields}


def of_section(*fields):
    return lambda header: changed(sections={**header["sections"], "is_cvt": fields})(header)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (of_section(HEADER_SPACE, 64, "f"), "the header makes no sense"),
        (of_section(-64, 64, "B"), "no count: '-64'"),
        (of_section(HEADER_SPACE, 3, "I"), "no section can stand at"),
        (of_section(HEADER_SPACE, 1 << 40, "B"), "section is_cvt reaches behind the end"),
        (of_section(HEADER_SPACE), "the header makes no sense"),
        (changed(counts={"nodes": "many"}), "no count: 'many'"),
        (changed(sections=[]), "the header makes no sense"),
        (changed(sections={}), "no section"),
        (lambda _: [], "the header makes no sense"),
        (lambda _: b"{nonsense", "the header makes no sense"),
        (lambda _: b"[" * 20_000, "the header makes no sense"),
    ],
)
def test_a_header_that_is_half_understood_is_refused_by_name(sound, tmp_path, change, told):
    data = sound.read_bytes()
    (tmp_path / FILE_NAME).write_bytes(with_header(data, change(header_of(data))))
    with pytest.raises((GraphError, UserError), match=f"{FILE_NAME}: .*{told}"):
        open_compiled(tmp_path)


@pytest.mark.parametrize("version", [3, 5])
def test_a_file_of_another_format_is_to_be_built_again(sound, tmp_path, version):
    data = sound.read_bytes()
    (tmp_path / FILE_NAME).write_bytes(with_header(data, header_of(data), version))
    with pytest.raises(UserError, match=f"written in format {version} .*: build the graph again"):
        open_compiled(tmp_path)


def test_every_byte_of_a_file_counts(sound, tmp_path):
    data, rng = sound.read_bytes(), random.Random(0)
    places = [rng.randrange(len(data)) for _ in range(60)]
    used = PREFIX.size + PREFIX.unpack_from(data)[2]
    for place in [*places, 0, 9, 13, 20, used, HEADER_SPACE - 1, HEADER_SPACE, len(data) - 1]:
        flipped = data[:place] + bytes([data[place] ^ 1 << rng.randrange(8)]) + data[place + 1 :]
        (tmp_path / FILE_NAME).write_bytes(flipped)
        with pytest.raises((GraphError, UserError)):
            open_compiled(tmp_path)
    for other in (data + b"\0", data[:-1], data[:HEADER_SPACE], data[:30], b""):
        (tmp_path / FILE_NAME).write_bytes(other)
        with pytest.raises((GraphError, UserError)):
            open_compiled(tmp_path)


@pytest.mark.usefixtures("large")
def test_a_large_file_is_read_through_once_and_again_when_it_was_changed(
    sound, tmp_path, monkeypatch
):
    path = tmp_path / FILE_NAME
    path.write_bytes(sound.read_bytes())
    checks: list[Path] = []
    check = Layout.verify
    monkeypatch.setattr(Layout, "verify", lambda self: (checks.append(self.path), check(self)))
    for _ in range(3):
        open_compiled(path)
    assert len(checks) == 1
    assert len(list((tmp_path / "cache" / "graphwalker" / "whole").iterdir())) == 1
    before = path.stat()
    with path.open("rb+") as file:
        file.seek(-1, os.SEEK_END)
        file.write(b"\x55")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))  # as a careful copy would
    with pytest.raises(GraphError, match="does not match its checksum"):
        open_compiled(path)


def test_damage_after_opening_is_an_error_of_the_graph(sound, tmp_path, monkeypatch):
    monkeypatch.setattr(Layout, "verify", lambda self: None)
    data, rng, errors = sound.read_bytes(), random.Random(1), 0
    for _ in range(60):
        harmed = bytearray(data)
        for _ in range(20):
            harmed[rng.randrange(HEADER_SPACE, len(data))] = rng.randrange(256)
        (tmp_path / FILE_NAME).write_bytes(harmed)
        try:
            answers(open_compiled(tmp_path))
        except GraphError as error:
            errors += 1
            assert "damaged graph file" in str(error)
    assert errors > 5


def answers(graph):
    """What every kind of look-up gives at every named entity."""
    found: list[Any] = []
    for entity_id, name in TOY_NAMES.items():
        found += [graph.resolve(name), graph.name(entity_id), graph.types(entity_id)]
        for way in Direction:
            listed = graph.flat_relations_many([Side(entity_id, way)])[0]
            found += [listed, graph.relations(entity_id, way)]
            found.append(graph.step_many([Step(entity_id, r, way, 5) for r, _ in listed]))
            found += [graph.neighbors(entity_id, r, way) for r, _ in listed]
    return [*found, [graph.entity_at(i) for i in range(graph.size)]]


def test_wrong_arguments_are_a_type_error_and_no_damage(sound):
    graph = open_compiled(sound)
    calls: list[Callable[[Any], object]] = [
        lambda g: g.neighbors("a", "b", Direction.OUT, 1, 2),
        lambda g: g.relations(3, Direction.OUT),
        lambda g: g.relations(3),
        lambda g: g.resolve(3),
    ]
    for call in calls:
        with pytest.raises(TypeError, match=r"argument|entity|name"):
            call(graph)


def test_the_block_that_is_damaged_is_named_with_its_section(sound, tmp_path, monkeypatch):
    monkeypatch.setattr(header, "BLOCK_BYTES", 128)
    monkeypatch.setattr(header, "_AT_ONCE", 2)
    writer = layout.LayoutWriter(tmp_path)
    for name in ("a", "b"):
        writer.section(name, "B").write(name.encode() * 4000)
    writer.finish(tmp_path / FILE_NAME, {})
    path, place = tmp_path / FILE_NAME, HEADER_SPACE + 5000
    Layout(path).verify()
    data = bytearray(path.read_bytes())
    data[place] ^= 1
    path.write_bytes(data)
    with pytest.raises(GraphError, match=r"the block at byte 37,760 \(section b\) does not"):
        Layout(path)


@pytest.mark.usefixtures("large")
def test_without_a_place_for_stamps_a_file_is_checked_and_opens(sound, tmp_path, monkeypatch):
    nowhere = tmp_path / "file"
    nowhere.write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(nowhere / "cache"))
    monkeypatch.setenv("TMPDIR", str(nowhere))
    assert open_compiled(sound).size == len(TOY_NAMES)
