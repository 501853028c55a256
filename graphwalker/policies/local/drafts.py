"""Guesses of the next tokens, from what was read and written before.

An agent copies most of what it writes: names and relations that it was shown, thoughts and calls in
the form of earlier ones. The engine feeds a few guessed tokens with the last one that it drew and
keeps those that it would have drawn anyway, so that one pass writes several. (The n-gram form of
speculative decoding: Leviathan et al., https://arxiv.org/abs/2211.17192; Saxena's prompt lookup.)
"""

from collections.abc import Sequence

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

IdTable = NDArray[np.int64]

TAIL = 3
"""Ids before a token from which it is guessed."""
_BITS = 18
_FACTOR = np.uint64(0x9E3779B97F4A7C15)


class Drafts:
    """What followed, the last time, the same two or three tokens in any episode.

    A guess decides how much is drawn in one pass, never what is drawn.
    """

    def __init__(self) -> None:
        self._after_three = np.zeros(1 << _BITS, dtype=np.int64)
        self._after_two = np.zeros(1 << _BITS, dtype=np.int64)

    def read(self, ids: Sequence[int]) -> None:
        """Note what follows what in these ids of an episode."""
        if len(ids) > TAIL:
            known = np.asarray(ids, dtype=np.int64)
            self._note(sliding_window_view(known[:-1], TAIL), known[TAIL:])

    def wrote(self, tails: IdTable, ids: IdTable, counts: IdTable) -> None:
        """Note the first `counts`, (rows,), of the `ids`, (rows, columns), that were written after
        `tails`, (rows, 3)."""
        windows = sliding_window_view(np.concatenate((tails, ids[:, :-1]), axis=1), TAIL, axis=1)
        written = counts[:, None] > np.array(range(ids.shape[1]))
        self._note(windows[written], ids[written])

    def guess(self, tails: IdTable, count: int) -> IdTable:
        """(rows, `count`): what may follow the last three ids of rows, `tails`, (rows, 3)."""
        guessed = np.empty((len(tails), count), dtype=np.int64)
        for place in range(count):
            next_ids = self._after_three[_slot(tails, TAIL)]
            unknown = next_ids == 0
            next_ids[unknown] = self._after_two[_slot(tails[unknown], 2)]
            guessed[:, place] = next_ids
            tails = np.column_stack((tails[:, 1:], next_ids))
        return guessed

    def _note(self, windows: IdTable, next_ids: IdTable) -> None:
        # Of equal windows the last one counts: numpy assigns in their order.
        self._after_three[_slot(windows, TAIL)] = next_ids
        self._after_two[_slot(windows, 2)] = next_ids


def _slot(windows: IdTable, length: int) -> IdTable:
    """The place in a table of the last `length` ids of each window. Some share one, and guess
    wrong."""
    value = np.zeros(len(windows), dtype=np.uint64)
    for column in range(windows.shape[1] - length, windows.shape[1]):
        value = (value + windows[:, column].astype(np.uint64) + np.uint64(1)) * _FACTOR
    return (value >> np.uint64(64 - _BITS)).astype(np.int64)
