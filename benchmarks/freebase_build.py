"""Builds of a file with the shape of the Freebase dump, measured: seconds, bytes a triple, memory.

    python -m benchmarks.freebase_build --lines 3000000 --workers 1 2 --work WORK

The file is made from a seed, with the shares of the real dump: most lines are type assignments in
three spellings, keys, other languages and links, which `--freebase` drops; the rest are facts with
their inverses, CVT nodes, dates, English names and descriptions.
"""

import argparse
import gzip
import json
import os
import random
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from itertools import accumulate
from pathlib import Path
from threading import Event, Thread
from typing import Any

from benchmarks.record import record

NS, KEY = "http://rdf.freebase.com/ns/", "http://rdf.freebase.com/key/"
RDF_TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
DATE = "http://www.w3.org/2001/XMLSchema#date"
LANGUAGES = ("de", "fr", "es", "it", "pl", "nl", "ru", "ja", "pt", "sv", "zh", "tr")
DOMAINS = ("people.person", "film.film", "music.album", "location.location", "book.book",
           "sports.team", "organization.organization", "tv.program")  # fmt: skip


def vocabulary(draws: random.Random) -> tuple[list[str], list[float]]:
    """Made-up words with the frequencies of a language (Zipf), so that texts compress as real ones
    do: the words, and the sums of their weights."""
    starts = ("b", "br", "c", "ch", "d", "f", "g", "gr", "h", "k", "l", "m", "n", "p", "pr", "r",
              "s", "st", "t", "tr", "v", "w")  # fmt: skip
    ends = ("a", "e", "i", "o", "u", "ai", "ou", "er", "in", "on", "al")
    syllables = [start + end for start in starts for end in ends]
    words = dict.fromkeys(
        "".join(draws.choices(syllables, k=draws.choice((1, 1, 2, 2, 2, 3)))) for _ in range(40_000)
    )
    weights = (1 / (rank + 2.7) for rank in range(len(words)))
    return sorted(words, key=len), list(accumulate(weights))


VOCABULARY = vocabulary(random.Random(0))


def lines_of(number: int, draws: random.Random, most: int) -> Iterator[str]:
    """Return the lines of one topic, about sixty."""
    me = f"<{NS}m.0{number:x}>"

    def fact(head: str, relation: str, tail: str) -> str:
        return f"{head}\t<{relation}>\t{tail}\t."

    def words(count: int) -> str:
        return " ".join(draws.choices(VOCABULARY[0], cum_weights=VOCABULARY[1], k=count))

    domain = draws.choice(DOMAINS)
    types = ["common.topic", domain, *draws.sample(DOMAINS, draws.randint(1, 5))]
    for kind in types:
        yield fact(me, f"{NS}type.object.type", f"<{NS}{kind}>")
        yield fact(me, RDF_TYPE, f"<{NS}{kind}>")
        yield fact(f"<{NS}{kind}>", f"{NS}type.type.instance", me)
    yield fact(me, f"{NS}type.object.name", f'"{words(2).title()} {number}"@en')
    for tag in draws.sample(LANGUAGES, draws.randint(0, 3)):
        yield fact(me, f"{NS}type.object.name", f'"{words(2)} {number}"@{tag}')
    if draws.random() < 0.35:
        for tag in ("en", *draws.sample(LANGUAGES, draws.randint(0, 2))):
            yield fact(
                me, f"{NS}common.topic.description", f'"{words(draws.randint(20, 90))}"@{tag}'
            )
    for key in range(draws.randint(3, 9)):
        yield fact(me, f"{NS}type.object.key", f'"/wikipedia/en/{number}_{key}"')
        yield fact(me, f"{KEY}wikipedia.en_{key % 3}", f'"{words(1)}$0028{number}"')
    for page in range(draws.randint(1, 4)):
        yield fact(
            me, f"{NS}common.topic.topic_equivalent_webpage", f"<http://en.org/{number}/{page}>"
        )
    yield fact(me, f"{NS}common.topic.topical_webpage", f"<http://w{number % 999}.com/{number}>")
    yield fact(me, f"{NS}freebase.valuenotation.has_no_value", f"<{NS}{domain}.parents>")
    for _ in range(draws.randint(2, 6)):
        other = f"<{NS}m.0{draws.randrange(most):x}>"
        relation = draws.randrange(60)
        yield fact(me, f"{NS}{domain}.relation_{relation}", other)
        yield fact(other, f"{NS}{domain}.inverse_{relation}", me)
    if draws.random() < 0.5:
        day = f"{draws.randint(1800, 2015)}-{draws.randint(1, 12):02}-{draws.randint(1, 28):02}"
        yield fact(me, f"{NS}{domain}.date_of_birth", f'"{day}"^^<{DATE}>')
    for role in range(draws.randint(0, 2)):
        node = f"<{NS}m.1{number:x}{role}>"
        yield fact(me, f"{NS}{domain}.performance", node)
        yield fact(node, f"{NS}film.performance.actor", f"<{NS}m.0{draws.randrange(most):x}>")
        yield fact(node, f"{NS}film.performance.character", f'"{words(2)}"@en')
        yield fact(node, f"{NS}type.object.type", f"<{NS}film.performance>")
        yield fact(node, RDF_TYPE, f"<{NS}film.performance>")
    if draws.random() < 1e-4:
        yield f"{me}\t<{NS}common.topic.official_website>\t<http://a b.com>\t."


