"""HTTP: one client with one deadline for a whole request, and one back-off between attempts.

It stands on httpx, which the extras bring; the core imports this file without it.
"""

import json
import logging
import math
import os
import random
import ssl
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from functools import cache, lru_cache
from ipaddress import ip_address
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any
from urllib.parse import SplitResult, urljoin, urlsplit

from graphwalker.errors import DISTRIBUTION, UserError, first_line, lacks_extra
from graphwalker.http.network import Network, request_of_thread, show_leftovers, within
from graphwalker.workers.pool import waiting_for

if TYPE_CHECKING:
    import httpx

LARGEST = 32 << 20
"""Bytes of an answer, unpacked, where its reader sets no other limit."""
IDLE_S = 5.0
"""Seconds for which a connection is kept for the next request."""
PASSING = frozenset({408, 409, 425, 429, *range(500, 600)})
"""Statuses that may pass: rate limits, overload, gateways."""
REDIRECTS = 5
"""A download follows as many; no other request follows one, which might carry a key away."""
DOWNLOAD_S = 3600.0
_NONE: Mapping[str, str] = MappingProxyType({})
_jitter = random.Random()


class NoReply(OSError):
    """No whole answer came. `sent`: the server may have read the request. `is_late`: its time was
    up."""

    def __init__(self, text: str, sent: bool = True, is_late: bool = False) -> None:
        super().__init__(text)
        self.sent, self.is_late = sent, is_late


class TooLarge(NoReply):
    """The answer is larger than its reader takes."""


@dataclass(frozen=True, slots=True)
class Backoff:
    """How long to wait before another attempt: drawn from the upper half of a range that doubles
    with each failure, or as long as the server asks."""

    first_s: float
    longest_s: float = 60.0
    longest_retry_after_s: float = 300.0

    def pause(self, failures: int, retry_after_s: float = 0.0) -> float:
        """Return the seconds to wait after so many failures."""
        most = min(self.longest_s, self.first_s * 2.0 ** min(failures - 1, 30))
        return max(_jitter.uniform(most / 2, most), min(retry_after_s, self.longest_retry_after_s))


@dataclass(frozen=True, slots=True)
class HttpReply:
    """What a server answered, whole."""

    status: int
    headers: Mapping[str, str]
    """Names in lower case."""
    body: bytes
    losses: int = 0
    """`Client.losses` when it was asked for."""

    @property
    def text(self) -> str:
        return self.body.decode("utf-8", "replace")

    @property
    def retry_after_s(self) -> float:
        """Seconds that the server asks to wait: Retry-After as seconds or a date, or OpenAI's
        `retry-after-ms`; 0 where it asks for none."""
        for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
            try:
                seconds = float(self.headers.get(name, "")) * unit
            except ValueError:
                continue
            return max(0.0, seconds) if math.isfinite(seconds) else 0.0
        try:
            date = parsedate_to_datetime(self.headers.get("retry-after", ""))
            return max(0.0, date.timestamp() - time.time())
        except (ValueError, TypeError, OverflowError):
            return 0.0

    def json(self) -> Any:
        """Return the value that the body spells. Raises `ValueError` for none."""
        try:
            return json.loads(self.body)
        except RecursionError:
            raise ValueError("too deeply nested") from None


