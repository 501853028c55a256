"""An agent is small: what decides its next step is some 150 lines, and the loop exists once."""

import ast
import inspect
import io
import tokenize

import pytest

from graphwalker.agents.presets import presets
from support.paths import ROOT
from support.preset_worlds import environment_of

MOST = 150


def lines_of_code(source: str) -> int:
    """Lines that hold code: neither blank, nor comments, nor docstrings."""
    skipped = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT}
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    held = {n for t in tokens if t.type not in skipped for n in range(t.start[0], t.end[0] + 1)}
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            held -= set(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return len(held)


@pytest.mark.parametrize("preset", sorted(presets()))
def test_an_agents_control_flow_is_under_150_lines(preset: str) -> None:
    agent = environment_of(preset).agent
    agent = getattr(agent, "func", agent)  # of a partial
    decides = agent if inspect.isroutine(agent) else type(agent)
    assert decides.__module__.startswith("graphwalker.agents"), decides
    assert lines_of_code(inspect.getsource(decides)) <= MOST, decides


def test_policies_are_asked_in_one_place_alone() -> None:
    asking = [
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "graphwalker").rglob("*.py")
        if "policy.submit(" in path.read_text(encoding="utf-8")
    ]
    assert asking == ["graphwalker/agents/rollout.py"]
