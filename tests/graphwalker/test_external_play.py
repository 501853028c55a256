"""Episodes by hand, over OpenEnv and in TRL: the same observations, rewards and stop reasons."""

from collections import Counter

import pytest

from graphwalker.integrations.openenv_client import EnvironmentClient
from graphwalker.integrations.trl_environment import environment_factory
from support.preset_worlds import world_of
from support.scripted_play import (
    PRESETS,
    environment_of,
    environment_server,
    play_by_hand,
    play_by_openenv,
    play_by_trl,
    scripts,
)


def outcomes(preset, count):
    """The three outcomes of each episode."""
    environment = environment_of(preset)
    tools = environment_factory(environment.graph, environment.config)()
    with (
        environment_server(environment, world_of(preset).questions) as (url, _),
        EnvironmentClient(url) as client,
    ):
        for question, lines in scripts(environment, count):
            yield (
                play_by_hand(environment, question, lines),
                play_by_openenv(client, question, lines),
                play_by_trl(tools, environment, question, lines),
            )


def check_all_equal(preset, count):
    found = list(outcomes(preset, count))
    for by_hand, by_openenv, by_trl in found:
        assert by_openenv == by_hand
        assert by_trl == by_hand
    ends = Counter((one.stop, one.reward) for one, _, _ in found)
    assert {("answered", 1.0), ("answered", 0.0), ("forced", 1.0), ("max_turns", 0.0)} <= set(ends)


@pytest.mark.parametrize("preset", PRESETS)
def test_an_episode_is_the_same_by_each_door(preset):
    check_all_equal(preset, 10)


@pytest.mark.long
@pytest.mark.parametrize("preset", PRESETS)
def test_a_hundred_episodes_are_the_same_by_each_door(preset):
    check_all_equal(preset, 100)
