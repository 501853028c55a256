"""A Virtuoso server of one's own: one folder, two free ports, a process that ends when asked."""

import json
import logging
import secrets
import shutil
import socket
import subprocess
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from graphwalker.errors import GraphError, UserError
from graphwalker.runs import lock_folder

log = logging.getLogger(__name__)

STATE = "server.json"
BINARY = "virtuoso-t"
PAGE_BYTES = 8700
"""What one buffer takes in memory: a page of 8 KB and its book-keeping."""

_INI = """\
[Database]
DatabaseFile = virtuoso.db
ErrorLogFile = virtuoso.log
LockFile = virtuoso.lck
TransactionFile = virtuoso.trx
xa_persistent_file = virtuoso.pxa
ErrorLogLevel = 7
FileExtend = 200
MaxCheckpointRemap = 2000
TempStorage = TempDatabase
[TempDatabase]
DatabaseFile = virtuoso-temp.db
TransactionFile = virtuoso-temp.trx
MaxCheckpointRemap = 2000
[Parameters]
ServerPort = 127.0.0.1:{sql_port}
DisableUnixSocket = 1
DirsAllowed = load
ServerThreads = 40
MaxClientConnections = 40
CheckpointInterval = 60
CaseMode = 2
NumberOfBuffers = {buffers}
MaxDirtyBuffers = {dirty}
AllowOSCalls = 0
[HTTPServer]
ServerPort = {host}:{http_port}
ServerRoot = web
ServerThreads = 40
MaxClientConnections = 40
MaxKeepAlives = 40
KeepAliveTimeout = 60
EnabledDavVSP = 0
HTTPProxyEnabled = 0
Charset = UTF-8
[SPARQL]
{max_rows}DeferInferenceRulesInit = 0
"""


@dataclass(frozen=True, slots=True)
class Server:
    """A running server. Anyone may ask at `endpoint`; `password` is for loading, as `dba`."""

    folder: str
    pid: int
    sql_port: int
    http_port: int
    password: str
    host: str = "127.0.0.1"

    @property
    def endpoint(self) -> str:
        return f"http://{self.host}:{self.http_port}/sparql"


def up(
    folder: Path,
    memory: str = "1GB",
    host: str = "127.0.0.1",
    port: int = 0,
    max_rows: int = 0,
    wait_s: float = 300.0,
) -> Server:
    """Start the server of a folder, made if it is new; a running one is returned as it is.

    `memory` is for its buffers, taken at the start; `port` 0 takes a free one; `max_rows` 0 never
    cuts answers. Raises `UserError` without Virtuoso, `GraphError` when it does not come up.
    """
    binary = shutil.which(BINARY)
    if binary is None:
        raise UserError(f"{BINARY} not found; install it: apt-get install virtuoso-opensource-7")
    if (running := status(folder)) is not None:
        return running
    with lock_folder(folder):  # two that start at once would make two databases of one
        return status(folder) or _up(binary, folder.resolve(), memory, host, port, max_rows, wait_s)


def _up(
    binary: str, folder: Path, memory: str, host: str, port: int, max_rows: int, wait_s: float
) -> Server:
    for part in (folder, folder / "load", folder / "web"):
        part.mkdir(parents=True, exist_ok=True)
    ports = {"http_port": port or _free_port(), "sql_port": _free_port()}
    _write_ini(folder, memory, host, max_rows, ports)
    password = _password(folder)
    if not (folder / "virtuoso.db").exists():
        _make_database(binary, folder, password, wait_s)
    process = _start(binary, folder)
    server = Server(str(folder), process.pid, password=password, host=host, **ports)
    _write_state(folder, asdict(server))
    _await(process, server, wait_s)
    return server


def down(folder: Path, wait_s: float = 600.0) -> bool:
    """Shut the server down, with a checkpoint; `False` where none was running.

    Raises `GraphError` when it does not end in time: it may still be writing its checkpoint.
    """
    server = status(folder)
    if server is None:
        return False
    try:
        sql(server, "shutdown;", wait_s)
    except GraphError as error:  # the connection ends with the server
        log.debug("%s", error)
    deadline = time.monotonic() + wait_s
    while _is_ours(server.pid, Path(server.folder)):
        if time.monotonic() > deadline:
            raise GraphError(f"{folder}: process {server.pid} is still shutting down")
        time.sleep(0.05)
    return True


def restart(server: Server, wait_s: float = 600.0) -> Server:
    """Stop a server and start it with the same settings, at the same address.

    Virtuoso 7.2.5 plans with samples of its indices that it takes once for each graph and keeps
    until it ends. Those of a graph that was empty, or much smaller, when it was first asked about
    make it read all of the graph where a look-up would do.
    """
    folder = Path(server.folder)
    down(folder, wait_s)
    process = _start(BINARY, folder)
    started = replace(server, pid=process.pid)
    _write_state(folder, asdict(started))
    _await(process, started, wait_s)
    return started


def status(folder: Path) -> Server | None:
    """Return the server that runs in the folder, `None` where none does."""
    try:
        found = json.loads((folder / STATE).read_text(encoding="utf-8"))
        server = Server(**found)
    except FileNotFoundError:
        return None
    except (ValueError, TypeError):
        raise UserError(f"{folder / STATE}: damaged; stop the server by hand") from None
    return server if server.pid and _is_ours(server.pid, folder.resolve()) else None


