"""The server process: one address, its sessions, until it is interrupted."""

import socket
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from ipaddress import ip_address

from graphwalker.errors import UserError, lacks_extra
from graphwalker.question import Question
from graphwalker.serve.asking import RequestLimits
from graphwalker.serve.guard import LOOPBACK
from graphwalker.serve.sessions import Sessions


def allowed_hosts(host: str, allowed: Sequence[str]) -> tuple[str, ...]:
    """Return the names that the server answers to.

    Raises `UserError` for an address beyond this machine without a name to call it by: whoever
    reaches the port may ask, so that is to be meant.
    """
    names = tuple(name.strip().lower() for name in allowed)
    if is_loopback(host):
        return (*LOOPBACK, *names)
    if not names:
        raise UserError(
            f"{host} can be reached from other machines, and there is no log-in: if that is meant, "
            "say by which name browsers will call it with --allow-host NAME"
        )
    return (*LOOPBACK, *names)


def is_loopback(host: str) -> bool:
    """True for an address that only this machine reaches."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def run(
    sessions: Sessions,
    limits: RequestLimits,
    host: str,
    port: int,
    hosts: Sequence[str],
    note: Callable[[str], None],
    examples: Callable[[], Sequence[Question]] = tuple,
    beside: Sequence[Sessions] = (),
) -> None:
    """Serve until interrupted; the page asks the models of `beside`, too. Raises `UserError` for a
    port that is taken."""
    try:
        import uvicorn

        from graphwalker.serve.app import build_app
        from graphwalker.serve.guard import server_config
    except ImportError:
        raise lacks_extra("serve needs", "serve") from None
    listening = listen(host, port)
    bound = listening.getsockname()[1]
    with ExitStack() as stack:
        for opened in (*beside, sessions, listening):
            stack.enter_context(opened)
        config = server_config(build_app(sessions, limits, hosts, examples, beside), limits)
        shown = f"[{host}]" if ":" in host else host
        note(f"Ask at http://{shown}:{bound}/ (API: http://{shown}:{bound}/v1); Ctrl-C ends it")
        uvicorn.Server(config).run(sockets=[listening])


def listen(host: str, port: int) -> socket.socket:
    """Return a socket that listens there. Raises `UserError` for a port that is taken."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # With its protocol named, asyncio sends an answer at once: its second part does not wait 40 ms.
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
    except OSError as error:
        listening.close()
        raise UserError(
            f"{host}:{port}: {error.strerror or error}; choose another --port"
        ) from None
    listening.listen(128)
    return listening
