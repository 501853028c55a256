"""The report in headless Chromium: it filters, opens a walk, draws it, obeys the keyboard."""

from contextlib import contextmanager
from dataclasses import replace

import pytest

from eval.report.report import StageResult, write_report
from eval.run.records import PREDICTIONS, read_run
from graphwalker.files import write_jsonl
from support.paths import ROOT
from support.viewer_toy import HOSTILE, hostile_run, toy_runs

pytestmark = pytest.mark.browser

MANY = 1200
BOXES = """() => [...document.querySelectorAll(".graph")].map((graph) =>
  [...graph.querySelectorAll("g > g > rect:first-of-type")]
    .map((rect) => rect.getBoundingClientRect()))"""
"""The boxes of each drawing: whatever has a label."""
OVERLAPS = f"""() => {{
  const apart = (a, b) => a.left >= b.right || b.left >= a.right || a.top >= b.bottom
    || b.top >= a.bottom;
  return ({BOXES})().flatMap((boxes) =>
    boxes.flatMap((a, i) => boxes.slice(0, i).filter((b) => !apart(a, b)))).length;
}}"""
SMALLEST = """() => Math.min(...[...document.querySelectorAll(".graph text")].map((text) =>
  text.getAttribute("font-size") * text.getScreenCTM().a))"""


def boxes(page):
    return len(page.evaluate(BOXES)[0])


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    return toy_runs(tmp_path_factory.mktemp("runs"))


@pytest.fixture(scope="module")
def report(runs, tmp_path_factory):
    out = tmp_path_factory.mktemp("report")
    stages = [StageResult(run.name, run) for run in runs]
    write_report(out, stages, title="Toy report", published=["graphwalker-table2"])
    return out / "report.html"


@contextmanager
def opened(browser, report, address="", **options):
    """The report in a fresh tab; at the end it must have logged and requested nothing else than
    its downloads."""
    options = {"viewport": {"width": 1360, "height": 900}, **options}
    messages, requests = [], []
    with browser.new_context(**options) as context:
        page = context.new_page()
        page.on("console", lambda message: messages.append(message.text))
        page.on("pageerror", lambda error: messages.append(str(error)))
        page.on("request", lambda request: requests.append(request.url))
        page.goto(report.as_uri() + address)
        page.wait_for_selector("#table .rows .row")
        yield page
        assert messages == []
        assert all(url.startswith((report.as_uri(), "blob:")) for url in requests)


def count(page):
    return page.inner_text("#count")


def step(page):
    return page.locator(".step").first.inner_text()


def open_walk(page, words):
    page.fill("#find", words)
    page.focus("#table")
    page.keyboard.press("Enter")
    page.wait_for_selector("#viewer[open] .graph text")


def test_words_structure_and_outcome_filter_the_questions(browser, report):
    with opened(browser, report) as page:
        assert count(page) == "8 of 8 questions"
        page.fill("#find", "MARRIED ada")
        assert count(page) == "1 of 8 questions"
        assert "Who is married to Ada Mbeki?" in page.inner_text("#table .rows")
        page.fill("#find", "no such words")
        assert count(page) == "0 of 8 questions"
        assert page.locator("#table .rows .row").count() == 0
        page.fill("#find", "")
        page.select_option("#by-structure", "2-hop")
        assert count(page) == "2 of 8 questions"
        page.select_option("#by-outcome", "recovered")
        assert count(page) == "1 of 8 questions"
        page.select_option("#by-structure", "")
        page.select_option("#by-outcome", "differ")
        assert count(page) == "6 of 8 questions"


def test_an_address_filters_by_kind_of_error(browser, report):
    with opened(browser, report) as page:
        page.locator(".desk a").first.click()
        page.wait_for_function("document.getElementById('count').innerText.startsWith('1 ')")
        assert page.input_value("#by-kind") != ""


def test_labels_never_overlap_and_are_never_small(browser, report):
    for width in (390, 1360):
        with opened(browser, report, viewport={"width": width, "height": 800}) as page:
            open_walk(page, "")
            for _ in range(8):
                assert page.evaluate(OVERLAPS) == 0 and page.evaluate(SMALLEST) >= 11
                page.keyboard.press("n")
                page.wait_for_timeout(350)


def test_columns_stand_closer_where_a_walk_would_not_fit(browser, report):
    with opened(browser, report, viewport={"width": 1290, "height": 800}) as page:
        open_walk(page, "Tom Lindqvist's wife born")
        graph = page.locator(".graph").first
        assert graph.evaluate("(graph) => graph.scrollWidth - graph.clientWidth") == 0


def test_the_evidence_of_an_intersection_has_a_way_from_each_topic(browser):
    walk = {
        "nodes": [["Ada", "t"], ["Tom", "t"], ["Eve", "a"], ["Bo", ""]],
        "links": [[0, "child", 2, 2, 0], [1, "child", 2, 4, 0], [1, "child", 3, 4, 0]],
    }
    page = browser.new_page()
    page.add_script_tag(path=ROOT / "graphwalker/viewer/files/drawing.js")
    assert page.evaluate("(walk) => [...findEvidence(walk)]", walk) == [0, 1]
    page.close()


def test_an_entity_tells_its_triples_and_a_turn_its_raw_messages(browser, report):
    with opened(browser, report) as page:
        open_walk(page, "eve's mother")
        page.locator(".graph .topic").first.press("Enter")
        assert "stands in" in page.inner_text(".seen")
        page.locator(".turns .messages summary").first.click()
        page.wait_for_selector(".turns .messages pre")
        assert "Question:" in page.locator(".turns .messages").first.inner_text()


