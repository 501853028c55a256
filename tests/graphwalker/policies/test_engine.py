"""The transformers engine: what it samples does not depend on batches, and its ids add up."""

import random
from collections.abc import Sequence
from dataclasses import replace

import pytest

torch = pytest.importorskip("torch")

from tokenizers import Tokenizer, models, pre_tokenizers  # noqa: E402
from transformers import PreTrainedTokenizerFast, Qwen2Config, Qwen2ForCausalLM  # noqa: E402

from graphwalker.errors import PolicyError, UserError  # noqa: E402
from graphwalker.policies.base import Completion, Request, Sampling  # noqa: E402
from graphwalker.policies.local.policy import TransformersPolicy  # noqa: E402
from graphwalker.policies.local.sampling import Cut, draw  # noqa: E402
from graphwalker.question import Question  # noqa: E402
from graphwalker.tokens.segments import FORMATS, extension_ids, prompt_ids  # noqa: E402
from graphwalker.trajectory import Message, Turn  # noqa: E402

FORMAT = FORMATS["inline"]
STOP = ("</kg-query>", "</answer>")
WORDS = [f"w{i}" for i in range(90)]
ASKED = Question("q", "?", ())


@pytest.fixture(scope="module")
def tokenizer():
    """One token per word; `</answer>` is a token, `</kg-query>` takes three."""
    special = ["<unk>", "<pad>", "<|im_end|>"]
    parts = ["</answer>", "</kg", "-", "query>", "\n"]
    vocabulary = {t: i for i, t in enumerate([*special, *parts, *WORDS])}
    words = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    words.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    return PreTrainedTokenizerFast(
        tokenizer_object=words, unk_token="<unk>", pad_token="<pad>", eos_token="<|im_end|>"
    )


def make_model(tokenizer, key_value_heads=4):
    torch.manual_seed(1)
    config = Qwen2Config(
        vocab_size=len(tokenizer),
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=key_value_heads,
        max_position_embeddings=512,
        tie_word_embeddings=True,
        initializer_range=0.3,
    )
    return Qwen2ForCausalLM(config).eval()


@pytest.fixture(scope="module", params=[4, 2], ids=["plain", "grouped heads"])
def model(request, tokenizer):
    return make_model(tokenizer, request.param)


def words(rng: random.Random, count: int) -> str:
    return " ".join(rng.choice(WORDS) for _ in range(count))


def prompt(index: int) -> tuple[Message, ...]:
    rng = random.Random(index)
    return (Message("system", "w1 w2"), Message("user", words(rng, 3 + index % 7)))


def observation(index: int, turn: int) -> Message:
    rng = random.Random(1000 * index + turn)
    return Message("user", words(rng, 2 + (index + turn) % 9))


def turns_taken(count: int) -> Sequence[Turn]:
    return [Turn((), "")] * count


def play(policy, count, turns=3, restart=False, sampling=None):
    """Every completion of `count` conversations, as (index -> list), through any batch size."""
    sampling = sampling or Sampling(temperature=0, max_tokens=12)
    messages = {i: prompt(i) for i in range(count)}
    completions: dict[int, list[Completion]] = {i: [] for i in range(count)}
    for turn in range(turns):
        for i, conversation in messages.items():
            policy.submit(
                Request(f"q{i}#0", conversation, ASKED, turns_taken(turn), sampling, STOP, restart)
            )
        while results := policy.collect():
            for key, completion in results:
                i = int(key[1:-2])
                completions[i].append(completion)
                messages[i] += (Message("assistant", completion.text), observation(i, turn))
    return completions


def all_of(policy):
    found = {}
    while results := policy.collect():
        found |= dict(results)
    return found


def engine(model, tokenizer, **settings):
    return TransformersPolicy(model, tokenizer, FORMAT, **{"max_context": 256} | settings)


def ids_of(completions):
    return {i: [c.token_ids for c in turns] for i, turns in completions.items()}


@pytest.mark.long
def test_greedy_turns_are_the_same_alone_and_in_a_batch_of_16(model, tokenizer):
    alone = play(engine(model, tokenizer, batch_size=1), 16)
    assert ids_of(alone) == ids_of(play(engine(model, tokenizer, batch_size=16), 16))


