"""Demonstrations with an injected error for agents whose tools look in one direction."""

from collections import Counter
from pathlib import Path

import pytest

from data_pipeline.config import ExpertConfig, SynthConfig
from data_pipeline.experts.erring_oracle import DIRECTED_ERRORS
from data_pipeline.experts.experts import make_experts
from data_pipeline.synthesize import make_questions
from graphwalker.config import parse_config
from graphwalker.errors import UserError
from graphwalker.files import read_records
from graphwalker.trajectory import Trajectory


@pytest.fixture(scope="module")
def world(graph, tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("world")
    (out / "graph").symlink_to(graph)
    config = SynthConfig(count=60, seed=1, mix={"1-hop": 1, "2-hop": 2})
    make_questions(out / "graph", config, out / "questions")
    return out


def run_experts(world: Path, out: Path, preset: str, **settings) -> list[Trajectory]:
    values = {
        "count": 40,
        "mix": {},
        "environment": {"preset": preset, "max_turns": 12},
        **settings,
    }
    config = parse_config(ExpertConfig, values, "t")
    make_experts(world / "graph", config, world / "questions" / "questions.jsonl", out)
    return list(read_records(out / "graphroll.jsonl", Trajectory.from_json))


EXPLAINED = {
    "unknown_entity": "no entity has that name",
    "unknown_relation": "the entity has no such relation",
    "no_relations": "the entity has no relations",
    "no_triples": "nothing named is there",
}
"""What a thought says of an error."""


@pytest.mark.long
@pytest.mark.parametrize("preset", ["search-on-graph", "kg-r1", "graphwalker-code"])
def test_an_error_is_made_marked_and_put_right_by_the_next_turn(world, tmp_path, preset):
    kept = run_experts(world, tmp_path, preset, error_rate=1.0)
    kinds = Counter(error["kind"] for one in kept for error in one.provenance["errors"])
    assert len(kinds) >= 3 and set(kinds) <= set(DIRECTED_ERRORS)
    for one in kept:
        assert one.agent == preset and one.scores["em"] == 1.0
        for error in one.provenance["errors"]:
            wrong, right = one.turns[error["turn"]], one.turns[error["recovered_at"]]
            assert error["slip"] and not right.error and wrong.action != right.action
            if error["kind"] == "misspelled_name":
                assert wrong.error == "unknown_entity"
            if wrong.error:
                assert EXPLAINED[wrong.error] in right.thought, wrong.error


def test_without_errors_it_is_the_oracle_and_a_seed_repeats_it(world, tmp_path):
    plain = {"error_rate": 0.0, "plain_thoughts": True}
    honest = run_experts(world, tmp_path / "a", "kg-r1", **plain)
    assert not any(one.provenance["errors"] for one in honest)
    twice = [run_experts(world, tmp_path / name, "kg-r1", seed=3) for name in "bc"]
    assert twice[0] == twice[1] != honest


def test_errors_that_the_tools_do_not_allow_are_refused_by_name(world, tmp_path):
    with pytest.raises(UserError, match="kg-r1 allow none of dead_end; these can be made: wrong_s"):
        run_experts(world, tmp_path, "kg-r1", injected_errors=["dead_end"])
