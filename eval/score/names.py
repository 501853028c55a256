"""The names of all metrics: what each means, where it is defined, its known defect."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Metric:
    """One metric, for people."""

    name: str
    meaning: str
    source: str
    defect: str = ""


def _read() -> dict[str, Metric]:
    text = Path(__file__).with_name("metrics.toml").read_text(encoding="utf-8")
    return {name: Metric(name, **facts) for name, facts in tomllib.loads(text).items()}


METRICS: Mapping[str, Metric] = _read()
"""In the order in which tables show them."""
