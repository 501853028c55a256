"""A tokenizer that remembers texts: those of trajectories repeat, and each is encoded once."""

from functools import lru_cache
from typing import Any

from graphwalker.tokens.segments import Tokenizer


class RememberingTokenizer:
    """Encodes as the tokenizer that it is made from, which must not change meanwhile. It keeps the
    ids of the last `texts` texts."""

    def __init__(self, tokenizer: Tokenizer, texts: int = 1 << 16) -> None:
        self._tokenizer = tokenizer
        self._encoded = lru_cache(texts)(self._encode)
        self._id = lru_cache(1024)(tokenizer.convert_tokens_to_ids)
        self.all_special_tokens = tokenizer.all_special_tokens
        self.unk_token_id = tokenizer.unk_token_id

    def encode(
        self, text: str, *, add_special_tokens: bool = True, split_special_tokens: bool = False
    ) -> list[int]:
        return list(self._encoded(text, add_special_tokens, split_special_tokens))

    def convert_tokens_to_ids(self, tokens: str) -> Any:
        return self._id(tokens)

    def get_added_vocab(self) -> dict[str, int]:
        return self._tokenizer.get_added_vocab()

    def _encode(self, text: str, special: bool, split: bool) -> tuple[int, ...]:
        return tuple(
            self._tokenizer.encode(text, add_special_tokens=special, split_special_tokens=split)
        )
