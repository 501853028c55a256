"""Relations listed one after another, without a token for the comma between them."""

import random

import pytest

from graphwalker.policies.local.constraint import TokenTexts
from graphwalker.policies.local.sampling import StopTokens
from training.models.tiny import make_tokenizer

RELATIONS = [
    "film.film", "film.film.language", "film.film.language.code", "a.b", "a.b.cd", "p.a", "named",
    "named.x", "people.person.spouse_s..people.marriage.spouse", "http://example.org/a",
]  # fmt: skip
PIECES = ["#1", "#0.1", "#12", "<think> Found ", ', this fits. </think>\n<kg-query> get_triples("']
TEXTS = ["the film of Anna Kovar, named by Bob", "Found 1. Go on"] * 5


SIGNED = ["<http://example.org/a>", "~a.b", "a.b<", "x/"]
"""They begin or end with a sign, so they may stand right beside a word: commas are written."""
NAMES = ["Oslo", "Bob Ray", "St.John"]


def tokenizer(implied: bool = True, names=()):  # type: ignore[no-untyped-def]
    count = 1200 if names else 900
    every = [*RELATIONS, *SIGNED]
    return make_tokenizer(TEXTS, every, count, None, names, PIECES, implied_commas=implied)


def pieces(text: str) -> list[str]:
    one = tokenizer()
    return one.convert_ids_to_tokens(one.encode(text, add_special_tokens=False))


def test_a_listing_is_its_relations() -> None:
    listing = ", ".join(RELATIONS)
    shown = pieces(f"<information> {listing} </information>")
    assert shown == ["<information> ", *RELATIONS, " </information>"]
    # After a reference and a name, too.
    shown = pieces("#1, a.b, [Anna Kovar, a.b.cd, #1]")
    assert [one for one in shown if "," in one] == [",\u0120", ",\u0120"]


def test_only_before_whole_relations() -> None:
    for text in ("Anna, Kovar", "Anna, a.bc", "Anna, a.b.cde", '["Anna", a.b', "Anna,a.b", ", a.b"):
        assert "," in "".join(pieces(text)), text


@pytest.mark.long
@pytest.mark.parametrize("names", [[], NAMES])
def test_no_text_is_changed(names: list[str]) -> None:
    one, draw = tokenizer(names=names), random.Random(0)
    atoms = [
        *RELATIONS, *SIGNED, *PIECES, *NAMES,
        "Anna", "word", " ", ", ", "  ", ",", "(", ".", "x", "3", "_", ";",
        "<information> ", " </information>", '["', '", ["', "\x1c", "\x1d", "\x1e", "\x1f", "\x1e;",
        "\x1e,", "\n", "\u00e9", "a", "b", "\u4e2d",
    ]  # fmt: skip
    for _ in range(20_000):
        text = "".join(draw.choice(atoms) for _ in range(draw.randint(1, 9)))
        assert one.decode(one.encode(text, add_special_tokens=False)) == text


def test_saved_and_loaded_it_is_the_same(tmp_path) -> None:  # type: ignore[no-untyped-def]
    from transformers import PreTrainedTokenizerFast

    tokenizer().save_pretrained(tmp_path)
    loaded = PreTrainedTokenizerFast.from_pretrained(tmp_path)
    text = "#1, a.b, film.film.language and a.b named Bob"
    ids = loaded.encode(text, add_special_tokens=False)
    assert ids == tokenizer().encode(text, add_special_tokens=False)
    assert loaded.decode(ids) == text


@pytest.mark.parametrize("implied", [False, True])
def test_constrained_decoding_knows_what_a_token_adds(implied: bool) -> None:
    one = tokenizer(implied)
    texts = TokenTexts(one, len(one))
    for text in ("<think> For a.b, film.film x", "#1, a.b, p.a", "Anna Kovar a.b, named", "é, a.b"):
        written = b""
        for token in one.encode(text, add_special_tokens=False):
            written += texts.text(token, written)
        # What stands for a space where a comma is implied is one more character, and its escape.
        assert written.decode().replace("\x1e;", " ") == text
    # A reference begins no word: nothing is implied before it.
    assert texts.text(one.convert_tokens_to_ids("#1"), b"word") == b"#1"
    assert StopTokens(one, [one.eos_token_id], len(one)).table(("</answer>",)).any()