@pytest.mark.long
def test_sampled_turns_are_the_same_alone_and_in_a_batch_of_16(model, tokenizer):
    sampling = Sampling(temperature=1.0, max_tokens=12, seed=5)
    alone = play(engine(model, tokenizer, batch_size=1), 16, sampling=sampling)
    together = play(engine(model, tokenizer, batch_size=16), 16, sampling=sampling)
    assert ids_of(alone) == ids_of(together)


def test_another_seed_or_key_draws_other_tokens(model, tokenizer):
    drawn = [
        ids_of(play(engine(model, tokenizer), 2, 1, sampling=Sampling(1.0, max_tokens=12, seed=s)))
        for s in (1, 2)
    ]
    assert drawn[0][0] != drawn[1][0] and drawn[0][0] != drawn[0][1]


def full_logprobs(model, ids, temperature):
    with torch.no_grad():
        logits = model(torch.tensor([ids])).logits[0, :-1] / temperature
    return logits.log_softmax(-1)[torch.arange(len(ids) - 1), torch.tensor(ids[1:])]


@pytest.mark.parametrize("temperature", [1.0, 0.7])
def test_logprobs_equal_a_plain_forward_pass_of_the_whole_sequence(model, tokenizer, temperature):
    sampling = Sampling(temperature=temperature, max_tokens=12)
    completions = play(engine(model, tokenizer), 8, sampling=sampling)
    for i, turns in completions.items():
        ids, spans = prompt_ids(prompt(i), FORMAT, tokenizer), []
        for turn, completion in enumerate(turns):
            spans.append((len(ids), completion.logprobs))
            ids += completion.token_ids
            ids += extension_ids([observation(i, turn)], FORMAT, tokenizer)
        expected = full_logprobs(model, ids, temperature)
        for start, logprobs in spans:
            got = torch.tensor(logprobs)
            assert torch.allclose(got, expected[start - 1 : start - 1 + len(got)], atol=1e-5)


def test_a_kept_cache_gives_what_a_fresh_prefill_gives(model, tokenizer):
    kept = engine(model, tokenizer)
    completions = play(kept, 6)
    for i, turns in completions.items():
        episode = kept._episodes[f"q{i}#0"]
        last = turns[-1]
        ids = episode.ids[: last.prompt_tokens + len(last.logprobs)]
        expected = full_logprobs(model, ids, 1.0)[-len(last.logprobs) :]
        assert torch.allclose(torch.tensor(last.logprobs), expected, atol=1e-5)


def test_ids_end_with_the_end_of_turn_and_only_sampled_ones_have_logprobs(model, tokenizer):
    for turns in play(engine(model, tokenizer), 16, sampling=Sampling(1.0, max_tokens=12)).values():
        for completion in turns:
            assert completion.token_ids[-1] == tokenizer.eos_token_id
            assert len(completion.token_ids) - len(completion.logprobs) in (0, 1)
            assert "<|im_end|>" not in completion.text


class Favouring(torch.nn.Module):
    """The model with a constant bonus on some tokens: turns end where a test wants it."""

    def __init__(self, model, bonus):
        super().__init__()
        self.model, self.config = model, model.config
        self.generation_config, self.dtype, self.device = None, model.dtype, model.device
        self.register_buffer("bonus", bonus)

    def forward(self, **inputs):
        output = self.model(**inputs)
        output.logits = output.logits + self.bonus
        return output


def favouring(model, tokenizer, *tokens):
    bonus = torch.zeros(len(tokenizer))
    bonus[tokenizer.convert_tokens_to_ids(list(tokens))] = 1000.0
    return Favouring(model, bonus)


def only(policy, sampling=None, stop=STOP):
    policy.submit(Request("q0#0", prompt(0), ASKED, (), sampling or Sampling(), stop))
    [(_, completion)] = policy.collect()
    return completion


def test_a_stop_token_ends_the_turn_and_the_end_of_turn_is_appended(model, tokenizer):
    completion = only(engine(favouring(model, tokenizer, "</answer>"), tokenizer))
    assert (completion.text, completion.finish) == ("</answer>", "stop")
    assert len(completion.token_ids) == 2 and len(completion.logprobs) == 1


def test_a_stop_string_over_several_tokens_ends_the_turn(model, tokenizer):
    stop = ("</kg - query>",)
    sampling = Sampling(temperature=1.0, max_tokens=200)
    policy = engine(favouring(model, tokenizer, "</kg", "-", "query>"), tokenizer)
    completion = only(policy, sampling, stop)
    assert completion.finish == "stop" and completion.text.endswith(stop[0])
    assert completion.text.count(stop[0]) == 1