def sql(server: Server, script: str, wait_s: float | None = None) -> list[str]:
    """Run statements as `dba`; the lines they print. Raises `GraphError` for what fails."""
    command = [
        "isql-vt", f"127.0.0.1:{server.sql_port}", "dba", server.password,
        "VERBOSE=OFF", "BANNER=OFF", "PROMPT=OFF", "ERRORS=STDOUT", "MACRO_SUBSTITUTION=OFF",
    ]  # fmt: skip
    try:
        done = subprocess.run(
            command, input=script, capture_output=True, text=True, timeout=wait_s, check=False
        )
    except FileNotFoundError:
        raise UserError(
            f"{command[0]} not found; install it: apt-get install virtuoso-opensource-7"
        ) from None
    except subprocess.TimeoutExpired:
        raise GraphError(f"{server.folder}: no answer in {wait_s} s to: {script[:80]}") from None
    lines = [line.strip() for line in done.stdout.splitlines() if line.strip()]
    failed = [line for line in lines if line.startswith("*** Error")]
    if failed or done.returncode:
        raise GraphError(f"{server.folder}: {(failed or [done.stderr.strip()])[0]}")
    return lines


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def _write_ini(
    folder: Path, memory: str, host: str, max_rows: int, ports: Mapping[str, int]
) -> None:
    buffers = max(2000, _bytes(memory) // PAGE_BYTES)
    limit = f"ResultSetMaxRows = {max_rows}\n" if max_rows else ""
    text = _INI.format(buffers=buffers, dirty=buffers * 3 // 4, host=host, max_rows=limit, **ports)
    (folder / "virtuoso.ini").write_text(text, encoding="utf-8")


def _bytes(memory: str) -> int:
    number, unit = memory.strip().upper().removesuffix("B"), 1
    for letter, size in (("K", 1 << 10), ("M", 1 << 20), ("G", 1 << 30)):
        if number.endswith(letter):
            number, unit = number.removesuffix(letter), size
    try:
        return int(float(number) * unit)
    except ValueError:
        raise UserError(f"memory: {memory!r} is no size; write 512MB or 8GB") from None


def _password(folder: Path) -> str:
    """Return the password of the folder's database, kept in its state file, which is private."""
    if (folder / STATE).exists():
        return json.loads((folder / STATE).read_text(encoding="utf-8"))["password"]
    if (folder / "virtuoso.db").exists():
        raise UserError(f"{folder}: a database that `graphwalker virtuoso` did not make")
    password = secrets.token_hex(8)  # Virtuoso takes no long ones
    _write_state(folder, asdict(Server(str(folder), 0, 0, 0, password)))
    return password


def _write_state(folder: Path, state: Mapping[str, object]) -> None:
    partial = folder / f"{STATE}.partial"
    partial.touch(mode=0o600)
    partial.write_text(json.dumps(state, indent=2) + "\n", encoding="utf-8")
    partial.replace(folder / STATE)


def _make_database(binary: str, folder: Path, password: str, wait_s: float) -> None:
    command = [binary, "+foreground", "+configfile", "virtuoso.ini"]
    command += ["+pwdold", "dba", "+pwddba", password, "+pwddav", password]
    try:
        done = subprocess.run(
            command, cwd=folder, capture_output=True, text=True, timeout=wait_s, check=False
        )
    except subprocess.TimeoutExpired:
        raise GraphError(f"{folder}: no database made in {wait_s} s") from None
    if done.returncode or "password is changed" not in done.stdout + done.stderr:
        (folder / "virtuoso.db").unlink(missing_ok=True)
        raise GraphError(f"{folder}: no database made; {_last_lines(folder)}")


def _start(binary: str, folder: Path) -> "subprocess.Popen[bytes]":
    with (folder / "server.log").open("ab") as log:
        return subprocess.Popen(
            [binary, "+foreground", "+configfile", "virtuoso.ini"],
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )


def _await(process: "subprocess.Popen[bytes]", server: Server, wait_s: float) -> None:
    """Ready when both ports accept."""
    folder, deadline = Path(server.folder), time.monotonic() + wait_s
    while not all(_accepts(port) for port in (server.sql_port, server.http_port)):
        if process.poll() is not None:
            raise GraphError(f"{folder}: the server ended; {_last_lines(folder)}")
        if time.monotonic() > deadline:
            process.terminate()
            raise GraphError(f"{folder}: not ready in {wait_s} s; {_last_lines(folder)}")
        time.sleep(0.05)


def _accepts(port: int) -> bool:
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=1):
            return True
    except OSError:
        return False


def _is_ours(pid: int, folder: Path) -> bool:
    """Return whether that process is alive and works in that folder; a pid may be used again."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        return state != "Z" and Path(f"/proc/{pid}/cwd").resolve() == folder
    except OSError:
        return False


def _last_lines(folder: Path) -> str:
    log = folder / "virtuoso.log"
    lines = log.read_text(errors="replace").splitlines() if log.exists() else []
    return " | ".join(lines[-3:]) or f"see {log}"
