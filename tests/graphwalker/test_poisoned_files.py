"""Files from elsewhere: no command runs, reads or sends what they name unless the user says so."""

import json
import shutil

import pytest
from typer.testing import CliRunner

from data_pipeline.config import ExpertConfig, SynthConfig
from graphwalker.agents.environment import EnvironmentConfig
from graphwalker.agents.model_environment import environment_of, write_environment
from graphwalker.cli.app import app
from graphwalker.config import write_config
from graphwalker.errors import UserError
from graphwalker.files import read_jsonl, write_json, write_jsonl
from support.poison import MODULE, SECRET, Trap, keys, refusal
from support.run_toys import grpo_config, sft_config

EXTRACTOR = {"preset": "graphwalk", "options": {"extractor": {"model": "x"}}}


@pytest.fixture
def trap(tmp_path, monkeypatch):
    made = Trap(tmp_path, monkeypatch)
    (tmp_path / "model").mkdir()
    yield made
    made.close()


def variants(trap):
    """All poisons at once; without those that hide others; and a server of an agent's own."""
    every = trap.poisons()
    ours = {key: value for key, value in every.items() if key not in ("preset", "options")}
    server = {"base_url": trap.url, "api_key_env": SECRET, "cache_dir": "/tmp/x"}
    extractor = {**EXTRACTOR, "options": {"extractor": {"model": "x", **server}}}
    index = {"preset": "graphrunner", "options": {"index": f"embed:{MODULE}"}}
    return [every, ours, {"ranker": "cProfile:run"}, extractor, index]


def named(message, poison, without=()):
    """The message is one line that names every setting, and how to allow it."""
    assert "\n" not in message and "--trust " in message and "which no file may choose" in message
    wanted = {key for key in keys(poison) if key not in without}
    if poison.get("preset") in ("graphwalk", "graphrunner"):
        wanted = {"environment.options."}
    assert not [key for key in wanted if key not in message], message


def refused_by(train, config):
    """What a training says that does not start."""
    with pytest.raises(UserError) as refused:
        train(config)
    return str(refused.value)


def poisoned_model(trap, environment):
    model = trap.folder / "model"
    write_environment(model, EnvironmentConfig(), format="inline", max_tokens=9)
    trap.plant(model)
    record = json.loads((model / "graphwalker.json").read_text())
    record["environment"] = {"preset": "graphwalker", **environment}
    record["preset"] = record["environment"]["preset"]
    write_json(model / "graphwalker.json", record)
    return model


def poisoned_records(trap, corpus, environment):
    """Trajectories whose provenance names what it should not."""
    records = list(read_jsonl(corpus / "synth/graphsynth.jsonl"))
    about = {("environment" if k == "preset" else k): v for k, v in environment.items()}
    file = trap.folder / "data" / "theirs.jsonl"
    file.parent.mkdir(exist_ok=True)
    write_jsonl(file, [{**one, "provenance": {**one["provenance"], **about}} for one in records])
    return file


def test_no_command_takes_a_name_from_a_model_folder(trap, corpus):
    from training.grpo import run_grpo

    graph, questions = corpus / "graph", corpus / "synth/questions.jsonl"
    for number, poison in enumerate(variants(trap)):
        model, out = poisoned_model(trap, poison), trap.folder / f"out{number}"
        asked = ["--graph", graph, "--questions", questions, "--count", 1]
        of_model = ["--graph", graph, "--model", model]
        expert = f"policy.model={model}"
        said = [
            refusal("eval", *asked, "--model", model, "--out", out),
            refusal("ask", "Who?", "--topic", "x", *of_model),
            refusal("serve", *of_model, "--port", 0),
            refusal("experts", *asked, "--out", out, expert),
            refusal("ceiling", *asked, "--model", model),
        ]
        # An agent that is typed is refused as another one than the model's, before any name.
        assert refusal("compare", "--agents", "tog", *asked, "--model", model, "--out", out)
        grpo = grpo_config(corpus, out, model=str(model), environment=EnvironmentConfig())
        said.append(refused_by(run_grpo, grpo))
        for message in said:  # the text of the prompt stands in the file itself
            named(message, poison, without=("environment.prompt",))
            assert f"{model}/graphwalker.json" in message
        trap.check()


def test_no_command_takes_a_name_from_a_record(trap, corpus):
    from training.sft import run_sft

    every = trap.poisons()
    told = {key: every[key] for key in ("preset", "prompt", "ranker", "options")}
    for number, poison in enumerate((told, {"ranker": "cProfile:run"}, {"prompt": "/etc/x"})):
        file = poisoned_records(trap, corpus, poison)
        named(refusal("verify", file, "--graph", corpus / "graph"), poison)
        if "preset" in poison:  # SFT reads the environment of our own presets alone
            continue
        config = sft_config(trap.folder, trap.folder / f"sft{number}", data=(str(file),))
        named(refused_by(run_sft, config), poison)
    trap.check()