def test_a_drawing_is_saved_with_its_look(browser, report):
    with opened(browser, report) as page:
        open_walk(page, "films by eve")
        with page.expect_download() as saved:
            page.click("[title^='save the drawing']")
        text = saved.value.path().read_text()
        assert text.startswith("<svg") and "Verrian" in text and ".wire.gold" in text


def test_a_column_sorts_both_ways(browser, report):
    with opened(browser, report) as page:
        first = page.locator("#table .rows .row").first
        page.get_by_role("button", name="Question").click()
        assert "How" in first.inner_text() or "Where" in first.inner_text()
        up = first.inner_text()
        page.get_by_role("button", name="Question").click()
        assert first.inner_text() != up
        assert page.locator('[aria-sort="descending"]').count() == 1


def test_a_walk_is_drawn_turn_by_turn_by_keyboard_alone(browser, report):
    with opened(browser, report) as page:
        page.keyboard.press("/")
        page.keyboard.type("eve's mother")
        page.keyboard.press("Enter")
        page.keyboard.press("Enter")
        page.wait_for_selector("#viewer[open] .graph text")
        assert step(page) == "turn 7 of 7"
        whole = boxes(page)
        for _ in range(5):
            page.keyboard.press("ArrowLeft")
        assert step(page) == "turn 2 of 7"
        assert "Turn 2 first showed" in page.inner_text(".seen")
        assert "people.person.parents" in page.inner_text(".seen")
        assert "on the gold path" in page.inner_text(".seen")
        assert page.locator(".turns [aria-current=step]").inner_text().startswith("Turn 2")
        page.keyboard.press("g")
        page.keyboard.press("Home")
        assert step(page) == "turn 0 of 7" and page.get_by_label("one turn back").is_disabled()
        assert 0 < boxes(page) < whole
        page.keyboard.press("Escape")
        assert not page.locator("#viewer").is_visible()
        assert page.evaluate("document.activeElement.id") == "table"


def test_questions_and_runs_follow_each_other_in_the_viewer(browser, report):
    with opened(browser, report) as page:
        page.focus("#table")
        page.keyboard.press("ArrowDown")
        page.keyboard.press("Enter")
        page.wait_for_selector("#viewer[open]")
        second = page.inner_text("#question")
        shown = "old => document.getElementById('question').innerText"
        page.keyboard.press("n")
        page.wait_for_function(f"{shown} !== old", arg=second)
        page.keyboard.press("p")
        page.wait_for_function(f"{shown} === old", arg=second)
        assert "trained" in page.inner_text("#runs [aria-pressed=true]")
        page.keyboard.press("r")
        page.wait_for_selector("#runs [aria-pressed=true]:has-text('untrained')")
        assert "no valid action" in page.inner_text(".turns")


def test_an_address_opens_its_walk(browser, report):
    with opened(browser, report, "#q=q06&run=0") as page:
        page.wait_for_selector("#viewer[open]")
        assert page.inner_text("#question") == "Which city is the capital of Verria?"
        assert "untrained" in page.inner_text("#runs [aria-pressed=true]")


def test_hostile_text_is_shown_and_does_nothing(browser, runs, tmp_path):
    run = hostile_run(runs[1], tmp_path / "hostile")
    write_report(tmp_path / "out", [StageResult(HOSTILE, run)], title=HOSTILE)
    shown = HOSTILE.split(" \x00")[0]
    with opened(browser, tmp_path / "out" / "report.html") as page:
        assert shown in page.inner_text("#table .rows")
        page.fill("#find", "onerror o'hara")
        assert count(page) == "8 of 8 questions"
        open_walk(page, "")
        assert shown in page.inner_text("#question") and shown in page.inner_text(".turns")
        assert boxes(page) > 0 and page.locator("img").count() == 0
        assert page.evaluate("window.broken") is None


def test_a_script_that_got_in_all_the_same_would_not_run(browser, report):
    with browser.new_context() as context:
        page = context.new_page()
        page.goto(report.as_uri())
        page.evaluate("""() => {
          document.body.insertAdjacentHTML("beforeend", "<img src=x onerror='window.broken = 1'>");
          const script = document.createElement("script");
          script.textContent = "window.broken = 2";
          document.body.append(script);
        }""")
        page.wait_for_timeout(200)
        assert page.evaluate("window.broken") is None


def test_thousands_of_rows_are_drawn_a_few_at_a_time(browser, runs, tmp_path):
    walks = read_run(runs[1]).trajectories
    copies = (
        replace(w, question=replace(w.question, id=f"{w.question.id}/{i}"))
        for i in range(MANY // len(walks))
        for w in walks
    )
    write_jsonl(tmp_path / "many" / PREDICTIONS, (copy.to_json() for copy in copies))
    write_report(tmp_path / "out", [StageResult("many", tmp_path / "many")])
    with opened(browser, tmp_path / "out" / "report.html") as page:
        assert count(page) == f"{MANY:,} of {MANY:,} questions"
        page.focus("#table")
        page.keyboard.press("End")
        page.wait_for_selector(f"#row-{MANY - 1}[aria-selected=true]")
        assert page.locator("#table .rows .row").count() < 60
        page.keyboard.press("Enter")
        page.wait_for_selector("#viewer[open]")
        assert page.inner_text("#question") == walks[-1].question.text
