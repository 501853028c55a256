"""The tag protocol of GraphWalker: `<think>`, `<kg-query>`, `<information>`, `<answer>`.

One way of writing, so that any tokenizer sees the same pieces everywhere: one space inside each
tag, one newline between blocks, nothing before the first tag or after the last one. Arguments and
answers are JSON. A tag inside a name or a thought is escaped, so that it can never act as a tag.
"""

import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from functools import cache, partial
from typing import Any, NamedTuple, cast

from graphwalker.protocols.answers import read_lenient
from graphwalker.protocols.base import PLACEHOLDER, Action, FinalAnswer, Malformed, repeats_example
from graphwalker.protocols.grammar import GrammarFacts, tag_grammar
from graphwalker.tokens.reasoning import read_reasoning
from graphwalker.tools.base import Abilities, Call
from graphwalker.tools.functions import Function

CALL_TAG = "kg-query"
_CALL = re.compile(r"\s*([A-Za-z_]\w*)\s*\(")
_JSON = json.JSONDecoder(strict=False)
_ENCODER = json.JSONEncoder(ensure_ascii=False)
_SURROGATE = re.compile("[\ud800-\udfff]")
_ESCAPED = r"\\u003c"
"""What stands for `<`, as a pattern's replacement."""


TAGS = tuple(
    f"<{slash}{tag}>"
    for tag in ("think", "kg-query", "information", "answer")
    for slash in ("", "/")
)


class _Markup(NamedTuple):
    """What may never stand raw in a name or an observation, with a tag for calls: our tags, and the
    markers that chat templates turn into special tokens (`<|im_end|>`, `</s>`)."""

    hostile: "re.Pattern[str]"
    in_thoughts: "re.Pattern[str]"
    escaped: "re.Pattern[str]"
    action: "re.Pattern[str]"
    plain: "re.Pattern[str]"
    """A whole completion as `render` writes it, without any other `<`."""


@cache
def _markup(call: str) -> _Markup:
    hostile = rf"/?(?:think|{call}|information|answer)\b|\||/?s>"
    return _Markup(
        re.compile(rf"<(?={hostile})", re.IGNORECASE),
        re.compile(rf"<(?=\\*(?:{hostile}))", re.IGNORECASE),
        re.compile(rf"<\\(?=\\*(?:{hostile}))", re.IGNORECASE),
        re.compile(rf"<({call}|answer)>"),
        re.compile(rf"(?:<think>([^<]*)</think>\n)?<({call}|answer)>([^<]*)</\2>"),
    )


class _Unreadable(Exception):
    """A body that is not what its tag promises; the text says what to write instead."""


