"""Model folders of somebody who wants our code run, our time, or our memory: one thing changed."""

import json
import pickle
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from safetensors.numpy import load_file, save_file

CODE = "open('RAN', 'w').close()\nclass X: pass\n"


def edit(file: Path, **values: Any) -> None:
    """Set these keys of a JSON file, made where it is not there."""
    found = json.loads(file.read_text()) if file.is_file() else {}
    file.write_text(json.dumps({**found, **values}))


def copy_model(model: Path, to: Path, change: Callable[[Path], object]) -> Path:
    shutil.copytree(model, to)
    change(to)
    return to


def in_config(**values: Any) -> Callable[[Path], None]:
    return lambda folder: edit(folder / "config.json", **values)


def _named_code(file: str, **values: Any) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        (folder / "evil.py").write_text(CODE)
        edit(folder / file, **values)

    return change


def _own_generate(folder: Path) -> None:
    (folder / "custom_generate").mkdir()
    (folder / "custom_generate" / "generate.py").write_text(CODE)


class _Evil:
    def __reduce__(self) -> Any:
        return exec, (CODE,)


def _pickled(folder: Path) -> None:
    (folder / "model.safetensors").unlink()
    (folder / "pytorch_model.bin").write_bytes(pickle.dumps(_Evil()))


def _weights(**values: bytes) -> Callable[[Path], object]:
    return lambda folder: [(folder / f"{k}.safetensors").write_bytes(v) for k, v in values.items()]


def _index(folder: Path) -> None:
    (folder / "model.safetensors").unlink()
    edit(folder / "model.safetensors.index.json", weight_map={"a": "../../etc/passwd"})


def _without_a_tensor(folder: Path) -> None:
    tensors = load_file(folder / "model.safetensors")
    tensors.pop("model.norm.weight")
    save_file(tensors, folder / "model.safetensors", {"format": "pt"})


def _gguf(folder: Path) -> None:
    (folder / "config.json").unlink()
    (folder / "small.gguf").write_bytes(b"GGUF")


def template(text: str) -> Callable[[Path], object]:
    return lambda folder: (folder / "chat_template.jinja").write_text(text)


AUTO = {"AutoConfig": "evil.X", "AutoModelForCausalLM": "evil.X"}
FOLDERS: dict[str, tuple[Callable[[Path], object], str]] = {
    "a config's code": (_named_code("config.json", auto_map=AUTO, model_type="evil"), "names code"),
    "nested code": (_named_code("config.json", text_config={"auto_map": AUTO}), "names code"),
    "a tokenizer's code": (
        _named_code("tokenizer_config.json", auto_map={"AutoTokenizer": ["evil.X", None]}),
        "names code",
    ),
    "a processor's code": (
        _named_code("processor_config.json", auto_map={"AutoProcessor": "evil.X"}), "names code",
    ),
    "code of generation": (_own_generate, "generate.py: code of a model folder is never run"),
    "a kernel of the Hub": (in_config(attn_implementation="evil/kernel"), "names code"),
    "a vast vocabulary": (in_config(vocab_size=10**11, hidden_size=8192), "are of two models"),
    "a vocabulary of words": (in_config(vocab_size="many"), "reading this model fails"),
    "a million layers": (in_config(num_hidden_layers=10**6), "more than 4,096 layers"),
    "no heads": (in_config(num_attention_heads=0), "reading this model fails"),
    "a vast head": (_weights(model=(10**15).to_bytes(8, "little") + b"{}"), "damaged weights"),
    "a cut file": (_weights(model=b"\1"), "damaged weights"),
    "pickles": (_pickled, "pickled weights can run code"),
    "shards elsewhere": (_index, "must name files of this folder"),
    "a missing tensor": (_without_a_tensor, "its weights lack model.norm.weight"),
    "no JSON": (lambda folder: (folder / "config.json").write_text("{"), "damaged"),
    "a damaged tokenizer": (
        lambda folder: (folder / "tokenizer.json").write_text("[]"), "reading this model fails",
    ),
    "GGUF": (_gguf, "llama-server -m .*graphwalker model get"),
}  # fmt: skip
"""What is changed in a copy of a model, and what is said of it."""
LOOP = "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}x"
TEMPLATES = {
    LOOP: "takes more than 1 s of computing",
    "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}": "fails .RecursionError",
    "{{ 1 // 0 }}": "fails .ZeroDivisionError",
    "{{ 'x' * 10 ** 11 }}": "fails .MemoryError",
    "{{ cycler.__init__.__globals__.os.system('touch RAN') }}": "cannot be reproduced id for id",
}
