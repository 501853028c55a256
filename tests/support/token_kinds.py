"""Kinds of tokenizers (bytes, word pieces, unigrams, characters, with special tokens of models),
and the chat formats that are tried with them."""

import transformers

from graphwalker.tokens.formats import FORMATS

SPECIALS = ["<|im_start|>", "<|im_end|>", "<|eot_id|>", "<|begin_of_text|>", "<s>", "</s>"]
SPECIALS += ["<|start_header_id|>", "<|end_header_id|>"]
ADDED = ["<tool_response>", "</tool_response>", "<think>", "</think>"]
WORDS = ['Who is "Anna Kovar"?', "<think> I look. </think>", '<answer> ["Anna"] </answer>'] * 4
CUSTOM = {
    "begin": "<s>",
    "system": "<<{content}>>\n",
    "user": "USER: {content}\n",
    "observation": "SEEN: {content}\n",
    "assistant": "AGENT: {content}</s>\n",
    "end_of_turn": "</s>",
}
SETTINGS = [*sorted(FORMATS), CUSTOM, {"base": "qwen2.5", "observations": "inline"}]
SETTINGS += [{**CUSTOM, "observations": "inline"}]


def wrapped(backend, **named):
    backend.add_special_tokens(SPECIALS)
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=backend, clean_up_tokenization_spaces=False, **named
    )
    tokenizer.add_tokens(ADDED)
    return tokenizer


def byte_level():
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    backend = Tokenizer(models.BPE())
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    backend.train_from_iterator(
        WORDS, trainers.BpeTrainer(vocab_size=400, initial_alphabet=alphabet, show_progress=False)
    )
    return wrapped(backend)


def word_piece():
    """Lower-cases, drops white space, and joins what it likes."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, trainers

    backend = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    backend.normalizer = normalizers.BertNormalizer()
    backend.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    backend.train_from_iterator(
        WORDS,
        trainers.WordPieceTrainer(vocab_size=200, special_tokens=["[UNK]"], show_progress=False),
    )
    return wrapped(backend, unk_token="[UNK]")


def unigram():
    """Merges over white space, and writes a space of its own before every text."""
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers

    backend = Tokenizer(models.Unigram())
    backend.pre_tokenizer = pre_tokenizers.Metaspace(split=False)
    backend.train_from_iterator(
        WORDS,
        trainers.UnigramTrainer(
            vocab_size=120, unk_token="<unk>", special_tokens=["<unk>"], show_progress=False
        ),
    )
    return wrapped(backend, unk_token="<unk>")


def characters():
    from tokenizers import Tokenizer, models, pre_tokenizers

    letters = sorted({c for text in WORDS for c in text} | set("<|>_/\n:éx"))
    backend = Tokenizer(
        models.WordLevel({c: i for i, c in enumerate(["[UNK]", *letters])}, unk_token="[UNK]")
    )
    backend.pre_tokenizer = pre_tokenizers.Split("", "isolated")
    return wrapped(backend, unk_token="[UNK]")


def text_of(ids, tokenizer) -> str:
    return tokenizer.decode(list(ids), skip_special_tokens=False)
