"""Arrays that cannot be read as they should: a damaged file is an error of the graph, never
another's."""

import functools
import inspect
from collections.abc import Callable
from typing import Any, TypeVar

from graphwalker.errors import GraphError, GraphWalkerError

F = TypeVar("F", bound=Callable[..., Any])

NONSENSE = (ArithmeticError, LookupError, MemoryError, TypeError, ValueError)
"""What comes of numbers and texts that are not what was written."""


def decoding(method: F) -> F:
    """A method of a graph with a `path`: what it raises over nonsense is a `GraphError`.

    A file is checked before it is read; this is for what happens to it later. Wrong arguments stay
    a `TypeError`.
    """

    @functools.wraps(method)
    def guarded(self: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            return method(self, *args, **kwargs)
        except GraphWalkerError:
            raise
        except (AttributeError, *NONSENSE) as error:
            refuse_arguments(method, self, *args, **kwargs)
            if isinstance(error, AttributeError):
                raise
            why = f"{type(error).__name__}: {error}"[:200]
            raise GraphError(
                f"{self.path}: damaged graph file, or changed since it was opened ({why}); "
                "see `graphwalker graph check`"
            ) from error

    return guarded  # type: ignore[return-value]


def refuse_arguments(method: Callable[..., Any], *args: Any, **kwargs: Any) -> None:
    """Raises `TypeError` for arguments that the method does not take."""
    signature = inspect.signature(method)
    for name, value in signature.bind(*args, **kwargs).arguments.items():
        if signature.parameters[name].annotation is str and not isinstance(value, str):
            raise TypeError(f"{method.__qualname__}: {name} is a string, got {value!r}")
