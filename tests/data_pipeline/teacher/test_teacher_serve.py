"""A chat model of `transformers serve` as the teacher: random weights never answer in format."""

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from graphwalker.cli.app import app, run
from graphwalker.files import read_jsonl

NEEDED = ("fastapi", "uvicorn", "openai", "requests", "torch", "httpx")
MISSING = [name for name in NEEDED if find_spec(name) is None]

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(bool(MISSING), reason=f"transformers[serving] needs {', '.join(MISSING)}"),
]

TEMPLATE = (
    "{% for m in messages %}<|im_start|>{{ m['role'] }}\n{{ m['content'] }}<|im_end|>\n"
    "{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


def make_chat_model(folder: Path) -> None:
    """Two random layers and a byte-level vocabulary of 300."""
    import torch
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast, Qwen2Config, Qwen2ForCausalLM

    tokens = Tokenizer(models.BPE())
    tokens.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokens.decoder = decoders.ByteLevel()
    marks = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=300, special_tokens=marks, initial_alphabet=alphabet)
    tokens.train_from_iterator(["what is asked"], trainer)
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=tokens, eos_token="<|im_end|>", pad_token="<|endoftext|>"
    )
    tokenizer.chat_template = TEMPLATE
    torch.manual_seed(0)
    config = Qwen2Config(
        vocab_size=len(tokenizer),
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=2,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
        bos_token_id=None,
    )
    Qwen2ForCausalLM(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)


@pytest.fixture(scope="module")
def model(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("model")
    make_chat_model(folder)
    return folder


@pytest.fixture(scope="module")
def server(model, tmp_path_factory) -> Iterator[str]:
    """The address of a running server."""
    import requests

    home = tmp_path_factory.mktemp("hub")
    (home / "hub").mkdir()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    code = "from transformers.cli.transformers import main; main()"
    where = ["--host", "127.0.0.1", "--port", str(port), "--device", "cpu"]
    env = {**os.environ, "HF_HUB_OFFLINE": "1", "HF_HOME": str(home)}
    with (home / "log").open("w") as log:
        process = subprocess.Popen(
            [sys.executable, "-c", code, "serve", str(model), *where],
            stdout=log,
            stderr=subprocess.STDOUT,
            env=env,
        )
        try:
            for _ in range(600):
                assert process.poll() is None, (home / "log").read_text()[-2000:]
                try:
                    if requests.get(f"http://127.0.0.1:{port}/health", timeout=5).ok:
                        break
                except requests.RequestException:
                    time.sleep(0.5)
            else:
                pytest.fail((home / "log").read_text()[-2000:])
            yield f"http://127.0.0.1:{port}/v1"
        finally:
            process.terminate()
            process.wait(30)


def taught(server: str, model: Path, **settings: object) -> list[str]:
    about = {"base_url": server, "model": model, "max_tokens": 16, "concurrency": 2}
    about |= {"format_retries": 1, "timeout_s": 300, **settings}
    return [f"teacher.{key}={value}" for key, value in about.items()]


def command(*arguments: object) -> int:
    return run(lambda: app([str(argument) for argument in arguments], standalone_mode=False))


def test_a_model_that_never_answers_in_format_ends_the_run_and_is_not_paid_twice(
    server, model, graph, tmp_path, capsys
):
    out = tmp_path / "synth"
    where = ("synth", "--graph", graph, "--count", 5, "--out", out)
    assert command(*where, *taught(server, model, give_up_after=3)) == 2
    (line,) = [text for text in capsys.readouterr().err.splitlines() if "error:" in text]
    assert "gave no usable answer 3 times in a row (readable question)" in line
    assert line.endswith("what is made is kept, the same command resumes")
    first = json.loads((out / "teacher/spent.json").read_text())
    drops = {(r["stage"], r["reason"]) for r in read_jsonl(out / "dropped.jsonl")}
    assert sum(first["answers"].values()) >= 6  # each prompt was sent again once
    assert drops & {("question", "unreadable_answer"), ("walk", "dead_end")}

    assert command(*where, *taught(server, model, give_up_after=3)) == 2
    after = json.loads((out / "teacher/spent.json").read_text())
    assert after["requests"] == sum(after["answers"].values())  # nothing was paid for twice
    assert after["prompt_tokens"] >= first["prompt_tokens"] > 0 and after["lost"] == 0
