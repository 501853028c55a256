"""The command `graphwalker verify`, as the console script runs it."""

from graphwalker.cli.app import app, run


def verify(*arguments):
    """Exit code of the command as the console script runs it."""
    return run(lambda: app(["verify", *map(str, arguments)], standalone_mode=False))
