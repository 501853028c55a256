"""Episodes by hand, over OpenEnv, in TRL and in verl's token ids are the same."""

import asyncio
import json
from types import SimpleNamespace

import pytest

from graphwalker.errors import UserError
from graphwalker.integrations.external_episode import ExternalEpisode
from graphwalker.integrations.openenv_client import EnvironmentClient
from graphwalker.integrations.token_episode import play_tokens
from graphwalker.integrations.trl_environment import environment_factory
from graphwalker.tokens.segments import IGNORED, completion_ids, training_row
from support import scripted_play as doors
from support.engine_toy import CHATML, END, FORMAT, make_tokenizer
from support.preset_worlds import world_of
from support.scripted_play import PRESETS, environment_of, play_by_hand, scripts


@pytest.mark.parametrize("count", [10, pytest.param(100, marks=pytest.mark.long)])
@pytest.mark.parametrize("preset", PRESETS)
def test_an_episode_is_the_same_by_each_door(preset, count):
    environment = environment_of(preset)
    tools = environment_factory(environment.graph, environment.config)()
    questions, ends = world_of(preset).questions, set()
    with (
        doors.environment_server(environment, questions) as (url, _),
        EnvironmentClient(url) as client,
    ):
        for question, lines in scripts(environment, count):
            by_hand = play_by_hand(environment, question, lines)
            assert doors.play_by_openenv(client, question, lines) == by_hand
            assert doors.play_by_trl(tools, environment, question, lines) == by_hand
            ends.add((by_hand.stop, by_hand.reward))
    assert {("answered", 1.0), ("answered", 0.0), ("forced", 1.0), ("max_turns", 0.0)} <= ends


TOKENIZER = make_tokenizer()


def drawer(lines, ends=True):
    """Draws a script's lines, each with its end of turn, or cut at the stop string before it."""
    left = iter(lines)

    async def draw(ids, stops, room):
        drawn = completion_ids(next(left), FORMAT, TOKENIZER)
        drawn = (drawn if ends else drawn[:-1])[:room]
        return drawn, [-0.5] * len(drawn)

    return draw


def play(environment, question, lines, most=100_000, ends=True):
    episode = ExternalEpisode(environment, question)
    draw = drawer(lines, ends)
    return episode, asyncio.run(play_tokens(episode, FORMAT, TOKENIZER, draw, most, 4_000))


def first_script():
    environment = environment_of("graphwalker")
    return environment, *next(scripts(environment, 1))


@pytest.mark.parametrize("preset", PRESETS)
def test_ids_and_mask_are_those_of_the_sft_row(preset):
    environment = environment_of(preset)
    for question, lines in scripts(environment, 10):
        if not "".join(lines).isascii():
            continue  # the toy tokenizer has no other letters
        episode, ids = play(environment, question, lines)
        row = training_row(episode.trajectory, FORMAT, TOKENIZER)
        assert ids.prompt + ids.response == row.input_ids
        trained = [int(label != IGNORED) for label in row.labels]
        assert [0] * len(ids.prompt) + ids.mask == trained
        by_hand = play_by_hand(environment, question, lines)
        assert (episode.reward, episode.trajectory.stop) == (by_hand.reward, by_hand.stop)


def test_an_end_of_turn_that_was_not_drawn_is_not_trained():
    environment, question, lines = first_script()
    _, ids = play(environment, question, lines, ends=False)
    end = TOKENIZER.convert_tokens_to_ids(END)
    assert {mask for one, mask in zip(ids.response, ids.mask, strict=True) if one == end} == {0}
    assert len(ids.logprobs) == len(ids.response)


def test_a_stop_string_in_an_open_thought_is_drawn_past():
    environment, question, lines = first_script()
    first, rest = "<think> Or <answer> [] </answer>", f"? No. </think>\n{lines[0]}"
    whole, _ = play(environment, question, [first + rest, *lines[1:]])
    parts, ids = play(environment, question, [first, rest, *lines[1:]], ends=False)
    assert parts.trajectory.turns[0].completion == first + rest
    assert parts.trajectory.answer == whole.trajectory.answer is not None
    assert len(ids.logprobs) == len(ids.response)


def test_an_episode_without_room_ends_as_too_long():
    environment, question, lines = first_script()
    episode, ids = play(environment, question, lines, most=len(lines[0]) + 10)
    assert episode.trajectory.stop == "length"
    assert episode.reward == 0.0 and len(ids.prompt) > 0


def test_an_agent_of_several_conversations_is_refused():
    _, question, _ = first_script()
    with pytest.raises(UserError, match="a row of verl holds one"):
        play(environment_of("tog"), question, ["{people.person.place_of_birth (Score: 1.0)}"] * 20)


def test_verls_own_loop_plays_a_row(toy_folder):
    pytest.importorskip("verl", reason="verl pins other versions of transformers")
    from omegaconf import OmegaConf
    from verl.experimental.agent_loop.agent_loop import DictConfigWrap

    from graphwalker.integrations.verl_loop import GraphWalkerLoop

    TOKENIZER.chat_template = CHATML
    environment, question, lines = first_script()
    draw, asked = drawer(lines), []

    class Server:
        async def generate(self, request_id, prompt_ids, sampling_params):
            asked.append(sampling_params)
            ids, logprobs = await draw(prompt_ids, (), 4_000)
            return SimpleNamespace(token_ids=ids, log_probs=logprobs)

    rollout = {"name": "vllm", "response_length": 4096, "prompt_length": 4096}
    config = OmegaConf.create({"actor_rollout_ref": {"rollout": rollout}, "data": {}})

    async def run():
        loop = GraphWalkerLoop(
            trainer_config=DictConfigWrap(config), server_manager=Server(), tokenizer=TOKENIZER,
            processor=None, dataset_cls=None, data_config=DictConfigWrap(config.data),
            graph=str(toy_folder), environment={"preset": "graphwalker"},
        )  # fmt: skip
        row = {"extra_info": {"record": json.dumps(question.to_json())}}
        return await loop.run({"temperature": 1.0}, **row)

    out = asyncio.run(run())
    _, ids = play(environment, question, lines)
    assert (out.prompt_ids, out.response_ids) == (ids.prompt, ids.response)
    assert out.response_mask == ids.mask and out.reward_score == 1.0
    assert asked[0]["stop"] and asked[0]["include_stop_str_in_output"]
