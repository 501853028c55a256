"""Fuzzing, a door at a time: whatever comes in ends in a value or in an error of ours.

python -m benchmarks.fuzz_doors --seconds 60 --seed 0
"""

import argparse
import json
import logging
import os
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from benchmarks.record import record
from data_pipeline.verification.replay import Replayer
from graphwalker.agents.environment import EnvironmentConfig
from graphwalker.agents.model_environment import settings_for, write_environment
from graphwalker.config import Config, load_config
from graphwalker.console.terminal import printable
from graphwalker.datasets.base import load_questions
from graphwalker.errors import GraphWalkerError, UserError
from graphwalker.files import read_jsonl
from graphwalker.graphs.compiled.graph import CompiledGraph
from graphwalker.graphs.format.layout import FILE_NAME, Layout
from graphwalker.graphs.intake.filters import Filters
from graphwalker.graphs.intake.readers import open_reader
from graphwalker.graphs.intake.rows import Rejects, Relations, Source
from graphwalker.graphs.memory import MemoryGraph
from graphwalker.graphs.ntriples import parse_line
from graphwalker.graphs.sparql.answers import Fault, read_rows
from graphwalker.http import HttpReply
from graphwalker.protocols.base import FinalAnswer
from graphwalker.protocols.tags import TagProtocol
from graphwalker.question import Question, read_worded
from graphwalker.tokens.loose_json import string_list
from graphwalker.tokens.reasoning import without_reasoning
from graphwalker.tools.base import Call
from graphwalker.trajectory import Trajectory

Door = Callable[[bytes], object]
PROTOCOL = TagProtocol({"get_relations": {"entity": "Name"}, "get_triples": {"entity": "N"}})
PIECES = [
    b"<think>", b"</think>", b"<answer>", b"</answer>", b"<kg-query>", b"</kg-query>", b'["Oslo"]',
    b'get_relations("x")', b"{", b"}", b"[", b"]", b'"', b"\\", b"\x00", b"\xff\xfe",
    b"\xed\xa0\x80",
    b"1e999", b"-0", b"9" * 400, b"null", b"true", b"NaN", b"${oc.env:HOME}", b"${a}", b": ", b"- ",
    b"<http://a/b>", b"_:x", b'"x"@en', b"^^", b" .\n", b"\t", b"\n", b"\r\n",
    b"evil:run", b'"ranker": "evil:run"', b'"preset": "evil:run"', b'"prompt": "/etc/hostname"',
    b",", b'""', b'",', b"\n\"", b"\x1b]52;c;", b"\xe2\x80\xae",
]  # fmt: skip


class Fuzzed(Config):
    """A config of every kind of field."""

    name: str = ""
    count: int = 0
    share: float = 0.0
    parts: tuple[str, ...] = ()
    more: dict[str, int] = {}


def seeds(world: Path) -> dict[str, list[bytes]]:
    """Return valid inputs of each reader."""
    names = {"m.1": "Ada", "m.2": "Oslo"}
    question = {
        "id": "q1", "question": "Who?", "topic_entities": [{"id": "m.1", "name": "Ada"}],
        "answers": [{"id": "m.2", "name": "Oslo"}], "hops": 1, "structure": "1-hop",
        "query": {"branches": [{"topic": {"id": "m.1", "name": "Ada"}, "hops": ["a.b.c"]}]},
    }  # fmt: skip
    value = {"type": "uri", "value": "http://x/y"}
    rows = {"head": {"vars": ["k"]}, "results": {"bindings": [{"k": value, "n": value}]}}
    line = json.dumps({**question, "names": names}).encode() + b"\n"
    about = {"environment": "graphwalker", "prompt": "compact", "options": {}, "ranker": "stems"}
    walk = {
        "id": "q1#0", "question": question, "agent": "a", "policy": "p", "turns": [],
        "answer": ["Oslo"], "stop": "answered", "sample": 0, "provenance": about,
    }  # fmt: skip
    environment = EnvironmentConfig(ranker="stems", layers={"languages": ["en"]})  # type: ignore[arg-type]
    model = write_environment(world / "model", environment, format={"base": "chatml"})
    run = {"config": {"environment": environment.whole()}}
    return {
        "actions": [b'<think> a </think>\n<kg-query> get_relations("Ada") </kg-query>'],
        "loose JSON": [b'Here: ```json\n["a.b", "c.d",]\n```', b'{"a": ["b"]}'],
        "N-Triples": [b'<http://a/s> <http://a/p> "x\\u00e9"@en .', b"<http://a/s>\t<http://a/p>\t_:b\t."],
        "JSONL": [line * 2],
        "questions": [line],
        "datasets": [line, b"[" + line + b"]", b'{"data": [' + line + b"]}"],
        "configs": [b"name: x\ncount: 3\nparts: [a, b]\nmore: {a: 1}\n"],
        "SPARQL answers": [json.dumps(rows).encode()],
        "graph files": [(world / FILE_NAME).read_bytes()],
        "property CSV": [
            b':ID,name,born:int\na,"Ada\n""x""",1964\nb,Bo,\n',
            b":START_ID,:END_ID,:TYPE\na,b,R\n",
        ],
        "property JSON": [b'{"type": "node", "id": "a", "properties": {"k": [1]}}\n'],
        "provenance": [json.dumps(walk).encode() + b"\n"],
        "model settings": [model.read_bytes()],
        "run settings": [json.dumps(run).encode()],
        "tables": [b'person,knows\nAda,"Bo;Cy"\n', b"head,relation,tail\na,r,b\n"],
        "terminal": [b"Ada \x1b[2J Oslo"],
    }  # fmt: skip


