"""Files of a run that were cut off: the same command mends them, or says in one line what is wrong.

Each command is run to its end once. Then, for every file of its folder, the file is cut at random
lengths, as a machine that goes down may leave it, and the same command is run again: afterwards the
folder holds the same bytes as before (clock readings apart), or one line names what is damaged.

python -m benchmarks.truncated_runs --work runs/truncated --cuts 2 --seed 0
"""

import argparse
import io
import json
import os
import random
import re
import runpy
import shutil
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.record import RESULTS, record
from benchmarks.two_writers import Command, commands, prepare
from graphwalker.errors import UserError
from graphwalker.files import read_jsonl

TRIED = ("synth", "walk", "questions", "experts", "eval", "SFT", "GRPO")
CLOCKS = re.compile(
    rb'"[a-z_]*(?:seconds|_s|time|date|started|_gb|_mb|per_s)[a-z_]*": ?[-0-9.e"+TZ:]+'
)
"""Readings of a clock in JSON: other ones in every run."""
STATE = re.compile(r"(optimizer|scheduler|rng_state).*\.pth?$|trainer_state\.json$")
"""What a checkpoint holds besides the model; its bytes hold clock readings, too."""


@dataclass(frozen=True)
class Ran:
    """What became of a command."""

    code: int
    said: tuple[str, ...]
    """Lines that are no progress: errors and warnings."""


def run(command: Command, log: Path) -> Ran:
    """The command in a child of this process, which has loaded its modules already."""
    child = os.fork()
    if not child:
        code = 70
        try:
            _redirect(log)
            module, *sys.argv[1:] = command.words
            sys.argv[0] = module
            runpy.run_module(module, run_name="__main__", alter_sys=True)
            code = 0
        except SystemExit as error:
            code = error.code if isinstance(error.code, int) else 0 if error.code is None else 1
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)
    _, status = os.waitpid(child, 0)
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    return Ran(os.waitstatus_to_exitcode(status), tuple(filter(_tells, lines)))


def _redirect(log: Path) -> None:
    with log.open("wb") as out:
        for number in (1, 2):
            os.dup2(out.fileno(), number)
    sys.stdout = io.TextIOWrapper(os.fdopen(1, "wb", 0), write_through=True)
    sys.stderr = io.TextIOWrapper(os.fdopen(2, "wb", 0), write_through=True)


def _tells(line: str) -> bool:
    words = r"^error|warning:|damaged|Traceback|lacks|^training/\w+\.py:"
    return bool(re.search(words, line, re.I)) and "runpy" not in line


def content(folder: Path) -> dict[str, bytes]:
    """The files of a run as they are compared."""
    return {name: _timeless(name, folder / name) for name in _files(folder)}


def _timeless(name: str, path: Path) -> bytes:
    if STATE.search(name):
        return b"state"
    if name == "usage.jsonl":  # what was asked twice was paid twice
        return repr(sorted({str(record["id"]) for record in read_jsonl(path)})).encode()
    data = path.read_bytes()
    return CLOCKS.sub(b"", data) if path.suffix in (".json", ".jsonl", ".md", ".html") else data


def _files(folder: Path) -> list[str]:
    found = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return [str(p.relative_to(folder)) for p in found if p.name != ".lock" and p.stat().st_size]


def judged(before: dict[str, bytes], folder: Path, name: str, ran: Ran) -> str:
    """What the command made of a file that was cut."""
    traced = any("Traceback" in line for line in ran.said)
    if traced or ran.code not in (0, 1, 2):
        return "TRACEBACK"
    named = Path(name).name
    if ran.code:
        # A setting that is lost in a cut config is named by itself, with the folder.
        told = any(named in line or str(folder) in line for line in ran.said)
        return "refused" if told else "UNCLEAR REFUSAL"
    after = content(folder)
    if after == before:
        return "same files"
    if any(named in line for line in ran.said):
        return "told"
    return "OTHER FILES: " + " ".join(
        sorted(f for f in {*after, *before} if after.get(f) != before.get(f))
    )


GOOD = {"same files", "refused", "told"}


def cuts(size: int, count: int, rng: random.Random) -> Iterator[int]:
    """Lengths below the size: any; of several the first is nothing at all."""
    if count > 1:
        yield 0
    for _ in range(max(1, count - 1)):
        yield rng.randrange(size)


def try_command(
    command: Command, whole: Path, count: int, rng: random.Random
) -> Iterator[tuple[str, int, str, Ran]]:
    """Each file, the length it was cut to, and what became of it."""
    before, log = content(whole), whole.with_suffix(".log")
    for name in _files(whole):
        for length in cuts((whole / name).stat().st_size, count, rng):
            shutil.rmtree(command.result, ignore_errors=True)
            shutil.copytree(whole, command.result, symlinks=True)
            os.truncate(command.result / name, length)
            ran = run(command, log)
            yield name, length, judged(before, command.result, name, ran), ran


def load_modules() -> None:
    """What the children need, once."""
    import datasets  # noqa: F401
    import torch
    import transformers  # noqa: F401
    import trl  # noqa: F401

    import training.grpo
    import training.sft  # noqa: F401

    torch.set_num_threads(1)


def measured(work: Path, chosen: list[str], count: int, seed: int) -> dict[str, Any]:
    figures: dict[str, Any] = {}
    for command in commands(work / "out", work / "data"):
        if command.name not in chosen:
            continue
        shutil.rmtree(command.result, ignore_errors=True)
        started = time.monotonic()
        first = run(command, work / "first.log")
        if first.code:
            raise UserError(f"{command.name}: {(work / 'first.log').read_text()[-500:]}")
        whole = work / f"whole-{command.name}"
        shutil.rmtree(whole, ignore_errors=True)
        command.result.rename(whole)
        tally: Counter[str] = Counter()
        bad: list[dict[str, Any]] = []
        for name, length, outcome, ran in try_command(command, whole, count, random.Random(seed)):
            word = outcome.partition(":")[0]
            tally[word] += 1
            if word not in GOOD:
                bad.append(
                    {"file": name, "length": length, "outcome": outcome, "said": ran.said[-1:]}
                )
                print(
                    f"{command.name:10} {outcome:14} {name} cut to {length}: {ran.said[-1:]}",
                    flush=True,
                )
        figures[command.name] = {"files": len(_files(whole)), **tally}
        if bad:
            figures[command.name]["bad"] = bad
        print(f"{command.name:10} {dict(tally)} {time.monotonic() - started:.0f} s", flush=True)
    return figures


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--work", type=Path)
    parser.add_argument("--only", default=",".join(TRIED), help="names of commands, by commas")
    parser.add_argument("--cuts", type=int, default=2, help="of each file")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=RESULTS)
    given = parser.parse_args()
    chosen = given.only.split(",")
    if unknown := sorted(set(chosen) - set(TRIED)):
        raise UserError(f"--only {unknown[0]}: known: {', '.join(TRIED)}")
    with tempfile.TemporaryDirectory() as name:
        work = (given.work or Path(name)).resolve()
        work.mkdir(parents=True, exist_ok=True)
        prepare(work / "data")
        load_modules()
        figures = measured(work, chosen, given.cuts, given.seed)
    line = f"python -m benchmarks.truncated_runs --cuts {given.cuts} --only {given.only}"
    record("truncated_runs", json.loads(json.dumps(figures)), line, given.seed, given.out)
    return 1 if any("bad" in one for one in figures.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
