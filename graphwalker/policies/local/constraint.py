"""Constrained decoding: the tokens with which a completion may continue, by xgrammar."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from graphwalker.errors import UserError, lacks_extra

if TYPE_CHECKING:
    from torch import Tensor

IMPLIED = "\x1d"
"""A token of the tokenizers of our tiny models, which imply spaces (`training/tiny/make.py`)."""
CACHE_BYTES = 1 << 28
"""Memory for grammars that are kept; the samples of a question begin with the same one."""


class GrammarMasks:
    """Compiles grammars for one vocabulary, and says which tokens may follow.

    Raises `UserError` where xgrammar is missing or the tokenizer implies spaces.
    """

    def __init__(self, tokenizer: Any, vocabulary: int, end_ids: Iterable[int]) -> None:
        if any(IMPLIED in token for token in tokenizer.get_vocab()):
            raise UserError(
                "environment.constrained: the tokenizer of this tiny model implies spaces, which "
                "no grammar can follow; set constrained=false, or take a pretrained model"
            )
        try:
            import xgrammar
        except ImportError as error:
            raise lacks_extra(
                "environment.constrained needs xgrammar", "constrained", f" ({error})"
            ) from None
        self._library: Any = xgrammar
        information = self._library.TokenizerInfo.from_huggingface(
            tokenizer, vocab_size=vocabulary, stop_token_ids=sorted(end_ids)
        )
        self._vocabulary = vocabulary
        self._compiler = self._library.GrammarCompiler(information, cache_limit_bytes=CACHE_BYTES)

    def matcher(self, grammar: str) -> Any:
        """Return a matcher at the beginning of the grammar."""
        return self._library.GrammarMatcher(self._compiler.compile_grammar(grammar))

    def apply(self, matchers: Sequence[Any], logits: "Tensor") -> None:
        """Set the logits, (rows, vocab), of tokens that may not follow to minus infinity. A row
        without a matcher (`None`) stays as it is."""
        bits = self._library.allocate_token_bitmask(len(matchers), self._vocabulary)
        for row, matcher in enumerate(matchers):
            if matcher is not None:
                matcher.fill_next_token_bitmask(bits, row)
        # On a GPU without the kernels that xgrammar would compile there.
        backend = "cpu" if logits.device.type == "cpu" else "torch_native"
        self._library.apply_token_bitmask_inplace(
            logits, bits.to(logits.device), vocab_size=self._vocabulary, backend=backend
        )
