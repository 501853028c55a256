"""Tokenizers of several kinds, made once a file."""

import pytest


@pytest.fixture(scope="module")
def tokenizers():
    from support.token_kinds import byte_level, characters, unigram, word_piece

    return [byte_level(), word_piece(), unigram(), characters()]


@pytest.fixture(scope="module")
def chat_tokenizer(tokenizers):
    return tokenizers[0]
