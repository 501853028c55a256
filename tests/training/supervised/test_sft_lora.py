"""LoRA: adapters are trained, the base is not, and the final folder holds the adapter."""

from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("trl")


from graphwalker.errors import UserError  # noqa: E402
from graphwalker.files import read_json  # noqa: E402
from support.run_toys import curve, lines, make_sft_place, sft_config  # noqa: E402
from training.sft import run_sft  # noqa: E402

LORA = {"r": 8, "alpha": 16}


@pytest.fixture(scope="module")
def place(tmp_path_factory) -> Path:
    return make_sft_place(tmp_path_factory.mktemp("lora"))


@pytest.fixture(scope="module")
def trained(place, tmp_path_factory) -> Path:
    pytest.importorskip("peft")
    out = tmp_path_factory.mktemp("runs") / "lora"
    run_sft(sft_config(place, out, lora=LORA, lr=1e-2, max_steps=30))
    return out


@pytest.mark.long
def test_an_adapter_learns(trained) -> None:
    losses = [line["loss"] for line in lines(trained)]
    assert losses[-1] < 0.7 * losses[0]


def test_the_final_folder_holds_the_adapter_of_every_linear_layer_but_the_head(trained) -> None:
    from safetensors.torch import load_file

    weights = load_file(trained / "final" / "adapter_model.safetensors")
    assert len(weights) == 2 * 2 * 7  # A and B, two layers, seven matrices each
    assert all(min(tensor.shape) == 8 for tensor in weights.values())
    assert not (trained / "final" / "model.safetensors").exists()


def test_equal_runs_write_equal_adapter_configs(trained) -> None:
    for folder in (trained / "final", trained / "checkpoint-30"):
        targets = read_json(folder / "adapter_config.json")["target_modules"]
        assert targets == sorted(targets) and targets


@pytest.mark.long
def test_adapter_and_base_together_are_the_trained_model(place, trained) -> None:
    from peft import PeftModel
    from transformers import AutoModelForCausalLM, AutoTokenizer

    from training.supervised.data import Collator, read_rows

    base = AutoModelForCausalLM.from_pretrained(place / "model", dtype=torch.float32)
    model = PeftModel.from_pretrained(base, str(trained / "final"))
    tokenizer = AutoTokenizer.from_pretrained(place / "model")
    rows = read_rows(sft_config(place, place / "x"), tokenizer).rows
    batch = Collator(tokenizer.pad_token_id)(
        [{"input_ids": row.input_ids, "labels": row.labels} for row in rows]
    )
    assert float(model(**batch).loss) == pytest.approx(lines(trained)[-1]["loss"], abs=0.15)


@pytest.mark.long
def test_chosen_layers_alone_get_adapters(place, tmp_path) -> None:
    pytest.importorskip("peft")
    from safetensors.torch import load_file

    out = tmp_path / "r"
    run_sft(sft_config(place, out, lora={**LORA, "targets": ["q_proj"]}, max_steps=1))
    names = load_file(out / "final" / "adapter_model.safetensors")
    assert len(names) == 4 and all("q_proj" in name for name in names)


@pytest.mark.long
def test_the_same_seed_makes_the_same_adapter_and_checkpointing_changes_nothing(
    place, tmp_path
) -> None:
    pytest.importorskip("peft")
    values = {"lora": LORA, "max_steps": 4}
    for name, extra in (("a", {}), ("b", {}), ("c", {"gradient_checkpointing": True})):
        run_sft(sft_config(place, tmp_path / name, **values, **extra))
    files = [tmp_path / n / "final" / "adapter_model.safetensors" for n in ("a", "b")]
    assert files[0].read_bytes() == files[1].read_bytes()
    for ours, theirs in zip(curve(tmp_path / "c"), curve(tmp_path / "a"), strict=True):
        assert ours == pytest.approx(theirs, rel=1e-5)


def test_an_adapter_is_not_taken_for_a_model(place, tmp_path) -> None:
    adapter = tmp_path / "final"
    adapter.mkdir()
    (adapter / "adapter_config.json").write_text("{}")
    with pytest.raises(UserError, match=r"is a LoRA adapter; .*graphwalker merge"):
        run_sft(sft_config(place, tmp_path / "r", model=str(adapter)))
