"""Where the project and the data beside it lie."""

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
"""The root of the repository."""
SUPPORT = Path(__file__).resolve().parent
DATA = Path(os.environ.get("GRAPHWALKER_DATA", ROOT.parent / "shared/data"))
"""Published data that the project does not hold; tests that want it skip where it is absent."""
