"""The pipeline of `graphwalker demo`, from nothing to a report."""

from graphwalker.pipeline.config import DemoConfig, shipped_config
from graphwalker.pipeline.demo import BESIDE, Demo, run_demo
from graphwalker.pipeline.stages import Stage

__all__ = ["BESIDE", "Demo", "DemoConfig", "Stage", "run_demo", "shipped_config"]
