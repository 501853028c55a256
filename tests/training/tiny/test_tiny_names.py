"""Names that are one token each: whole words alone, found among tens of thousands."""

from training.tiny.make import make_tokenizer


def test_a_name_inside_a_longer_word_does_not_cut_what_is_learned() -> None:
    texts = ["films of film and films by film"] * 50
    tokenizer = make_tokenizer(texts, [], 700, names=["film"])
    assert tokenizer.tokenize("films") == ["films"]
    assert "film" in tokenizer.tokenize("a film")
