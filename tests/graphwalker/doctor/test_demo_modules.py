"""The demo says what is not installed before it makes anything."""

import sys

import pytest

from graphwalker.demo import DemoConfig, run_demo
from graphwalker.errors import UserError


@pytest.mark.parametrize("module", ["torch", "trl"])
def test_a_demo_without_what_training_needs_is_refused_before_data_is_made(
    module, tmp_path, monkeypatch
):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(UserError, match=rf"{module} is not installed: pip install .*\[train\]'"):
        run_demo(DemoConfig(run=str(tmp_path / "demo")))
    assert not (tmp_path / "demo").exists()
