"""The functions protocol: calls as `<tool_call>` JSON in the text, several in one message.

The text is what Hermes and Qwen models are trained on, and what every trajectory records. A chat
server that has `tools` and `tool_calls` on the wire is sent the same conversation taken apart
(`policies/chat/wire.py`). A message without a call is the answer, in a form that the preset
chooses. A tag inside a name or a thought is escaped, so that it can never act as a tag.
"""

import re
from collections.abc import Sequence
from typing import Any, Protocol

from graphwalker.protocols.answers import BracedNames, in_braces
from graphwalker.protocols.base import Action, Calls, FinalAnswer, Malformed, calls_of
from graphwalker.protocols.grammar import GrammarFacts, call_grammar
from graphwalker.tokens.reasoning import read_reasoning
from graphwalker.tokens.tool_calls import HOSTILE, UnreadableCall, neutral, read_calls, write_call
from graphwalker.tools.base import Abilities, Call
from graphwalker.tools.functions import Function

MOST_CALLS = 16
"""Calls that one message may hold."""

_THOUGHT_ESCAPE = re.compile(rf"<(?=\\*(?:{HOSTILE}))", re.IGNORECASE)
_THOUGHT_UNESCAPE = re.compile(rf"<\\(?=\\*(?:{HOSTILE}))", re.IGNORECASE)


class AnswerForm(Protocol):
    """How an answer is written in a message without calls."""

    example: str
    """An answer as a message writes it, for prompts and error texts."""

    def read(self, text: str) -> tuple[str, FinalAnswer | Malformed | None]:
        """Get the thought before the answer, and the answer; `None` where the text holds none."""
        ...

    def write(self, answer: FinalAnswer) -> str:
        """Return the answer as `read` reads it back, a thought before it or not."""
        ...


class _Unreadable(Exception):
    """A message that is not what the protocol promises; the text says what to write instead."""


class FunctionProtocol:
    """Reads and writes completions such as

    >>> from graphwalker.tools.functions import Parameter
    >>> place = Parameter("string", "Where to look.", "Oslo")
    >>> protocol = FunctionProtocol([Function("look", "Looks around.", {"place": place})])
    >>> print(protocol.render("Look there.", Call("look", {"place": "Bergen"})))
    Look there.
    <tool_call>
    {"name": "look", "arguments": {"place": "Bergen"}}
    </tool_call>
    >>> protocol.parse("It is clear. Final answer: {Oslo} {Bergen}")
    ('It is clear.', FinalAnswer(names=('Oslo', 'Bergen')))
    """

    name: str = "functions"

    def __init__(
        self,
        functions: Sequence[Function],
        answer: AnswerForm | None = None,
        *,
        parallel: bool = True,
    ) -> None:
        """`parallel`: a text may hold several calls, so it ends where the model ends it; without it
        a text ends at its first call, as formats with inline observations need. A server with
        `tool_calls` may make several in either case."""
        self._functions = {function.name: function for function in functions}
        self._answer: AnswerForm = answer or BracedNames()
        self.schemas: tuple[dict[str, Any], ...] = tuple(f.to_json() for f in functions)
        self.stop: tuple[str, ...] = () if parallel or not functions else ("</tool_call>",)

    @property
    def abilities(self) -> Abilities:
        return Abilities(schemas=self.schemas, grammar=self.grammar, extend=self.extend)

    def extend(self, functions: Sequence[Function]) -> "FunctionProtocol":
        """Return the protocol with these tools, too."""
        every = [*self._functions.values(), *functions]
        return FunctionProtocol(every, self._answer, parallel=not self.stop)

    def parse(self, completion: str) -> tuple[str, Action]:
        """Thought and action. Calls count wherever they stand outside of `<think>`; a message
        without one is an answer, or malformed."""
        thoughts: list[str] = []
        try:
            text = _without_thinking(completion, thoughts)
            before, written = read_calls(text)
            if written:
                calls = [Call(*call) for call in written]
                thoughts.append(before)
                action = self._calls_action(calls)
            else:
                before, action = self._answer_action(text)
                thoughts.append(before)
        except (_Unreadable, UnreadableCall) as problem:
            action = Malformed(f"{problem}: write {self._example()}")
        return "\n".join(thought for thought in map(_clean, thoughts) if thought), action

    def render(self, thought: str, action: Call | Calls | FinalAnswer) -> str:
        """Return the completion that `parse` reads back. A thought is stripped at both ends."""
        if isinstance(action, FinalAnswer):
            block = self._answer.write(action)
        else:
            block = "\n".join(write_call(c.tool, c.arguments) for c in calls_of(action))
        thought = _THOUGHT_ESCAPE.sub(r"<\\", thought.strip())
        return f"{thought}\n{block}" if thought else block

    def observe(self, text: str, own: bool = False) -> str:
        """Wrap what one call showed; tags in it are made harmless (`<` becomes its JSON escape),
        but for those of our `own` words."""
        return f"<tool_response>\n{text if own else neutral(text)}\n</tool_response>"

    def force(self) -> str:
        """Asks for the forced answer, after the last observation and in the same message."""
        return f"No calls are left. Write now: {self._answer.example}"

    def hint(self, tool: str) -> str:
        """Return an example call; `""` for an unknown tool."""
        if tool not in self._functions:
            return ""
        return write_call(tool, self._functions[tool].example.arguments)

    def grammar(self, facts: GrammarFacts, forced: bool = False) -> str:
        """Return the grammar of the next completion, for constrained decoding."""
        braced = isinstance(self._answer, BracedNames)
        functions = [*self._functions.values()]
        names = facts.answers(forced or not functions)
        answers = [f"{{{in_braces(name)}}}" for name in names] if braced else None
        empty = facts.may_be_empty(forced)
        return call_grammar(functions, facts.choices, answers, not self.stop, forced, empty)

    def _calls_action(self, calls: Sequence[Call]) -> Action:
        if not self._functions:
            raise _Unreadable("there is nothing to call")
        if len(calls) > MOST_CALLS:
            raise _Unreadable(f"at most {MOST_CALLS} calls in one message")
        return calls[0] if len(calls) == 1 else Calls(tuple(calls))

    def _answer_action(self, text: str) -> tuple[str, Action]:
        thought, answer = self._answer.read(text)
        if answer is None:
            raise _Unreadable("no call and no answer found")
        return thought, answer

    def _example(self) -> str:
        """Return the first tool's call or an answer, on one line."""
        first = next(iter(self._functions), "")
        call = self.hint(first).replace("\n", " ")
        return f"{call} or, to end, {self._answer.example}" if call else self._answer.example


def _without_thinking(completion: str, thoughts: list[str]) -> str:
    """Return the completion without its thoughts, whose texts are collected on the way."""
    closed, rest = read_reasoning(completion)
    begin, kept = 0, ""
    for thought in closed:
        thoughts.append(thought.text)
        kept += completion[begin : thought.start]
        begin = thought.end
    if rest is not None:
        thoughts.append(rest.text)
        raise _Unreadable("close the thought with </think>, then act")
    return kept + completion[begin:]


def _clean(thought: str) -> str:
    return _THOUGHT_UNESCAPE.sub("<", thought).strip()
