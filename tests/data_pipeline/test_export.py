"""What is made of a corpus: exports for LLaMA-Factory, TRL and verl, and its statistics."""

import json
from pathlib import Path

import duckdb
import pytest

from data_pipeline.config import ExpertConfig, SynthConfig
from data_pipeline.experts.experts import make_experts
from data_pipeline.export import export
from data_pipeline.stats.report import beside, report, token_costs
from data_pipeline.synthesize import make_questions
from graphwalker.agents.environment import Environment, EnvironmentConfig
from graphwalker.errors import UserError
from graphwalker.files import read_jsonl, read_records, write_jsonl
from graphwalker.graphs.open import open_graph
from graphwalker.question import Question
from graphwalker.trajectory import Message, StopReason, Trajectory, Turn
from support.commands import code
from support.engine_toy import make_tokenizer

MIX = {"2-hop": 1, "2I": 1}


@pytest.fixture(scope="module")
def roll(exam, tmp_path_factory) -> Path:
    out, questions = tmp_path_factory.mktemp("roll"), exam / "questions/questions.jsonl"
    make_experts(exam / "graph", ExpertConfig(count=8, mix=MIX), questions, out)
    return out / "graphroll.jsonl"


def parquet(path: Path) -> list[dict]:
    rows = duckdb.connect().read_parquet(str(path))
    return [dict(zip(rows.columns, row, strict=True)) for row in rows.fetchall()]


def test_sharegpt_rows_take_turns_and_keep_every_word(roll, tmp_path):
    done = export(roll, "sharegpt", tmp_path)
    for row, t in zip(read_jsonl(done.file), read_records(roll, Trajectory.from_json), strict=True):
        speakers = [turn["from"] for turn in row["conversations"]]
        assert speakers == ["human", "gpt"] * len(t.turns)
        words = [row["system"], *(turn["value"] for turn in row["conversations"])]
        assert words == [m.content for m in t.conversation()]


def test_llama_factory_is_told_of_every_export_in_a_folder(roll, tmp_path):
    second, out = tmp_path / "more.jsonl", tmp_path / "out"
    write_jsonl(second, list(read_jsonl(roll)))
    export(roll, "sharegpt", out)
    export(second, "sharegpt", out)
    info = json.loads((out / "dataset_info.json").read_text())
    assert set(info) == {"graphwalker_graphroll", "graphwalker_more"}
    assert info["graphwalker_graphroll"]["file_name"] == "graphroll.jsonl"
    assert info["graphwalker_graphroll"]["formatting"] == "sharegpt"


def test_prompts_of_rl_are_what_the_environment_shows_first(exam, roll, tmp_path):
    environment = Environment(open_graph(exam / "graph"), EnvironmentConfig())
    questions = exam / "questions/questions.jsonl"
    rows = parquet(export(questions, "verl", tmp_path, environment).file)
    first = next(read_records(roll, Trajectory.from_json))
    prompts = {row["extra_info"]["id"]: row for row in rows}
    row = prompts[first.question.id]
    assert row["prompt"] == [{"role": m.role, "content": m.content} for m in first.turns[0].context]
    assert row["reward_model"]["ground_truth"] == [a.name for a in first.question.answers]
    assert Question.from_json(json.loads(row["extra_info"]["record"])) == first.question
    assert len(rows) == 60


def test_an_episode_that_failed_for_us_is_left_out(roll, tmp_path):
    records = list(read_jsonl(roll))
    records[3]["stop"] = "graph_error"
    source = tmp_path / "some.jsonl"
    write_jsonl(source, records)
    done = export(source, "trl", tmp_path / "out")
    assert (done.rows, done.set_aside) == (7, 1)


def test_no_export_is_written_over_its_source(roll, tmp_path):
    source = tmp_path / "some.jsonl"
    write_jsonl(source, read_jsonl(roll))
    with pytest.raises(UserError, match=r"some\.jsonl: is the file that is read; choose another"):
        export(source, "sharegpt", tmp_path)
    assert list(read_jsonl(source)) == list(read_jsonl(roll))


def test_wrong_answers_are_exported_and_counted(roll, tmp_path, capsys):
    records = list(read_jsonl(roll))
    records[3]["answer"], records[3]["answer_ids"] = ["No One"], [""]
    source = tmp_path / "some.jsonl"
    write_jsonl(source, records)
    assert export(roll, "trl", tmp_path / "out").wrong == 0
    assert code("export", source, "--to", "trl", "--out", tmp_path / "out") == 0
    assert "1 trajectories end with a wrong answer" in capsys.readouterr().err


