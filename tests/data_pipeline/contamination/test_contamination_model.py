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
    """One BERT layer over the words of the tests, its token vectors averaged."""
    import torch
    from sentence_transformers.models import Pooling, Transformer
    from tokenizers import Tokenizer, models, pre_tokenizers, processors, trainers
    from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

    folder = tmp_path_factory.mktemp("st")
    words = Tokenizer(models.WordLevel(unk_token="[UNK]"))
    words.pre_tokenizer = pre_tokenizers.Whitespace()
    marks = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
    words.train_from_iterator(
        [text.lower() for text in (*TEST, *CORPUS)], trainers.WordLevelTrainer(special_tokens=marks)
    )
    words.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    names = ("pad_token", "unk_token", "cls_token", "sep_token")
    PreTrainedTokenizerFast(
        tokenizer_object=words, **dict(zip(names, marks, strict=True)), model_max_length=64
    ).save_pretrained(folder / "bert")
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=words.get_vocab_size(),
        hidden_size=32,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=32,
        initializer_range=1.0,
    )
    BertModel(config).save_pretrained(folder / "bert")
    body = Transformer(str(folder / "bert"))
    pooled = Pooling(32, pooling_mode="mean")
    sentence_transformers.SentenceTransformer(modules=[body, pooled]).save(str(folder / "model"))
    return folder / "model"


def test_a_model_of_this_machine_embeds_and_the_sweep_is_counted(model, tmp_path):
    corpus = write(tmp_path / "corpus.jsonl", [*CORPUS, TEST[0]])
    test = write(tmp_path / "test.jsonl", TEST)
    report = check(corpus, [test], tmp_path / "out", open_embedder(str(model)), CloseRules())
    assert report["semantic"] and report["embedding"] == str(model)
    counts = [report["thresholds"][level]["all"] for level in ("0.80", "0.85", "0.90")]
    assert counts == sorted(counts, reverse=True) and counts[-1] >= 1  # the copy, at least
    assert report["flagged"] >= counts[1]
    assert "not comparable" not in (tmp_path / "out/contamination.md").read_text()
