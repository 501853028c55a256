"""The graphs as strangers bring them, in the rounds in which they were read for the first time."""

from collections.abc import Callable

from benchmarks.foreign_strangers import FIRST
from benchmarks.foreign_strangers_2 import SECOND
from benchmarks.foreign_strangers_3 import THIRD
from benchmarks.foreign_strangers_4 import FOURTH
from benchmarks.foreign_strangers_5 import FIFTH
from benchmarks.foreign_strangers_6 import SIXTH
from benchmarks.foreign_strangers_7 import SEVENTH
from benchmarks.foreign_strangers_8 import EIGHTH
from benchmarks.foreign_strangers_9 import NINTH
from benchmarks.foreign_strangers_10 import TENTH
from benchmarks.foreign_strangers_11 import ELEVENTH

ROUNDS: tuple[dict[str, Callable[..., list[str]]], ...] = (
    *(FIRST, SECOND, THIRD, FOURTH),
    *(FIFTH, SIXTH, SEVENTH, EIGHTH),
    *(NINTH, TENTH, ELEVENTH),
)
STRANGERS = {name: make for graphs in ROUNDS for name, make in graphs.items()}
