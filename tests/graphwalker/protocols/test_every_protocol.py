"""Every protocol reads back what it writes, whatever the names, and no name acts as a tag."""

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from graphwalker.protocols.base import Calls, FinalAnswer
from graphwalker.protocols.forms import FormProtocol
from graphwalker.protocols.functions import FunctionProtocol
from graphwalker.protocols.tags import TagProtocol
from graphwalker.tools.base import Call
from graphwalker.tools.functions import Function, Parameter
from graphwalker.tools.walker import EXAMPLES

WORDS = ("think", "kg-query", "information", "answer", "tool_call", "tool_response")
TAGS = [f"<{slash}{tag}>" for slash in ("", "/") for tag in WORDS]
ODD = st.sampled_from(
    [*TAGS, "Final answer:", "\nFinal answer: {x}", *"\"'\\\n,[](){}<é", "<\\", "e\u0301"]
)
TEXT = st.text(st.characters(codec="utf-8"), max_size=8)
HOSTILE = st.lists(st.one_of(ODD, TEXT), max_size=5).map("".join)
NAMES = HOSTILE.filter(lambda name: name.strip() != "")
TEXTS = st.lists(HOSTILE, max_size=4)
FLOATS = st.floats(allow_nan=False, allow_infinity=False)
SCALARS = st.one_of(HOSTILE, st.booleans(), st.none(), st.integers(), FLOATS)
VALUES = st.one_of(SCALARS, st.lists(SCALARS, max_size=2))
CALLS = st.builds(Call, HOSTILE.filter(bool), st.dictionaries(TEXT, VALUES, max_size=2))
ANSWERS = st.lists(NAMES, unique=True, max_size=4).map(lambda names: FinalAnswer(tuple(names)))
NUMBERS = st.lists(st.one_of(FLOATS, st.integers()), max_size=3)
MIX = {
    "text": Parameter("string", "", "a"),
    "numbers": Parameter("array", "", [1], items="number"),
    "count": Parameter("integer", "", 1, required=False),
}
OWN = Function("mix", "A tool of the user's own.", MIX)
FORMS = {
    "reason": {"triples": ["ab12"], "implication": "what follows", "continue": True},
    "anchor": {"anchor": "Name"},
}


def made(tool, **arguments):
    return st.builds(Call, st.just(tool), st.fixed_dictionaries(arguments))


LOOKS = [made("get_relations", entity=HOSTILE)]
LOOKS.append(made("get_triples", entity=HOSTILE, relations=TEXTS))
MIXES = [made("mix", text=HOSTILE, numbers=NUMBERS, count=st.integers())]
MIXES.append(made("mix", text=HOSTILE, numbers=NUMBERS))
SEVERAL = st.lists(CALLS, min_size=2, max_size=3).map(lambda calls: Calls(tuple(calls)))
REASON = {"triples": TEXTS, "implication": HOSTILE, "continue": st.booleans()}
PROTOCOLS: dict[str, tuple[Any, Any]] = {
    "tags": (TagProtocol(EXAMPLES), LOOKS),
    "tags with numbers": (TagProtocol(EXAMPLES).extend([OWN]), MIXES),
    "functions": (FunctionProtocol([Function("search", "")]), [CALLS, SEVERAL]),
    "forms": (FormProtocol(FORMS), [made("anchor", anchor=HOSTILE), made("reason", **REASON)]),
}
every_protocol = pytest.mark.parametrize("name", PROTOCOLS)
usual = settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)


@every_protocol
@usual
@given(st.data())
def test_parsing_cancels_rendering(name, data):
    protocol, calls = PROTOCOLS[name]
    thought, action = data.draw(HOSTILE.map(str.strip)), data.draw(st.one_of(*calls, ANSWERS))
    text = protocol.render(thought, action)
    assert protocol.parse(text) == (thought, action)
    ends = [text.find(stop) + len(stop) for stop in protocol.stop if stop in text]
    assert min(ends, default=len(text)) == len(text)


@every_protocol
@usual
@given(HOSTILE)
def test_parsing_never_raises_and_an_observation_holds_no_tag_but_its_own(name, text):
    protocol = PROTOCOLS[name][0]
    protocol.parse(text)
    before, _, after = protocol.observe("|").partition("|")
    inner = protocol.observe(text).removeprefix(before).removesuffix(after)
    own = WORDS[4:] if name == "functions" else WORDS[:4]
    assert not any(f"<{slash}{tag}>" in inner for tag in own for slash in ("", "/"))
