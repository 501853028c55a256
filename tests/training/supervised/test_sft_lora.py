"""LoRA: adapters are trained, the base is not, and the final folder holds the adapter."""

from pathlib import Path

import pytest

from graphwalker.errors import UserError
from graphwalker.files import read_json
from support.run_toys import curve, lines, sft_config
from training.sft import run_sft

LORA = {"r": 8, "alpha": 16}


@pytest.fixture(scope="module")
def trained(place, tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("runs") / "lora"
    run_sft(sft_config(place, out, lora=LORA, lr=1e-2, max_steps=30))
    return out


@pytest.mark.long
def test_an_adapter_of_every_linear_layer_but_the_head_learns(trained) -> None:
    from safetensors.torch import load_file

    losses = [line["loss"] for line in lines(trained)]
    assert losses[-1] < 0.7 * losses[0]
    weights = load_file(trained / "final" / "adapter_model.safetensors")
    assert len(weights) == 2 * 2 * 7  # A and B, two layers, seven matrices each
    assert all(min(tensor.shape) == 8 for tensor in weights.values())
    assert not (trained / "final" / "model.safetensors").exists()
    for folder in (trained / "final", trained / "checkpoint-30"):  # equal runs write equal files
        targets = read_json(folder / "adapter_config.json")["target_modules"]
        assert targets == sorted(targets) and targets


@pytest.mark.long
def test_the_same_seed_makes_the_same_adapter_of_the_chosen_layers_alone(place, tmp_path) -> None:
    from safetensors.torch import load_file

    values = {"lora": {**LORA, "targets": ["q_proj"]}, "max_steps": 4}
    for name, extra in (("a", {}), ("b", {}), ("c", {"gradient_checkpointing": True})):
        run_sft(sft_config(place, tmp_path / name, **values, **extra))
    files = [tmp_path / n / "final" / "adapter_model.safetensors" for n in ("a", "b")]
    assert files[0].read_bytes() == files[1].read_bytes()
    assert len(load_file(files[0])) == 4 and all("q_proj" in name for name in load_file(files[0]))
    for ours, theirs in zip(curve(tmp_path / "c"), curve(tmp_path / "a"), strict=True):
        assert ours == pytest.approx(theirs, rel=1e-5)


def test_an_adapter_is_not_taken_for_a_model(place, tmp_path) -> None:
    adapter = tmp_path / "final"
    adapter.mkdir()
    (adapter / "adapter_config.json").write_text("{}")
    with pytest.raises(UserError, match=r"is a LoRA adapter; .*graphwalker merge"):
        run_sft(sft_config(place, tmp_path / "r", model=str(adapter)))


@pytest.mark.long
def test_a_run_that_starts_from_an_adapter_trains_it_on_over_the_same_base(
    trained, place, tmp_path
) -> None:
    start, out = trained / "final", tmp_path / "on"
    run_sft(sft_config(place, out, model=str(start), lora=LORA, lr=1e-3, max_steps=2))
    assert lines(out)[0]["loss"] < 0.8 * lines(trained)[0]["loss"]
    own, before = (read_json(at / "adapter_config.json") for at in (out / "final", start))
    assert own == before
    digests = [read_json(at / "graphwalker.json")["base_weights"] for at in (out / "final", start)]
    assert digests[0] == digests[1]


@pytest.mark.long
def test_an_adapter_keeps_its_rank(trained, place, tmp_path) -> None:
    config = sft_config(place, tmp_path / "r", model=str(trained / "final"), lora={"r": 4})
    with pytest.raises(UserError, match=r"lora.r = 4, but the adapter .* has rank 8"):
        run_sft(config)
