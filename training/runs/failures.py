"""Why a process of several ended: each leaves its reason where torchrun looks, the others tell it
as their last line, and the launcher writes it below the log of one that could not."""

import json
import os
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from graphwalker.errors import first_line
from training.runs.distributed import processes, rank

if TYPE_CHECKING:
    from torch.distributed.elastic.multiprocessing.errors import ChildFailedError

ERROR_FILE = "TORCHELASTIC_ERROR_FILE"
"""Names `RANK/error.json` of this process, in a folder that the processes of a node share."""
_LOST = ("Timed out waiting", "Connection closed by peer", "Connection reset", "timeout")
"""How gloo and the meeting place of the processes say that one of them does not answer."""
PATIENCE_S = 2.0
"""How long a process that is alone looks for the reason of another one."""


def lost_the_others(error: RuntimeError) -> bool:
    """Return whether the error says that another process does not answer."""
    return processes() > 1 and any(words in str(error) for words in _LOST)


def leave_reason(reason: str) -> None:
    """Write why this process ends, as torchrun reads it; the others of the node read it, too."""
    if file := os.environ.get(ERROR_FILE):
        record = {"message": reason, "extraInfo": {"timestamp": str(int(time.time()))}}
        partial = Path(f"{file}.partial")
        partial.write_text(json.dumps({"message": record}), encoding="utf-8")
        partial.rename(file)


def why_alone(error: RuntimeError) -> str:
    """Return what a process says that has lost another one: the other's reason, if it left one."""
    until = time.monotonic() + PATIENCE_S
    while not (reasons := list(_reasons())) and time.monotonic() < until:
        time.sleep(0.1)
    if reasons:
        return min(reasons)[1]
    return (
        f"process {rank()} waited for another one that was killed, left its node or took longer "
        f"than ddp_timeout_s ({first_line(error)[:200]})"
    )


def _reasons() -> Iterator[tuple[int, str]]:
    """Return the time and the reason of each other process of this node that has left one."""
    mine = Path(os.environ.get(ERROR_FILE, ""))
    for file in mine.parent.parent.glob("*/error.json") if mine.name else ():
        if file != mine:
            record = json.loads(file.read_text(encoding="utf-8"))["message"]
            number = file.parent.name
            when = int(record["extraInfo"]["timestamp"])
            yield when, f"process {number} of this node ended: {record['message']}"


def log_files(folder: str | None) -> list[Path]:
    """Return the logs of processes that torchrun keeps in `folder` (`--log_dir`)."""
    return list(Path(folder).glob("*/attempt_*/*/stderr.log")) if folder else []


def end_logs(error: "ChildFailedError", logs: Iterable[Path]) -> None:
    """Write why the first process of this node ended below each log that does not end with it.

    A process that another one's end leaves alone may be ended before it can say why.
    """
    number, first = error.get_first_failure()
    left = first.error_file_data.get("message")
    if first.exitcode < 0 and not isinstance(left, dict):  # it could not say so itself
        reason = f"process {number} was ended by {first.signal_name()}"
        line = f"{error.name}: {reason}; the same command resumes\n"
        sys.stderr.write(line)
    else:
        own = {log.parent.name: log for log in logs}.get(str(first.local_rank))
        reason = left["message"] if isinstance(left, dict) else _last_line(own) if own else ""
        line = f"{error.name}: process {number} of this node ended: {reason}\n"
    for log in logs:
        if reason not in _last_line(log):
            with log.open("a", encoding="utf-8") as file:
                file.write(line)


def _last_line(log: Path) -> str:
    with log.open("rb") as file:
        file.seek(max(0, file.seek(0, os.SEEK_END) - 4096))
        return file.read().decode(errors="replace").rstrip().rpartition("\n")[2]
