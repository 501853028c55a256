"""The ledger of a chat API: tokens and money spent, and a cap that nothing can pass."""

import threading
from dataclasses import dataclass, replace

from graphwalker.errors import PolicyError
from graphwalker.policies.chat.config import Prices


@dataclass(frozen=True, slots=True)
class Spent:
    """Requests, tokens and money. Sums and differences are exact up to floating point."""

    requests: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost: float = 0.0

    def __add__(self, other: "Spent") -> "Spent":
        return Spent(
            self.requests + other.requests,
            self.prompt_tokens + other.prompt_tokens,
            self.completion_tokens + other.completion_tokens,
            self.cost + other.cost,
        )

    def __sub__(self, other: "Spent") -> "Spent":
        return self + Spent(
            -other.requests, -other.prompt_tokens, -other.completion_tokens, -other.cost
        )

    @property
    def tokens(self) -> int:
        return self.prompt_tokens + self.completion_tokens


class Ledger:
    """What was spent, and what requests under way may still cost at their worst.

    A request is let through only when everything under way could be paid at its worst price, so
    that the caps hold whatever comes back. Thread-safe.
    """

    def __init__(self, prices: Prices, spent: Spent | None = None) -> None:
        self._prices = prices
        self._spent = spent or Spent()
        self._reserved = Spent()
        self._changed = threading.Condition()

    @property
    def spent(self) -> Spent:
        with self._changed:
            return self._spent

    def priced(self, prompt_tokens: int, completion_tokens: int) -> Spent:
        """One request of that many tokens."""
        cost = (
            prompt_tokens * self._prices.prompt_per_million
            + completion_tokens * self._prices.completion_per_million
        ) / 1_000_000
        return Spent(1, prompt_tokens, completion_tokens, cost)

    def reserve(self, worst: Spent) -> None:
        """Set the worst price aside; waits while requests under way may still leave room for it.

        Raises `PolicyError` when the cap is reached.
        """
        with self._changed:
            while not self._fits(self._spent + self._reserved + worst):
                if not self._reserved.requests:
                    raise PolicyError(self._refusal())
                self._changed.wait()
            self._reserved += worst

    def settle(self, worst: Spent, actual: Spent) -> None:
        """Give the reservation back and book what the request cost."""
        with self._changed:
            self._reserved -= worst
            if not self._reserved.requests:
                self._reserved = Spent()  # no dust of floating point stays behind
            self._spent += actual
            self._changed.notify_all()

    def _fits(self, total: Spent) -> bool:
        most, tokens = self._prices.max_cost, self._prices.max_total_tokens
        return (not most or total.cost <= most) and (not tokens or total.tokens <= tokens)

    def _refusal(self) -> str:
        caps = [f"max_cost={self._prices.max_cost:g}"] if self._prices.max_cost else []
        if self._prices.max_total_tokens:
            caps.append(f"max_total_tokens={self._prices.max_total_tokens}")
        return (
            f"the next request might pass {' or '.join(caps)}: {self._spent.cost:.4f} and "
            f"{self._spent.tokens:,} tokens are spent; raise the cap and run again"
        )


def at_worst(ledger: Ledger, prompt_bytes: int, messages: int, completion_tokens: int) -> Spent:
    """What a request may cost at most: no tokenizer makes more tokens than there are bytes, and
    chat templates add few to each message."""
    return ledger.priced(prompt_bytes + 32 * (messages + 1), completion_tokens)


def unbilled(spent: Spent) -> Spent:
    """A request that the server refused: counted, at no cost."""
    return replace(spent, prompt_tokens=0, completion_tokens=0, cost=0.0)