def make(path: Path, lines: int, seed: int) -> None:
    """Write a gzip file of about that many lines."""
    if path.is_file():
        return
    partial, written, number = path.with_suffix(".partial"), 0, 0
    draws = random.Random(seed)
    with partial.open("wb") as raw, gzip.GzipFile("", "wb", 6, raw, mtime=0) as out:
        while written < lines:
            found = list(lines_of(number, draws, max(1, lines // 45)))
            out.write(("\n".join(found) + "\n").encode())
            written, number = written + len(found), number + 1
    partial.rename(path)


MEASURED = """
import resource, runpy, sys
try:
    runpy.run_module("graphwalker", run_name="__main__")
finally:
    used = resource.getrusage(resource.RUSAGE_SELF)
    print("main", used.ru_utime + used.ru_stime, used.ru_maxrss, file=sys.stderr)
"""
"""Runs GraphWalker's command line, and tells what its first process took."""


@contextmanager
def _watch_disk(out: Path) -> Generator[list[int], None, None]:
    """Record the bytes in the working folder of a build twice a second."""
    sizes, done = [0], Event()

    def watch() -> None:
        while not done.wait(0.5):
            found = 0
            for path in out.parent.glob(f".{out.name}.building-*/**/*"):
                with suppress(OSError):  # gone since it was listed
                    found += path.stat().st_size
            sizes.append(found)

    watcher = Thread(target=watch)
    watcher.start()
    try:
        yield sizes
    finally:
        done.set()
        watcher.join()


def build_once(source: Path, out: Path, workers: int, memory: str, *more: str) -> dict[str, Any]:
    """Build once in a child process; return seconds, CPU seconds, memory, and bytes a triple.

    CPU seconds are of all processes, and of the one that unpacks, stores and builds.
    """
    shutil.rmtree(out, ignore_errors=True)
    words = ["-c", MEASURED, "graph", "build", "--triples", str(source), *more]
    words += ["--out", str(out), "--memory-limit", memory]
    words += ["--workers", str(workers)] if workers else []
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    with _watch_disk(out) as disk:
        built = subprocess.run([sys.executable, *words], check=True, capture_output=True, text=True)
    main, resident = map(float, built.stderr.splitlines()[-1].split()[1:])
    seconds = time.perf_counter() - started
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    words = ["-m", "graphwalker", "graph", "info", str(out), "--json"]
    told = subprocess.run([sys.executable, *words], check=True, capture_output=True, text=True)
    info = json.loads(told.stdout)
    size = sum(file.stat().st_size for file in out.iterdir() if file.name != "rejects.tsv")
    return {
        "seconds": round(seconds, 2),
        "cpu_seconds": round(cpu, 2),
        "cpu_seconds_main_process": round(main, 2),
        "main_process_mib": round(resident / 1024),
        "working_folder_mib": round(max(disk) / 2**20),
        "triples": info["triples"],
        "nodes": info["nodes"],
        "bytes_per_triple": round(size / info["triples"], 2),
        "checksum": info["checksum"],
    }


def main() -> None:
    """Make the file, build it each way in turn, write the record."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--lines", type=int, default=3_000_000)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--memory-limit", default="2GB")
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    given.work.mkdir(parents=True, exist_ok=True)
    source = given.work / f"dump-{given.lines}-{given.seed}.nt.gz"
    make(source, given.lines, given.seed)
    found: dict[str, Any] = {}
    for workers in given.workers:
        name, out = f"workers_{workers}", given.work / f"graph-{workers}"
        found[name] = build_once(source, out, workers, given.memory_limit, "--freebase")
        print(json.dumps(found[name]), flush=True)
    figures = {"lines": given.lines, "builds": found, "memory_limit": given.memory_limit}
    words = ("WORK" if word == str(given.work) else word for word in sys.argv[1:])
    command = " ".join(["python -m benchmarks.freebase_build", *words])
    figures["load"] = os.getloadavg()
    print(record(f"freebase_build_{given.lines}", figures, command, given.seed))


if __name__ == "__main__":
    main()
