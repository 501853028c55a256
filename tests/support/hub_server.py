"""A small Hugging Face Hub: it makes repositories and takes commits of small files."""

import base64
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from support.http_server import QuietHandler, listening


@dataclass
class Hub:
    """What it was sent."""

    address: str = ""
    token: str = ""
    repos: dict[str, bool] = field(default_factory=dict)
    """By `models/owner/name`, whether each is private."""
    files: dict[str, bytes] = field(default_factory=dict)


@contextmanager
def hub_server(token: str = "hf_right") -> Iterator[Hub]:
    hub = Hub(token=token)

    class Handler(QuietHandler):
        def answer(self, status: int, value: object) -> None:
            self.send(status, json.dumps(value).encode())

        def is_allowed(self) -> bool:
            if self.headers.get("Authorization") == f"Bearer {hub.token}":
                return True
            self.answer(401, {"error": "Invalid credentials"})
            return False

        def do_GET(self) -> None:
            name = self.path.partition("?")[0].removeprefix("/api/")
            if self.is_allowed():
                found = {"id": name.partition("/")[2], "private": hub.repos.get(name)}
                self.answer(200 if name in hub.repos else 404, found)

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            if not self.is_allowed():
                return
            if self.path == "/api/repos/create":
                wanted = json.loads(body)
                kind = wanted.get("type") or "model"
                name = f"{wanted['organization']}/{wanted['name']}"
                known = f"{kind}s/{name}" in hub.repos
                private = wanted.get("private", wanted.get("visibility") == "private")
                hub.repos.setdefault(f"{kind}s/{name}", private)
                place = name if kind == "model" else f"{kind}s/{name}"
                self.answer(409 if known else 200, {"url": f"{hub.address}/{place}"})
            elif self.path == "/api/validate-yaml":
                self.answer(200, {"errors": [], "warnings": []})
            elif "/preupload/" in self.path:
                modes = {"uploadMode": "regular", "shouldIgnore": False, "oid": None}
                paths = [{"path": one["path"], **modes} for one in json.loads(body)["files"]]
                self.answer(200, {"files": paths})
            else:
                for line in map(json.loads, body.splitlines()):
                    if line["key"] == "file":
                        content = base64.b64decode(line["value"]["content"])
                        hub.files[line["value"]["path"]] = content
                name = self.path.partition("/commit/")[0].removeprefix("/api/models/")
                url = f"{hub.address}/{name.removeprefix('/api/')}/commit/1"
                self.answer(200, {"commitUrl": url, "commitOid": "1", "success": True})

    with listening(Handler) as hub.address:
        yield hub