def test_a_turn_at_its_token_limit_finishes_with_length(model, tokenizer):
    completion = only(engine(favouring(model, tokenizer, "w5"), tokenizer), Sampling(max_tokens=4))
    assert (completion.finish, completion.text) == ("length", "w5 w5 w5 w5")
    assert completion.token_ids[-1] == tokenizer.eos_token_id


def test_an_emitted_end_of_turn_is_kept_once(model, tokenizer):
    completion = only(engine(favouring(model, tokenizer, "<|im_end|>"), tokenizer))
    assert (completion.text, completion.finish) == ("", "stop")
    assert completion.token_ids == (tokenizer.eos_token_id,) and len(completion.logprobs) == 1


def test_a_full_context_finishes_with_length_at_once(model, tokenizer):
    completion = only(engine(model, tokenizer, max_context=5))
    assert (completion.text, completion.finish, completion.token_ids) == ("", "length", None)


def test_a_context_that_fills_up_in_mid_turn_finishes_with_length(model, tokenizer):
    room = len(prompt_ids(prompt(0), FORMAT, tokenizer)) + 3
    completion = only(engine(favouring(model, tokenizer, "w5"), tokenizer, max_context=room))
    assert completion.finish == "length" and len(completion.token_ids) == 3


def test_samples_of_one_question_share_the_prompt_and_still_differ(model, tokenizer):
    policy = engine(model, tokenizer)
    for sample in range(8):
        sampling = Sampling(temperature=1.0, max_tokens=12)
        policy.submit(Request(f"q#{sample}", prompt(3), ASKED, (), sampling, STOP))
    shared = all_of(policy)
    for key, completion in shared.items():
        single = engine(model, tokenizer)
        single.submit(Request(key, prompt(3), ASKED, (), Sampling(1.0, max_tokens=12), STOP))
        [(_, alone)] = single.collect()
        assert alone.token_ids == completion.token_ids
    assert len({c.token_ids for c in shared.values()}) > 1


def test_released_rows_are_used_again(model, tokenizer):
    policy = engine(model, tokenizer)
    for _ in range(3):
        play(policy, 5, turns=2)
        for i in range(5):
            policy.release(f"q{i}#0")
    assert len(policy._owners) == 5 and not any(policy._owners)


def test_results_after_releases_equal_those_of_a_fresh_engine(model, tokenizer):
    used = engine(model, tokenizer)
    play(used, 9, turns=2)
    for i in (0, 3, 4, 5, 6, 7, 8):
        used.release(f"q{i}#0")
    for i in (1, 2):
        used.release(f"q{i}#0")
    assert ids_of(play(used, 7)) == ids_of(play(engine(model, tokenizer), 7))


def test_a_restarted_context_is_read_anew(model, tokenizer):
    policy = engine(model, tokenizer)
    play(policy, 1, turns=2)
    again = Request("q0#0", prompt(4), ASKED, (), Sampling(max_tokens=12), STOP, restart=True)
    policy.submit(again)
    [(_, completion)] = policy.collect()
    fresh = engine(model, tokenizer)
    fresh.submit(replace(again, restart=False))
    assert fresh.collect()[0][1].token_ids == completion.token_ids


def test_small_top_p_is_greedy(model, tokenizer):
    sampling = Sampling(temperature=1.0, top_p=1e-6, max_tokens=12)
    nucleus = play(engine(model, tokenizer), 4, sampling=sampling)
    assert ids_of(nucleus) == ids_of(play(engine(model, tokenizer), 4))


@pytest.mark.parametrize("cut", [{"top_k": 1}, {"min_p": 0.999999}])
def test_one_token_left_is_greedy(model, tokenizer, cut):
    sampling = Sampling(temperature=1.0, max_tokens=12, **cut)
    assert ids_of(play(engine(model, tokenizer), 4, sampling=sampling)) == ids_of(
        play(engine(model, tokenizer), 4)
    )


