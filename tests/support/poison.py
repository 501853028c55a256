"""Files from somebody who wants our code run, our files read, our questions and keys sent."""

import socket
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from graphwalker.agents.environment import EnvironmentConfig
from graphwalker.cli.app import app
from graphwalker.config import Config
from graphwalker.trust import KEY, READS, RECEIVES, RUNS, ByHand, section_of

MODULE = "evil_module"
SECRET = "GW_SECRET_KEY"


class Trap:
    """A working folder with a module that leaves a mark, a key, and a server that counts."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder, self._mark = folder, folder / "IT_RAN"
        self.plant(folder)
        monkeypatch.chdir(folder)
        monkeypatch.setenv(SECRET, "do-not-send")
        monkeypatch.setattr(sys, "path", list(sys.path))
        self._server = socket.create_server(("127.0.0.1", 0))
        self._server.setblocking(False)
        self.url = f"http://127.0.0.1:{self._server.getsockname()[1]}/v1"

    def plant(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        code = f"open({str(self._mark)!r}, 'w').close()\ndef thing(*_):\n    return ()\n"
        (folder / f"{MODULE}.py").write_text(code)

    def check(self) -> None:
        """Nothing ran, and nothing was sent."""
        assert not self._mark.exists() and MODULE not in sys.modules
        with pytest.raises(BlockingIOError):
            self._server.accept()

    def close(self) -> None:
        self._server.close()
        sys.modules.pop(MODULE, None)

    def poisons(self) -> dict[str, Any]:
        """An environment in which every setting that only the user may choose is chosen."""
        found: dict[str, Any] = {}
        for path, mark in marked(EnvironmentConfig):
            place = found
            for key in path[:-1]:
                place = place.setdefault(key, {})
            place[path[-1]] = self._value(path, mark)
        return found

    def _value(self, path: tuple[str, ...], mark: ByHand) -> Any:
        if path[-1] in ("body", "options"):
            return {"index": f"embed:{MODULE}"}
        known = {RUNS: f"{MODULE}:thing", READS: "/etc/hostname", RECEIVES: self.url, KEY: SECRET}
        return known[mark.does]


def marked(model: type[Config], above: tuple[str, ...] = ()) -> Iterator[tuple[Any, ByHand]]:
    """The settings of a model, and of its sections, that only the user may choose."""
    for name, field in model.model_fields.items():
        mark = next((one for one in field.metadata if isinstance(one, ByHand)), None)
        if mark is not None:
            yield (*above, name), mark
        elif section := section_of(model, name, {}):
            yield from marked(section, (*above, name))


def keys(values: dict[str, Any], above: str = "environment.") -> set[str]:
    """Dotted names of settings; those in `options` and `body` are one."""
    found: set[str] = set()
    for key, value in values.items():
        whole = not isinstance(value, dict) or key in ("options", "body")
        found |= {f"{above}{key}"} if whole else keys(value, f"{above}{key}.")
    return found


def refusal(*arguments: object) -> str:
    """What the command line says of a command that is refused."""
    done = CliRunner().invoke(app, [str(one) for one in arguments])
    return f"{done.exception or ''}"
