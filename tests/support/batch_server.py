"""OpenAI's files and batches over real HTTP, by hand: they end well, late, half or badly."""

import json
import re
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from support.chat_server import Act, completion
from support.http_server import QuietHandler, listening

USAGE = {"prompt_tokens": 100, "completion_tokens": 20}


@dataclass
class Fate:
    """What becomes of a batch."""

    status: str = "completed"
    answered: float = 1.0
    """The share of its requests, the first ones, that are in the output file."""
    looks: int = 1
    """How often its state is looked at before it has ended."""
    error: str = ""
    """Why it failed, with `status="failed"`."""
    refused: int = 0
    """So many of its requests, the last ones answered, end with HTTP 403."""
    hang_up: bool = False
    """The batch is made, but the connection breaks before the client is told."""


@dataclass
class Made:
    """A batch on the server."""

    id: str
    requests: list[dict[str, Any]]
    metadata: dict[str, str]
    fate: Fate
    looks: int = 0
    done: bool = False


class BatchServer:
    """`answer`: the text for a prompt; `fate`: what becomes of the n-th batch."""

    def __init__(self, answer: Callable[[str], str], fate: Callable[[int], Fate]) -> None:
        self.url = ""
        self.answer, self.fate = answer, fate
        self.files: dict[str, bytes] = {}
        self.batches: dict[str, Made] = {}
        self.sent: Counter[str] = Counter()
        """How often each request was put into a batch, by its `custom_id`."""
        self.answered: Counter[str] = Counter()
        self.chats = 0
        """Requests that came by themselves."""
        self.lock = threading.RLock()

    def make(self, body: dict[str, Any]) -> Made:
        text = self.files[body["input_file_id"]].decode()
        requests = [json.loads(line) for line in text.splitlines()]
        assert body["endpoint"] == "/v1/chat/completions" and body["completion_window"] == "24h"
        assert all(r["method"] == "POST" and r["url"] == body["endpoint"] for r in requests)
        made = Made(f"batch_{len(self.batches)}", requests, body["metadata"], Fate())
        made.fate = self.fate(len(self.batches))
        self.sent.update(request["custom_id"] for request in requests)
        self.batches[made.id] = made
        return made

    def state(self, made: Made) -> dict[str, Any]:
        fate = made.fate
        ended = made.looks >= fate.looks
        about: dict[str, Any] = {
            "id": made.id,
            "status": fate.status if ended else "in_progress",
            "metadata": made.metadata,
        }
        if ended and fate.status == "failed":
            about["errors"] = {"data": [{"message": fate.error, "code": "invalid"}]}
        elif ended:
            self._write(made, about)
        return about

    def _write(self, made: Made, about: dict[str, Any]) -> None:
        fate, count = made.fate, round(len(made.requests) * made.fate.answered)
        good, bad = (
            made.requests[: count - fate.refused],
            made.requests[count - fate.refused : count],
        )
        output, errors = list[str](), list[str]()
        for request in good:
            text = self.answer(request["body"]["messages"][0]["content"])
            body = completion(Act(text, usage=USAGE))
            output.append(_line(request, 200, body))
            if not made.done:
                self.answered[request["custom_id"]] += 1
        made.done = True
        for request in bad:
            errors.append(_line(request, 403, {"error": {"message": "filtered"}}))
        if fate.status == "expired":
            for request in made.requests[count:]:
                error = {"code": "batch_expired", "message": "This request expired."}
                line = {"custom_id": request["custom_id"], "response": None, "error": error}
                errors.append(json.dumps(line))
        for name, lines in (("output_file_id", output), ("error_file_id", errors)):
            if lines:
                about[name] = f"file_{made.id}_{name}"
                self.files[about[name]] = "".join(f"{line}\n" for line in lines).encode()


def _line(request: dict[str, Any], status: int, body: dict[str, Any]) -> str:
    response = {"status_code": status, "request_id": "r", "body": body}
    return json.dumps({"custom_id": request["custom_id"], "response": response, "error": None})


@contextmanager
def serve_batches(
    answer: Callable[[str], str], fate: Callable[[int], Fate] = lambda number: Fate()
) -> Iterator[BatchServer]:
    """The server on a port of its own, for as long as the block lasts."""
    server = BatchServer(answer, fate)

    class Handler(QuietHandler):
        def do_POST(self) -> None:
            data = self.rfile.read(int(self.headers["Content-Length"]))
            with server.lock:
                if self.path == "/v1/files":
                    name = f"file_{len(server.files)}"
                    server.files[name] = _uploaded(self.headers["Content-Type"], data)
                    self.reply({"id": name, "object": "file"})
                elif self.path == "/v1/batches":
                    made = server.make(json.loads(data))
                    if made.fate.hang_up:
                        self.close_connection = True
                        return
                    self.reply(server.state(made))
                else:
                    server.chats += 1
                    prompt = json.loads(data)["messages"][0]["content"]
                    self.reply(completion(Act(server.answer(prompt), usage=USAGE)))

        def do_GET(self) -> None:
            with server.lock:
                path = self.path.partition("?")[0].removeprefix("/v1/")
                if path == "batches":
                    self.reply({"data": list(map(server.state, server.batches.values()))})
                elif path.startswith("batches/"):
                    made = server.batches[path.removeprefix("batches/")]
                    made.looks += 1
                    self.reply(server.state(made))
                else:
                    self.send(200, server.files[path.split("/")[1]])

        def reply(self, body: dict[str, Any]) -> None:
            self.send(200, json.dumps(body).encode())

    with listening(Handler) as address:
        server.url = f"{address}/v1"
        yield server


def _uploaded(content_type: str, data: bytes) -> bytes:
    """The file in a multipart form, which must say what it is for."""
    boundary = re.search(r"boundary=([^;]+)", content_type)
    assert boundary, content_type
    parts = data.split(b"--" + boundary[1].encode())
    named = {
        name[1].decode(): part.partition(b"\r\n\r\n")[2].removesuffix(b"\r\n")
        for part in parts
        if (name := re.search(rb'name="(\w+)"', part))
    }
    assert named["purpose"] == b"batch"
    return named["file"]
