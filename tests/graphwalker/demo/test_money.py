"""What a chain costs at its chat servers, by the questions that it really asks."""

import pytest

from graphwalker.config import read_settings
from graphwalker.demo.money import estimate_money
from graphwalker.files import write_jsonl
from graphwalker.jobs.sections import read_sections
from support.paths import ROOT

CHAIN = """
run: {run}
chat: {{base_url: "http://x", prices: {{prompt_per_million: 1000, completion_per_million: 0}}}}
eval:
  questions: [{file}]
  questions_format: {form}
  output_dir: {run}/eval
  samples: 1
  policy: {{model: m, api: "${{chat}}"}}
"""


def money_of(file, *overrides):
    settings = read_settings(file, overrides)
    return next(one.found for one in estimate_money(read_sections(settings, str(file))))


def chain(tmp_path, file, form="auto"):
    path = tmp_path / "chain.yaml"
    path.write_text(CHAIN.format(run=tmp_path / "run", file=file, form=form))
    return path


@pytest.mark.parametrize(
    ("name", "amount"),
    [
        ("graphwalk-maze", "about 3 "),
        ("graphrunner-table1", "about 774 "),  # its five domains of GRBench
        ("ark-v1-table3", "about 5 "),
        ("graphwalker-table2", "about 32 to 96 "),
    ],
)
def test_a_paper_s_chain_costs_what_its_questions_and_tries_do(name, amount):
    assert f"money {amount}" in money_of(ROOT / f"configs/paper/{name}.yaml")


def test_questions_that_are_there_are_counted(tmp_path):
    topic, answer = {"id": "a", "name": "A"}, {"name": "x"}
    record = {"question": "who?", "topic_entities": [topic], "answers": [answer]}
    write_jsonl(tmp_path / "q.jsonl", [{"id": str(number), **record} for number in range(3)])
    told = money_of(chain(tmp_path, str(tmp_path / "q.jsonl")))
    assert "money about 30 " in told and "eval: 3 questions (counted) x 2" in told


def test_questions_of_an_unknown_number_cost_an_unknown_amount(tmp_path):
    told = money_of(chain(tmp_path, "mine.jsonl"))
    assert told.startswith("money unknown (eval: mine.jsonl is not there, and has no published")


def test_a_published_number_is_named_as_such_and_bounded_by_the_limit(tmp_path):
    file = chain(tmp_path, "WebQSP.test.json", "webqsp")
    assert "eval: 1,639 questions (published: " in money_of(file)
    assert "eval: 5 questions (published: " in money_of(file, "eval.limit=5")