class Client:
    """Sends requests to one server over connections that it keeps; threads share it.

    Proxies, their exceptions and certificates are those of the environment (`HTTPS_PROXY`,
    `NO_PROXY`, `SSL_CERT_FILE`); this machine is reached without a proxy. A forked process opens
    its own connections. Raises `UserError` for what is no address, and without httpx.
    """

    def __init__(
        self,
        address: str,
        timeout_s: float,
        *,
        whole_s: float = 0.0,
        largest: int = LARGEST,
        connections: int | None = None,
        idle_s: float | None = IDLE_S,
        resends: bool = False,
    ) -> None:
        """`timeout_s` bounds each wait, `whole_s` the whole request; 0: the same. `resends`: a
        request may be sent again where the connection that was kept for it had been closed."""
        self.address, self._timeout_s, self._whole_s = address, timeout_s, whole_s or timeout_s
        self._largest, self._resends = largest, resends
        self._limits = connections, idle_s
        self._network = Network()
        self._transport, self._process = self._open(), os.getpid()

    @property
    def losses(self) -> int:
        """How often a connection that was kept turned out to be closed: behind the same address may
        be another server."""
        return self._network.losses

    def send(
        self, method: str, url: str, headers: Mapping[str, str] = _NONE, body: bytes = b""
    ) -> HttpReply:
        """Send a request and return the whole answer, whatever its status. Raises `NoReply`."""
        try:
            return self._exchange(method, url, headers, body)
        except NoReply as error:
            if not self._resends or error.is_late or request_of_thread.has_opened:
                raise
        self._network.note_loss()
        return self._exchange(method, url, headers, body)

    def save(self, place: Path) -> HttpReply:
        """Write what stands at the address to a file; return the answer, without its body."""
        with place.open("wb") as out:
            return self._exchange("GET", self.address, _NONE, b"", out.write)

    def close(self) -> None:
        """Close the connections; a later request opens new ones."""
        before, self._transport = self._transport, self._open()
        before.close()

    def _open(self) -> "httpx.HTTPTransport":
        transport = _transport(load_httpx().HTTPTransport, self.address, *self._limits)
        # httpx has no setting for the backend of its pools (0.28), so it is exchanged in place.
        pool = transport._pool
        self._network.inner, pool._network_backend = pool._network_backend, self._network
        return transport

    def _exchange(
        self,
        method: str,
        url: str,
        headers: Mapping[str, str],
        body: bytes,
        write: Callable[[bytes], Any] | None = None,
    ) -> HttpReply:
        if self._process != os.getpid():
            self._transport, self._process = self._open(), os.getpid()
        content, size = bytearray(), 0
        with (
            waiting_for(f"an answer of {self.address}"),
            within(self._whole_s),
            _failing(self.address),
        ):
            request = _request(method, url, headers, body, self._timeout_s)
            with closing(self._transport.handle_request(request)) as response:
                show_leftovers(response)
                for chunk in response.iter_bytes():
                    _check_size(size := size + len(chunk), self._largest)
                    (write or content.extend)(chunk)
        found = dict(response.headers.multi_items())
        return HttpReply(response.status_code, found, bytes(content), request_of_thread.losses)


class AsyncClient:
    """The same in an event loop, `connections` requests at once: `whole_s` begins when there is a
    place. Cancelling a request hangs up."""

    def __init__(self, address: str, whole_s: float, connections: int) -> None:
        import asyncio

        self._address, self._whole_s = address, whole_s
        self._places = asyncio.Semaphore(connections)
        self._transport = _transport(load_httpx().AsyncHTTPTransport, address, None, IDLE_S)

    async def send(
        self, method: str, url: str, headers: Mapping[str, str] = _NONE, body: bytes = b""
    ) -> HttpReply:
        """Send a request and return the whole answer, whatever its status. Raises `NoReply`."""
        import asyncio

        content = bytearray()
        async with self._places:
            with _failing(self._address):
                request = _request(method, url, headers, body, self._whole_s)
                async with asyncio.timeout(self._whole_s):
                    response = await self._transport.handle_async_request(request)
                    try:
                        async for chunk in response.aiter_bytes():
                            content += chunk
                            _check_size(len(content), LARGEST)
                    finally:
                        await response.aclose()
        return HttpReply(response.status_code, dict(response.headers.multi_items()), bytes(content))

    async def close(self) -> None:
        """Close the connections."""
        await self._transport.aclose()


def get(url: str, timeout_s: float) -> HttpReply:
    """Return what a server answers to one GET, within that time."""
    with closing(Client(url, timeout_s)) as client:
        return client.send("GET", url)


def download(address: str, place: Path, largest: int) -> None:
    """Write what stands at an address, or where it leads to, to a file. Raises `NoReply`."""
    for _ in range(REDIRECTS + 1):
        client = Client(address, 60.0, whole_s=DOWNLOAD_S, largest=largest)
        with closing(client):
            answer = client.save(place)
        if answer.status == 200:
            return
        if not (300 <= answer.status < 400 and "location" in answer.headers):
            raise NoReply(f"HTTP {answer.status}")
        address = urljoin(address, answer.headers["location"])
    raise NoReply(f"more than {REDIRECTS} redirects")


