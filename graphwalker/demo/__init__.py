"""The road of `graphwalker demo`, from nothing to a report."""

from graphwalker.demo.config import DemoConfig, shipped_config
from graphwalker.demo.demo import Demo, run_demo

__all__ = ["Demo", "DemoConfig", "run_demo", "shipped_config"]
