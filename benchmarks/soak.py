"""Soak: data, evaluation and training against neighbours that fail, for as long as is asked for.

    python -m benchmarks.soak --minutes 60 --kills 10 --work runs/soak

Round after round, with a new seed each, `synth` (with a teacher), `experts`, `eval` and now and
then a GRPO step run over a Virtuoso of this script's own, behind a proxy that stalls and resets,
beside a teacher that answers 429 and 500. The Virtuoso is killed with SIGKILL again and again. A
command that ends with an error is typed again, as a person would. Then every record must be the one
that the compiled graph gives without faults: none lost, none doubled, none scored otherwise; and
the memory of the commands must not grow from round to round.
"""

import argparse
import json
import os
import random
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from benchmarks.commands import RECORDS, empty_config, prepare
from benchmarks.record import RESULTS, ROOT, record
from graphwalker.errors import GraphError, GraphWalkerError
from graphwalker.files import read_jsonl
from graphwalker.graphs.open import open_graph
from graphwalker.graphs.virtuoso.load import load
from graphwalker.graphs.virtuoso.server import Server, down, up

TRIES = 30
"""How often a command is typed again before the soak has failed."""
TIMES = ("milliseconds", "seconds", "graph_seconds", "time", "digest", "provenance", "usage")
"""Fields of a record that no two runs share: clocks, and what hangs on them or on the address."""


class Proxy:
    """Forwards TCP to a server that may die; some connections stall or are reset."""

    def __init__(self, port: int, seed: int) -> None:
        self.target, self.counts = port, Counter[str]()
        self._rng = random.Random(seed)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            with suppress(OSError):
                client, _ = self._listener.accept()
                threading.Thread(target=self._forward, args=(client,), daemon=True).start()

    def _forward(self, client: socket.socket) -> None:
        draw = self._rng.random()
        what = "stalled" if draw < 0.04 else "reset" if draw < 0.08 else "passed"
        self.counts[what] += 1
        with client:
            if what == "reset":
                client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                return
            if what == "stalled":
                time.sleep(self._rng.uniform(1, 6))
            try:
                server = socket.create_connection(("127.0.0.1", self.target), timeout=30)
            except OSError:
                self.counts["server away"] += 1
                return
            with server:
                back = threading.Thread(target=_pump, args=(server, client), daemon=True)
                back.start()
                _pump(client, server)
                back.join()