def test_bad_input_is_told_in_one_line(exam, roll, tmp_path):
    questions = exam / "questions/questions.jsonl"
    empty = tmp_path / "empty.jsonl"
    empty.touch()
    table = tmp_path / "own.csv"
    table.write_text("question,answer\nWho?,Ana\n")
    for source, to, fault in (
        (roll, "csv", "unknown form; known: sharegpt, trl, verl, inspect"),
        (questions, "sharegpt", "takes trajectories"),
        (questions, "trl", "need the graph"),
        (empty, "trl", "no records"),
        (tmp_path / "none.jsonl", "trl", "no such file"),
        (table, "trl", r"own\.csv:1: not JSON .* JSON lines are expected.*dataset check"),
    ):
        with pytest.raises(UserError, match=fault):
            export(source, to, tmp_path / "out")
    broken = tmp_path / "broken.jsonl"
    write_jsonl(broken, [*read_jsonl(roll), {"turns": []}])
    with pytest.raises(UserError, match="record 9"):
        export(broken, "trl", tmp_path / "out")


def test_injected_errors_are_marked_in_every_export(roll, tmp_path):
    trajectories = list(read_records(roll, Trajectory.from_json))
    wrong = [
        {t.turns[e["turn"]].completion for e in t.provenance["errors"] if e["slip"]}
        for t in trajectories
    ]
    assert any(wrong) and any(e["slip"] for t in trajectories for e in t.provenance["errors"])
    for to in ("trl", "verl", "sharegpt"):
        file = export(roll, to, tmp_path / to).file
        rows = parquet(file) if to == "verl" else list(read_jsonl(file))
        key = "value" if to == "sharegpt" else "content"
        said = "conversations" if to == "sharegpt" else "messages"
        marked = [{row[said][n][key] for n in row["injected_errors"]} for row in rows]
        assert marked == wrong, to


def test_a_mix_is_told_beside_the_table_of_its_structures():
    found = beside({"3-hop": 1, "4-hop": 1, "5-hop": 1, "2I": 1, "IP": 1, "PI": 1})
    assert found["table"] == "Table 7"
    assert found["shares"]["5-hop"] == [16.67, 10.19]


def test_a_report_has_tables_beside_those_of_test_questions(graph, tmp_path):
    make_questions(graph, SynthConfig(count=10, mix={"2-hop": 1}), tmp_path / "q")
    corpus, out = tmp_path / "q" / "questions.jsonl", tmp_path / "stats"
    test = tmp_path / "test.jsonl"
    test.write_bytes(b"".join(corpus.read_bytes().splitlines(keepends=True)[:2]))
    stats = report(corpus, out, [test])
    assert stats["structures"] == {"2-hop": 10} and stats["paper"] == {}
    assert stats["contamination"]["against"] == {"test.jsonl": 2}
    text = (out / "stats.md").read_text()
    assert "| 2-hop | 10 | 100.0% |" in text and "Table 5" in text


def test_shares_of_relations_are_of_all_hops(tmp_path):
    hops = [{"topic": {"id": "m.a", "name": "A"}, "hops": [f"r.{n}.x"]} for n in range(40)]
    query = {"branches": hops, "tail": [], "path": ["p"]}
    question = {"id": "q", "question": "?", "structure": "2I", "hops": 1, "split": "train"}
    path = tmp_path / "x.jsonl"
    path.write_text(json.dumps({**question, "answers": [], "query": query}) + "\n")
    report(path, tmp_path / "stats")
    assert "| r.0.x | 1 | 2.5% |" in (tmp_path / "stats/stats.md").read_text()


def test_other_records_are_told_in_one_line(tmp_path):
    path = tmp_path / "x.jsonl"
    path.write_text('{"a": 1}\n')
    with pytest.raises(UserError, match="neither questions nor trajectories"):
        report(path, tmp_path / "out")
    path.write_text("")
    with pytest.raises(UserError, match="no records"):
        report(path, tmp_path / "out")


def test_tokens_are_counted_by_part_and_by_relation_id(tmp_path):
    tokenizer = make_tokenizer()  # one token for each letter
    tokenizer.init_kwargs.pop("auto_map")
    tokenizer.save_pretrained(tmp_path)
    look = Turn((Message("user", "Who?"),), "<think>Hm</think>[a.b.c]", "Hm", {"answer": []}, "x")
    seen = Turn((Message("user", "a.b.c, a.b.cd"),), '["O"]', "", {"answer": ["O"]}, "")
    asked = Question("q", "Who?", ())
    episode = Trajectory(asked, "", "", (look, seen), ("O",), StopReason.ANSWERED)
    found = token_costs([episode], str(tmp_path))
    assert found["by_part"] == {
        "calls and answers": 27.0, "observations": 13.0, "prompt": 4.0, "thoughts": 2.0,
    }  # fmt: skip
    assert found["relation_ids"]["costliest"]["a.b.c"] == "5 tokens, 2 times"
    with pytest.raises(UserError, match="no such model folder"):
        token_costs([episode], "nowhere")