def test_no_command_takes_a_name_from_the_run_beside_the_data(trap, corpus):
    from training.sft import run_sft

    for found in variants(trap):
        poison = json.loads(json.dumps(found))
        folder = trap.folder / "run"
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(corpus / "synth", folder)
        run = json.loads((folder / "run.json").read_text())
        run["config"]["environment"] = dict(poison)
        write_json(folder / "run.json", run)
        (folder / "config.yaml").write_text(json.dumps({"environment": poison}))
        data = folder / "graphsynth.jsonl"
        said = refusal("verify", data, "--graph", corpus / "graph")
        if "reranker" in poison:  # what a chat model has listed is not replayed
            del run["config"]["environment"]["reranker"]
            write_json(folder / "run.json", run)
            said = refusal("verify", data, "--graph", corpus / "graph")
        named(said, run["config"]["environment"])
        config = sft_config(trap.folder, trap.folder / "sft", data=(str(data),))
        named(refused_by(run_sft, config), poison)
        shard = folder / "shards/0-of-1"
        shutil.copytree(folder, shard, ignore=shutil.ignore_patterns("shards"))
        run["config"]["environment"] = poison
        write_json(shard / "run.json", {**run, "shard": "0/1"})
        write_json(shard / "datacard.json", {"tried": {"2-hop": 2}})
        message = refusal("merge", "--graph", corpus / "graph", "--out", folder)
        named(message, poison)
    trap.check()


def test_a_run_folder_that_names_other_code_is_not_resumed(trap, corpus):
    from training.sft import run_sft

    graph, questions = corpus / "graph", corpus / "synth/questions.jsonl"
    out, poison = trap.folder / "run", {"preset": f"{MODULE}:thing"}
    plans = {
        "synth": (SynthConfig(count=1, mix={"2-hop": 1.0}), ["count=1", "mix={2-hop: 1}"]),
        "experts": (ExpertConfig(count=1), ["count=1", "--questions", questions]),
    }
    for stage, (config, more) in plans.items():
        shutil.rmtree(out, ignore_errors=True)
        begun = json.loads((corpus / "synth/run.json").read_text())
        values = {**config.model_dump(mode="json"), "environment": poison}
        write_json(out / "run.json", {**begun, "stage": stage, "config": values})
        message = refusal(stage, "--graph", graph, "--out", out, *more)
        assert "was " in message and "choose another output folder" in message
        trap.check()
    shutil.rmtree(out)
    config = sft_config(trap.folder, out, data=(str(corpus / "synth/graphsynth.jsonl"),))
    begun = {**config.model_dump(mode="json"), "environment": poison, "batch_size": 7}
    out.mkdir()
    (out / "config.yaml").write_text(json.dumps(begun))
    with pytest.raises(UserError, match=r"batch_size|environment|model"):
        run_sft(config)
    trap.check()


def test_commands_that_read_results_take_no_name_from_them(trap, corpus):
    records = list(read_jsonl(poisoned_records(trap, corpus, trap.poisons())))
    run = trap.folder / "eval"
    run.mkdir()
    write_jsonl(run / "predictions.jsonl", records)
    about = {"environment_settings": trap.poisons(), "questions": len(records)}
    write_json(run / "config.json", {**about, "policy": {"api": {"base_url": trap.url}}})
    write_config(EnvironmentConfig(), run)
    (run / "config.yaml").write_text(json.dumps({"environment": trap.poisons()}))
    other = shutil.copytree(run, trap.folder / "other")
    out = trap.folder / "out"
    for command in (
        ["score", "--predictions", run],
        ["analyse", run],
        ["report", run, "--out", out],
        ["compare", run, other],
        ["export", run / "predictions.jsonl", "--to", "sharegpt", "--out", out / "rows"],
        ["stats", run / "predictions.jsonl", "--out", out / "stats"],
        ["doctor", "--model", poisoned_model(trap, trap.poisons())],
    ):
        done = CliRunner().invoke(app, [str(word) for word in command])
        assert done.exit_code in (0, 1) and not isinstance(done.exception, ImportError), command
        trap.check()


def test_what_the_user_types_counts(trap, corpus):
    (trap.folder / "my_order.py").write_text("def order(q, e, relations):\n    return relations\n")
    file = poisoned_records(trap, corpus, {"ranker": f"{MODULE}:thing"})
    typed = ["verify", file, "--graph", corpus / "graph", "environment.ranker=my_order:order"]
    assert "do not hold" in refusal(*typed)
    model = poisoned_model(trap, {"ranker": f"{MODULE}:thing"})
    mine = EnvironmentConfig(ranker="my_order:order")
    assert environment_of(model, mine).ranker == "my_order:order"
    trap.check()


def test_a_folder_that_is_trusted_names_what_it_likes_and_it_is_told(trap, corpus, caplog):
    file = poisoned_records(trap, corpus, {"ranker": f"{MODULE}:thing"})
    refusal("verify", file, "--graph", corpus / "graph", "--trust", file.parent)
    assert f"{file} is trusted: environment.ranker={MODULE}:thing will run code" in caplog.text
    assert (trap.folder / "IT_RAN").exists()
    server = {"base_url": trap.url, "model": "x", "api_key_env": SECRET}
    model = poisoned_model(trap, {"reranker": server})
    found = environment_of(model, EnvironmentConfig(), trust=[str(model)])
    assert found.reranker.base_url == trap.url
    assert f"base_url={trap.url} will receive data" in caplog.text
    assert f"api_key_env={SECRET} will choose a secret to send" in caplog.text