def _pump(source: socket.socket, sink: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(1 << 16):
            sink.sendall(data)
    with suppress(OSError):
        sink.shutdown(socket.SHUT_WR)


class Killer:
    """Kills the Virtuoso of a folder several times, spread over the run, and restarts it."""

    def __init__(self, folder: Path, server: Server, proxy: Proxy) -> None:
        self._folder, self._server, self._proxy = folder, server, proxy
        self._over = threading.Event()
        self.kills = 0

    def start(self, kills: int, seconds: float) -> None:
        threading.Thread(target=self._run, args=(kills, seconds), daemon=True).start()

    def stop(self) -> None:
        self._over.set()

    def _run(self, kills: int, seconds: float) -> None:
        for _ in range(kills):
            if self._over.wait(seconds / (kills + 1)):
                return
            with suppress(ProcessLookupError):
                os.kill(self._server.pid, signal.SIGKILL)
                self.kills += 1
            self._over.wait(3)
            self._start_again()

    def _start_again(self) -> None:
        """Restart the server, which may need minutes and more than one try on a busy machine."""
        while not self._over.is_set():
            try:
                self._server = up(self._folder, "300MB")
            except GraphError:
                self._over.wait(5)
            else:
                self._proxy.target = self._server.http_port
                return


@contextmanager
def bad_teacher(faulty: bool) -> Generator[str, None, None]:
    """Serve a teacher; a faulty one answers two of five requests with 429 and 500."""
    sys.path.insert(0, str(ROOT / "tests"))
    from support.chat_server import Act  # pyright: ignore
    from support.teacher_server import teach  # pyright: ignore

    def mood(number: int, prompt: str) -> Any:
        if not faulty or number % 5 > 1:
            return None
        return Act("busy", status=429 if number % 5 else 500)

    with teach(mood) as server:
        yield server.url


def peak_mib(process: "subprocess.Popen[bytes]") -> float:
    """The most memory (RSS) that the process had, which is waited for. Read as it runs, because
    the figure that the kernel gives at the end begins with that of the process that started it."""
    status, peak = Path(f"/proc/{process.pid}/status"), 0
    while process.poll() is None:
        with suppress(OSError):
            lines = status.read_text().splitlines()
            peak = next((int(one.split()[1]) for one in lines if one.startswith("VmHWM:")), peak)
        time.sleep(0.05)
    return round(peak / 1024, 1)


class Soak:
    """Rounds of commands, each on both graphs."""

    def __init__(self, work: Path, address: str) -> None:
        self.work, self.address = work, address
        self.memory: dict[str, list[float]] = defaultdict(list)
        self.counts: Counter[str] = Counter()
        self.wrong: list[str] = []

    def round(self, number: int, trains: bool) -> None:
        data = self.work / "data"
        seeds = [f"{name}_file={data / name}.txt" for name in ("seeds", "predicates")]
        questions = str(data / "synth" / "questions.jsonl")
        seed = ["--seed", str(number)]
        with bad_teacher(True) as bad, bad_teacher(False) as good:
            about = ("teacher.model=tiny", "teacher.api_key_env=", "teacher.backoff_s=0.05")
            for name, url in (("faulty", bad), ("sound", good)):
                words = ["synth", "--count", "12", *seed, *seeds, *about, f"teacher.base_url={url}"]
                self.command(number, name, "synth", words)
        # The teacher's address belongs to a run, so its records are compared without provenance.
        self.compare(number, "synth", "questions.jsonl", "graphsynth.jsonl")
        for name in ("faulty", "sound"):
            made = ["experts", "--questions", questions, "--count", "8", *seed, "mix={}"]
            self.command(number, name, "experts", made)
            asked = ["eval", "--questions", questions, "--model", "oracle", f"seed={number}"]
            self.command(number, name, "eval", [*asked, "samples=2"])
            if trains:
                self.grpo(number, name, questions)
        self.compare(number, "experts", "graphroll.jsonl")
        self.compare(number, "eval", "predictions.jsonl")
        if trains:
            self.compare(number, "grpo", "trajectories.jsonl")
        so_far = {**self.counts, "max_rss_mib": self.memory, "wrong": self.wrong}
        (self.work / "so-far.json").write_text(json.dumps(so_far, indent=1))

    def grpo(self, number: int, name: str, questions: str) -> None:
        data = self.work / "data"
        settings = (
            f"questions={questions}", f"model={data / 'model'}", f"seed={number}", "format=inline",
            "steps=1", "prompts_per_step=2", "samples=2", "micro_batch=4", "max_turn_tokens=16",
            "trajectories_per_step=4",
        )  # fmt: skip
        out, graph = self.place(number, name, "grpo"), self.graph(name)
        words = ["training.grpo", "--config", str(empty_config(data)), *settings]
        self.again(name, "grpo", [*words, f"graph={graph}", f"output_dir={out}"])

    def command(self, number: int, name: str, kind: str, words: list[str]) -> None:
        out = self.place(number, name, kind)
        where = ["--graph", self.graph(name), "--out", str(out)]
        self.again(name, kind, ["graphwalker", words[0], *where, *words[1:]])

    def again(self, name: str, kind: str, words: list[str]) -> None:
        """Type the command until it ends well."""
        for _ in range(TRIES):
            with (self.work / f"{kind}.log").open("wb") as log:
                line = [sys.executable, "-m", *words]
                process = subprocess.Popen(line, stdout=log, stderr=log)
                peak = peak_mib(process)
            self.counts[f"{kind} runs"] += name == "faulty"
            if not process.returncode:
                self.memory[f"{name} {kind}"].append(peak)
                return
            self.counts[f"{kind} typed again"] += 1
            time.sleep(2)
        end = (self.work / f"{kind}.log").read_text(errors="replace")[-500:]
        raise GraphWalkerError(f"{name} {kind}: did not end well in {TRIES} runs: {end}")

    def compare(self, number: int, kind: str, *files: str) -> None:
        for file in files:
            pair = [self.place(number, name, kind) / file for name in ("faulty", "sound")]
            mine, theirs = ([timeless(one) for one in read_jsonl(path)] for path in pair)
            ids = Counter(json.dumps(one.get("id", n)) for n, one in enumerate(mine))
            known = Counter(json.dumps(one.get("id", n)) for n, one in enumerate(theirs))
            self.counts[f"{kind} records"] += len(theirs)
            self.counts["lost"] += (known - ids).total()
            self.counts["doubled"] += (ids - known).total()
            differ = sum(a != b for a, b in zip(mine, theirs, strict=False)) if ids == known else 0
            self.counts["other records"] += differ
            if mine != theirs:
                self.wrong.append(f"round {number}: {kind}/{file}")

    def graph(self, name: str) -> str:
        return self.address if name == "faulty" else str(self.work / "data" / "world" / "graph")

    def place(self, number: int, name: str, kind: str) -> Path:
        return self.work / "out" / name / f"{kind}-{number}"


def timeless(value: Any) -> Any:
    """Return a record without clock readings."""
    if isinstance(value, dict):
        return {key: timeless(one) for key, one in value.items() if key not in TIMES}
    return [timeless(one) for one in value] if isinstance(value, list) else value


def prepare_servers(work: Path) -> tuple[Path, Server, str]:
    """Make world, corpus and model; return a Virtuoso with the world: folder, server, graph."""
    data = work / "data"
    prepare(data)
    graph = open_graph(str(data / "world" / "graph"))
    seeds = [graph.entity_at(index).id for index in range(0, graph.size, 5)]
    (data / "seeds.txt").write_text("\n".join(seeds))
    (data / "predicates.txt").write_text("\n".join(graph.relation_ids()))
    folder = work / "virtuoso"
    up(folder, "300MB")
    address = load(folder, [data / "world" / "triples.nt.gz"], graph="urn:soak")["address"]
    down(folder)  # with a checkpoint, as a server that has run for a while
    return folder, up(folder, "300MB"), address.partition("#")[2]


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--grpo-every", type=int, default=3, help="rounds; 0: never")
    parser.add_argument("--work", type=Path)
    parser.add_argument("--out", type=Path, default=RESULTS)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        work = (given.work or Path(name)).resolve()
        work.mkdir(parents=True, exist_ok=True)
        folder, server, graph = prepare_servers(work)
        proxy = Proxy(server.http_port, given.seed)
        killer = Killer(folder, server, proxy)
        soak = Soak(work, f"http://127.0.0.1:{proxy.port}/sparql#{graph}")
        started, number = time.monotonic(), 0
        killer.start(given.kills, given.minutes * 60)
        try:
            while time.monotonic() - started < given.minutes * 60:
                every = given.grpo_every
                soak.round(number, trains=bool(every) and number % every == 0)
                number += 1
                print(f"round {number}: {dict(soak.counts)}, {killer.kills} kills", flush=True)
        finally:
            killer.stop()
            time.sleep(4)
            down(folder)
    figures = {
        "minutes": round((time.monotonic() - started) / 60, 1),
        "rounds": number,
        "questions": RECORDS,
        "kills": killer.kills,
        "connections": dict(proxy.counts),
        **soak.counts,
        "max_rss_mib": soak.memory,
        "wrong": soak.wrong,
    }
    line = f"python -m benchmarks.soak --minutes {given.minutes:g} --kills {given.kills}"
    record("soak", figures, line, given.seed, given.out)
    print(json.dumps(figures, indent=1))
    return 1 if soak.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
