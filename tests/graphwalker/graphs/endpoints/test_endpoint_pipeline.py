"""Data and training over a live endpoint: the same bytes as over the compiled graph."""

from collections.abc import Callable
from contextlib import ExitStack
from itertools import count
from pathlib import Path

import pytest
from typer.testing import CliRunner

from graphwalker.agents.rollout import without_times
from graphwalker.cli.app import app
from graphwalker.files import read_records
from graphwalker.graphs.open import open_graph
from graphwalker.graphs.sparql.terms import RDF_TYPE, RDFS_LABEL
from graphwalker.graphs.virtuoso.load import load
from graphwalker.graphs.virtuoso.server import down, up
from graphwalker.trajectory import Trajectory
from graphwalker.world.generate import make_world
from support.backends import write
from support.oxigraph import load_store
from support.sparql_endpoint import serve
from support.toy import TOY_NAMES, TOY_TRIPLES

OXIGRAPH, VIRTUOSO = "oxigraph", pytest.param("virtuoso", marks=pytest.mark.virtuoso)

Address = Callable[[Path], str]


@pytest.fixture(scope="module", params=[OXIGRAPH, VIRTUOSO])
def loaded(request, tmp_path_factory):
    """Loads a file of N-Triples into a running endpoint; gives the address of its graph."""
    if request.param == "oxigraph":
        with ExitStack() as running:
            yield lambda file: running.enter_context(serve(load_store([file])))
        return
    place, names = tmp_path_factory.mktemp("virtuoso"), count()
    up(place, "300MB")
    yield lambda file: load(place, [file], graph=f"urn:test:{next(names)}")["address"]
    down(place)


@pytest.fixture(scope="module")
def world(tmp_path_factory, loaded):
    """A world, compiled and loaded; `endpoint.txt` holds its address."""
    out = tmp_path_factory.mktemp("world")
    make_world(1000, 0, out)
    graph = open_graph(out / "graph")
    seeds = [graph.entity_at(index).id for index in range(0, graph.size, 5)]
    (out / "seeds.txt").write_text("\n".join(seeds))
    (out / "predicates.txt").write_text("\n".join(graph.relation_ids()))
    (out / "endpoint.txt").write_text(loaded(out / "triples.nt.gz"))
    return out


def run(*arguments):
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert result.exit_code == 0, (result.output, result.exception)


def both(world, out, command, *arguments):
    """Run the command on the compiled graph and over the endpoint: all its records are equal."""
    graphs = {"compiled": world / "graph", "endpoint": (world / "endpoint.txt").read_text()}
    for name, graph in graphs.items():
        run(command, "--graph", graph, "--out", out / name / command, *arguments)
    files = sorted((out / "compiled" / command).glob("*.jsonl"))
    assert files
    for file in files:
        assert file.read_bytes() == (out / "endpoint" / command / file.name).read_bytes(), file


@pytest.mark.slow
def test_every_data_command_gives_the_bytes_of_the_compiled_graph(world, tmp_path):
    seeds = [f"{name}_file={world / name}.txt" for name in ("seeds", "predicates")]
    both(world, tmp_path, "synth", "--count", 6, *seeds)
    both(world, tmp_path, "questions", "--count", 3, "split=test-entity", *seeds)
    questions = tmp_path / "compiled" / "synth" / "questions.jsonl"
    both(world, tmp_path, "filter", "--questions", questions, *seeds)
    both(world, tmp_path, "experts", "--questions", questions, "--count", 3, "mix={}")
    both(world, tmp_path, "bench", "--count", 4, *seeds)
    run("verify", questions, "--graph", (world / "endpoint.txt").read_text())


def test_questions_over_an_endpoint_call_people_people(loaded, tmp_path):
    lines = []
    for number in range(40):
        person, place = f"<urn:x:p{number}>", f"<urn:x:c{number % 20}>"
        lines += [
            f'{person} <{RDFS_LABEL}> "Ana {number}" .',
            f'{place} <{RDFS_LABEL}> "Ort {number % 20}" .',
        ]
        lines += [f"{person} <{RDF_TYPE}> <urn:x:Person> .", f"{person} <urn:x:home> {place} ."]
    (tmp_path / "kb.nt").write_text("\n".join(lines) + "\n")
    (tmp_path / "seeds.txt").write_text("\n".join(f"urn:x:c{n}" for n in range(20)))
    (tmp_path / "predicates.txt").write_text("urn:x:home\n")
    files = [f"{name}_file={tmp_path / name}.txt" for name in ("seeds", "predicates")]
    plain = ["mix={1-hop: 1}", "plausibility.on=false", "split=any", "max_relation_share=1"]
    where = ["--graph", loaded(tmp_path / "kb.nt"), "--out", tmp_path / "made", "--count", 3]
    run("questions", *where, *files, *plain)
    made = (tmp_path / "made" / "questions.jsonl").read_text()
    assert '"question":"Who' in made and '"question":"What' not in made


@pytest.mark.long
def test_a_grpo_step_plays_the_episodes_of_the_compiled_graph(loaded, tmp_path):
    from support.run_toys import grpo_config, make_grpo_world, weights
    from training.grpo import run_grpo

    toy = tmp_path / "toy"
    toy.mkdir()
    make_grpo_world(toy)
    address = loaded(write(tmp_path / "nt", TOY_TRIPLES, TOY_NAMES, {}))
    more = {"steps": 1, "save_steps": 1, "trajectories_per_step": 16}
    outs = []
    for name, graph in (("compiled", str(toy / "graph")), ("endpoint", address)):
        config = grpo_config(toy, tmp_path / name, graph=graph, **more)
        run_grpo(config)
        outs.append(Path(config.output_dir))
    played = [read_records(out / "trajectories.jsonl", Trajectory.from_json) for out in outs]
    compiled, endpoint = ([without_times(one).to_json() for one in of_run] for of_run in played)
    assert len(compiled) == 16 and compiled == endpoint
    ours, theirs = map(weights, outs)
    assert all((ours[key] == theirs[key]).all() for key in ours)
