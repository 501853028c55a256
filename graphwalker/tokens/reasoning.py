"""Reasoning in a text: where a model's thoughts begin and end, in every mark that is in use.

A thought is opened and closed by marks of one form: `<think>` (DeepSeek, Qwen, and our own
protocol), `[THINK]` (Magistral), `<|channel|>analysis` (gpt-oss), and so on. Where the chat
template has opened the thought, the text holds its end alone.
"""

import re
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

_WORD = "(?:think|thinking|thought|reasoning)"
_NAME = rf"(?:\w{{1,20}}[:_])?{_WORD}"
_FORMS = (
    (r"(?-i:<think>)", r"(?-i:</think>)"),
    ("<thoughts?>", "</thoughts?>"),  # Gemini, EXAONE
    (rf"<{_NAME}>", rf"</{_NAME}>"),  # Claude, <seed:think>, <longcat_think>
    (r"(?-i:\[THINK\])", r"(?-i:\[/THINK\])"),  # Magistral
    ("◁think▷", "◁/think▷"),  # Kimi-VL
    (  # Command A, Sky-T1, LFM
        rf"<\|(?:(?:start|begin)_(?:of_)?)?{_WORD}(?:_start)?\|>",
        rf"<\|(?:/|end_(?:of_)?){_WORD}\|>|<\|{_WORD}_end\|>",
    ),
    (r"<\|inner_prefix\|>", r"<\|inner_suffix\|>"),  # Apertus
    (r"<\|channel>\w*", r"<channel\|>"),  # Gemma 4
    ("<unused94>", "<unused95>"),  # MedGemma
    (  # gpt-oss; its marks are lost where special tokens are left out
        r"<\|channel\|>(?:analysis|commentary)\b[^<]{0,80}<\|message\|>",
        r"<\|channel\|>final\b[^<]{0,80}(?:<\|constrain\|>\w{0,20})?<\|message\|>"
        "|(?-i:assistantfinal)",
    ),
    ("Here is my thought process:", "Here is my response:"),  # Granite 3.2
    ("Here are my reasoning steps:", r"\[BEGIN FINAL RESPONSE\]"),  # Apriel
)
_ANY, _OURS, _THOUGHT = -1, 0, 1
"""Any form; ours, which protocols escape in names, so that it is a mark wherever it stands; and
that of agents alone: a list of thoughts that a chat model was asked for looks like it."""
_MARKS = re.compile(
    "|".join(f"(?P<o{i}>{o})|(?P<c{i}>{c})" for i, (o, c) in enumerate(_FORMS)), re.IGNORECASE
)
_OBSERVED = re.compile("<information>|<tool_response>")
"""What follows an action: a model that writes it makes the observation up."""
_NEAR = 80
"""Characters of a header between two thoughts."""


class Thought(NamedTuple):
    """A thought from the start of its opening mark to the end of its closing one."""

    start: int
    end: int
    text: str


class Reasoning(NamedTuple):
    """The thoughts of a text in order, and the one that is never closed."""

    closed: list[Thought]
    open: Thought | None


def read_reasoning(text: str, stops: Sequence[str] = (), opened: bool = False) -> Reasoning:
    """Return the thoughts of a completion; `opened`: its prompt ends within one.

    `stops` are the strings that end an action. An end of thought without a beginning ends a thought
    that began with the text, or continues the last one, where an action (without `stops`, any
    text) follows it, and no observation of an action stands before it. A mark in a name is none.

    >>> read_reasoning("<think> So. </think> yes").closed
    [Thought(start=0, end=20, text=' So. ')]
    >>> read_reasoning("It may be Bern. No. </think> Oslo").closed[0].text
    'It may be Bern. No. '
    """
    return _Reader(text, stops).read(opened)


class _Mark(NamedTuple):
    start: int
    end: int
    opens: bool
    form: int


def _marks(text: str) -> list[_Mark]:
    found = ((mark.span(), mark.lastgroup or "") for mark in _MARKS.finditer(text))
    return [_Mark(*span, name[0] == "o", int(name[1:])) for span, name in found]