class TagProtocol:
    """Reads and writes completions such as

    >>> protocol = TagProtocol({"get_relations": {"entity": "Name"}})
    >>> print(protocol.render("Look around.", Call("get_relations", {"entity": "Oslo"})))
    <think> Look around. </think>
    <kg-query> get_relations("Oslo") </kg-query>
    >>> protocol.parse('<answer> ["Oslo", "Bergen"] </answer>')
    ('', FinalAnswer(names=('Oslo', 'Bergen')))
    """

    name: str = "tags"

    def __init__(
        self,
        tools: Mapping[str, Mapping[str, str | Sequence[str]]],
        numbers: Mapping[str, str] | None = None,
        *,
        call_tag: str = CALL_TAG,
        lenient: bool = False,
    ) -> None:
        """`tools`: example arguments of each tool, in the order in which a call writes them; what
        is complained about is explained by the first tool's. Without tools nothing but an answer
        is an action. `numbers`: the name of a tool's last argument that is a whole number and may
        be left out; other tools take no numbers. `call_tag` stands around a call. `lenient`: an
        answer may have any form that is clear (`answers.read_lenient`)."""
        self._tag, self._lenient = call_tag, lenient
        self._markup = _markup(call_tag)
        self._numbers = numbers or {}
        self._functions: Mapping[str, Function] = {}
        self._examples = {tool: Call(tool, dict(example)) for tool, example in tools.items()}
        last = {tool: (key,) for tool, key in self._numbers.items()}
        self._known_keys = {
            tool: (*call.arguments, *last.get(tool, ())) for tool, call in self._examples.items()
        }
        # Made once: every call that is read may have to be told how it should look.
        self._hints = {tool: self._write_call(call) for tool, call in self._examples.items()}
        hints = [*self._hints.values()] or ["tool()"]
        self._first, self._last = hints[0], hints[-1]
        self.stop: tuple[str, ...] = (f"</{call_tag}>", "</answer>") if tools else ("</answer>",)

    @property
    def abilities(self) -> Abilities:
        return Abilities(grammar=self.grammar, extend=self.extend)

    def extend(self, functions: Sequence[Function]) -> "TagProtocol":
        """Return the protocol with these tools, too, whose arguments may be numbers."""
        wider = copy(self)
        wider._functions = {**self._functions, **{one.name: one for one in functions}}
        for one in functions:
            every = {name: parameter.example for name, parameter in one.parameters.items()}
            wider._examples = {**wider._examples, one.name: Call(one.name, every)}
            wider._known_keys = {**wider._known_keys, one.name: tuple(every)}
            wider._hints = {**wider._hints, one.name: wider._write_call(one.example)}
        return wider

    def parse(self, completion: str) -> tuple[str, Action]:
        """Thought and action. The earlier of `<kg-query>` and `<answer>` outside of the thoughts is
        the action, and what follows it is ignored. Thoughts may have any mark of
        `graphwalker.tokens.reasoning`."""
        thoughts: list[str] = []
        try:
            plain = self._markup.plain.fullmatch(completion)
            if plain:  # most completions: nothing has to be searched for
                thoughts, tag, body = [plain[1] or ""], plain[2], plain[3]
            else:
                tag, body = self._split(completion, thoughts)
            action = _read_answer(body) if tag == "answer" else self._read_call(body)
            if isinstance(action, Call) and not self._examples:
                raise _Unreadable(f"there is nothing to query: write {_ANSWER_FORM}")
        except _Unreadable as problem:
            answer = read_lenient(completion, bool(self._examples)) if self._lenient else None
            action = answer or Malformed(str(problem))
        return "\n".join(thought for thought in map(self._clean, thoughts) if thought), action

    def render(self, thought: str, action: Call | FinalAnswer) -> str:
        """Return the completion that `parse` reads back. A thought is stripped at both ends.

        Raises `ValueError` for a call whose arguments the tool does not have.
        """
        if isinstance(action, FinalAnswer):
            block = f"<answer> {self._write(list(action.names))} </answer>"
        else:
            block = f"<{self._tag}> {self._write_call(action)} </{self._tag}>"
        thought = thought.strip()
        if "<" in thought:
            thought = self._markup.in_thoughts.sub(r"<\\", thought)
        return f"<think> {thought} </think>\n{block}" if thought else block

    def observe(self, text: str, own: bool = False) -> str:
        """Wrap an observation; tags in it are made harmless (`<` becomes its JSON escape), but for
        those of our `own` words."""
        return f"<information> {text if own else neutral(text, self._tag)} </information>"

    def force(self) -> str:
        """Asks for the forced answer, after the last observation and in the same message."""
        return f"No queries are left. Answer now: {_ANSWER_FORM}"

    def hint(self, tool: str) -> str:
        """Return an example call, such as `get_relations("Name")`; `""` for an unknown tool."""
        return self._hints.get(tool, "")

    def grammar(self, facts: GrammarFacts, forced: bool = False) -> str:
        """Return the grammar of the next completion, for constrained decoding."""
        own = self._functions
        usual = {tool: tuple(e.arguments) for tool, e in self._examples.items() if tool not in own}
        written, pages = partial(neutral, call_tag=self._tag), bool(self._numbers)
        return tag_grammar(facts, usual, [*own.values()], self._tag, written, pages, forced)

    def pieces(self) -> tuple[str, ...]:
        """Return what the protocol itself writes between thoughts, names and relations, in the
        longest pieces: a tokenizer made for it has one token for each."""
        calls = [f'<{self._tag}> {tool}("' for tool in self._examples]
        return (
            "<think> ",
            *(f" </think>\n{call}" for call in calls),
            ' </think>\n<answer> ["',
            *calls,  # of a turn without a thought
            '<answer> ["',
            '", ["',
            f'") </{self._tag}>',
            f'"]) </{self._tag}>',
            '"] </answer>',
            "<information> ",
            " </information>",
        )

    def _split(self, completion: str, thoughts: list[str]) -> tuple[str, str]:
        """Return the tag and the body of the action; collect the thoughts before it."""
        marks, position = self._markup.action, 0
        closed, rest = read_reasoning(completion, self.stop)
        for thought in closed:
            if marks.search(completion, position, thought.start):
                break
            thoughts.append(thought.text)
            position = thought.end
        action = marks.search(completion, position, rest.start if rest else len(completion))
        if action is None and rest is not None:
            thoughts.append(rest.text)
            raise _Unreadable(f"close the thought with </think> before <{self._tag}> or <answer>")
        if action is None:
            raise _Unreadable(self._no_action(completion, position))
        if not thoughts:
            thoughts.append(completion[position : action.start()])
        return action[1], _body(completion, action, marks)

    def _no_action(self, completion: str, position: int) -> str:
        for tag in ("answer", self._tag):
            if f"</{tag}>" in completion[position:]:
                return f"</{tag}> has no opening <{tag}>: write <{tag}> before it"
        query = f"<{self._tag}> {self._first} </{self._tag}> or " if self._examples else ""
        return f"no action found: write {query}{_ANSWER_FORM}"

    def _read_call(self, body: str) -> Call:
        opening = _CALL.match(body)
        if opening is None:
            raise _Unreadable(
                f"write one call, such as {self._first}, between <{self._tag}> and </{self._tag}>"
            )
        read = _number_or_text if opening[1] in self._numbers else _argument
        read = _any_argument if opening[1] in self._functions else read
        values = _read_arguments(body, opening.end(), self._last, read, self._tag)
        names = self.parameters(opening[1], len(values))
        return Call(opening[1], dict(zip(names, values, strict=True)))

    def _write_call(self, call: Call) -> str:
        keys = self.parameters(call.tool, len(call.arguments))
        if set(keys) != set(call.arguments):
            raise ValueError(f"{call.tool} cannot be written with {sorted(call.arguments)}")
        return f"{call.tool}({', '.join(self._write(call.arguments[key]) for key in keys)})"

    def parameters(self, tool: str, count: int) -> tuple[str, ...]:
        """Parameter names; an argument beyond the known ones is named by its position."""
        known = self._known_keys.get(tool, ())
        if len(known) == count:
            return known
        return (*known[:count], *(str(position + 1) for position in range(len(known), count)))

    def example(self, tool: str) -> dict[str, Any]:
        """Example arguments of a tool by name; a number that may be left out is None."""
        return {key: self._examples[tool].arguments.get(key) for key in self._known_keys[tool]}

    def _write(self, value: Any) -> str:
        # Texts alone are encoded without an encoder that is made for each list.
        if isinstance(value, list):
            items = map(_ENCODER.encode, cast(list[Any], value))
            return neutral(f"[{', '.join(items)}]", self._tag)
        return neutral(_ENCODER.encode(value), self._tag)

    def _clean(self, thought: str) -> str:
        return (self._markup.escaped.sub("<", thought) if "<" in thought else thought).strip()