def doors(folder: Path) -> dict[str, Door]:
    """Return the readers by name. Each takes bytes and refuses them with an error of ours."""

    def file(data: bytes, name: str) -> Path:
        (folder / name).write_bytes(data)
        return folder / name

    def text(data: bytes) -> str:
        return data.decode("utf-8", "surrogateescape")

    def actions(data: bytes) -> None:
        thought, action = PROTOCOL.parse(text(data))
        if not isinstance(action, Call | FinalAnswer):
            return
        with suppress(ValueError):  # a call of another tool is not written
            assert PROTOCOL.parse(PROTOCOL.render(thought, action))[1] == action

    def question(data: bytes) -> None:
        for one in read_jsonl(file(data, "q.jsonl")):
            for read in (Question.from_json, Trajectory.from_json, read_worded):
                with suppress(GraphWalkerError):
                    read(one)

    def dataset(data: bytes) -> None:
        for name in ("d.json", "d.jsonl"):
            with suppress(GraphWalkerError):
                load_questions(file(data, name))

    def graph(data: bytes) -> None:
        opened = CompiledGraph(Layout(file(data, FILE_NAME)))
        for place in range(min(5, opened.size)):
            opened.entity_at(place)

    def rows(data: bytes, name: str, kind: str) -> None:
        source = Source(file(data, name), kind, 0)
        reader = open_reader(source, Filters(), Relations(Filters()), Rejects(limit=1 << 40))
        for place, found in reader.blocks():
            assert place.line > 0 and len(found.heads) == len(found.tails)

    def settings(data: bytes, name: str, read: Callable[[Path], object]) -> None:
        try:
            read(file(data, name))
        finally:
            (folder / name).unlink()
            assert "evil" not in sys.modules, "a name in a file ran"

    toy = MemoryGraph([("m.1", "a.b.c", "m.2")], {"m.1": "Ada", "m.2": "Oslo"})

    def replay(path: Path) -> None:
        for one in read_jsonl(path):
            list(Replayer(toy, path, {}).faults(Trajectory.from_json(one)))

    def model(path: Path) -> object:
        return settings_for(path.parent, EnvironmentConfig(), "inline", 9, ())

    def terminal(data: bytes) -> None:
        shown = printable(text(data))
        assert not any((ord(c) < 32 and c not in "\t\n") or 0x7F <= ord(c) < 0xA0 for c in shown)
        shown.encode()

    return {
        "actions": actions,
        "loose JSON": lambda data: (string_list(text(data)), without_reasoning(text(data))),
        "N-Triples": lambda data: parse_line(text(data)),
        "JSONL": lambda data: list(read_jsonl(file(data, "f.jsonl"))),
        "questions": question,
        "datasets": dataset,
        "configs": lambda data: load_config(Fuzzed, file(data, "c.yaml")),
        "SPARQL answers": lambda data: read_rows(HttpReply(200, {}, data)),
        "graph files": graph,
        "property CSV": lambda data: rows(data, "p.csv", "property"),
        "property JSON": lambda data: rows(data, "p.json", "property"),
        "tables": lambda data: rows(data, "t.csv", "triples"),
        "provenance": lambda data: settings(data, "walks.jsonl", replay),
        "model settings": lambda data: settings(data, "graphwalker.json", model),
        "run settings": lambda data: settings(
            data, "run.json", lambda path: Replayer(toy, path.with_name("walks.jsonl"), {})
        ),
        "terminal": terminal,
    }


