"""The record of a measurement: figures with the command, commit, seed and machine behind them.

    from benchmarks.record import record
    record("graphs", {"open_ms": 0.8}, "python -m benchmarks.graphs", seed=0)

writes `benchmarks/results/graphs.json`. Figures that were not measured do not belong there.
"""

import json
import os
import platform
import subprocess
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "benchmarks" / "results"


def record(
    name: str,
    figures: Mapping[str, Any],
    command: str,
    seed: int | None = None,
    folder: Path = RESULTS,
) -> Path:
    """Write `folder`/`name`.json and return its path; an older record of that name is replaced.

    `figures` is anything JSON can hold (no NaN); say the unit in each key (`open_ms`). `command`
    is what a reader types to measure again; `seed` is `None` where nothing was drawn.
    """
    entry = {
        "name": name,
        "figures": figures,
        "command": command,
        "commit": commit(),
        "seed": seed,
        "hardware": hardware(),
        "versions": {"python": platform.python_version()},
        "measured": datetime.now(UTC).isoformat(timespec="seconds"),
    }
    folder.mkdir(parents=True, exist_ok=True)
    path, partial = folder / f"{name}.json", folder / f"{name}.json.partial"
    text = json.dumps(entry, indent=2, ensure_ascii=False, allow_nan=False)
    partial.write_text(text + "\n", encoding="utf-8")
    partial.replace(path)
    return path


def commit(repo: Path = ROOT) -> str:
    """Return the commit of a checkout, with `+changes` where tracked files differ.

    Empty without git.
    """
    try:
        head = _git(repo, "rev-parse", "--short=12", "HEAD")
        changed = _git(repo, "status", "--porcelain", "--untracked-files=no")
    except (OSError, subprocess.CalledProcessError):
        return ""
    return head + ("+changes" if changed else "")


def hardware() -> dict[str, Any]:
    """Return processor, usable cores, memory in GiB and load of this machine."""
    return {
        "processor": _processor(),
        "machine": platform.machine(),
        "cores": len(os.sched_getaffinity(0)),
        "memory_gib": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1),
        "load_average": round(os.getloadavg()[0], 2),
    }


def _git(repo: Path, *arguments: str) -> str:
    command = ["git", "-C", str(repo), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    named = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(named, platform.processor())
