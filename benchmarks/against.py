"""Runs one benchmark in this checkout and in another one, in turns, and records the ratios.

    python -m benchmarks.against OTHER graphs calls --graph WORK/10000000/graph
    python -m benchmarks.against --rounds 2 --result graphs_build OTHER graphs build ...

The words after the checkout are a module of `benchmarks/` and its arguments. Each side runs with
its own `.venv`. Every number gets the median of its rounds on both sides and the ratio, this
checkout divided by the other. Times on a busy machine are long, but their ratios hold.
Writes `benchmarks/results/against_RESULT.json`.
"""

import argparse
import json
import statistics
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.record import ROOT, commit, record


def main() -> None:
    """Run both sides, print the ratios and record them."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("other", type=Path, help="another checkout, with its own .venv")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--result", help="record that the benchmark writes; default: its module")
    parser.add_argument("benchmark", nargs=argparse.REMAINDER, help="module and its arguments")
    given = parser.parse_args()
    module, *arguments = given.benchmark
    result = given.result or module
    sides: dict[str, list[dict[str, float]]] = {"here": [], "other": []}
    for number in range(given.rounds):
        # The side that starts alternates: caches and clock speed favour the second one.
        for side in sorted(sides, reverse=bool(number % 2)):
            repo = ROOT if side == "here" else given.other.resolve()
            figures = run(repo, module, arguments, result)
            sides[side].append(dict(numbers(figures)))
    found = {"other_commit": commit(given.other), "rounds": given.rounds, **compare(sides)}
    print(json.dumps(found, indent=2))
    words = [f"--rounds {given.rounds} --result {result} OTHER", module, *arguments]
    command = " ".join(["python -m benchmarks.against", *words])
    print(record(f"against_{result}", found, command))


def run(repo: Path, module: str, arguments: list[str], result: str) -> dict[str, Any]:
    """Return the figures of a benchmark in a checkout, and restore that checkout's own record."""
    path = repo / "benchmarks" / "results" / f"{result}.json"
    kept = path.read_bytes() if path.exists() else None
    path.unlink(missing_ok=True)
    command = [str(repo / ".venv" / "bin" / "python"), "-m", f"benchmarks.{module}", *arguments]
    sys.stderr.write(f"{repo}: {' '.join(command[1:])}\n")
    try:
        subprocess.run(command, cwd=repo, check=True, stdout=subprocess.DEVNULL)
        return json.loads(path.read_text(encoding="utf-8"))["figures"]
    finally:
        path.unlink(missing_ok=True)
        if kept is not None:
            path.write_bytes(kept)


def numbers(value: Any, name: str = "") -> Iterator[tuple[str, float]]:
    """Yield the numbers of nested figures with their dotted names.

    >>> dict(numbers({"open_ms": {"median": 0.2}, "builds": [{"cpu_s": 3.5}]}))
    {'open_ms.median': 0.2, 'builds.0.cpu_s': 3.5}
    """
    if isinstance(value, dict | list):
        entries = value.items() if isinstance(value, dict) else enumerate(value)
        for key, inner in entries:
            yield from numbers(inner, f"{name}.{key}" if name else str(key))
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield name, value


def compare(sides: dict[str, list[dict[str, float]]]) -> dict[str, Any]:
    """Return the medians of both sides and their ratio, by the name of the figure."""
    here, other = sides["here"], sides["other"]
    found: dict[str, Any] = {}
    for name in here[0]:
        if all(name in row for row in [*here, *other]):
            pair = [statistics.median(row[name] for row in rows) for rows in (here, other)]
            ratio = round(pair[0] / pair[1], 3) if pair[1] else None
            found[name] = {"here": pair[0], "other": pair[1], "ratio": ratio}
    return {"figures": found}


if __name__ == "__main__":
    main()
