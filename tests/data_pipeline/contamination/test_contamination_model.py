"""A sentence-transformers model of random weights as the embedding of the contamination check."""

from pathlib import Path

import pytest
from test_contamination import CORPUS, TEST, write

from data_pipeline.contamination.check import CloseRules, check
from data_pipeline.contamination.embed import open_embedder

sentence_transformers = pytest.importorskip(
    "sentence_transformers", reason="the extra `embed` (sentence-transformers) is not installed"
)


@pytest.fixture(scope="module")
def model(tmp_path_factory) -> Path:
    """Random vectors of the words of the tests, averaged."""
    import torch
    from sentence_transformers.models import StaticEmbedding
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers

    words = Tokenizer(models.WordLevel(unk_token="[UNK]"))
    words.pre_tokenizer = pre_tokenizers.Whitespace()
    words.train_from_iterator([*TEST, *CORPUS], trainers.WordLevelTrainer(special_tokens=["[UNK]"]))
    torch.manual_seed(0)
    path = tmp_path_factory.mktemp("st") / "model"
    static = StaticEmbedding(words, embedding_dim=32)
    sentence_transformers.SentenceTransformer(modules=[static]).save(str(path))
    return path


def test_a_model_of_this_machine_embeds_and_the_sweep_is_counted(model, tmp_path):
    corpus = write(tmp_path / "corpus.jsonl", [*CORPUS, TEST[0]])
    test = write(tmp_path / "test.jsonl", TEST)
    report = check(corpus, [test], tmp_path / "out", open_embedder(str(model)), CloseRules())
    assert report["embedding"] == str(model)
    counts = [report["thresholds"][level]["all"] for level in ("0.80", "0.85", "0.90")]
    assert counts == sorted(counts, reverse=True) and counts[-1] >= 1  # the copy, at least
    assert report["flagged"] >= counts[1]
    assert f"cosine of `{model}`" in (tmp_path / "out/contamination.md").read_text()