@cache
def load_httpx() -> Any:
    """Return the library. Raises `UserError` where it is not installed."""
    try:
        import httpx
    except ImportError:
        raise lacks_extra("HTTP needs httpx", "api") from None
    # It logs every request at INFO; its lines would drown a run's own.
    logging.getLogger("httpx").setLevel(logging.WARNING)
    return httpx


def split_address(address: str) -> SplitResult:
    """Return the parts of an address. Raises `UserError` for one that is not http or https."""
    try:
        parts = urlsplit(address)
        parts.port  # noqa: B018
    except ValueError as error:
        raise UserError(f"{address}: {error}") from None
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise UserError(f"{address}: not an http(s):// address")
    return parts


def is_this_machine(parts: SplitResult) -> bool:
    """Return whether an address is one of this machine's own."""
    host = parts.hostname or ""
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def _transport(kind: Any, address: str, connections: int | None, idle_s: float | None) -> Any:
    """Return a transport of httpx, of that kind, to one server. Raises `UserError` for what is no
    address, and for a proxy that cannot be used."""
    httpx, proxy = load_httpx(), _proxy(split_address(address))
    limits = httpx.Limits(max_connections=connections, keepalive_expiry=idle_s)
    try:
        return kind(verify=_certificates(), proxy=proxy, limits=limits)
    except (ValueError, ImportError, httpx.InvalidURL) as error:
        raise UserError(
            f"{address}: the proxy of the environment cannot be used ({first_line(error)}); mend "
            "it, or name the host in NO_PROXY"
        ) from None


def _request(
    method: str, url: str, headers: Mapping[str, str], body: bytes, timeout_s: float
) -> "httpx.Request":
    """Return a request, each wait of which lasts that long at most."""
    httpx = load_httpx()
    common = {"accept-encoding": "gzip, deflate", "user-agent": DISTRIBUTION}
    named = {**common, **{name.lower(): value for name, value in headers.items()}}
    try:
        encoded = httpx.Headers(named, "latin-1")
    except UnicodeEncodeError:
        raise httpx.LocalProtocolError("an odd character in a header") from None
    waits = {"timeout": httpx.Timeout(timeout_s, pool=None).as_dict()}
    return httpx.Request(method, _parsed(url), headers=encoded, content=body, extensions=waits)


def _check_size(size: int, largest: int) -> None:
    """Raises `TooLarge` past the limit."""
    if size > largest:
        raise TooLarge(f"an answer of more than {largest:,} bytes")


def _proxy(parts: SplitResult) -> str | None:
    from urllib.request import getproxies, proxy_bypass

    if is_this_machine(parts) or proxy_bypass(parts.netloc.rpartition("@")[2]):
        return None
    proxies = getproxies()
    proxy = proxies.get(parts.scheme) or proxies.get("all")
    return f"http://{proxy}" if proxy and "://" not in proxy else proxy


@cache
def _certificates() -> ssl.SSLContext:
    """Load the system's and certifi's, or only the environment's, which OpenSSL reads by itself."""
    import certifi

    context = ssl.create_default_context()
    if not (os.environ.get("SSL_CERT_FILE") or os.environ.get("SSL_CERT_DIR")):
        context.load_verify_locations(certifi.where())
    return context


@lru_cache(maxsize=256)
def _parsed(url: str) -> "httpx.URL":
    return load_httpx().URL(url)


@contextmanager
def _failing(address: str) -> Generator[None]:
    """Turn what httpx and the system raise into `NoReply`."""
    httpx = load_httpx()
    try:
        yield
    except (NoReply, UserError):
        raise
    except httpx.LocalProtocolError:  # its text may hold a secret
        raise UserError(
            f"{address}: a header of more than one line, or with other than Latin letters: mend "
            "the user, password, key or headers"
        ) from None
    except (httpx.ConnectError, httpx.ConnectTimeout) as error:
        raise NoReply(_describe(error), sent=False) from None
    except (httpx.TimeoutException, TimeoutError):
        raise NoReply("timed out", is_late=True) from None
    except (httpx.HTTPError, httpx.InvalidURL, OSError, ValueError) as error:
        raise NoReply(_describe(error)) from None


def _describe(error: Exception) -> str:
    name, line = type(error).__name__, first_line(error)
    return line if line == name else f"{name}: {line}"
