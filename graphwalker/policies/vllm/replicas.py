"""Several servers of one model: which of them an episode's next turn goes to."""

import time
from collections import Counter
from collections.abc import Collection, Sequence


class Replicas:
    """Servers of one model. An episode stays with its server while that works; a new one goes to
    the server with the least under way; one that failed rests."""

    def __init__(self, addresses: Sequence[str], rest_s: float) -> None:
        self._addresses, self._rest_s = tuple(addresses), rest_s
        self._home: dict[str, str] = {}
        self._busy: Counter[str] = Counter()
        self._rests_until: dict[str, float] = {}

    def take(self, key: str, tried: Collection[str] = ()) -> str:
        """The server for a turn of the episode `key`, none of `tried` where there is another; to be
        given back."""
        now = time.monotonic()
        open_ones = [url for url in self._addresses if url not in tried] or list(self._addresses)
        awake = [url for url in open_ones if self._rests_until.get(url, 0.0) <= now]
        # Where all rest, the one that has rested longest: its rest ends first.
        choice = awake or [min(open_ones, key=lambda url: self._rests_until.get(url, 0.0))]
        home = self._home.get(key)
        url = home if home in choice else min(choice, key=lambda url: self._busy[url])
        if key:
            self._home[key] = url
        self._busy[url] += 1
        return url

    def give_back(self, url: str) -> None:
        """The turn that was taken for this server has ended."""
        self._busy[url] -= 1

    def failed(self, url: str) -> None:
        """Let a server rest."""
        self._rests_until[url] = time.monotonic() + self._rest_s

    def forget(self, key: str) -> None:
        """The episode has ended."""
        self._home.pop(key, None)
