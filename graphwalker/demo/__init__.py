"""The road of `graphwalker demo`, from nothing to a report."""

from graphwalker.demo.config import DemoConfig, shipped_config
from graphwalker.demo.demo import BESIDE, Demo, run_demo
from graphwalker.demo.stages import Stage

__all__ = ["BESIDE", "Demo", "DemoConfig", "Stage", "run_demo", "shipped_config"]
