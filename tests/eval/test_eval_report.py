"""The report: figures in JSON and Markdown, and a page that hostile names cannot break."""

import base64
import hashlib
import re
import sys
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from eval.analysis.comparison import compare_runs, pairs_table, read_runs
from eval.analysis.error_kinds import KINDS
from eval.report.archive import choose
from eval.report.plots import group_bars, series
from eval.report.report import StageResult, console_table, training_panels, write_report
from eval.report.training import DrawnLine, Panel
from eval.run.evaluate import evaluate
from eval.run.records import PREDICTIONS, read_run
from eval.tables import as_terminal, pass_table
from graphwalker.errors import UserError
from graphwalker.files import read_json, write_jsonl
from graphwalker.policies.config import PolicyConfig, policy_name
from graphwalker.policies.scripted import ScriptedPolicy
from graphwalker.viewer.record import outcome
from support.commands import run
from support.eval_toy import toy_environment, toy_questions, trained_script, untrained_script
from support.viewer_toy import HOSTILE, hostile_run

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def stages(tmp_path_factory: pytest.TempPathFactory) -> list[StageResult]:
    folder = tmp_path_factory.mktemp("runs")
    for name, script in (("untrained", untrained_script()), ("trained", trained_script())):
        policy = ScriptedPolicy(script)
        evaluate(toy_questions(), toy_environment(), policy, folder / name, samples=4)
    log = folder / "metrics.jsonl"
    write_jsonl(log, [{"step": i, "loss": 3 / (i + 1), "seconds": i} for i in range(60)])
    return [
        StageResult("untrained", folder / "untrained", seconds=1.5),
        StageResult("stage 1", folder / "trained", log, 20.0),
    ]


@pytest.fixture(scope="module")
def folder(stages: list[StageResult], tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("report")
    config = {"sft": {"learning_rate": 0.003}}
    write_report(out, stages, config, 7, "Toy", {"seconds": {"world": 2.0}})
    return out


@pytest.fixture
def report(folder: Path) -> dict[str, Any]:
    return read_json(folder / "report.json")


@pytest.fixture(scope="module")
def page(folder: Path) -> str:
    return (folder / "report.html").read_text(encoding="utf-8")


class Reader(HTMLParser):
    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str]] = []
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(key, value or "") for key, value in attrs]

    def handle_data(self, data: str) -> None:
        self.text += data


def test_the_json_holds_a_record_per_stage(report) -> None:
    first, last = report["stages"]
    assert (first["name"], first["questions"], first["em"]) == ("untrained", 8, 0)
    assert last["em"] == last["pass@4"] == last["gain"] == 0.75
    assert last["pass@1_interval"][0] < 0.75 and "gain_over_previous" not in first
    assert (report["baselines"], report["ceiling"]) == (last["baselines"], last.get("ceiling"))
    assert (report["seed"], report["config"]["sft"]["learning_rate"]) == (7, 0.003)
    assert report["seconds"] == {"world": 2.0, "untrained": 1.5, "stage 1": 20.0}
    assert report["versions"]["python"] and report["hardware"]["cores"]


def test_the_markdown_holds_the_tables_those_of_sampled_questions_apart(folder: Path) -> None:
    text = (folder / "report.md").read_text(encoding="utf-8")
    assert "| stage 1 8 questions | 0.750" in text
    assert "## EM by structure" in text
    heads = [line for line in text.splitlines() if line.startswith("| Stage")]
    assert "Pass@4" not in heads[0] and "Pass@4" in heads[1]


def test_the_page_stands_alone_and_only_our_own_script_may_run(page) -> None:
    read = Reader(page)
    assert not {"link", "img", "iframe", "object"} & set(read.tags)
    for key, value in read.attributes:
        assert not key.startswith("on")
        if key in ("href", "src", "xlink:href", "action"):
            assert value.startswith("#")
    assert read.tags.count("svg") == 3 and "#0102" not in page and "var(--ink)" in page
    ids = [value for key, value in read.attributes if key == "id"]
    assert len(ids) == len(set(ids))
    (code,) = re.findall(r"<script>(.*?)</script>", page, flags=re.DOTALL)
    allowed = re.search(r"script-src ([^;]*);", page)
    digest = base64.b64encode(hashlib.sha256(code.encode()).digest()).decode()
    assert allowed and allowed[1] == f"'sha256-{digest}'"
    data = re.findall(r'<script type="application/octet-stream" id="[a-z0-9-]+">([^<]*)<', page)
    assert len(data) + 1 == page.count("</script>")
    assert all(re.fullmatch(r"[A-Za-z0-9+/]+=*", block) for block in data)