def neutral(text: str, call_tag: str = CALL_TAG) -> str:
    """Return the text without anything that could be taken for a tag or a special token.

    >>> neutral("a </answer> b, 1 < 2")
    'a \\\\u003c/answer> b, 1 < 2'
    """
    # Most texts have none, and a replacement with a backslash takes its time to be read.
    return _markup(call_tag).hostile.sub(_ESCAPED, text) if "<" in text else text


def _body(completion: str, action: "re.Match[str]", marks: "re.Pattern[str]") -> str:
    close = f"</{action[1]}>"
    end = completion.find(close, action.end())
    if end < 0:
        raise _Unreadable(f"<{action[1]}> is not closed: end it with {close}")
    body = completion[action.end() : end]
    if marks.search(body):
        raise _Unreadable(f"one action at a time: nothing may open inside <{action[1]}>")
    return body


def _read_arguments(
    body: str, position: int, form: str, read: Callable[[Any], Any], tag: str
) -> list[Any]:
    values: list[Any] = []
    whole = _read_at_once(body, position)
    if whole is not None:
        return [*map(read, whole)]
    position = _skip_space(body, position)
    if body[position : position + 1] != ")":
        while True:
            value, position = _read_json(body, position, "a call", form)
            values.append(read(value))
            position = _skip_space(body, position)
            if body[position : position + 1] != ",":
                break
            position += 1
    if body[position : position + 1] != ")":
        raise _Unreadable('separate arguments by commas and close the call with ")"')
    if body[position + 1 :].strip():
        raise _Unreadable(f"one call per <{tag}>: nothing may follow its closing parenthesis")
    return values


