"""The configs for clusters: every section of every file is one that its command accepts."""

from pathlib import Path

import pytest
import yaml

from graphwalker.cli.models import config_models
from graphwalker.config import parse_config, read_settings
from support.paths import ROOT

pytest.importorskip("trl")

FILES = [ROOT / "configs" / "cluster.yaml", *sorted((ROOT / "configs" / "paper").glob("*.yaml"))]
KINDS = {"rl": "synth", "practice": "synth", "test": "synth", "test_words": "synth"}
OF_THE_COMMAND = {"graph", "output_dir", "questions"}
SECTIONS = [
    (path, name)
    for path in FILES
    for name, value in yaml.safe_load(path.read_text()).items()
    if isinstance(value, dict)
]


@pytest.mark.parametrize(
    ("path", "name"), SECTIONS, ids=lambda value: getattr(value, "stem", value)
)
def test_a_section_is_accepted_by_its_command(path: Path, name: str) -> None:
    first = name.partition("-")[0]
    kind = KINDS.get(first, first.rstrip("12"))
    model = config_models()[kind]
    values = read_settings(f"{path}#{name}")
    own = OF_THE_COMMAND - set(model.model_fields)
    parse_config(model, {k: v for k, v in values.items() if k not in own}, name)


@pytest.mark.long
def test_each_row_reads_what_another_section_or_the_first_run_writes() -> None:
    for path in FILES:
        written = {
            read_settings(f"{place}#{name}").get("output_dir")
            for place, name in SECTIONS
            if place in (path, FILES[0])
        }
        for place, name in SECTIONS:
            if place != path:
                continue
            values = read_settings(f"{path}#{name}")
            model = values.get("model") or (values.get("policy") or {}).get("model") or "x/y"
            read = [
                model.removesuffix("/final"),
                *(str(Path(d).parent) for d in values.get("data", [])),
            ]
            assert all(one in written or one.count("/") == 1 for one in read), (path, name, read)
