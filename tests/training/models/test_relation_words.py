"""Relations that are single tokens are read by their words."""

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from transformers import AutoModelForCausalLM  # noqa: E402

from graphwalker.errors import UserError  # noqa: E402
from training.config import TinyModelConfig  # noqa: E402
from training.models.optimizers import muon_adamw  # noqa: E402
from training.models.relation_words import (  # noqa: E402
    SETTING,
    RelationWords,
    read_by_words,
    words_of_relations,
)
from training.models.tiny import make_tiny, make_tokenizer  # noqa: E402

TEXTS = ["What language is the film in? The language of the film, and its genre."] * 9
RELATIONS = ["film.film.language", "film.film_genre", "a.b", "x.filmGenre", "film.s..music.genre"]
TINY = TinyModelConfig(layers=2, hidden=8, intermediate=8, relation_words=True)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return make_tiny(TINY, TEXTS, RELATIONS, tmp_path_factory.mktemp("tiny") / "model")


def test_words_are_those_of_the_last_names():
    tokenizer = make_tokenizer(TEXTS, RELATIONS, 4096)
    found = {
        tokenizer.convert_ids_to_tokens(int(token)): tokenizer.convert_ids_to_tokens(sorted(ids))
        for token, ids in words_of_relations(RELATIONS, tokenizer).items()
    }
    assert {relation: sorted(words) for relation, words in found.items()} == {
        "film.film.language": ["language"],
        "film.film_genre": ["film", "genre"],
        "x.filmGenre": ["film", "genre"],
        "film.s..music.genre": ["genre"],
    }


def test_the_first_rows_are_like_their_words_and_the_model_is_a_plain_one(folder):
    model = AutoModelForCausalLM.from_pretrained(folder)
    table, tokens = model.get_input_embeddings().weight, getattr(model.config, SETTING)
    assert len(tokens) == 4
    for relation, words in tokens.items():
        alike = torch.cosine_similarity(table[int(relation)], table[words].sum(0), 0)
        assert alike > 0.3
    plain = TINY.model_copy(update={"relation_words": False})
    path = make_tiny(plain, TEXTS, RELATIONS, folder.with_name("plain"))
    assert not hasattr(AutoModelForCausalLM.from_pretrained(path).config, SETTING)


@pytest.mark.parametrize("kind", ["sgd", "adamw", "muon"])
def test_steps_are_those_of_a_part_of_its_own_plus_the_words(kind):
    torch.manual_seed(0)
    start, tokens = torch.randn(7, 3), {"5": [0, 2], "6": [2]}
    share = torch.zeros(7, 7)
    share[5, [0, 2]], share[6, 2] = 2**-0.5, 1.0
    own = torch.nn.Embedding.from_pretrained(start.clone(), freeze=False)
    kept = torch.nn.Embedding.from_pretrained((start + share @ start).clone(), freeze=False)
    make = {
        "sgd": lambda model: torch.optim.SGD(model.parameters(), 0.1, momentum=0.9),
        "adamw": lambda model: torch.optim.AdamW(model.parameters(), 0.1, weight_decay=0.0),
        "muon": lambda model: muon_adamw(model, 0.1, 0.1, (0.9, 0.95), 0.0),
    }[kind]
    make(own)  # whose class torch has patched by then, as in a process of several stages
    plain, ours = make(own), make(kept)
    rows = RelationWords(kept.weight, tokens)
    ours.register_step_pre_hook(rows.before)
    ours.register_step_post_hook(rows.after)
    for _ in range(6):
        target, x = torch.randn(4, 3), torch.randint(0, 7, (4,))
        for optimizer, table in ((plain, own.weight + share @ own.weight), (ours, kept.weight)):
            optimizer.zero_grad()
            (
                (table[x] @ table.T).logsumexp(1) + (table[x] - target).square().sum(1)
            ).sum().backward()
            optimizer.step()
    assert torch.allclose(kept.weight, own.weight + share @ own.weight, atol=1e-5)


def test_of_a_relation_that_no_row_takes_only_the_words_are_learned():
    torch.manual_seed(0)
    table = torch.nn.Embedding(7, 3)
    before = table.weight.detach().clone()
    optimizer = torch.optim.AdamW(table.parameters(), 0.1, weight_decay=0.0)
    rows = RelationWords(table.weight, {"5": [0], "6": [1]}, taken={1, 6})
    optimizer.register_step_pre_hook(rows.before)
    optimizer.register_step_post_hook(rows.after)
    for _ in range(4):
        optimizer.zero_grad()
        (table.weight @ table.weight[2]).square().sum().backward()
        optimizer.step()
    moved = table.weight.detach() - before
    assert torch.allclose(moved[5], moved[0], atol=1e-6)
    assert not torch.allclose(moved[6], moved[1], atol=1e-3)


def test_a_model_whose_embeddings_are_not_trained_is_left_alone(folder):
    model = AutoModelForCausalLM.from_pretrained(folder)
    model.get_input_embeddings().weight.requires_grad_(False)
    optimizer = torch.optim.AdamW(model.model.layers.parameters())
    read_by_words(optimizer, model)
    assert not optimizer._optimizer_step_pre_hooks


def test_what_does_not_fit_is_refused():
    with pytest.raises(UserError, match="sharding"):
        RelationWords(torch.zeros(3, 2), {"5": [0]})
    with pytest.raises(ValueError, match="atomic_relations"):
        TinyModelConfig(relation_words=True, atomic_relations=False)