def mutate(data: bytes, rng: random.Random) -> bytes:
    """Return the bytes after one to four changes: flips, cuts, copies, inserted pieces."""
    found = bytearray(data)
    for _ in range(rng.randint(1, 4)):
        place = rng.randrange(len(found) + 1)
        match rng.randrange(7):
            case 0 if found:
                found[place % len(found)] ^= 1 << rng.randrange(8)
            case 1:
                found[place:place] = rng.choice(PIECES) * rng.choice((1, 1, 2, 50))
            case 2:
                del found[place : place + rng.randint(1, 20)]
            case 3:
                del found[place:]
            case 4:
                found += found[place : place + rng.randint(1, 100)]
            case 5:
                found[place : place + rng.randint(0, 8)] = rng.randbytes(rng.randint(0, 8))
            case _:
                found[place : place + rng.randint(0, 30)] = rng.choice(PIECES)
    return bytes(found)


def fuzz(door: Door, first: list[bytes], seconds: float, seed: int) -> tuple[int, Counter[str]]:
    """Return the number of inputs tried, and the failures that are no error of ours.

    The seconds are of the CPU, because those of the clock say little on a busy machine.
    """
    rng, pool = random.Random(seed), list(first)
    crashes: Counter[str] = Counter()
    tried, end = 0, time.process_time() + seconds
    while time.process_time() < end:
        data = mutate(rng.choice(pool), rng)
        tried += 1
        try:
            door(data)
        except (GraphWalkerError, Fault):
            pass
        except Exception as error:
            where = error.__traceback__
            while where is not None and where.tb_next is not None:
                where = where.tb_next
            line = f"{where.tb_frame.f_code.co_filename}:{where.tb_lineno}" if where else ""
            crashes[f"{type(error).__name__} at {line}: {data[:80]!r}"[:300]] += 1
        if len(pool) < 500 and len(data) < 20_000:
            pool.append(data)
    return tried, crashes


def make_world(folder: Path) -> Path:
    """Build a compiled graph of a few triples."""
    from graphwalker.graphs.build.build import build_graph

    (folder / "t.tsv").write_text("m.1\ta.b.c\tm.2\nm.2\ta.b.d\tm.3\n", encoding="utf-8")
    (folder / "n.tsv").write_text("m.1\tAda\nm.2\tOslo\n", encoding="utf-8")
    build_graph([folder / "t.tsv"], folder / "graph", folder / "n.tsv")
    assert MemoryGraph([("m.1", "a.b.c", "m.2")], {}).size == 0
    return folder / "graph"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0, help="of the CPU, for each door")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--door", default="", help="only this one")
    parser.add_argument("--out", type=Path, help="folder of the record")
    given = parser.parse_args()
    given.out = given.out and given.out.resolve()
    logging.disable(logging.WARNING)  # rejected lines are told, each by its own
    failed, figures = 0, dict[str, Any]()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "evil.py").write_text("def run(*_):\n    return ()\n", encoding="utf-8")
        os.chdir(folder)
        first, known = seeds(make_world(folder)), doors(folder)
        if given.door and given.door not in known:
            raise UserError(f"--door {given.door}: known: {', '.join(known)}")
        for door in [given.door] if given.door else known:
            tried, crashes = fuzz(known[door], first[door], given.seconds, given.seed)
            print(f"{door:16} {tried:10,} inputs, {len(crashes)} kinds of crashes", flush=True)
            for crash, count in crashes.most_common(5):
                print(f"  {count:6,} {crash}")
            failed += len(crashes)
            figures[door] = {
                "inputs": tried,
                "cpu_seconds": given.seconds,
                "seed": given.seed,
                "crashes": dict(crashes),
            }
    if given.out:
        line = f"python -m benchmarks.fuzz_doors --seconds {given.seconds:g} --out {given.out.name}"
        record("fuzz_doors", figures, line, given.seed, given.out)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