def test_cuts_leave_the_likeliest_tokens_of_each_row_alone():
    shares = torch.tensor([0.5, 0.3, 0.15, 0.05])
    settings = [(1.0, 2, 0.0), (1.0, 0, 0.4), (0.75, 0, 0.0), (0.6, 3, 0.0), (1.0, 0, 0.0)]
    cut = Cut(
        torch.tensor([s[0] for s in settings], dtype=torch.float64),
        torch.tensor([s[1] for s in settings]),
        torch.tensor([s[2] for s in settings]),
    )
    rows, found = len(settings), [set() for _ in settings]
    for u in torch.linspace(0, 0.999, 200, dtype=torch.float64):
        token, logprob = draw(shares.log().expand(rows, -1), u.expand(rows), torch.ones(rows), cut)
        assert torch.allclose(logprob, shares[token].log())  # of what was there before the cut
        for row, drawn in enumerate(token.tolist()):
            found[row].add(drawn)
    assert found == [{0, 1}, {0, 1}, {0, 1}, {0, 1}, {0, 1, 2, 3}]


def test_nothing_pending_collects_nothing(model, tokenizer):
    assert engine(model, tokenizer).collect() == []


def test_two_requests_of_one_episode_are_refused(model, tokenizer):
    policy = engine(model, tokenizer)
    request = Request("q0#0", prompt(0), ASKED, (), Sampling())
    policy.submit(request)
    with pytest.raises(PolicyError, match="already waits"):
        policy.submit(request)


def asked_for(index, tokens, turn=0, messages=None):
    sampling = Sampling(1.0, max_tokens=tokens, seed=index)
    return Request(f"q{index}#0", messages or prompt(index), ASKED, turns_taken(turn), sampling, ())


def test_an_episode_that_joins_others_half_way_draws_what_it_draws_alone(model, tokenizer):
    policy = engine(model, tokenizer)
    for index, tokens in enumerate((30, 2, 20, 3)):
        policy.submit(asked_for(index, tokens))
    found = dict(policy.collect())
    assert "q1#0" in found and "q0#0" not in found
    more = (*prompt(1), Message("assistant", found["q1#0"].text), observation(1, 0))
    policy.submit(asked_for(1, 25, turn=1, messages=more))
    policy.submit(asked_for(4, 60))  # more columns than any row so far
    second = all_of(policy)
    found |= {key: done for key, done in second.items() if key != "q1#0"}
    for index, tokens in ((0, 30), (2, 20), (3, 3), (4, 60)):
        alone = engine(model, tokenizer)
        alone.submit(asked_for(index, tokens))
        assert found[f"q{index}#0"].token_ids == all_of(alone)[f"q{index}#0"].token_ids
    alone = engine(model, tokenizer)
    alone.submit(asked_for(1, 25, turn=1, messages=more))
    assert second["q1#0"].token_ids == all_of(alone)["q1#0"].token_ids


def test_an_episode_released_while_it_is_written_leaves_the_others_as_they_are(model, tokenizer):
    policy = engine(model, tokenizer)
    for index, tokens in enumerate((30, 2, 20)):
        policy.submit(asked_for(index, tokens))
    policy.collect()
    with pytest.raises(PolicyError, match="already waits"):
        policy.submit(asked_for(0, 5))
    policy.release("q0#0")
    policy.submit(asked_for(0, 5))
    found = all_of(policy)
    assert set(found) == {"q0#0", "q2#0"}
    for index, tokens in ((0, 5), (2, 20)):
        alone = engine(model, tokenizer)
        alone.submit(asked_for(index, tokens))
        assert found[f"q{index}#0"].token_ids == all_of(alone)[f"q{index}#0"].token_ids


def test_after_a_failure_nothing_half_written_is_left(model, tokenizer, monkeypatch):
    policy = engine(model, tokenizer)
    for index, tokens in enumerate((30, 2)):
        policy.submit(asked_for(index, tokens))
    policy.collect()

    def fails(batch):
        raise RuntimeError("out of memory")

    monkeypatch.setattr(policy, "_next_logits", fails)
    with pytest.raises(RuntimeError, match="out of memory"):
        policy.collect()
    monkeypatch.undo()
    for index in range(2):
        policy.release(f"q{index}#0")
    assert policy.collect() == []
    policy.submit(asked_for(0, 7))
    fresh = engine(model, tokenizer)
    fresh.submit(asked_for(0, 7))
    assert all_of(policy)["q0#0"].token_ids == all_of(fresh)["q0#0"].token_ids


def test_a_model_in_training_is_left_in_training(model, tokenizer):
    model.train()
    play(engine(model, tokenizer), 1, turns=1)
    assert model.training
    model.eval()


def test_sliding_window_attention_is_refused(tokenizer):
    model = make_model(tokenizer)
    model.config.layer_types = ["full_attention", "sliding_attention"]
    with pytest.raises(UserError, match="sliding_attention"):
        engine(model, tokenizer)
