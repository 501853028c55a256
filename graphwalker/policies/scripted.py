"""A policy that plays given completions: for tests, and for replaying an episode by hand."""

from collections.abc import Mapping, Sequence

from graphwalker.errors import PolicyError
from graphwalker.policies.base import Completion, Request

Line = str | Completion | PolicyError


class ScriptedPolicy:
    """Plays `script[question id][turn]`; a script that has run out is a `PolicyError`.

    `latest_first` answers pending requests in the opposite order, one at a time, to show that
    nothing depends on the order in which completions arrive.
    """

    name = "scripted"

    def __init__(self, script: Mapping[str, Sequence[Line]], *, latest_first: bool = False) -> None:
        self._script = script
        self._latest_first = latest_first
        self._pending: dict[str, Request] = {}
        self.released: list[str] = []
        """Keys of the episodes that are over, in order."""

    def submit(self, request: Request) -> None:
        if request.key in self._pending:
            raise PolicyError(f"{request.key} is already pending")
        self._pending[request.key] = request

    def collect(self) -> list[tuple[str, Completion | PolicyError]]:
        keys = list(self._pending)
        chosen = keys[-1:] if self._latest_first else keys
        return [(key, self._play(self._pending.pop(key))) for key in chosen]

    def release(self, key: str) -> None:
        self._pending.pop(key, None)
        self.released.append(key)

    def _play(self, request: Request) -> Completion | PolicyError:
        lines = self._script.get(request.question.id, ())
        turn = len(request.turns)
        if turn >= len(lines):
            return PolicyError(f"the script of {request.question.id} has no turn {turn + 1}")
        line = lines[turn]
        return Completion(line) if isinstance(line, str) else line
