"""The token budget of an episode: how much a policy may write over all its turns."""

from dataclasses import replace

from graphwalker.errors import PolicyError
from graphwalker.policies.base import Completion, Policy, Request


class BudgetPolicy:
    """Another policy, each of whose episodes may draw at most `tokens` tokens.

    The turn that meets the budget is cut there; the next one has no room, which ends the episode
    with `length`, as a full context does.
    """

    def __init__(self, inner: Policy, tokens: int) -> None:
        self.name, self._inner, self._tokens = inner.name, inner, tokens
        self._spent: list[str] = []

    def submit(self, request: Request) -> None:
        left = self._tokens - sum(len(turn.logprobs or ()) for turn in request.turns)
        if left <= 0:
            self._spent.append(request.key)
            return
        cap = min(request.sampling.max_tokens, left)
        self._inner.submit(replace(request, sampling=replace(request.sampling, max_tokens=cap)))

    def collect(self) -> list[tuple[str, Completion | PolicyError]]:
        spent, self._spent = self._spent, []
        return [(key, Completion("", "length")) for key in spent] or self._inner.collect()

    def release(self, key: str) -> None:
        if key in self._spent:
            self._spent.remove(key)
        self._inner.release(key)
