"""The one door: configs, tokenizers, models and adapters are read here, and never run as code.

A folder is checked before it is read (`folders`, `rehearsal`), so that whatever is wrong with it
is one line. Nothing else in this project calls `from_pretrained`; a test walks the tree for it.
"""

import logging
from collections.abc import Generator
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from graphwalker.errors import UserError, first_line, lacks_extra
from graphwalker.pretrained.adapters import check_weights, find_base, is_adapter
from graphwalker.pretrained.folders import (
    check_config,
    find_folder,
    refuse_code,
    refuse_foreign_modules,
)
from graphwalker.pretrained.rehearsal import HERE, check_adapter, check_model, check_tokenizer

log = logging.getLogger(__name__)


def check_pretrained(
    model: str, *, fetch: bool = False, base: str = "", force_base: bool = False
) -> Path:
    """Return the folder of a whole model, or of an adapter, with all of it checked.

    With `fetch` a Hub name is downloaded. `base` stands in the place of the base that an adapter
    names. Raises `UserError` in one line for what cannot be read, wants to run code, or does not
    belong together; with `force_base` a base may be another one than the adapter was trained on.
    Each state of a folder is checked once.
    """
    folder = find_folder(model, fetch)
    if not is_adapter(folder):
        _check_model(folder, model, _state(folder))
        return folder
    refuse_code(folder)
    name, place = (base, find_folder(base)) if base else find_base(folder)
    _check_model(place, name, _state(place))
    check_weights(folder, place, force_base)
    _check_adapter(folder, place, model, force_base, (_state(folder), _state(place)))
    return folder


def read_config(model: str) -> Any:
    """Return the transformers config of a model's folder. Raises `UserError`."""
    folder = find_folder(model)
    refuse_code(folder)
    check_config(folder, model)
    with _reading(model, "config"):
        return _transformers().AutoConfig.from_pretrained(folder, **HERE)


def read_tokenizer(model: str, **options: Any) -> Any:
    """Return the tokenizer of a model's folder; an adapter that has none has that of its base."""
    folder, given = find_folder(model), {**HERE, **options}
    base = folder
    if is_adapter(folder):
        refuse_code(folder)
        base = find_base(folder)[1]
        given["config"] = read_config(str(base))
        folder = folder if (folder / "tokenizer_config.json").is_file() else base
    _check_tokenizer(folder, base, model, _state(folder))
    with _reading(model, "tokenizer"):
        return _transformers().AutoTokenizer.from_pretrained(folder, **given)


def read_model(model: str, *, force_base: bool = False, **options: Any) -> Any:
    """Return the causal language model of a folder, an adapter laid over its base.

    `options` are those of transformers' `from_pretrained`, such as `dtype`.
    """
    check_pretrained(model, force_base=force_base)
    given = {**HERE, "use_safetensors": True, "output_loading_info": True, **options}
    with _reading(model, "model"):
        made, info = _transformers().AutoModelForCausalLM.from_pretrained(model, **given)
    if missing := sorted(info["missing_keys"]):
        more = f" and {len(missing) - 1:,} more" if len(missing) > 1 else ""
        raise UserError(f"{model}: its weights lack {missing[0]}{more}; get it again")
    return made


def read_merged(adapter: str, dtype: Any, *, force_base: bool = False) -> Any:
    """Return the base of an adapter with the adapter added to it, computed in `dtype`."""
    folder = check_pretrained(adapter, force_base=force_base)
    base = read_model(find_base(folder)[0], dtype=dtype)
    return lay_over(adapter, base).merge_and_unload()


def lay_over(adapter: str, base: Any, *, trainable: bool = False) -> Any:
    """Return the base with the adapter laid over it, as a model of peft; both were checked."""
    peft: Any = _peft()
    with _reading(adapter, "adapter"):
        return peft.PeftModel.from_pretrained(
            base, str(find_folder(adapter)), is_trainable=trainable
        )


def write_merged(adapter: Path, out: Path, *, force_base: bool = False) -> None:
    """Write the base of an adapter with the adapter added to it, and the tokenizer, to `out`.

    The sum is made in float32 (4 bytes per parameter of memory) and saved in the base's own type.
    """
    import torch

    model = read_merged(str(adapter), torch.float32, force_base=force_base)
    base = read_config(find_base(adapter)[0])
    model.to(getattr(base, "dtype", None) or torch.float32).save_pretrained(out)
    read_tokenizer(str(adapter)).save_pretrained(out)


def read_generation(model: str) -> Any:
    """Return the generation config of a folder; `None` where it has none."""
    folder = find_folder(model)
    if not (folder / "generation_config.json").is_file():
        return None
    refuse_code(folder)
    with _reading(model, "generation config"):
        return _transformers().GenerationConfig.from_pretrained(folder, local_files_only=True)


def read_gguf(file: Path, dtype: Any) -> tuple[Any, Any]:
    """Return (tokenizer, model) of a GGUF file whose digest is known, its weights dequantised."""
    library, given = _transformers(), {**HERE, "gguf_file": file.name}
    with _reading(str(file), "model"):
        return (
            library.AutoTokenizer.from_pretrained(file.parent, **given),
            library.AutoModelForCausalLM.from_pretrained(file.parent, dtype=dtype, **given),
        )


def read_encoder(model: str) -> Any:
    """Return a model of sentence-transformers, from a folder or the local cache."""
    if find_spec("sentence_transformers") is None:
        raise lacks_extra(f"{model} needs sentence-transformers", "embed")
    folder = find_folder(model)
    refuse_code(folder)
    refuse_foreign_modules(folder)
    library: Any = import_module("sentence_transformers")
    with _reading(model, "model"):
        return library.SentenceTransformer(str(folder), **HERE)


def make_model(config: Any, **options: Any) -> Any:
    """Return a model of that shape with weights of its own; `options` as `dtype`."""
    maker = _transformers().AutoModelForCausalLM
    return maker.from_config(config, trust_remote_code=False, **options)


def _transformers() -> Any:
    return import_module("transformers")  # its loaders are not typed


def _peft() -> Any:
    if find_spec("peft") is None:
        raise lacks_extra("adapters need the package peft", "lora")
    return import_module("peft")


@contextmanager
def _reading(model: str, what: str) -> Generator[None, None, None]:
    """Say in one line, as a `UserError`, why the files of a folder cannot be read."""
    logs = import_module("transformers.utils.logging")
    before = logs.get_verbosity()
    logs.set_verbosity_error()  # tables of tensors that do not fit
    try:
        yield
    except UserError:
        raise
    except Exception as error:  # transformers, tokenizers and safetensors raise what they like
        raise UserError(
            f"{model}: no {what} could be loaded from here ({first_line(error)})"
        ) from error
    finally:
        logs.set_verbosity(before)


def _state(folder: Path) -> tuple[tuple[str, int, int], ...]:
    """Return what changes when a file of the folder does."""
    found = ((file.name, file.stat()) for file in sorted(folder.iterdir()) if file.is_file())
    return tuple((name, about.st_size, about.st_mtime_ns) for name, about in found)


@cache
def _check_model(folder: Path, where: str, state: Any) -> None:
    check_model(folder, where)


@cache
def _check_adapter(folder: Path, base: Path, where: str, force: bool, state: Any) -> None:
    _peft()
    check_adapter(folder, base, where, force)


@cache
def _check_tokenizer(folder: Path, base: Path, where: str, state: Any) -> None:
    check_tokenizer(folder, where, base)
