"""A tiny agent from nothing: a tokenizer trained on our own text and a small random Qwen2."""

import json
import re
import shutil
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any

from graphwalker.agents.environment import EnvironmentConfig
from graphwalker.agents.model_environment import write_environment
from graphwalker.protocols.tags import TAGS, TagProtocol
from graphwalker.tokens.formats import FORMATS
from graphwalker.tools.walker import EXAMPLES
from graphwalker.trajectory import Trajectory
from training.runs.saving import room_for
from training.tiny.config import TinyModelConfig
from training.tiny.induction import plant_induction
from training.tiny.optimizer import MARK

PIECES = TagProtocol(EXAMPLES).pieces()
"""One token for each. Tiny models speak to GraphWalker's tools alone."""
END_OF_TURN = FORMATS["inline"].end_of_turn
PAD = "<|endoftext|>"
ROPE_THETA = 1_000_000.0
"""High, as small heads match names by what turns slowly."""
INIT_STD = 0.06
"""A narrow model learns slowly from the usual 0.02."""

# The one space between two words is implied, and a token that continues a word says so itself:
# `"Anna Kovar", Bob` is `"` `Anna` `Kovar` `", ` `Bob`, and a rare `Kovarek` is `Kovar` `+ek`. So a
# name is the same tokens after a space, a quote, a bracket or a comma, which makes copying easy to
# learn, and spaces cost nothing. Control characters are the marks; found in a text, they are
# escaped.
_GAP, _ESCAPE, _CONTINUES = "\x1f", "\x1e", "\x1d"
_GAP_AS_BYTE_LEVEL = chr(0x11F)
"""How the byte-level alphabet writes `_GAP`."""


TEMPLATE = (
    "{% for m in messages %}{{ m.content }}"
    "{{ '<|im_end|>' if m.role == 'assistant' else '\\n' }}{% endfor %}"
)
"""The chat template of a tiny model, the layout `inline`: tags alone say who speaks."""


def make_tiny(
    config: TinyModelConfig,
    texts: Iterable[str],
    relation_ids: Iterable[str],
    out: Path,
    names: Iterable[str] = (),
    environment: EnvironmentConfig | None = None,
) -> Path:
    """Write tokenizer and model to the folder `out` (whole or not at all; kept if it is there).

    The tokenizer learns the words of `names`, those of the graph's entities. `environment` is what
    the model will be trained in, which its `graphwalker.json` then says.
    """
    if out.is_dir():
        return out
    from transformers.utils.logging import disable_progress_bar

    disable_progress_bar()
    partial = out.with_name(out.name + ".partial")
    shutil.rmtree(partial, ignore_errors=True)
    relations = list(relation_ids)  # one token each: learned 3 times faster than spelled out
    known = list(names)
    texts = chain(texts, known, known)  # twice, so that a word of one rare name is learned too
    with room_for(out):
        tokenizer = make_tokenizer(texts, relations, config.vocab_size, partial)
        make_model(config, tokenizer).save_pretrained(partial)
        if environment is not None:
            write_environment(partial, environment, format="inline")
        partial.rename(out)
    return out


def make_tokenizer(
    texts: Iterable[str], relation_ids: Iterable[str], vocab_size: int, out: Path | None = None
) -> Any:
    """Train a lossless byte-level BPE; tags and relation ids are single tokens.

    Relation ids that are not plain ASCII without spaces are spelled out instead.
    """
    from tokenizers import AddedToken
    from transformers import PreTrainedTokenizerFast

    relations = [r for r in sorted(set(relation_ids)) if re.fullmatch(r"[!-~]+", r)]
    atoms = [*TAGS, *PIECES]
    tokenizer = _train(_between(texts, [*atoms, *relations]), vocab_size - len(relations))
    tokenizer.add_special_tokens([PAD, END_OF_TURN])
    # `single_word`: a word right after a relation id would read as if a space stood between.
    tokenizer.add_tokens([AddedToken(atom, normalized=False) for atom in atoms])
    tokenizer.add_tokens([AddedToken(r, normalized=False, single_word=True) for r in relations])
    result = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        eos_token=END_OF_TURN,
        pad_token=PAD,
        chat_template=TEMPLATE,
        clean_up_tokenization_spaces=False,
        # Without this entry AutoTokenizer takes the model type "qwen2" for proof of Qwen's own
        # tokenizer and rebuilds that one; with it, it believes `tokenizer_class`.
        auto_map={"AutoTokenizer": [None, None]},
    )
    if out is not None:
        result.save_pretrained(out)
    return result


