"""A model folder put together without its weights, in a limited process: does all of it fit?"""

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from graphwalker.errors import UserError
from graphwalker.pretrained.folders import check_config, count_elements, refuse_code, tensor_shapes
from graphwalker.pretrained.limits import run_limited

READ_S, ADAPT_S = 30.0, 8.0
"""Seconds of computing to put a model together or read a tokenizer (150,000 tokens take 2 to 4 on a
laptop), and to lay an adapter over a model."""
TOKENIZERS = ("*token*", "vocab*", "*.model", "tekken.json")
"""Files of which a tokenizer has one, at least."""
LARGEST_SHARE = 16
"""How many numbers of the model one number of the weights may stand for (as quantised)."""
HERE: Mapping[str, Any] = {"local_files_only": True, "trust_remote_code": False}
"""How everything is read: of this machine alone, and never as code."""
# One long run of each kind of character: what a hostile pattern of a tokenizer stumbles over.
_PROBE = "".join(c * 40 for c in "a1 .\n") + "Who is it? <think> [Ana] </think>"


def check_model(folder: Path, where: str) -> None:
    """Raise `UserError` in one line for a folder that is no whole model which can be read."""
    refuse_code(folder)
    check_config(folder, where)
    shapes = tensor_shapes(folder)
    _import_slow()
    run_limited(partial(_build, folder, shapes), f"{where}: reading this model", READ_S)


def check_tokenizer(folder: Path, where: str, base: Path | None = None) -> None:
    """Check a folder of which the tokenizer alone is read; `base` has its config."""
    refuse_code(folder)
    if not any(file for kind in TOKENIZERS for file in folder.glob(kind)):
        raise UserError(f"{where}: no tokenizer could be loaded from here (no tokenizer.json)")
    work = partial(_read_tokenizer, folder, base or folder)
    _import_slow()
    run_limited(work, f"{where}: reading its tokenizer", READ_S)


def check_adapter(adapter: Path, base: Path, where: str, force: bool = False) -> None:
    """Raise `UserError` where the adapter does not fit the base, whose folder was checked; with
    `force` another tokenizer is allowed."""
    refuse_code(adapter)
    import peft  # pyright: ignore[reportMissingImports]

    _import_slow()
    assert peft  # as above
    laying = partial(_adapt, adapter, base, tensor_shapes(adapter))
    run_limited(laying, f"{where}: laying this adapter over {base}", ADAPT_S)
    if (adapter / "tokenizer_config.json").is_file():
        comparing = partial(_compare_tokenizers, adapter, base, force)
        run_limited(comparing, f"{where}: reading its tokenizer and that of {base}", 2 * READ_S)


def _import_slow() -> None:
    """Import what the limited process would spend its seconds on."""
    import torch
    import transformers

    library: Any = transformers  # it imports a name when it is asked for
    assert torch and library.AutoConfig and library.AutoModelForCausalLM and library.AutoTokenizer


def _build(folder: Path, stored: Mapping[str, tuple[int, ...]]) -> None:
    model = _empty_model(folder)
    if getattr(model.config, "quantization_config", None) is None:
        _compare(folder, model, stored)
    found, needed = count_elements(stored), sum(part.numel() for part in model.parameters())
    if needed > LARGEST_SHARE * found:
        raise UserError(
            f"{folder}: config.json describes {needed:,} parameters, and the weights hold {found:,}"
        )
    tokens, rows = len(_read_tokenizer(folder, folder)), _rows(model)
    if tokens > rows:
        raise UserError(
            f"{folder}: {tokens:,} tokens in the tokenizer, but only {rows:,} in the model"
        )


def _compare(folder: Path, model: Any, stored: Mapping[str, tuple[int, ...]]) -> None:
    for name, tensor in model.state_dict().items():
        if name in stored and stored[name] != tuple(tensor.shape):
            raise UserError(
                f"{folder}: {name} is {stored[name]} in the weights, and {tuple(tensor.shape)} by "
                "config.json: they are of two models"
            )


def _empty_model(folder: Path) -> Any:
    import torch
    import transformers

    torch.set_num_threads(1)  # threads of the process that this one is a copy of are not here
    library: Any = transformers
    config = library.AutoConfig.from_pretrained(folder, **HERE)
    with torch.device("meta"):
        return library.AutoModelForCausalLM.from_config(config, trust_remote_code=False)


def _rows(model: Any) -> int:
    return int(model.get_input_embeddings().weight.shape[0])


def _read_tokenizer(folder: Path, base: Path) -> Any:
    import transformers

    library: Any = transformers
    given: dict[str, Any] = dict(HERE)
    if base != folder and not (folder / "config.json").is_file():
        given["config"] = library.AutoConfig.from_pretrained(base, **HERE)
    tokenizer = library.AutoTokenizer.from_pretrained(folder, **given)
    tokenizer.decode(tokenizer.encode(_PROBE, add_special_tokens=False))
    return tokenizer


def _adapt(adapter: Path, base: Path, stored: Mapping[str, tuple[int, ...]]) -> None:
    import peft  # pyright: ignore[reportMissingImports]

    library: Any = peft
    settings = library.PeftConfig.from_pretrained(str(adapter))
    adapted = library.get_peft_model(_empty_model(base), settings, low_cpu_mem_usage=True)
    # Without embeddings: to decide about them, peft would ask the Hub.
    needed = library.get_peft_model_state_dict(adapted, save_embedding_layers=False)
    for name, tensor in needed.items():
        found = stored.get(name)
        if found != tuple(tensor.shape):
            what = f"has the shape {found}" if found else "is missing"
            raise UserError(
                f"{adapter}: {name} {what}, and {base} needs {tuple(tensor.shape)}: the adapter is "
                "of another base"
            )


def _compare_tokenizers(adapter: Path, base: Path, force: bool) -> None:
    ours, theirs = _read_tokenizer(adapter, base), _read_tokenizer(base, base)
    rows = _rows(_empty_model(base))
    if len(ours) > rows:
        raise UserError(f"{adapter}: {len(ours):,} tokens, but only {rows:,} in {base}")
    mine: dict[str, int] = ours.get_vocab()
    other = [token for token, number in theirs.get_vocab().items() if mine.get(token) != number]
    if other and not force:
        raise UserError(
            f"{adapter}: its tokenizer is not that of {base} ({other[0]!r} is token "
            f"{mine.get(other[0])} here): the adapter is of another base; --force-base "
            "(policy.force_base=true) takes it all the same"
        )
