"""Every page in a browser: axe-core finds nothing, nothing is cut, a picture is kept."""

import json
from typing import TYPE_CHECKING

import pytest
from typer.testing import CliRunner

from graphwalker.cli.app import app
from graphwalker.errors import IncompleteError
from graphwalker.files import read_jsonl, write_jsonl
from graphwalker.graphs.base import Entity
from graphwalker.question import Question
from graphwalker.serve.sessions import Sessions
from support.eval_toy import ROWS, toy_environment, toy_questions
from support.serve_toy import GatedPolicy, served
from support.toy import TOY_NAMES
from support.viewer_toy import toy_runs

if TYPE_CHECKING:
    pass

pytestmark = pytest.mark.browser

ASKED = Question("e", "Where was Tom Lindqvist's wife born?", (Entity("m.0tom", "Tom Lindqvist"),))


@pytest.fixture(params=[(390, "light"), (390, "dark"), (1360, "light"), (1360, "dark")], ids=str)
def page(browser, request):
    width, scheme = request.param
    with browser.new_context(
        viewport={"width": width, "height": 900}, color_scheme=scheme, reduced_motion="reduce"
    ) as context:
        context.set_default_timeout(90_000)
        yield context.new_page()


@pytest.fixture
def look(screenshots):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()

    def check(page, name):
        width = page.viewport_size["width"]
        dark = page.evaluate("matchMedia('(prefers-color-scheme: dark)').matches")
        path = screenshots / f"{name}-{width}-{'dark' if dark else 'light'}.png"
        page.screenshot(path=path, full_page=page.locator("dialog[open]").count() == 0)
        found = axe.run(page)
        assert found.violations_count == 0, found.generate_report()
        assert page.evaluate("document.documentElement.scrollWidth") <= width

    return check


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A report of three runs and three other systems, a comparison, a training report."""
    folder = tmp_path_factory.mktemp("pages")
    toy_runs(folder)
    walks = list(read_jsonl(folder / "trained" / "predictions.jsonl"))[:6]
    for tokens, walk in enumerate(walks):
        walk["usage"]["completion_tokens"] = 100 * tokens
    write_jsonl(folder / "half" / "predictions.jsonl", walks)
    write_others(folder)
    (folder / "grpo").mkdir()
    steps = [{"step": s, "reward": 0.2 * s, "em": 0.1 * s, "entropy": 0.5} for s in (1, 2, 3, 4)]
    write_jsonl(folder / "grpo" / "metrics.jsonl", steps)
    (folder / "grpo" / "config.yaml").write_text("lr: 1\n")
    write_jsonl(folder / "questions.jsonl", [question.to_json() for question in toy_questions()])
    every = [str(folder / name) for name in ("untrained", "half", "trained", *OTHERS)]
    asked = ["--questions", str(folder / "questions.jsonl")]
    published = ["--published", "graphwalker-table2"]
    run("report", *every, *asked, *published, "--out", str(folder / "report"))
    run("compare", *every[:3], *asked, "--out", str(folder / "compare"))
    run("report", str(folder / "grpo"), "--out", str(folder / "training"))
    return folder


OTHERS = ("ours.jsonl", "rog.jsonl", "table.csv")


def write_others(folder):
    """Predictions of three other systems, right in every second, third and fourth question."""
    given = {
        every: [TOY_NAMES[row[4][0]] if i % every == 0 else "Oslo" for i, row in enumerate(ROWS)]
        for every in (2, 3, 4)
    }
    rows = [(row[0], *names) for row, *names in zip(ROWS, *given.values(), strict=True)]
    gold = [[TOY_NAMES[answer] for answer in row[4]] for row in ROWS]
    write_jsonl(folder / "ours.jsonl", [{"id": i, "predictions": [a]} for i, a, _, _ in rows])
    rog = [{"id": i, "prediction": b, "ground_truth": g}
           for (i, _, b, _), g in zip(rows, gold, strict=True)]  # fmt: skip
    write_jsonl(folder / "rog.jsonl", rog)
    table = "".join(f"{i},{c}\n" for i, _, _, c in rows)
    (folder / "table.csv").write_text(f"id,prediction\n{table}")


def run(*arguments):
    done = CliRunner().invoke(app, list(arguments))
    assert not done.exception or isinstance(done.exception, IncompleteError), done.exception


def open_walk(page, words):
    page.wait_for_selector("#table .rows .row")
    page.fill("#find", words)
    page.locator("#table .rows .row").first.click()
    page.wait_for_selector("#viewer[open] .graph text")


def test_a_report_of_six_runs_three_of_them_other_systems(page, folder, look):
    page.goto((folder / "report" / "report.html").as_uri())
    page.wait_for_selector("#table .rows .row")
    look(page, "report")
    assert page.locator("#figures tbody").first.locator("tr").count() == 6
    for name in OTHERS:
        assert name in page.inner_text("#figures") and name in page.inner_text("#table .head")
    menu = "[...document.querySelectorAll('nav.contents')].map(n => n.scrollWidth <= n.clientWidth)"
    assert page.evaluate(menu) == [True]
    heads = page.locator("#table .head .row > div").all_inner_texts()
    narrow = page.viewport_size["width"] < 600
    assert heads[2] == ("trained" if narrow else "untrained")  # the last run that walks
    page.select_option("#by-run", "half")
    assert not narrow or page.locator("#table .head .row > div").nth(2).inner_text() == "half"
    page.fill("#by-tokens", "300")
    assert page.inner_text("#count") == "3 of 8 questions"
    open_walk(page, "films by eve")
    assert page.inner_text("#runs [aria-pressed=true]").startswith("half")
    look(page, "walk")
    page.keyboard.press("b")
    page.wait_for_selector(".walkview:nth-child(2)")
    look(page, "walks-beside")


def test_other_systems_have_answers_and_no_conduct(folder):
    stages = json.loads((folder / "report" / "report.json").read_text())["stages"]
    assert [stage["name"] for stage in stages][3:] == list(OTHERS)
    assert [stage["em"] for stage in stages][3:] == [0.25, 0.375, 0.125]
    assert all("retrieval_all" not in stage for stage in stages[3:])
    assert "retrieval_all" in stages[2]


def test_a_comparison(page, folder, look):
    page.goto((folder / "compare" / "compare.html").as_uri())
    page.wait_for_selector("#table .rows .row")
    look(page, "compare")
    open_walk(page, "films by eve")
    look(page, "compare-walk")


def test_a_training_report(page, folder, look):
    page.goto((folder / "training" / "training.html").as_uri())
    look(page, "training")


def test_the_served_page(page, look):
    policy = GatedPolicy()
    with served(policy, environment=toy_environment(), examples=lambda: [ASKED]) as server:
        page.goto(server.url)
        page.wait_for_selector("#examples button")
        look(page, "serve")
        page.click("#examples button")
        page.wait_for_selector(".end.good")
        page.locator(".turns .messages summary").first.click()
        page.wait_for_selector(".turns .messages pre")
        look(page, "serve-walk")
        page.fill("#question", "Who is Nobody?")
        page.keyboard.press("Enter")
        page.wait_for_selector(".end.bad")
        look(page, "serve-error")


def test_the_served_page_of_two_models(page, look):
    environment, other = toy_environment(), GatedPolicy("q01")
    with (
        Sessions(environment, other, name="sft1/final") as beside,
        served(environment=environment, beside=[beside], examples=lambda: [ASKED]) as server,
    ):
        page.goto(server.url)
        page.click("#examples button")
        page.wait_for_selector(".turns .parts")
        look(page, "serve-two")
