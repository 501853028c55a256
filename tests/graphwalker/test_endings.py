"""A command that makes something ends with its place, examples, and a next command that runs."""

import shlex
from pathlib import Path

import pytest

from data_pipeline.config import SynthConfig
from data_pipeline.synthesize import make_questions
from graphwalker.cli import app as cli
from graphwalker.config import load_config
from graphwalker.demo.config import DemoConfig, for_own_graph, shipped_config
from graphwalker.errors import UserError
from graphwalker.graphs.build.build import build_graph
from graphwalker.jobs.local import is_done
from graphwalker.jobs.sections import ChainSection


def lines_of(capsys: pytest.CaptureFixture[str], *words: str | Path) -> list[str]:
    assert cli.run(lambda: cli.app([*map(str, words)], standalone_mode=False)) == 0
    return capsys.readouterr().out.splitlines()


def test_the_next_command_of_each_stage_runs_as_it_stands(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lines = lines_of(capsys, "graph", "make", "--entities", "1000", "--out", "a world")
    assert lines[-2] == "made: a world/graph"
    words = shlex.split(lines[-1].removeprefix("next: graphwalker "))
    lines = lines_of(capsys, *["4" if word == "1000" else word for word in words])
    made = lines.index("made: runs/synth/graphsynth.jsonl")
    assert lines[made + 1].endswith("?") and " -> " in lines[made + 2]
    lines = lines_of(capsys, *shlex.split(lines[made + 5].removeprefix("next: graphwalker ")))
    assert "all 4 records hold" in lines[-1]


FEW = {"mix": {"1-hop": 1, "2-hop": 1}, "max_attempts": 40, "split": "any"}


@pytest.fixture(scope="module")
def small_graph(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("small")
    lines = [f"n{k}\tmade_by\tn{(7 * k + 1) % 40}\n" for k in range(40)]
    (folder / "kb.tsv").write_text("".join(lines))
    build_graph([folder / "kb.tsv"], folder / "graph")
    return folder / "graph"


def test_a_graph_with_too_few_questions_gives_what_it_has_and_says_so(
    small_graph, tmp_path, capsys
):
    command = ["questions", "--graph", small_graph, "--out", tmp_path / "q", "--count", "240"]
    command += ["mix={1-hop: 1, 2-hop: 1}", "max_attempts=40", "split=any"]
    shards = [[*command, "--shard", f"{number}/2"] for number in range(2)]
    for made in (command, command):  # the second time nothing is tried again
        assert cli.run(lambda words=made: cli.app([*map(str, words)], standalone_mode=False)) == 3
        told = capsys.readouterr().err
        kept = sum(1 for _ in (tmp_path / "q/questions.jsonl").open())
        assert 0 < kept < 240 and f"{kept} of 240 made: the graph has no more" in told
    for made in shards:
        made[4] = tmp_path / "parts"
        lines_of(capsys, *made)
    joined = ["merge", "--graph", str(small_graph), "--out", str(tmp_path / "parts")]
    assert cli.run(lambda: cli.app(joined, standalone_mode=False)) == 3
    assert f"{kept} of 240 made" in capsys.readouterr().err


def test_a_chain_does_not_go_on_with_too_few_questions(small_graph, tmp_path):
    make_questions(small_graph, SynthConfig(count=240, **FEW), tmp_path / "few")
    make_questions(small_graph, SynthConfig(count=20, **FEW), tmp_path / "all")
    sections = [
        ChainSection(n, "questions", {"output_dir": str(tmp_path / n)}) for n in ("few", "all")
    ]
    assert [is_done(section) for section in sections] == [False, True]


def test_a_demo_on_a_graph_of_ones_own_needs_a_graph_that_a_tiny_model_can_learn(tmp_path):
    config = load_config(DemoConfig, shipped_config(), [f"graph={tmp_path / 'graph'}"])
    (tmp_path / "kb.tsv").write_text("a\tr\tb\n")
    build_graph([tmp_path / "kb.tsv"], tmp_path / "graph")
    with pytest.raises(UserError, match=r"has 2 entities.*serve --graph"):
        for_own_graph(config)
    (tmp_path / "kb.tsv").write_text("".join(f"n{k}\tr\tn{k // 2}\n" for k in range(120)))
    build_graph([tmp_path / "kb.tsv"], tmp_path / "larger")
    own = for_own_graph(config.model_copy(update={"graph": str(tmp_path / "larger")}))
    assert not own.test_words and own.synth["wordings"] == "all" and own.grpo == config.grpo
