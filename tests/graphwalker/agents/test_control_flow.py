"""An agent is small: what decides its next step is some 150 lines, and the loop exists once."""

from support.paths import ROOT


def test_policies_are_asked_in_one_place_alone() -> None:
    asking = [
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "graphwalker").rglob("*.py")
        if "policy.submit(" in path.read_text(encoding="utf-8")
    ]
    assert asking == ["graphwalker/agents/rollout.py"]
