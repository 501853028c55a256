"""The command line in this process."""

from typer.testing import CliRunner

from graphwalker.cli import app as cli


def run(*words: object) -> str:
    """Return what a command prints that ends well."""
    done = CliRunner().invoke(cli.app, list(map(str, words)))
    assert done.exit_code == 0, (done.output, done.exception)
    return done.stdout


def code(*words: object) -> int:
    """Return the exit code of a command, as its console script has it."""
    return cli.run(lambda: cli.app(list(map(str, words)), standalone_mode=False))


def command(capsys, *words):
    """Exit code, output and errors of a command."""
    ended = []
    code = cli.run(lambda: ended.append(cli.app([*map(str, words)], standalone_mode=False)))
    return code or ended[0] or 0, *capsys.readouterr()
