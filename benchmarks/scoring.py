"""How fast `graphwalker score` is: every metric and interval on 100,000 records.

    python -m benchmarks.scoring [--records 100000]

Records are drawn from a seed: one to five answers with ids and aliases, predictions that hit all,
some or none of them, four samples each. Target: under 20 s and 1 GB on 2 cores.
"""

import argparse
import json
import random
import resource
import sys
import tempfile
import time
from pathlib import Path
from subprocess import run

from benchmarks.record import record

SEED = 0
SECONDS, GIB = 20.0, 1.0
_WORDS = ("lake", "north", "city", "of", "the", "saint", "river", "new", "old", "house", "film")


def main() -> None:
    """Measure and write benchmarks/results/scoring.json."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--records", type=int, default=100_000)
    records = parser.parse_args().records
    with tempfile.TemporaryDirectory() as folder:
        figures = measure(Path(folder), records)
    command = f"python -m benchmarks.scoring --records {records}"
    print(json.dumps(figures, indent=2))
    print(record("scoring", figures, command, SEED))


def measure(folder: Path, records: int) -> dict[str, object]:
    """Return wall and CPU seconds and peak memory (GiB) of the command in a child process."""
    path = folder / "predictions.jsonl"
    rng = random.Random(SEED)
    with path.open("w", encoding="utf-8") as out:
        for index in range(records):
            out.write(json.dumps(made_up(index, rng)) + "\n")
    command = [sys.executable, "-m", "graphwalker", "score", "--predictions", str(path)]
    command += ["--json", "--per-record", str(folder / "scores.jsonl")]
    started = time.perf_counter()
    done = run(command, capture_output=True, text=True, check=True)
    seconds = time.perf_counter() - started
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    output = json.loads(done.stdout)
    return {
        "records": output["n"],
        "metrics": len(output["metrics"]),
        "file_mb": round(path.stat().st_size / 1e6, 1),
        "wall_s": round(seconds, 2),
        "cpu_s": round(used.ru_utime + used.ru_stime, 2),
        "peak_gib": round(used.ru_maxrss / 2**20, 3),
        "target_s": SECONDS,
        "target_gib": GIB,
    }


def made_up(index: int, rng: random.Random) -> dict[str, object]:
    """Return a record: an answer set, and predictions that hit all, some or none of it."""
    answers = [
        {"id": f"m.{index:x}{i}", "name": _name(rng), "aliases": [_name(rng)] * (i % 2)}
        for i in range(rng.choice((1, 1, 1, 2, 3, 5)))
    ]
    return {
        "id": f"q{index}",
        "predictions": _draw_predictions(answers, rng),
        "answers": answers,
        "samples": [_draw_predictions(answers, rng) for _ in range(4)],
    }


def _name(rng: random.Random) -> str:
    return " ".join(rng.choices(_WORDS, k=3)).title() + f" {rng.randrange(10_000)}"


def _draw_predictions(answers: list[dict[str, object]], rng: random.Random) -> list[object]:
    kept = [answer["name"] for answer in answers if rng.random() < 0.7]
    return kept + [_name(rng) for _ in range(rng.choice((0, 0, 1, 2)))]


if __name__ == "__main__":
    main()
