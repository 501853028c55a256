"""The mask over a corpus that the pipeline makes: every trajectory, in every chat format."""

import pytest

from data_pipeline.config import SynthConfig
from data_pipeline.synthesize import synthesize
from graphwalker.files import read_records
from graphwalker.tokens.formats import FORMATS
from graphwalker.tokens.segments import (
    IGNORED,
    completion_ids,
    extension_ids,
    prompt_ids,
    training_row,
)
from graphwalker.trajectory import Trajectory
from graphwalker.world.generate import make_world
from support.token_kinds import byte_level


@pytest.fixture(scope="module")
def corpus(tmp_path_factory) -> list[Trajectory]:
    folder = tmp_path_factory.mktemp("corpus")
    make_world(1000, 0, folder)
    synthesize(folder / "graph", SynthConfig(count=12), folder / "synth")
    return list(read_records(folder / "synth" / "graphsynth.jsonl", Trajectory.from_json))


@pytest.fixture(scope="module")
def tokenizer():
    return byte_level()


@pytest.mark.parametrize("name", sorted(FORMATS))
def test_every_trained_token_is_the_agents_and_all_of_the_agents_are_trained(
    name, corpus, tokenizer
) -> None:
    fmt = FORMATS[name]
    for trajectory in corpus:
        row = training_row(trajectory, fmt, tokenizer)
        ids, labels = [], []
        for number, turn in enumerate(trajectory.turns):
            first = prompt_ids if number == 0 else extension_ids
            context = first(turn.context, fmt, tokenizer)
            said = completion_ids(turn.completion, fmt, tokenizer)
            ids += [*context, *said]
            labels += [*[IGNORED] * len(context), *said]
        assert (row.input_ids, row.labels) == (ids, labels)
