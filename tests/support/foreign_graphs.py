"""The benchmark's graphs of other people, at a size that tests can afford."""

import functools
import sys
from collections.abc import Callable
from pathlib import Path

from support.paths import ROOT

if str(ROOT) not in sys.path:
    sys.path.append(str(ROOT))

from benchmarks.foreign_data import FOREIGN as MAKERS

SIZE = 16
"""People in each graph."""
FOREIGN: dict[str, Callable[[Path], list[str]]] = {
    name: functools.partial(make, size=SIZE) for name, make in MAKERS.items()
}
