"""Crossing from a hub: what lies behind thousands of CVT nodes, gathered by numpy."""

from typing import Any

import numpy as np

from graphwalker.graphs.format.arrays import Side

AT_ONCE = 1 << 16
"""Destinations of the hub in one piece: what they take in memory is bounded."""

Array = np.ndarray[Any, Any]


def far_ends(
    side: Side, is_cvt: memoryview, run: tuple[int, int], relation: int, but: int
) -> list[int]:
    """The nodes over `relation` from the CVT nodes in that run of `side.nodes`, ascending, each
    once; no CVT node among them, nor `but`."""
    flags = np.asarray(is_cvt)
    found: Array = np.zeros(0, dtype=np.int64)
    for first in range(run[0], run[1], AT_ONCE):
        ends = np.asarray(side.nodes[first : min(run[1], first + AT_ONCE)])
        cvts = ends[flags[ends] != 0].astype(np.int64)
        found = np.unique(np.concatenate((found, _over(side, cvts, relation))))
    return found[(flags[found] == 0) & (found != but)].tolist()


def _over(side: Side, nodes: Array, relation: int) -> Array:
    """The destinations of all those nodes over one relation."""
    groups = _spans(side.groups.at(nodes), side.groups.at(nodes + 1))
    groups = groups[np.asarray(side.relations)[groups] == relation]
    places = _spans(side.starts.at(groups), side.starts.at(groups + 1))
    return np.asarray(side.nodes)[places].astype(np.int64)


def _spans(starts: Array, ends: Array) -> Array:
    """All numbers from each start up to, but without, its end."""
    sizes = ends - starts
    shifts: Array = starts - (sizes.cumsum() - sizes)
    return np.arange(int(sizes.sum())) + shifts.repeat(sizes)
