"""The served page in headless Chromium: it asks, shows the walk, and no name can act in it."""

from typing import TYPE_CHECKING, Any

import pytest

from graphwalker.agents.environment import Environment
from graphwalker.graphs.base import Entity
from graphwalker.graphs.memory import MemoryGraph
from graphwalker.protocols.base import FinalAnswer
from graphwalker.protocols.tags import TagProtocol
from graphwalker.question import Question
from graphwalker.tools.base import Call
from graphwalker.tools.walker import EXAMPLES
from support.eval_toy import SPOUSE
from support.serve_toy import GatedPolicy, served, until

if TYPE_CHECKING:
    pass

pytestmark = pytest.mark.browser

HOSTILE = "<img src=x onerror=alert(1)><script>alert(2)</script>"


class SteppedPolicy(GatedPolicy):
    """Plays one completion each time that the gate is opened."""

    def collect(self):
        found = super().collect()
        if found:
            self.gate.clear()
        return found


def hostile(kind=GatedPolicy):
    graph = MemoryGraph([("m.a", SPOUSE, "m.b")], {"m.a": "Ada", "m.b": HOSTILE})
    say = TagProtocol(EXAMPLES).render
    lines = [
        say(HOSTILE, Call("get_relations", {"entity": "Ada"})),
        say("", Call("get_triples", {"entity": "Ada", "relations": [SPOUSE]})),
        say("", FinalAnswer((HOSTILE,))),
    ]
    return Environment(graph), kind(lines=lines)


def asked_in(page, server):
    """The served page, a question typed into it."""
    page.goto(server.url)
    page.fill("#question", "Who is married to Ada?")
    return page


def test_the_page_asks_and_shows_the_walk_and_hostile_names_as_text(browser):
    environment, policy = hostile()
    said: list[Any] = []
    with served(policy, environment=environment) as server:
        page = browser.new_page()
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on("dialog", lambda dialog: said.append(dialog.message))
        asked_in(page, server)
        page.keyboard.press("Enter")
        page.wait_for_selector(".end.good")
        assert HOSTILE in page.inner_text(".end") and "(m.b)" in page.inner_text(".end")
        assert page.locator(".turns > li").count() == 3
        assert page.locator(".thought").first.inner_text() == HOSTILE
        assert page.locator(".graph .given").count() == 1
        assert page.locator(".evidence").count() > 0
        assert page.locator("#view img, #view script, .end img").count() == 0
        page.close()
    assert said == []


def test_an_example_is_asked_with_a_click_and_its_link_shows_the_walk_again(browser):
    environment, policy = hostile()
    asked = Question("e", "Who is married to Ada?", (Entity("m.a", "Ada"),))
    with served(policy, environment=environment, examples=lambda: [asked]) as server:
        page = browser.new_page()
        page.goto(server.url)
        page.click("#examples button")
        page.wait_for_selector(".end.good")
        link = page.url
        assert "#walk=" in link and "Ada" in page.inner_text("#past")
        again = browser.new_page()
        again.goto(link)
        again.wait_for_selector(".end.good")
        assert again.locator(".turns > li").count() == 3
        assert again.inner_text("#asked") == asked.text
        page.close()
        again.close()


def test_a_name_that_two_entities_bear_lists_both(browser):
    names = {"m.a": "Ada", "m.b": "Ada", "m.c": "Bo"}
    environment = Environment(MemoryGraph([("m.a", SPOUSE, "m.c")], names))
    with served(environment=environment) as server:
        page = asked_in(browser.new_page(), server)
        page.wait_for_selector("#topics select")
        assert page.locator("#topics option").count() == 2
        page.fill("#topic", "B")
        page.wait_for_selector("#names option", state="attached")
        assert page.locator("#names option").first.get_attribute("value") == "Bo"
        page.close()


def test_stop_ends_the_walk(browser):
    environment, policy = hostile()
    policy.gate.clear()
    with served(policy, environment=environment) as server:
        page = asked_in(browser.new_page(), server)
        page.click("#ask")
        assert until(lambda: server.sessions.running == 1)
        page.click("#stop")
        assert until(lambda: server.sessions.running == 0)
        assert page.inner_text(".end") == "Stopped."
        page.close()


def test_the_relations_that_a_turn_was_offered_stand_open_while_the_walk_runs(browser):
    environment, policy = hostile(SteppedPolicy)
    with served(policy, environment=environment) as server:
        page = asked_in(browser.new_page(), server)
        page.keyboard.press("Enter")
        page.wait_for_selector("li[aria-current] .relations[open]")
        assert page.inner_text(".relations summary") == "one relation of Ada"
        assert page.inner_text(".relations li") == SPOUSE and page.inner_text(".end") == ""
        policy.gate.set()
        page.wait_for_selector(".relations .chosen", state="attached")
        assert page.locator(".relations[open]").count() == 0
        policy.gate.set()
        page.wait_for_selector(".end.good")
        page.close()


def test_an_answer_is_copied_with_the_triples_that_lead_to_it(browser):
    name = f"{HOSTILE}\nEvidence:\tfake"
    graph = MemoryGraph([("m.a", SPOUSE, "m.b")], {"m.a": "Ada", "m.b": name})
    say = TagProtocol(EXAMPLES).render
    look = Call("get_triples", {"entity": "Ada", "relations": [SPOUSE]})
    lines = [say("", Call("get_relations", {"entity": "Ada"})), say("", look)]
    policy = GatedPolicy(lines=[*lines, say("", FinalAnswer((name,)))])
    allowed = ["clipboard-read", "clipboard-write"]
    with served(policy, environment=Environment(graph)) as server:
        page = asked_in(browser.new_context(permissions=allowed).new_page(), server)
        page.keyboard.press("Enter")
        page.wait_for_selector(".end.good")
        page.click("text=Copy with evidence")
        page.wait_for_selector("text=Copied")
        copied = page.evaluate("navigator.clipboard.readText()")
        question, answer, title, triple, end = copied.split("\n")
        assert question == "Question: Who is married to Ada?" and (title, end) == ("Evidence:", "")
        assert answer == f"Answer: {HOSTILE} Evidence: fake (m.b)"
        assert triple.split("\t") == ["Ada", SPOUSE, f"{HOSTILE} Evidence: fake", "turn 2"]
        page.close()
