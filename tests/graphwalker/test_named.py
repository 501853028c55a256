"""What a setting names: ours by name, the user's own by module:NAME, and mistakes that are told."""

import pytest

from graphwalker.errors import UserError
from graphwalker.settings.named import is_own, own


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "my_reward.py").write_text("def half(*_):\n    return 0.5\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.path", ["/nowhere"])
    return tmp_path


def test_a_module_of_the_working_directory_is_found(folder):
    assert own("my_reward:half", "reward")() == 0.5


def test_a_module_that_is_not_there_is_told(folder):
    with pytest.raises(UserError, match="module my_rewards cannot be imported"):
        own("my_rewards:half", "reward")


def test_a_mistake_in_the_users_own_code_is_one_line_with_its_place(folder):
    (folder / "unclosed.py").write_text("x = (\n")
    with pytest.raises(UserError, match=r"SyntaxError: .* \(unclosed\.py, line 1\)"):
        own("unclosed:x", "reward")
    (folder / "failing.py").write_text("\nraise OSError('no server')\n")
    with pytest.raises(UserError, match=r"OSError: no server \(.*failing\.py, line 2\)"):
        own("failing:x", "reward")


@pytest.mark.parametrize("text", ["http://host/sparql", "C:\\graph", "a:b:c", "runs/x", ":x", "a:"])
def test_addresses_and_paths_are_no_modules(text):
    assert not is_own(text)
