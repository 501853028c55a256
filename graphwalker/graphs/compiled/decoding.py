"""Arrays that cannot be read as they should: a damaged file is an error of the graph, never
another's."""

import functools
from collections.abc import Callable
from typing import Any, TypeVar

from graphwalker.errors import GraphError, GraphWalkerError

F = TypeVar("F", bound=Callable[..., Any])

NONSENSE = (ArithmeticError, LookupError, MemoryError, TypeError, ValueError)
"""What comes of numbers and texts that are not what was written."""


def decoding(method: F) -> F:
    """A method of a graph with a `path`: what it raises over nonsense is a `GraphError`.

    A file is checked before it is read; this is for what happens to it later.
    """

    @functools.wraps(method)
    def guarded(self: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            return method(self, *args, **kwargs)
        except GraphWalkerError:
            raise
        except NONSENSE as error:
            why = f"{type(error).__name__}: {error}"[:200]
            raise GraphError(
                f"{self.path}: damaged graph file, or changed since it was opened ({why}); "
                "see `graphwalker graph check`"
            ) from error

    return guarded  # type: ignore[return-value]
