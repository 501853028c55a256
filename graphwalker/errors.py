"""What can go wrong, by whose fault it is: the user's, the graph's, or the policy's."""


class GraphWalkerError(Exception):
    """Base of every error raised on purpose; its text is one line for a person."""


class UserError(GraphWalkerError, ValueError):
    """Bad input: a path, a config key, a file format. Commands print it and exit with code 2."""


class GraphError(GraphWalkerError, RuntimeError):
    """The graph failed (down, damaged, timed out). Never shown to a model, never scored."""


class PolicyError(GraphWalkerError, RuntimeError):
    """The policy failed (API down, engine crashed). Never scored, never trained on."""


class HopelessError(PolicyError):
    """A failure that every further request would meet: a wrong key, no money, a cap."""


class FilteredError(PolicyError):
    """A content filter kept an answer back: a fault of this one prompt, which no retry mends."""


class IncompleteError(GraphWalkerError, RuntimeError):
    """Some of the work is missing; what was done stands, and the same command resumes it. Commands
    exit with code 3."""


class QueryLimitError(GraphError):
    """A query took longer, or held more rows, than it may."""


def first_line(error: BaseException) -> str:
    """What an exception says, in one line; its kind where it says nothing."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
