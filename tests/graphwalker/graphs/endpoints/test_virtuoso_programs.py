"""Virtuoso's programs are not installed, or are gone: one line says what to install."""

import json
import subprocess

import pytest
from typer.testing import CliRunner

from graphwalker.cli.app import app
from graphwalker.errors import UserError
from graphwalker.graphs.virtuoso.server import STATE


@pytest.fixture
def folder(tmp_path):
    """A server's folder; its process works in it, as a running server does."""
    process = subprocess.Popen(["sleep", "60"], cwd=tmp_path)
    server = {"folder": str(tmp_path), "pid": process.pid, "sql_port": 1, "http_port": 1}
    (tmp_path / STATE).write_text(json.dumps({**server, "password": "x"}))
    yield tmp_path
    process.kill()
    process.wait()


def test_down_without_isql_says_what_to_install(folder, monkeypatch):
    monkeypatch.setenv("PATH", str(folder))
    done = CliRunner().invoke(app, ["virtuoso", "down", str(folder)])
    assert isinstance(done.exception, UserError)
    assert "isql-vt not found; install it: apt-get install" in str(done.exception)
