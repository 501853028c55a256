"""What a grammar lets a completion be, asked of xgrammar with one token for each byte."""

from functools import cache
from typing import Any

import pytest


@cache
def compiler() -> Any:
    import xgrammar

    information = xgrammar.TokenizerInfo([bytes([byte]) for byte in range(256)], stop_token_ids=[0])
    return xgrammar.GrammarCompiler(information, cache_limit_bytes=1 << 26)


def begins(grammar: str, text: str) -> bool:
    """Whether a completion may begin with the text."""
    matcher = pytest.importorskip("xgrammar").GrammarMatcher(compiler().compile_grammar(grammar))
    return matcher.accept_string(text)


def allows(grammar: str, text: str) -> bool:
    """Whether the text is a whole completion."""
    matcher = pytest.importorskip("xgrammar").GrammarMatcher(compiler().compile_grammar(grammar))
    return matcher.accept_string(text) and matcher.is_completed()
