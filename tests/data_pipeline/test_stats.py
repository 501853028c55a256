"""Statistics of a corpus: the paper beside it, one line for a fault."""

import json

import pytest

from data_pipeline.config import SynthConfig
from data_pipeline.stats.report import beside, report
from data_pipeline.stats.tokens import token_costs
from data_pipeline.synthesize import make_questions
from graphwalker.errors import UserError
from graphwalker.question import Question
from graphwalker.trajectory import Message, StopReason, Trajectory, Turn
from support.engine_toy import make_tokenizer


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
    episode = Trajectory(
        Question("q", "Who?", ()), "", "", (look, seen), ("O",), StopReason.ANSWERED
    )
    found = token_costs([episode], str(tmp_path))
    assert found["by_part"] == {
        "calls and answers": 27.0, "observations": 13.0, "prompt": 4.0, "thoughts": 2.0,
    }  # fmt: skip
    assert found["relation_ids"]["costliest"]["a.b.c"] == "5 tokens, 2 times"
    with pytest.raises(UserError, match="no such model folder"):
        token_costs([episode], "nowhere")