class _Reader:
    def __init__(self, text: str, stops: Sequence[str]) -> None:
        self._text, self._next = text, dict.fromkeys(stops, -1)
        self._marks = [mark for mark in _marks(text) if stops or mark.form != _THOUGHT]
        self._closed: list[Thought] = []
        self._end, self._begun = 0, _Mark(0, 0, True, _ANY)
        """The end and the beginning of the last thought."""
        if not self._marks:
            return
        self._acts_until = max(map(text.rfind, stops)) if stops else len(text.rstrip()) - 1
        self._last_close = {mark.form: mark.start for mark in self._marks if not mark.opens}
        foreign = any(mark.form != _OURS for mark in self._marks)
        self._actions = _actions(stops).finditer(text) if foreign and stops else iter(())
        self._action = next(self._actions, None)
        self._acted = self._made_up = -1
        """Where the first action after the last thought ends, and what was made up begins."""
        self._look_on()

    def read(self, opened: bool) -> Reasoning:
        begun = self._begun if opened else None
        for mark in self._marks:
            if begun is not None:
                if not mark.opens and begun.form in (_ANY, mark.form):
                    self._close(begun, mark)
                    begun = None
            elif mark.opens:
                begun = mark if self._may_open(mark) else None
            elif self._ends_more(mark):
                del self._closed[-1:]
                self._close(self._begun, mark)
        rest = begun and Thought(begun.start, len(self._text), self._text[begun.end :])
        return Reasoning(self._closed, rest)

    def _close(self, begun: _Mark, mark: _Mark) -> None:
        self._end, self._begun = mark.end, begun
        self._closed.append(Thought(begun.start, mark.end, self._text[begun.end : mark.start]))
        if self._acted < self._end:
            self._look_on()

    def _look_on(self) -> None:
        # Each only where it was passed: a model that stutters writes thousands of marks.
        for stop, at in self._next.items():
            if at < self._end:
                found = self._text.find(stop, self._end)
                self._next[stop] = found if found >= 0 else len(self._text)
        self._acted = min(self._next.values(), default=self._end)
        if self._made_up < self._acted:
            seen = _OBSERVED.search(self._text, self._acted)
            self._made_up = seen.start() if seen else len(self._text)

    def _may_open(self, mark: _Mark) -> bool:
        """Models begin with their thoughts; elsewhere another form than ours has to be closed."""
        near = mark.start - self._end < _NEAR
        leads = near and not self._text[self._end : mark.start].strip()
        is_closed = self._last_close.get(mark.form, -1) > mark.start
        return mark.form == _OURS or leads or (is_closed and not self._in_action(mark))

    def _ends_more(self, mark: _Mark) -> bool:
        follows = mark.end <= self._acts_until and mark.start < self._made_up
        return follows and (mark.form == _OURS or not self._in_action(mark))

    def _in_action(self, mark: _Mark) -> bool:
        while self._action is not None and self._action.end() <= mark.start:
            self._action = next(self._actions, None)
        return self._action is not None and self._action.start() < mark.start


@cache
def _action_pattern(names: tuple[str, ...]) -> "re.Pattern[str]":
    one = "|".join(map(re.escape, names)) or "(?!)"
    return re.compile(rf"<({one})>(?:(?!<(?:{one})>).)*?</\1>", re.DOTALL)


def _actions(stops: Sequence[str]) -> "re.Pattern[str]":
    """Whole actions, by the tags that end them."""
    return _action_pattern(tuple(stop[2:-1] for stop in stops if stop.startswith("</")))


def action_end(text: str, stops: Sequence[str], opened: bool = False) -> int | None:
    """Return where the first stop string outside of all thoughts ends, `None` where there is none.

    >>> action_end("<think> <a> no </a> </think><a> b </a> c", ["</a>"])
    38
    """
    if not any(stop in text for stop in stops):
        return None
    thoughts, rest = read_reasoning(text, stops, opened)
    begin = 0
    for thought in (*thoughts, rest or Thought(len(text), len(text), "")):
        ends = [(at, stop) for stop in stops if (at := text.find(stop, begin, thought.start)) >= 0]
        if ends:
            at, stop = min(ends)
            return at + len(stop)
        begin = thought.end
    return None


def holds_reasoning(text: str) -> bool:
    """Return whether the text holds a thought, or the end of one."""
    return _MARKS.search(text) is not None


def leaves_open(prompt: str) -> bool:
    """Return whether a template's text before the model's own opens a thought."""
    return any(mark.opens for mark in _marks(prompt)[-1:])


def without_reasoning(text: str) -> str:
    """Return the text without the reasoning that some models put before it.

    >>> without_reasoning("<think> Hm. </think> yes")
    'yes'
    """
    begin, kept = 0, list[str]()
    for thought in read_reasoning(text).closed:
        kept.append(text[begin : thought.start])
        begin = thought.end
    return " ".join([*kept, text[begin:]]).strip()
