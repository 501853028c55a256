"""A small hand-written chat API over real HTTP: it answers well, late, badly, or not at all."""

import json
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from support.http_server import QuietHandler, listening


@dataclass
class Act:
    """What the server does with one request."""

    text: str = "ok"
    status: int = 200
    finish: str = "stop"
    headers: dict[str, str] = field(default_factory=dict)
    delay_s: float = 0.0
    cut_to: int | None = None
    """Send only so many bytes of the body, whole as far as HTTP is concerned."""
    hang_up: bool = False
    body: dict[str, Any] | None = None
    """The body in place of a completion."""
    raw: bytes | None = None
    """The body in place of JSON."""
    drip_s: float = 0.0
    """Seconds between one byte and the next."""
    usage: dict[str, int] | None = field(
        default_factory=lambda: {"prompt_tokens": 10, "completion_tokens": 5}
    )
    extra: dict[str, Any] = field(default_factory=dict)
    """Further fields of the choice."""
    cuts: bool = False
    """Cut the text before the first of the request's stop strings, as most servers do."""

    def cut(self, stops: Sequence[str]) -> "Act":
        places = [self.text.find(stop) for stop in stops if stop in self.text]
        return replace(self, text=self.text[: min(places)]) if self.cuts and places else self


class ChatServer:
    """Plays `acts` in the order in which requests arrive; the last one again and again."""

    def __init__(self, acts: Sequence[Act], url: str) -> None:
        self.url = url
        self.requests: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.times: list[float] = []
        self.most_at_once = 0
        self._acts = list(acts)
        self._at_once = 0
        self._lock = threading.Lock()

    def take(self, request: dict[str, Any], headers: dict[str, str]) -> Act:
        with self._lock:
            self.requests.append(request)
            self.headers.append(headers)
            self.times.append(time.monotonic())
            self._at_once += 1
            self.most_at_once = max(self.most_at_once, self._at_once)
            return self._acts.pop(0) if len(self._acts) > 1 else self._acts[0]

    def done(self) -> None:
        with self._lock:
            self._at_once -= 1


@contextmanager
def serve(*acts: Act) -> Iterator[ChatServer]:
    """The server on a port of its own, for as long as the block lasts."""

    class Handler(QuietHandler):
        def do_POST(self) -> None:
            length = int(self.headers["Content-Length"])
            request = json.loads(self.rfile.read(length))
            act = chat.take(request, dict(self.headers))
            time.sleep(act.delay_s)
            chat.done()
            if act.hang_up:
                self.close_connection = True
                return
            act = act.cut(request.get("stop") or ())
            written = json.dumps(act.body or completion(act)).encode()
            body = (act.raw or written)[: act.cut_to]
            self.send_response(act.status)
            for name, value in {**act.headers, "Content-Length": str(len(body))}.items():
                self.send_header(name, value)
            self.end_headers()
            for byte in body if act.drip_s else ():
                self.wfile.write(bytes([byte]))
                time.sleep(act.drip_s)
            if not act.drip_s:
                self.wfile.write(body)

    with listening(Handler) as address:
        chat = ChatServer(acts, f"{address}/v1")
        yield chat


def completion(act: Act) -> dict[str, Any]:
    choice = {
        "index": 0,
        "message": {"role": "assistant", "content": act.text},
        "finish_reason": act.finish,
        **act.extra,
    }
    usage = {} if act.usage is None else {"usage": act.usage}
    return {"object": "chat.completion", "choices": [choice], **usage}