def test_every_reference_of_a_plot_is_defined(page) -> None:
    plots = "".join(re.findall(r"<svg.*?</svg>", page, flags=re.DOTALL))
    used = set(re.findall(r'(?:url\(#|href="#)([^")]+)', plots))
    assert used and used <= set(re.findall(r'\bid="([^"]+)"', page))


def test_the_same_runs_give_the_same_page(stages: list[StageResult], tmp_path: Path) -> None:
    for name in ("a", "b"):
        write_report(tmp_path / name, stages)
    for name in ("report.html", "report.md", "report.json"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()


def test_the_first_screen_says_what_was_run_and_what_went_wrong_most(report, page) -> None:
    kinds = report["stages"][-1]["error_kinds"]
    assert sum(kinds.values()) == 2
    text = Reader(page).text
    first = text.partition("Figures")[2]
    assert first.index("Agent") < first.index("Strict EM") < first.index("What went wrong")
    assert "recovered: " in text and "wrong: " in text
    for kind in kinds:
        assert kind in first and f">{kind}</a><small>{KINDS[kind]}</small>" in page


def test_em_is_stated_once_on_the_first_screen_and_in_no_table(page) -> None:
    text = Reader(page).text
    first = text[text.index("Summary") : text.index("EM by structure")]
    assert first.count("0.750 [0.41, 0.93]") == first.count("[0.41, 0.93]") == 1
    lead = first[: first.index("Strict EM")]
    assert "stage 1 answers 8 questions: better than untrained" in lead
    assert not re.search(r"\b[01]\.\d", lead)


def test_a_stage_has_one_colour_in_every_plot(stages: list[StageResult], tmp_path: Path) -> None:
    assert [series(place) for place in (0, 1, 5)] == ["--series-1", "--series-2", "--series-1"]
    log = tmp_path / "log.jsonl"
    write_jsonl(log, [{"step": step, "loss": 1 / step} for step in (1, 2, 3)])
    write_report(tmp_path, [stages[0], replace(stages[1], train_metrics=log)])
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert re.findall(r"background: var\((--series-\d)\)", page)[:2] == ["--series-1", "--series-2"]
    bars, passes, training = re.findall(r"<svg.*?</svg>", page, flags=re.DOTALL)
    found = [set(re.findall(r"--series-\d", plot)) for plot in (bars, passes, training)]
    assert found == [{"--series-1", "--series-2"}] * 2 + [{"--series-2"}]


def test_a_pass_at_k_carries_its_number_of_questions(report) -> None:
    for stage in report["stages"]:
        stage["pass@4_questions"] = 6
    console = Console(width=80)
    with console.capture() as shown:
        console.print(console_table(report))
    assert re.search(r"Pass@4 .*\n.* of 6 .*\n", shown.get())
    report["stages"][0]["pass@4_questions"] = 5
    cells = [row[2] for row in pass_table(report["stages"]).rows]
    assert [cell.small.rpartition(" n = ")[2] for cell in cells] == ["5", "6"]


def test_the_page_names_the_model_and_a_rule_as_a_rule(source: Path, tmp_path: Path) -> None:
    words = ["--graph", source / "graph", "--questions", source / "q.jsonl"]
    run("eval", *words, "--model", "first-relation", "--out", tmp_path / "run", "ceiling=never")
    text = Reader((tmp_path / "run/report.html").read_text(encoding="utf-8")).text
    assert "run (first-relation, a rule without a model) answers 8 questions." in text
    assert "Rule, no model" in text and "Model\n" not in text
    names = {"runs/demo/sft1/final": "sft1/final", "runs/demo/model": "demo/model"}
    for model, name in {**names, "models/SmolLM2": "SmolLM2"}.items():
        assert policy_name(PolicyConfig(model=model)) == name


def test_hostile_text_adds_no_element_and_loses_no_character(stages, tmp_path) -> None:
    run = hostile_run(stages[1].folder, tmp_path / "hostile <run> & co")
    again = StageResult(f"{HOSTILE} 2", run, stages[1].train_metrics)
    write_report(tmp_path / "out", [replace(stages[0], name=HOSTILE), again], title=HOSTILE)
    text = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    page = Reader(text)
    assert "img" not in page.tags and page.tags.count("script") == text.count("<script") == 6
    assert not [key for key, _ in page.attributes if key.startswith("on")]
    assert re.sub("[\x00\u202e]", "\N{REPLACEMENT CHARACTER}", HOSTILE) in page.text
    assert not re.search("[\x00\u202e]", page.text)
    lines = (tmp_path / "out" / "report.md").read_text(encoding="utf-8").splitlines()
    rows = [line for line in lines if line.startswith("| ")]
    assert rows and not any("<img" in line for line in rows)
    tables = [len(re.findall(r"(?<!\\)\|", row)) for row in rows]
    assert set(tables[:4]) == {tables[0]}  # names stay in their Markdown cell


def test_the_console_tables_show_names_as_they_are(stages, report) -> None:
    report["stages"][0]["name"] = "[red]x[/red]"
    console = Console(width=80, record=True, file=None, quiet=False)
    with console.capture() as shown:
        console.print(console_table(report))
        pairs = compare_runs(read_runs([stage.folder for stage in stages[:2]]))
        console.print(as_terminal(pairs_table(pairs, brief=True)))
    text = shown.get()
    assert "[red]x[/red]" in text and "0.750 [0.41, 0.93]" in text
    assert "+0.750" in text and max(map(len, text.splitlines())) <= 80


def test_a_report_of_a_run_without_questions_says_so_and_one_of_no_run_is_refused(tmp_path):
    write_jsonl(tmp_path / "run" / PREDICTIONS, [])
    report = write_report(tmp_path / "out", [StageResult("empty", tmp_path / "run")])
    assert report["stages"][0]["questions"] == 0
    assert "no scored questions" in (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    with pytest.raises(UserError, match="stage"):
        write_report(tmp_path, [])


def test_the_names_under_many_bars_do_not_overlap() -> None:
    rows = {f"relationship_negation_{i}": {"em": 1.0} for i in range(12)}
    many = str(group_bars([{"name": "a", "by_structure": rows}], "by_structure"))
    few = str(group_bars([{"name": "a", "by_structure": {"2-hop": {"em": 1}, "2I": {"em": 0}}}],
                         "by_structure"))  # fmt: skip
    assert "rotate(-30" in many and "rotate(-30" not in few


def test_without_matplotlib_the_report_has_its_tables(stages, tmp_path, monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    write_report(tmp_path, stages)
    page = Reader((tmp_path / "report.html").read_text(encoding="utf-8"))
    assert "svg" not in page.tags and "Where it is right" in page.text


def test_the_walks_to_read_vary_and_do_not_depend_on_the_file_order(stages) -> None:
    found = read_run(stages[1].folder).trajectories
    chosen = choose(found, 5)
    assert [outcome(t) for t in chosen[:3]] != [outcome(chosen[0])] * 3
    assert {outcome(t) for t in chosen} == {"right", "wrong", "recovered"}
    assert {t.question.structure for t in chosen} == {"1-hop", "2-hop", "3-hop", "2I"}
    assert [t.id for t in chosen] == [t.id for t in choose(found[::-1], 5)]


def test_training_logs_give_the_curves_they_hold_and_a_reward_that_is_the_em_once(tmp_path):
    log, same = tmp_path / "metrics.jsonl", tmp_path / "same.jsonl"
    records = [{"step": 1, "reward": 0.1}, {"step": 2, "reward": 0.2}, {"step": 2, "reward": 0.3},
               {"step": 3, "reward": float("nan")}, {"note": "resumed"}]  # fmt: skip
    write_jsonl(log, records)
    panels = training_panels([StageResult("GRPO", tmp_path, log), StageResult("none", tmp_path)])
    assert panels == [Panel("GRPO: reward", [DrawnLine("reward", [(1, 0.1), (2, 0.3)])])]
    write_jsonl(same, [{"step": i, "reward": i / 9, "em": i / 9, "loss": 0.1} for i in range(9)])
    panels = training_panels([StageResult("GRPO", tmp_path, same)])
    assert [panel.title for panel in panels] == ["GRPO: reward"]
