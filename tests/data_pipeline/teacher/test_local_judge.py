"""A judge in this process: a tiny transformers model gives three scores, always the same."""

from pathlib import Path

import pytest

from data_pipeline.config import SynthConfig
from data_pipeline.teacher.config import JudgeConfig
from data_pipeline.teacher.local_judge import LocalJudge
from data_pipeline.teacher.readings import Doubt
from graphwalker.config import load_config
from graphwalker.errors import UserError
from graphwalker.graphs.base import Entity
from graphwalker.query.query import Branch, Execution, Hop, Query

ANNA, BLUE = Entity("m.a", "Anna"), Entity("m.b", "Blue")
QUERY = Query((Branch(ANNA, (Hop("film.director.film"),)),))
RUN = Execution((((ANNA,), (BLUE,)),), ((BLUE,),))


@pytest.fixture(scope="module")
def model(tmp_path_factory) -> Path:
    """One random layer and a byte-level vocabulary."""
    import torch
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast, Qwen2Config, Qwen2ForCausalLM

    folder = tmp_path_factory.mktemp("judge")
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {token: k for k, token in enumerate(["<end>", *alphabet])}
    tokens = Tokenizer(models.BPE(vocab=vocabulary, merges=[]))
    tokens.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokens.decoder = decoders.ByteLevel()
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=tokens, eos_token="<end>")
    torch.manual_seed(0)
    # Weights so large that every word of the prompt counts.
    shape = {"initializer_range": 0.5, "hidden_size": 16, "num_hidden_layers": 1}
    heads = {"num_attention_heads": 2, "num_key_value_heads": 2}
    Qwen2ForCausalLM(
        Qwen2Config(vocab_size=len(tokenizer), **shape, **heads, intermediate_size=16)
    ).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def plain_score(model: Path, prompt: str) -> float:
    """The mean of 0 to 10 by whole forward passes, one for each number."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(model)
    network = AutoModelForCausalLM.from_pretrained(model)
    logs = []
    for number in range(11):
        before = tokenizer(f"{prompt}\n<path>")["input_ids"]
        after = tokenizer(f"{number}</path>", add_special_tokens=False)["input_ids"]
        with torch.no_grad():
            scores = torch.log_softmax(network(torch.tensor([before + after])).logits[0], -1)
        places = range(len(before) - 1, len(before) + len(after) - 1)
        logs.append(sum(float(scores[k, t]) for k, t in zip(places, after, strict=True)))
    shares = torch.softmax(torch.tensor(logs), 0)
    return float(sum(number * share for number, share in enumerate(shares)))


@pytest.mark.slow
def test_a_score_is_the_mean_of_the_numbers_under_the_model(model):
    from data_pipeline.teacher.judge import score_prompt
    from data_pipeline.teacher.paths import resolved
    from data_pipeline.teacher.prompts import Prompts

    text = "Which film did Anna direct?"
    verdict = LocalJudge(JudgeConfig(local=str(model))).verdict(text, QUERY, RUN)
    prompt = score_prompt(Prompts(), text, resolved(QUERY, RUN), ("path",))
    assert verdict.scores[0] == pytest.approx(plain_score(model, prompt), abs=0.006)


@pytest.mark.slow
def test_a_local_model_scores_a_question_and_reads_a_step(model):
    judge = LocalJudge(JudgeConfig(local=str(model), keep_from=4.0))
    verdict = judge.verdict("Which film did Anna direct?", QUERY, RUN)
    assert all(0 < score < 10 for score in verdict.scores) and len(set(verdict.scores)) == 3
    assert verdict.kept is (sum(verdict.scores) / 3 >= 4.0)
    again = LocalJudge(JudgeConfig(local=str(model))).verdict(
        "Which film did Anna direct?", QUERY, RUN
    )
    assert again.scores == verdict.scores and not again.kept
    assert again.reasons[0].startswith("scores below 9 in the mean: path ")
    hops = [Hop("film.director.film"), Hop("film.producer.film"), Hop("film.writer.film")]
    found = [
        judge.means("Which?", Doubt("Anna", "film", hop, tuple(h for h in hops if h != hop)))
        for hop in hops
    ]
    assert sum(found) == 1  # of one list of relations, one is read


def test_the_short_form_names_a_local_judge_and_a_folder_without_a_model_is_refused(tmp_path):
    config = load_config(SynthConfig, None, [f"judge=transformers:{tmp_path}"])
    assert config.judge.local == str(tmp_path) and config.is_judged
    assert "judge" not in SynthConfig().model_dump(mode="json")
    assert config.model_dump(mode="json")["judge"]["local"] == str(tmp_path)
    with pytest.raises(UserError, match="no model could be loaded"):
        LocalJudge(config.judge).verdict("Who?", QUERY, RUN)
    with pytest.raises(UserError, match="transformers:FOLDER names a local model"):
        load_config(SynthConfig, None, ["judge=gpt"])
