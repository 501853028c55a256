"""Trials of what a run survives: two writers at once, and files that were cut.

    python -m benchmarks.trials writers --work runs/trials
    python -m benchmarks.trials cuts --work runs/trials --cuts 2

`writers` starts each writing command twice: the second is refused in one line and changes no byte;
after the first is killed, the same command takes its lock over. `cuts` cuts every file of a run at
random lengths and runs the command again: equal files, or one line that names the damage. Exit code
1: a trial failed.
"""

import argparse
import hashlib
import io
import os
import random
import re
import runpy
import shutil
import signal
import subprocess
import sys
import time
import traceback
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from benchmarks.commands import Command, commands, prepare
from benchmarks.record import record
from graphwalker.errors import GraphWalkerError, UserError
from graphwalker.files import read_jsonl

PATIENCE_S = 300.0


def try_writers(command: Command) -> str:
    """Return what is wrong with two of a command at once, `""` where nothing is."""
    first = subprocess.Popen(
        command.line, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    )
    try:
        _await_lock(command, first)
        os.killpg(first.pid, signal.SIGSTOP)
        before = _digests(command.result)
        second = _run_to_end(command)
        unharmed = _digests(command.result) == before
    finally:
        if first.poll() is None:
            os.killpg(first.pid, signal.SIGKILL)
        first.wait()
    refusal = second.stderr.strip()
    if second.returncode != 2 or f"process {first.pid}" not in refusal or "\n" in refusal:
        return f"not refused in one line: {refusal}"
    if not unharmed:
        return "the second one changed files of the first"
    if command.to_its_end and _run_to_end(command).returncode:
        return "the lock of the killed one was not taken over"
    return ""


def _run_to_end(command: Command) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        command.line, capture_output=True, text=True, check=False, timeout=PATIENCE_S
    )


def _await_lock(command: Command, process: "subprocess.Popen[bytes]") -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not (command.lock.exists() and command.lock.read_text()):
        if process.poll() is not None or time.monotonic() > deadline:
            raise GraphWalkerError(f"{command.name}: no lock was seen; exit code {process.poll()}")
        time.sleep(0.001)


def _digests(place: Path) -> dict[str, str]:
    """Return digests of the result's files, and of files next to it that carry its name."""
    roots = [place, *place.parent.glob(f".{place.name}*")]
    files = [f for root in roots for f in ([root] if root.is_file() else root.rglob("*"))]
    return {str(f): hashlib.sha256(f.read_bytes()).hexdigest() for f in files if f.is_file()}


TRIED = ("synth", "walk", "questions", "experts", "eval", "SFT", "GRPO")
CLOCKS = re.compile(
    rb'"[a-z_]*(?:seconds|_s|time|date|started|_gb|_mb|per_s)[a-z_]*": ?[-0-9.e"+TZ:]+'
)
"""Readings of a clock in JSON: other ones in every run."""
STATE = re.compile(r"(optimizer|scheduler|rng_state).*\.pth?$|trainer_state\.json$")
"""What a checkpoint holds besides the model; its bytes hold clock readings, too."""


def run(command: Command, log: Path) -> tuple[int, list[str]]:
    """Run the command in a child of this process; return its exit code and its messages."""
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
    return os.waitstatus_to_exitcode(status), list(filter(_tells, lines))


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
    """Return the files of a run in the form that is compared."""
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


def judge(before: dict[str, bytes], folder: Path, name: str, code: int, said: list[str]) -> str:
    """Return what the command made of a file that was cut."""
    traced = any("Traceback" in line for line in said)
    if traced or code not in (0, 1, 2):
        return "TRACEBACK"
    named = Path(name).name
    if code:
        # A setting that is lost in a cut config is named by itself, with the folder.
        told = any(named in line or str(folder) in line for line in said)
        return "refused" if told else "UNCLEAR REFUSAL"
    after = content(folder)
    if after == before:
        return "same files"
    if any(named in line for line in said):
        return "told"
    return "OTHER FILES: " + " ".join(
        sorted(f for f in {*after, *before} if after.get(f) != before.get(f))
    )


GOOD = {"sound", "same files", "refused", "told"}


def cuts(size: int, count: int, rng: random.Random) -> Iterator[int]:
    """Return random lengths below the size; the first of several is 0."""
    if count > 1:
        yield 0
    for _ in range(max(1, count - 1)):
        yield rng.randrange(size)


def try_cuts(
    command: Command, whole: Path, count: int, rng: random.Random
) -> Iterator[tuple[str, str]]:
    """Yield what became of each file, and the file with the length it was cut to."""
    before, log = content(whole), whole.with_suffix(".log")
    for name in _files(whole):
        for length in cuts((whole / name).stat().st_size, count, rng):
            shutil.rmtree(command.result, ignore_errors=True)
            shutil.copytree(whole, command.result, symlinks=True)
            os.truncate(command.result / name, length)
            code, said = run(command, log)
            outcome = judge(before, command.result, name, code, said)
            yield outcome, f"{name} cut to {length}: {said[-1:]}"


def load_modules() -> None:
    """Import what the children need, once."""
    import datasets  # noqa: F401
    import torch
    import transformers  # noqa: F401
    import trl  # noqa: F401

    import training.grpo
    import training.sft  # noqa: F401

    torch.set_num_threads(1)


def measure_cuts(command: Command, work: Path, count: int, seed: int) -> Counter[str]:
    """Run the command to its end, then once for each cut; return how often each outcome came."""
    shutil.rmtree(command.result, ignore_errors=True)
    code, _ = run(command, work / "first.log")
    if code:
        raise UserError(f"{command.name}: {(work / 'first.log').read_text()[-500:]}")
    whole = work / f"whole-{command.name}"
    shutil.rmtree(whole, ignore_errors=True)
    command.result.rename(whole)
    tally: Counter[str] = Counter()
    for outcome, where in try_cuts(command, whole, count, random.Random(seed)):
        tally[outcome.partition(":")[0]] += 1
        if outcome not in GOOD:
            print(f"{command.name:10} {outcome} {where}", flush=True)
    return tally


def main() -> int:
    """Run one kind of trial, print and record its outcomes."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("kind", choices=("writers", "cuts"))
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--only", help="names of commands, separated by commas")
    parser.add_argument("--cuts", type=int, default=2, help="of each file")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    work: Path = given.work.resolve()
    work.mkdir(parents=True, exist_ok=True)
    figures = _figures(given, work)
    print(*(f"{name:24} {dict(one)}" for name, one in figures.items()), sep="\n")
    if not given.only:
        line = f"python -m benchmarks.trials {given.kind} --work FOLDER --seed {given.seed}"
        record(f"trials-{given.kind}", figures, line, given.seed)
    return 0 if all(outcome in GOOD for one in figures.values() for outcome in one) else 1


def _figures(given: argparse.Namespace, work: Path) -> dict[str, Counter[str]]:
    prepare(work / "data")
    chosen = given.only.split(",") if given.only else TRIED if given.kind == "cuts" else ()
    tried = [
        one for one in commands(work / "out", work / "data") if one.name in chosen or not chosen
    ]
    if given.kind == "writers":
        return {one.name: Counter([try_writers(one) or "sound"]) for one in tried}
    load_modules()
    return {one.name: measure_cuts(one, work, given.cuts, given.seed) for one in tried}


if __name__ == "__main__":
    sys.exit(main())