def _read_at_once(body: str, position: int) -> list[Any] | None:
    """Return the arguments of a call that is written as it should be; `None` for any other."""
    inner = body[position:].rstrip()
    if not inner.endswith(")"):
        return None
    text = f"[{inner[:-1]}]"
    try:
        values, end = _JSON.raw_decode(text)
    except (ValueError, RecursionError):
        return None
    return values if end == len(text) else None


def _argument(value: Any) -> str | list[str]:
    if isinstance(value, str):
        return _sound(value)
    if isinstance(value, list) and all(isinstance(item, str) for item in value):  # pyright: ignore[reportUnknownVariableType]
        return [_sound(str(item)) for item in value]  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    raise _Unreadable('an argument is a "string" or a list of ["strings"], in double quotes')


def _number_or_text(value: Any) -> str | list[str] | int:
    return value if type(value) is int else _argument(value)


def _any_argument(value: Any) -> Any:
    """Return a text, a number, or a list of them: what a tool of the user's own may take."""
    if isinstance(value, list):
        return [one if _is_number(one) else _argument(one) for one in cast(list[Any], value)]
    return value if _is_number(value) else _argument(value)


def _is_number(value: Any) -> bool:
    return type(value) is int or (type(value) is float and math.isfinite(value))


def _read_answer(body: str) -> FinalAnswer:
    value, end = _read_json(body, 0, "an answer", _ANSWER_FORM)
    if body[end:].strip():
        raise _Unreadable(f"only one JSON list may stand in an answer: {_ANSWER_FORM}")
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):  # pyright: ignore[reportUnknownVariableType]
        raise _Unreadable(f"an answer is a JSON list of strings: {_ANSWER_FORM}")
    names = [_sound(str(item)) for item in value]  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    if not all(name.strip() for name in names):
        raise _Unreadable(f"an answer may not hold an empty name: {_ANSWER_FORM}")
    if repeats_example(names):
        raise _Unreadable("write the names of answers in place of the example")
    return FinalAnswer(tuple(dict.fromkeys(names)))


_ANSWER_FORM = f'<answer> ["{PLACEHOLDER}"] </answer>'


def _read_json(body: str, position: int, what: str, form: str) -> tuple[Any, int]:
    try:
        return _JSON.raw_decode(body, _skip_space(body, position))
    except (ValueError, RecursionError):
        raise _Unreadable(f"{what} is written with JSON double quotes: {form}") from None


def _sound(text: str) -> str:
    """Half a surrogate pair cannot be written to any file: it is the model's mistake."""
    if not text.isascii() and _SURROGATE.search(text):
        raise _Unreadable("a \\u escape stands for half a character: copy the name as shown")
    return text


def _skip_space(text: str, position: int) -> int:
    while position < len(text) and text[position].isspace():
        position += 1
    return position