def make_model(config: TinyModelConfig, tokenizer: Any) -> Any:
    """Return a `Qwen2ForCausalLM` with random weights made from `config.seed`."""
    import torch
    from transformers import Qwen2Config, Qwen2ForCausalLM

    shape = Qwen2Config(
        vocab_size=len(tokenizer),
        hidden_size=config.hidden,
        intermediate_size=config.intermediate,
        num_hidden_layers=config.layers,
        num_attention_heads=config.heads,
        num_key_value_heads=config.heads,
        max_position_embeddings=config.max_position,
        rope_parameters={"rope_type": "default", "rope_theta": ROPE_THETA},
        tie_word_embeddings=True,
        initializer_range=INIT_STD,
        use_sliding_window=False,
        bos_token_id=None,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
        dtype="float32",
    )
    if config.muon:
        setattr(shape, MARK, True)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(config.seed)
        model = Qwen2ForCausalLM(shape)
        if config.induction:
            plant_induction(model, INIT_STD)
    return model


def conversation_texts(trajectories: Iterable[Trajectory]) -> Iterator[str]:
    """Yield every message of every trajectory: what a tokenizer is trained on."""
    for trajectory in trajectories:
        for message in trajectory.conversation():
            yield message.content


def _train(texts: Iterable[str], vocab_size: int) -> Any:
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers

    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokenizer = Tokenizer(models.BPE(continuing_subword_prefix=_CONTINUES))
    _lay_out(tokenizer)
    trainer = trainers.BpeTrainer(
        vocab_size=max(2 * len(alphabet), vocab_size - len(TAGS) - len(PIECES) - 2),
        min_frequency=2,
        show_progress=False,
        initial_alphabet=alphabet,
        continuing_subword_prefix=_CONTINUES,
        # Every byte must be there as a continuation too, or a rare character would vanish; named
        # beforehand, they have the same ids each time.
        special_tokens=[_CONTINUES + character for character in alphabet],
    )
    tokenizer.train_from_iterator(texts, trainer)
    state = json.loads(tokenizer.to_str())
    state["added_tokens"] = []  # they are plain parts of words, not special
    return Tokenizer.from_str(json.dumps(state))


def _lay_out(tokenizer: Any) -> None:
    """Set how text becomes pieces of words, and words become text."""
    from tokenizers import Regex, decoders, normalizers, pre_tokenizers

    tokenizer.normalizer = normalizers.Sequence(
        [
            normalizers.Replace(_ESCAPE, f"{_ESCAPE}."),
            normalizers.Replace(_GAP, f"{_ESCAPE},"),
            normalizers.Replace(Regex(r"(?<=\w) (?=\w)"), _GAP),
        ]
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(_GAP, "removed"),
            pre_tokenizers.Split(Regex(r"\w+"), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.Sequence(
        [
            # A piece (it holds white space) takes no gap: it neither begins nor ends with a word.
            decoders.Replace(Regex(rf"\A(?!{_CONTINUES}|\S*\s)"), _GAP_AS_BYTE_LEVEL),
            decoders.Replace(_CONTINUES, ""),
            decoders.ByteLevel(),
            decoders.Replace(Regex(rf"(?<=\w){_GAP}(?=\w)"), " "),
            decoders.Replace(_GAP, ""),
            decoders.Replace(f"{_ESCAPE},", _GAP),
            decoders.Replace(f"{_ESCAPE}.", _ESCAPE),
        ]
    )


def _between(texts: Iterable[str], atoms: list[str]) -> Iterator[str]:
    """Yield the stretches of text between atomic tokens, of which at each place the longest counts:
    the only text that merges are learned from."""
    from tokenizers import AddedToken, Tokenizer, models

    # Tens of thousands of relations: one automaton finds them where an expression tries each.
    finder = Tokenizer(models.BPE())
    finder.add_tokens([AddedToken(atom, normalized=False) for atom in atoms])
    for text in texts:
        start = 0
        for first, end in finder.encode(text).offsets:
            if first > start:
                yield text[start:first]
            start = end
        if start < len(text):
            yield text[start:]
